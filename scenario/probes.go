package scenario

import (
	"strings"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
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

// DecodeKeys implements yaml.Keyed.
func (p probeForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	named := p.Name != ""
	for _, e := range entries {
		named = named || e.Key == "name"
	}
	if !named {
		return d.Fail(d.Places.Find(path), path, "the probe has no name; allowed: %s", strings.Join(probe.Kinds.Names(), ", "))
	}
	return p.choiceForm.DecodeKeys(d, entries, path)
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
