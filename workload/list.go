package workload

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// List is an explicit list of flows.
type List struct {
	Flows []FlowSpec `yaml:"flows" doc:"list of flows"`
}

// FlowSpec is one flow of an explicit list.
type FlowSpec struct {
	From  string      `yaml:"from" doc:"source host"`
	To    string      `yaml:"to" doc:"destination host"`
	Size  units.Bytes `yaml:"size" doc:"payload of the flow"`
	Start units.Time  `yaml:"start" doc:"start time; the earliest one if it waits for others"`
	Class string      `yaml:"class,omitempty" doc:"class id or group; default: the class of the workload"`
	Via   []string    `yaml:"via,omitempty" doc:"route of the data: switches in order, or the ports by which it leaves them (leaf0.port3); default: routing"`
	Back  []string    `yaml:"back,omitempty" doc:"route of the replies, starting at the receiver's switch"`
	After []int       `yaml:"after,omitempty" doc:"flows of the list, counted from 0, that must be complete first"`
	Delay units.Time  `yaml:"delay,omitempty" doc:"delay after the completion of the last of them"`
}

// Uses implements Generator.
func (g *List) Uses() Uses { return Uses{} }

// Check implements Generator.
func (g *List) Check(e *Env) (float64, error) {
	_, err := g.plan(e)
	return float64(len(g.Flows)), err
}

// Generate implements Generator.
func (g *List) Generate(e *Env) (*Plan, error) {
	p, err := g.plan(e)
	if err != nil {
		return nil, err
	}
	for i := range p.Flows {
		if g.Flows[i].Class == "" {
			p.Flows[i].Class = e.Classes.Next()
		}
		p.Flows[i].Hash = e.hash()
	}
	return p, nil
}

// plan checks the list and makes the plan, without drawing random numbers.
func (g *List) plan(e *Env) (*Plan, error) {
	if len(g.Flows) == 0 {
		return nil, keyf("flows", "the list is empty (expected at least one flow)")
	}
	p := &Plan{}
	for i := range g.Flows {
		f := &g.Flows[i]
		key := fmt.Sprintf("flows[%d]", i)
		src, dst, err := e.ends(key+".from", f.From, key+".to", f.To)
		if err = first(err, e.checkSize(key+".size", f.Size), e.checkStart(key+".start", f.Start)); err != nil {
			return nil, err
		}
		w := Flow{Start: f.Start, Size: f.Size, Src: src, Dst: dst, Group: -1}
		if f.Class != "" {
			if w.Class, err = e.Class(f.Class); err != nil {
				return nil, &KeyError{key + ".class", err}
			}
		}
		p.add(w)
		if err := p.pin(e, key, f.Via, f.Back); err != nil {
			return nil, err
		}
		switch {
		case len(f.After) > 0:
			if err := e.checkSpan(key+".delay", f.Delay); err != nil {
				return nil, err
			}
			on := make([]int32, len(f.After))
			for k, a := range f.After {
				if a < 0 || a >= len(g.Flows) {
					return nil, keyf(key+".after", "flow %d waits for flow %d (expected another of the flows 0 to %d)", i, a, len(g.Flows)-1)
				}
				on[k] = int32(a)
			}
			p.wait(f.Delay, 0, on...)
		case f.Delay != 0:
			return nil, keyf(key+".delay", "delay without after (expected after as well)")
		}
	}
	blame := "flows"
	err := p.checkWaits(func(flow int32) string {
		blame = fmt.Sprintf("flows[%d].after", flow)
		return fmt.Sprintf("flow %d", flow)
	})
	if err != nil {
		return nil, &KeyError{blame, err}
	}
	return p, nil
}

// ends looks up the two hosts of a flow.
func (e *Env) ends(fromKey, from, toKey, to string) (src, dst int32, err error) {
	src, ok := e.Host(from)
	if !ok {
		return 0, 0, keyf(fromKey, "there is no host %q (allowed: %s)", from, e.hostNames())
	}
	dst, ok = e.Host(to)
	switch {
	case !ok:
		return 0, 0, keyf(toKey, "there is no host %q (allowed: %s)", to, e.hostNames())
	case src == dst:
		return 0, 0, keyf(toKey, "%s sends to itself (expected two different hosts)", to)
	case !e.Reachable(src, dst):
		return 0, 0, e.unreachable(src, dst, keyf(toKey, "%s cannot be reached from %s: no path exists, or its links are always down (expected connected hosts)", to, from))
	}
	return src, dst, nil
}

// hostNames describes the existing hosts for messages.
func (e *Env) hostNames() string {
	n := e.Fabric.Names
	if len(n) <= 3 {
		return strings.Join(n, ", ")
	}
	return n[0] + " to " + n[len(n)-1]
}
