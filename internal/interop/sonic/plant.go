package sonic

import (
	"fmt"
	"path"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

// Plant is the switches of a fabric, completed, and the cables between them.
type Plant struct {
	Switches []*Completed
	Wires    []Wire
}

// Name is the name of the only switch, or the name of a fabric of several.
func (p *Plant) Name() string {
	if len(p.Switches) == 1 {
		return p.Switches[0].Name
	}
	return "fabric"
}

// Extra is what the configuration of a switch does not tell, as the command line gives it.
type Extra struct {
	Lookup string // pg_profile_lookup.ini for all switches; empty: the one beside each configuration
	Chip   string // NAME, or PATTERN=NAME with commas; empty: the SKU tells
	Memory string // packet memory of a chip for which it is not known
	Cables string // file with cables, instead of tables of neighbours
}

// ReadPlant reads configurations and completes them.
func ReadPlant(paths []string, x *Extra) (*Plant, error) {
	sources, err := Read(paths)
	if err != nil {
		return nil, err
	}
	var lookup *Lookup
	if x.Lookup != "" {
		if lookup, err = ReadLookup(x.Lookup); err != nil {
			return nil, err
		}
	}
	memory, err := x.memory()
	if err != nil {
		return nil, err
	}
	chosen, err := x.chips(sources)
	if err != nil {
		return nil, err
	}
	p := &Plant{}
	var list []*Switch
	for i, s := range sources {
		own := s.Lookup
		if lookup != nil {
			own = lookup
		}
		p.Switches = append(p.Switches, Complete(s.Switch, chosen[i], own, memory))
		list = append(list, s.Switch)
	}
	var cables []Cabled
	if x.Cables != "" {
		if cables, err = ReadCables(x.Cables); err != nil {
			return nil, err
		}
	}
	p.Wires, err = Wires(list, cables)
	return p, err
}

func (x *Extra) memory() (units.Bytes, error) {
	if x.Memory == "" {
		return 0, nil
	}
	memory, err := units.ParseBytes(x.Memory)
	switch {
	case err != nil:
		return 0, fmt.Errorf("--memory: %w", err)
	case memory < 64*units.KiB || memory > 1<<40:
		return 0, fmt.Errorf("--memory: %s is out of range; allowed: 64KiB to 1TB", memory)
	}
	return memory, nil
}

// ChipChoices are chips by patterns of switches; the last that matches counts.
type ChipChoices []struct {
	pattern string
	chip    chips.Chip
}

// Choices reads the chips of switches.
func (x *Extra) Choices() (ChipChoices, error) {
	var list ChipChoices
	for _, word := range strings.Split(x.Chip, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		pattern, name, ok := strings.Cut(word, "=")
		if !ok {
			pattern, name = "*", word
		}
		c, err := chips.ModelledNamed(name)
		if err != nil {
			return nil, fmt.Errorf("--chip: %w", err)
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("--chip: %q is no pattern of switches", pattern)
		}
		list = append(list, struct {
			pattern string
			chip    chips.Chip
		}{pattern, c})
	}
	return list, nil
}

// Of returns the chip of a switch; nil: none was chosen.
func (l ChipChoices) Of(name string) *chips.Chip {
	for i := len(l) - 1; i >= 0; i-- {
		if ok, _ := path.Match(l[i].pattern, name); ok {
			return &l[i].chip
		}
	}
	return nil
}

// Need is Of, with an error for a switch without a chip.
func (l ChipChoices) Need(name string) (*chips.Chip, error) {
	if c := l.Of(name); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("the chip of %s is not known; say it: --chip NAME", name)
}

// chips finds the chip of every switch.
func (x *Extra) chips(list []*Source) ([]*chips.Chip, error) {
	choices, err := x.Choices()
	if err != nil {
		return nil, err
	}
	var found []*chips.Chip
	for _, s := range list {
		c := choices.Of(s.Name)
		if known, ok := chips.Of(s.SKU, s.Platform); c == nil && ok {
			c = &known
		}
		if c == nil {
			return nil, fmt.Errorf("%s: the chip of hardware SKU %q, platform %q is not known; say it: --chip NAME; allowed: %s", s.File, s.SKU, s.Platform, strings.Join(modelledNames(), ", "))
		}
		found = append(found, c)
	}
	return found, nil
}

// modelledNames are chips of which a configuration can be judged.
func modelledNames() []string {
	var names []string
	for _, c := range chips.Modelled() {
		names = append(names, c.Name)
	}
	return names
}
