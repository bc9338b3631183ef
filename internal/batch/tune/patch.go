package tune

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
)

// node is a part of a patch: a value, or keys below it.
type node struct {
	key, value string
	below      []*node
}

// WritePatch writes the changes as keys of a scenario. Keys of list items, which a patch cannot
// name, are comments.
func (a *Answer) WritePatch(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Changes of %s: %s.\n", a.Scenario, a.Message)
	root := &node{}
	for _, set := range a.Set {
		key, value, _ := strings.Cut(set, "=")
		steps, ok := yaml.SplitPath(key)
		at := root
		for _, s := range steps {
			if ok = ok && s.Index < 0; !ok {
				break
			}
			at = at.child(s.Key)
		}
		if !ok {
			fmt.Fprintf(&out, "# --set %s\n", set)
			continue
		}
		at.value = value
	}
	root.write(&out, "")
	_, err := w.Write(out.Bytes())
	return err
}

// child returns the part with a key, which it adds if necessary.
func (n *node) child(key string) *node {
	for _, c := range n.below {
		if c.key == key {
			return c
		}
	}
	c := &node{key: key}
	n.below = append(n.below, c)
	return c
}

func (n *node) write(out *bytes.Buffer, indent string) {
	for _, c := range n.below {
		if len(c.below) == 0 {
			if c.value != "" {
				fmt.Fprintf(out, "%s%s: %s\n", indent, c.key, c.value)
			}
			continue
		}
		fmt.Fprintf(out, "%s%s:\n", indent, c.key)
		c.write(out, indent+"  ")
	}
}

// SwitchPatches returns a JSON patch (RFC 6902) of config_db.json for every switch that the best
// setting changes. Chip returns the chip of a switch. Scenarios without a counterpart in SONiC
// are an error.
func (a *Answer) SwitchPatches(chip func(name string) (*chips.Chip, error)) ([]convert.File, error) {
	var sides [2][]convert.File
	for i, setting := range [][]int{nil, a.best} {
		l, err := a.study.layout(setting)
		if err != nil {
			return nil, err
		}
		if sides[i], _, err = convert.Configurations(l, chip); err != nil {
			return nil, err
		}
	}
	return convert.Patches(sides[0], sides[1])
}

// layout lays a setting out.
func (s *Study) layout(setting []int) (*layout.Layout, error) {
	cfg, err := s.config(setting)
	if err != nil {
		return nil, err
	}
	plan, err := fabric.NewPlan(cfg)
	if err != nil {
		return nil, err
	}
	return plan.Layout, nil
}

// CheckSwitches returns an error if today's setting has no counterpart in SONiC.
func (s *Study) CheckSwitches(chip func(name string) (*chips.Chip, error)) error {
	l, err := s.layout(nil)
	if err == nil {
		_, _, err = convert.Configurations(l, chip)
	}
	return err
}
