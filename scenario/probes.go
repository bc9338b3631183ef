package scenario

import (
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/strict"
)

// Probe watches some nodes of a run and writes what it sees into a file of its
// own.
type Probe struct {
	Choice `yaml:",inline"`
	As     string     `yaml:"as" doc:"its file is probe-AS; default: its name"`
	Where  string     `yaml:"where" doc:"nodes or ports by pattern; default: all it can watch"`
	From   units.Time `yaml:"from" doc:"only rows from then on"`
	To     units.Time `yaml:"to,omitempty" doc:"only rows before; default: to the end"`
}

// probeForm is how a Probe is written:
// `{name: occupancy, where: "leaf*", by: [port], every: 10us}`.
type probeForm struct{ choiceForm }

// DecodeKeys implements strict.Keyed.
func (p probeForm) DecodeKeys(d *strict.Decoder, entries []strict.Entry, path string) error {
	entries = olderProbe(entries)
	named := p.Name != ""
	for _, e := range entries {
		named = named || e.Key == "name"
	}
	if !named {
		return d.Fail(d.Places.Find(path), path, "the probe has no name; allowed: %s", strings.Join(probe.Kinds.Names(), ", "))
	}
	return p.choiceForm.DecodeKeys(d, entries, path)
}

// olderProbe turns a probe of the numbers of one scheme, dsh, into what shows those of
// any.
func olderProbe(entries []strict.Entry) []strict.Entry {
	dsh := slices.IndexFunc(entries, func(e strict.Entry) bool {
		return e.Key == "name" && e.Value.Shape == strict.Word && e.Value.Text == "dsh"
	})
	if dsh < 0 {
		return entries
	}
	word := func(text string) *strict.Node {
		return &strict.Node{Shape: strict.Word, Text: text, At: entries[dsh].Value.At}
	}
	at := entries[dsh].At
	list := []strict.Entry{
		{Key: "name", At: at, Value: word("gauges")},
		{Key: "of", At: at, Value: &strict.Node{Shape: strict.List, Items: []*strict.Node{word("flow_control")}, At: at}},
	}
	named := false
	for _, e := range entries {
		named = named || e.Key == "as"
		if e.Key != "name" && e.Key != "by" && e.Key != "zeros" {
			list = append(list, e)
		}
	}
	if !named {
		list = append(list, strict.Entry{Key: "as", At: at, Value: word("dsh")})
	}
	return list
}

// Resolve fills in what is open.
func (p *Probe) Resolve() {
	if p.As == "" {
		p.As = p.Name
	}
	if p.Where == "" {
		p.Where = "*"
	}
}
