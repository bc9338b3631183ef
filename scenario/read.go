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

// InputError is a mistake in what the user wrote, with its place. Every error of
// reading and validating that the user can mend is one.
type InputError = yaml.InputError

// ReadFile reads a scenario file; - is standard input. Each set is a `path=value` that
// overrides a key of the file, such as `switch.policy.alpha=1/8`.
func ReadFile(path string, set ...string) (*Config, error) {
	name, data, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	return Parse(name, data, set...)
}

// ReadText reads a scenario file without looking at it, and returns what to call it.
// Of a file without end it reads a little more than Parse takes.
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

// missingFile is fs.ErrNotExist in words that help.
type missingFile struct{}

func (missingFile) Error() string {
	return "there is no such file; allowed: a scenario, such as the one that `xoff demo` leaves behind"
}

func (missingFile) Is(target error) bool { return target == fs.ErrNotExist }

// Parse reads a scenario and fills in the defaults. The name stands for the file in
// messages. fabric.NewPlan validates what decoding cannot.
func Parse(name string, data []byte, set ...string) (*Config, error) {
	return parse(name, data, nil, set)
}

func parse(name string, data []byte, alone *apart, set []string) (*Config, error) {
	src := yaml.NewSource(name, data)
	body, err := yaml.Parse(src, data, "scenario")
	if err != nil {
		return nil, err
	}
	c := Default()
	c.places, c.apart = yaml.NewPlaces(src), alone
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

// decoder reads parts of a scenario.
func (c *Config) decoder() *yaml.Decoder {
	return &yaml.Decoder{Places: c.places, What: "scenario", Forms: forms}
}

// forms returns the notation of the types that have one of their own.
func forms(pointer any) any {
	switch t := pointer.(type) {
	case *Choice:
		return choiceForm{Choice: t}
	case *ECN:
		return holding(t, &t.Choice, ecnKeys)
	case *Scheduler:
		return schedulerForm{holding(t, &t.Choice, schedulerKeys), t}
	case *Routing:
		return holding(t, &t.Choice, routingKeys)
	case *Topology:
		return holding(t, &t.Choice, topologyKeys)
	case *Probe:
		return probeForm{holding(t, &t.Choice, probeKeys)}
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

// Locate adds to an error about a key where that key was written. Other errors
// pass unchanged.
func (c *Config) Locate(err error) error { return c.places.Locate(err) }

// Written says whether a key stands in the scenario or in a setting: what is absent
// and what is zero are not always the same.
func (c *Config) Written(path string) bool { return c.places.Has(path) }

// LongestDelay returns the key of the longest delay of a cable that was written, or
// that of the topology.
func (c *Config) LongestDelay() string {
	if c.places == nil {
		return "topology"
	}
	longest, most := "topology", units.Time(0)
	paths := c.places.Paths()
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

// settle chooses the defaults that depend on which keys were written.
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
	c.settleFaults()
	if !c.Written("hosts.reliability.max_timeout") {
		c.Hosts.Reliability.MaxTimeout = max(c.Hosts.Reliability.MaxTimeout, c.Hosts.Reliability.Timeout)
	}
}

// settleOverrides writes into overrides what follows from their keys and from
// what the file left open: a chip whose ports are known reserves for all of them.
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

// settleFaults makes what lasts forever last to the end of the time axis.
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
