// Package layout says what a scenario makes of every node, port, cable and flow:
// the fabric with its overrides applied, and the traffic on it. Validation, building,
// ideal completion times and checks without a run all read the same layout.
package layout

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Layout is the fabric of a scenario. Errors of its methods name the key of the
// scenario that they come from.
type Layout struct {
	Config *scenario.Config
	Graph  *topo.Graph
	Kinds  [mmu.Classes]mmu.Kind
	Masks  map[string]packet.ClassMask // of each group of classes
	*Settings

	ends    [][]PortEnd    // see PortEnds
	tables  []*route.Table // see Tables
	frames  frameSizes
	fabric  *workload.Fabric
	islands []int // of each node: the island it is on
}

// New lays out a scenario whose classes exist on its Graph.
func New(cfg *scenario.Config, g *topo.Graph) (*Layout, error) {
	l := &Layout{Config: cfg, Graph: g}
	l.Kinds, l.Masks = Classes(cfg)
	var err error
	if l.Settings, err = newSettings(cfg, g); err != nil {
		return nil, err
	}
	l.frames = l.sizes()
	return l, nil
}

// SwitchAt returns how a switch is set up.
func (l *Layout) SwitchAt(node int) *Setting { return l.switches[node-l.Graph.Hosts] }

// PortAt returns how a port of a switch is set up.
func (l *Layout) PortAt(node, port int) *Setting { return l.ports[node-l.Graph.Hosts][port] }

// HostAt returns how a host is set up.
func (l *Layout) HostAt(node int) *HostSetting { return l.hosts[node] }

// RoutingAt returns how a switch routes.
func (l *Layout) RoutingAt(node int) *RouteSetting { return l.routing[node-l.Graph.Hosts] }

// Classes returns the kind of each class and the mask of each group.
func Classes(c *scenario.Config) (kinds [mmu.Classes]mmu.Kind, masks map[string]packet.ClassMask) {
	masks = make(map[string]packet.ClassMask)
	names := map[string]mmu.Kind{"control": mmu.Control, "lossless": mmu.Lossless, "lossy": mmu.Lossy}
	for name, group := range c.Classes {
		for _, id := range group.IDs {
			kinds[id] = names[group.Kind]
			masks[name] |= 1 << id
		}
	}
	return kinds, masks
}

// MaskOf returns the classes of some kinds.
func (l *Layout) MaskOf(want ...mmu.Kind) packet.ClassMask {
	mask := packet.ClassMask(0)
	for _, kind := range want {
		mask |= mmu.ClassesOf(l.Kinds, kind)
	}
	return mask
}

// seedOf derives the seed of an entity from the scenario's: every switch and
// router has its own stream.
func (l *Layout) seedOf(kind string, i int) uint64 {
	return workload.Stream(l.Config.Seed, fmt.Sprintf("%s/%d", kind, i)).Uint64()
}

// Host returns the node number of a host, -1 when there is none of that name.
func (l *Layout) Host(name string) int { return l.Graph.Host(name) }

// Link returns the index of a link, -1 when there is none of that name.
func (l *Layout) Link(name string) int {
	i, _ := l.Graph.LinkNamed(name)
	return i
}

// MinFrame is the smallest frame that any node sends, with the gap around it.
func (l *Layout) MinFrame() units.Bytes {
	least := packet.PFCSize
	if size := l.Config.Compat.PFCSize; size > 0 {
		least = size
	}
	for _, h := range l.Transports() {
		least = min(least, h.Ack.Size, h.Header+1)
	}
	return least + l.Config.Switch.WireOverhead
}

// Measured reports whether a flow that starts then counts in summaries.
func (l *Layout) Measured(start units.Time) bool {
	return l.Config.Run.Measure.From <= start && start < l.MeasuredUntil()
}

// MeasuredUntil is the end of the measurement window.
func (l *Layout) MeasuredUntil() units.Time {
	to := l.Config.Run.Measure.To
	if to == 0 {
		to = l.Config.Run.Arrivals
	}
	return max(to, l.Config.Run.Measure.From+1)
}

// checkGroup checks a group of classes that carries data.
func (l *Layout) checkGroup(path, group string) error {
	if err := yaml.OneOf(path, group, l.Config.GroupNames()...); err != nil {
		return err
	}
	if l.Config.Classes[group].Kind == "control" {
		_, others := l.Config.Groups()
		return yaml.Atf(path, "group %s is for control; allowed: %s", group, strings.Join(others, ", "))
	}
	return nil
}
