// Package layout expands a scenario: it applies overrides and returns the settings of every
// node, port and link, and all flows. Validation, fabric, ideal FCTs and `xoff check` use the
// same layout.
package layout

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/job"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Layout is an expanded scenario. Errors of its methods name the key of the scenario that
// caused them.
type Layout struct {
	Config *scenario.Config
	Graph  *topo.Graph
	Kinds  [mmu.Classes]mmu.Kind
	Masks  map[string]packet.ClassMask // by group: its classes
	*Settings

	ends    [][]PortEnd    // see PortEnds
	tables  []*route.Table // see Tables
	frames  frameSizes
	fabric  *workload.Fabric
	islands []int // by node: its island, see findIslands
	gpus    []workload.GPU
	scaleUp job.ScaleUp
	placed  [][]int32 // by workload: GPUs of its ranks, see placement; nil: not a job
}

// New lays out a scenario on its graph. The classes must be valid.
func New(cfg *scenario.Config, g *topo.Graph) (*Layout, error) {
	l := &Layout{Config: cfg, Graph: g}
	l.Kinds, l.Masks = Classes(cfg)
	var err error
	if l.Settings, err = newSettings(cfg, g); err != nil {
		return nil, err
	}
	l.frames = l.sizes()
	l.gpus, l.scaleUp, err = l.servers()
	return l, err
}

// SwitchAt returns the setting of a switch.
func (l *Layout) SwitchAt(node int) *Setting { return l.switches[node-l.Graph.Hosts] }

// PortAt returns the setting of a switch port.
func (l *Layout) PortAt(node, port int) *Setting { return l.ports[node-l.Graph.Hosts][port] }

// HostAt returns the setting of a host.
func (l *Layout) HostAt(node int) *HostSetting { return l.hosts[node] }

// RoutingAt returns the routing setting of a switch.
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

// MaskOf returns the classes of the given kinds.
func (l *Layout) MaskOf(want ...mmu.Kind) packet.ClassMask {
	mask := packet.ClassMask(0)
	for _, kind := range want {
		mask |= mmu.ClassesOf(l.Kinds, kind)
	}
	return mask
}

// seedOf derives the seed of a switch or router from the seed of the scenario.
func (l *Layout) seedOf(kind string, i int) uint64 {
	return workload.Stream(l.Config.Seed, fmt.Sprintf("%s/%d", kind, i)).Uint64()
}

// Host returns the node number of a host, or -1.
func (l *Layout) Host(name string) int { return l.Graph.Host(name) }

// Link returns the index of a link by its name, or -1.
func (l *Layout) Link(name string) int {
	i, _ := l.Graph.LinkNamed(name)
	return i
}

// MinFrame returns the smallest frame that any node sends, including the wire overhead.
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

// Measured reports whether a flow with this start time is included in summaries.
func (l *Layout) Measured(start units.Time) bool {
	return l.Config.Run.Measure.From <= start && start < l.MeasuredUntil()
}

// MeasuredUntil returns the end of the measurement window.
func (l *Layout) MeasuredUntil() units.Time {
	to := l.Config.Run.Measure.To
	if to == 0 {
		to = l.Config.Run.Arrivals
	}
	return max(to, l.Config.Run.Measure.From+1)
}

// checkGroup checks that a group exists and carries data.
func (l *Layout) checkGroup(path, group string) error {
	if err := yaml.OneOf(path, group, l.Config.GroupNames()...); err != nil {
		return err
	}
	if l.Config.Classes[group].Kind == "control" {
		_, others := l.Config.Groups()
		return yaml.Atf(path, "group %s is of kind control (allowed: %s)", group, strings.Join(others, ", "))
	}
	return nil
}
