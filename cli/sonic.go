package cli

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/chips"
	"github.com/xoff-net/xoff/internal/sonic"
)

// sonicFlags say what the configuration of a switch does not.
type sonicFlags struct {
	lookup, chip, memory, cables string
}

func (f *sonicFlags) register(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.lookup, "lookup", "", "pg_profile_lookup.ini `FILE` of the switches (default: the one beside each configuration)")
	s.StringVar(&f.chip, "chip", "", "chip of switches whose SKU does not tell: `NAME`, or PATTERN=NAME with commas (see docs/sonic.md)")
	s.StringVar(&f.memory, "memory", "", "packet memory `SIZE` of a chip for which it is not known, such as 32MiB")
	s.StringVar(&f.cables, "cables", "", "`FILE` with lines switch,port,switch,port[,length] instead of tables of neighbours")
}

// given names the first of the flags that was given; empty: none.
func (f *sonicFlags) given() string {
	for _, x := range []struct{ name, value string }{{"lookup", f.lookup}, {"chip", f.chip}, {"memory", f.memory}, {"cables", f.cables}} {
		if x.value != "" {
			return "--" + x.name
		}
	}
	return ""
}

// ofSwitches tells whether arguments are configurations of switches: JSON files,
// or folders.
func ofSwitches(args []string) bool {
	for _, name := range args {
		if info, err := os.Stat(name); strings.HasSuffix(name, ".json") || err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// plant are switches, completed, and the cables between them.
type plant struct {
	switches []*sonic.Completed
	wires    []sonic.Wire
}

// read reads configurations and completes them.
func (f *sonicFlags) read(paths []string) (*plant, error) {
	sources, err := sonic.Read(paths)
	if err != nil {
		return nil, err
	}
	var lookup *sonic.Lookup
	if f.lookup != "" {
		if lookup, err = sonic.ReadLookup(f.lookup); err != nil {
			return nil, err
		}
	}
	memory, err := f.memoryOf()
	if err != nil {
		return nil, err
	}
	chosen, err := f.chips(sources)
	if err != nil {
		return nil, err
	}
	p := &plant{}
	var list []*sonic.Switch
	for i, s := range sources {
		own := s.Lookup
		if lookup != nil {
			own = lookup
		}
		p.switches = append(p.switches, sonic.Complete(s.Switch, chosen[i], own, memory))
		list = append(list, s.Switch)
	}
	var cables []sonic.Cabled
	if f.cables != "" {
		if cables, err = sonic.ReadCables(f.cables); err != nil {
			return nil, err
		}
	}
	p.wires, err = sonic.Wires(list, cables)
	return p, err
}

func (f *sonicFlags) memoryOf() (units.Bytes, error) {
	if f.memory == "" {
		return 0, nil
	}
	memory, err := units.ParseBytes(f.memory)
	switch {
	case err != nil:
		return 0, fmt.Errorf("--memory: %w", err)
	case memory < 64*units.KiB || memory > 1<<40:
		return 0, fmt.Errorf("--memory: %s is out of range; allowed: 64KiB to 1TB", memory)
	}
	return memory, nil
}

// chipChoices are chips by patterns of switches.
type chipChoices []struct {
	pattern string
	chip    chips.Chip
}

// choices reads --chip.
func (f *sonicFlags) choices() (chipChoices, error) {
	var list chipChoices
	for _, word := range strings.Split(f.chip, ",") {
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

// of returns the chip that was said of a switch; nil: none.
func (l chipChoices) of(name string) *chips.Chip {
	for i := len(l) - 1; i >= 0; i-- {
		if ok, _ := path.Match(l[i].pattern, name); ok {
			return &l[i].chip
		}
	}
	return nil
}

// chips finds the chip of every switch. One that is not known is asked for.
func (f *sonicFlags) chips(list []*sonic.Source) ([]*chips.Chip, error) {
	choices, err := f.choices()
	if err != nil {
		return nil, err
	}
	var found []*chips.Chip
	for _, s := range list {
		c := choices.of(s.Name)
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
