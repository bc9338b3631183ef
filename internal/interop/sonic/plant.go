package sonic

import (
	"fmt"
	"path"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

// Plant has the completed switches of a fabric and the cables between them.
type Plant struct {
	Switches []*Completed
	Wires    []Wire
}

// Name returns the name of a single switch, or "fabric" for several.
func (p *Plant) Name() string {
	if len(p.Switches) == 1 {
		return p.Switches[0].Name
	}
	return "fabric"
}

// Extra has the command line flags for what a switch configuration does not contain.
type Extra struct {
	Lookup string // pg_profile_lookup.ini for all switches; empty: the file next to each configuration
	Chip   string // NAME, or PATTERN=NAME separated by commas; empty: derived from the SKU
	Memory string // packet memory of the chip; empty: the known size
	Cables string // file that lists cables, instead of the neighbour tables
}

// ReadPlant reads and completes the configurations in files and folders.
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
	var cables []CableLine
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
		return 0, fmt.Errorf("--memory: %s is out of range (expected 64KiB to 1TB)", memory)
	}
	return memory, nil
}

// ChipChoices maps patterns of switch names to chips; the last match wins.
type ChipChoices []struct {
	pattern string
	chip    chips.Chip
}

// Choices parses flag --chip.
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
			return nil, fmt.Errorf("--chip: %q is not a valid pattern (expected a switch name with wildcards, such as leaf*)", pattern)
		}
		list = append(list, struct {
			pattern string
			chip    chips.Chip
		}{pattern, c})
	}
	return list, nil
}

// Of returns the chip chosen for a switch, or nil.
func (l ChipChoices) Of(name string) *chips.Chip {
	for i := len(l) - 1; i >= 0; i-- {
		if ok, _ := path.Match(l[i].pattern, name); ok {
			return &l[i].chip
		}
	}
	return nil
}

// Need is like Of, but returns an error if no chip was chosen.
func (l ChipChoices) Need(name string) (*chips.Chip, error) {
	if c := l.Of(name); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("the chip of %s is unknown; fix: set it with --chip NAME", name)
}

// chips returns the chip of every switch.
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
			return nil, fmt.Errorf("%s: the chip of hardware SKU %q, platform %q is unknown; fix: set it with --chip NAME (allowed: %s)", s.File, s.SKU, s.Platform, strings.Join(modelledNames(), ", "))
		}
		found = append(found, c)
	}
	return found, nil
}

// modelledNames returns the chips whose memory is known well enough.
func modelledNames() []string {
	var names []string
	for _, c := range chips.Modelled() {
		names = append(names, c.Name)
	}
	return names
}
