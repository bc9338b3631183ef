package scenario

import (
	"strings"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Probe records data about some nodes of a run in its own file.
type Probe struct {
	Choice `yaml:",inline"`
	As     string     `yaml:"as" doc:"suffix of the file name, probe-AS; default: the name of the probe"`
	Where  string     `yaml:"where" doc:"pattern of nodes or ports; default: all"`
	From   units.Time `yaml:"from" doc:"record rows from this time on"`
	To     units.Time `yaml:"to,omitempty" doc:"record rows before this time; default: to the end"`
}

// probeForm decodes a Probe:
// `{name: occupancy, where: "leaf*", by: [port], every: 10us}`.
type probeForm struct{ choiceForm }

// DecodeKeys implements yaml.Keyed.
func (p probeForm) DecodeKeys(d *yaml.Decoder, entries []yaml.Entry, path string) error {
	named := p.Name != ""
	for _, e := range entries {
		named = named || e.Key == "name"
	}
	if !named {
		return d.Fail(d.Locations.Find(path), path, "the probe has no name (allowed: %s)", strings.Join(probe.Kinds.Names(), ", "))
	}
	return p.choiceForm.DecodeKeys(d, entries, path)
}

// Resolve fills in the defaults of As and Where.
func (p *Probe) Resolve() {
	if p.As == "" {
		p.As = p.Name
	}
	if p.Where == "" {
		p.Where = "*"
	}
}
