package scenario

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// InputError is a mistake in the user's input, with its location. All errors of reading and
// validating that the user can fix have this type.
type InputError = yaml.InputError

// ReadFile reads a scenario file; path - is standard input. Each set is a `path=value` that
// overrides a key of the file, such as `switch.policy.alpha=1/8`.
func ReadFile(path string, set ...string) (*Config, error) {
	name, data, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	return Parse(name, data, set...)
}

// ReadText reads a scenario file without parsing it, and returns its name for messages. It
// reads at most one byte more than Parse accepts.
func ReadText(path string) (name string, data []byte, err error) {
	if path == "-" {
		data, err = yaml.ReadLimited(os.Stdin)
		return "standard input", data, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, &InputError{File: path, Err: missingFile{}}
	}
	if err != nil {
		return path, nil, &InputError{Err: err}
	}
	defer func() { _ = f.Close() }() // nothing was written
	if data, err = yaml.ReadLimited(f); err != nil {
		return path, nil, &InputError{Err: err}
	}
	return path, data, nil
}

// missingFile is fs.ErrNotExist with a helpful message.
type missingFile struct{}

func (missingFile) Error() string {
	return "no such file (expected a scenario); fix: `xoff demo` creates one"
}

func (missingFile) Is(target error) bool { return target == fs.ErrNotExist }

// Parse parses a scenario and fills in the defaults. Name is the file name in messages.
// fabric.NewPlan checks the rest.
func Parse(name string, data []byte, set ...string) (*Config, error) {
	return parse(name, data, nil, set)
}

func parse(name string, data []byte, files *sandbox, set []string) (*Config, error) {
	src := yaml.NewSource(name, data)
	body, err := yaml.Parse(src, data, "scenario")
	if err != nil {
		return nil, err
	}
	c := Default()
	c.locations, c.sandbox = yaml.NewLocations(src), files
	if err := c.decoder().Decode(body, c); err != nil {
		return nil, err
	}
	for _, s := range set {
		if err := c.set(s); err != nil {
			return nil, err
		}
	}
	if err := yaml.First(c.readTopology(), c.locateFiles()); err != nil {
		return nil, err
	}
	c.settle()
	c.Resolve()
	return c, nil
}

// decoder returns a decoder for parts of the scenario.
func (c *Config) decoder() *yaml.Decoder {
	return &yaml.Decoder{Locations: c.locations, What: "scenario", Forms: forms}
}

// forms returns the yaml.Form or yaml.Keyed of types with a custom notation.
func forms(pointer any) any {
	switch t := pointer.(type) {
	case *Choice:
		return choiceForm{Choice: t}
	case *ECN:
		return embedded(t, &t.Choice, ecnKeys)
	case *Scheduler:
		return schedulerForm{embedded(t, &t.Choice, schedulerKeys), t}
	case *Routing:
		return embedded(t, &t.Choice, routingKeys)
	case *Topology:
		return embedded(t, &t.Choice, topologyKeys)
	case *Probe:
		return probeForm{embedded(t, &t.Choice, probeKeys)}
	case *Workload:
		return workloadForm{t}
	case *Override:
		return overrideForm{t}
	case *Variant:
		return variantForm{t}
	case *Selection:
		return selectionForm{t}
	case *ClassChoice:
		return classForm{t}
	case *Expectation:
		return expectForm{t}
	}
	return nil
}

// Locate adds the location of the key to a yaml.Error. It returns other errors unchanged.
func (c *Config) Locate(err error) error { return c.locations.Locate(err) }

// Written reports whether a key was set, in the file or by a setting. A key that is absent is
// not always the same as zero.
func (c *Config) Written(path string) bool { return c.locations.Has(path) }

// LongestDelay returns the path of the longest cable delay that was written, or "topology" if
// there is none.
func (c *Config) LongestDelay() string {
	if c.locations == nil {
		return "topology"
	}
	longest, most := "topology", units.Time(0)
	paths := c.locations.Paths()
	slices.Sort(paths)
	for _, path := range paths {
		steps, ok := yaml.SplitPath(path)
		if !ok || len(steps) < 2 || steps[0].Key != "topology" || steps[len(steps)-1].Key != "delay" {
			continue
		}
		v, found := yaml.PartOf(reflect.ValueOf(c.Topology), steps[1:])
		if !found && c.Topology.Params != nil {
			v, found = yaml.PartOf(reflect.ValueOf(c.Topology.Params).Elem(), steps[1:])
		}
		if !found {
			continue
		}
		if t, ok := v.Interface().(units.Time); ok && t > most {
			longest, most = path, t
		}
	}
	return longest
}

// settle sets the defaults that depend on which keys were written.
func (c *Config) settle() {
	if c.Written("classes") {
		control, _ := c.Groups()
		if s := &c.Switch.Scheduler; !c.Written("switch.scheduler.strict") {
			s.Strict = slices.DeleteFunc(control, func(g string) bool { return slices.Contains(s.Groups, g) })
		}
		if control, _ := c.Groups(); !c.Written("hosts.ack.class") && len(control) > 0 {
			c.Hosts.Ack.Class = control[0]
		}
	}
	if c.Written("switch.ports") && !c.Written("switch.buffer.reserve_for") {
		c.Switch.Buffer.ReserveFor = "chip"
	}
	c.settleOverrides()
	c.settleNeeds()
	c.settleFaults()
	if !c.Written("hosts.reliability.max_timeout") {
		c.Hosts.Reliability.MaxTimeout = max(c.Hosts.Reliability.MaxTimeout, c.Hosts.Reliability.Timeout)
	}
}

// settleOverrides sets reserve_for to chip in overrides that set ports, unless the file sets
// reserve_for.
func (c *Config) settleOverrides() {
	if c.Written("switch.buffer.reserve_for") {
		return
	}
	for i := range c.Switch.Overrides {
		o := &c.Switch.Overrides[i]
		if o.Keys.Has(yaml.Steps("ports")...) && !o.Keys.Has(yaml.Steps("buffer", "reserve_for")...) {
			o.Keys = o.Keys.Set("chip", "buffer", "reserve_for")
		}
	}
}

// settleFaults replaces units.Never by a duration that ends at units.MaxTime.
func (c *Config) settleFaults() {
	for i := range c.Faults {
		f := &c.Faults[i]
		for _, lasts := range []*units.Time{&f.For, &f.DownFor} {
			if *lasts == units.Never {
				*lasts = units.MaxTime - f.At
			}
		}
	}
}
