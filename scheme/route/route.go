// Package route holds routing: by which port a frame leaves a switch. One file per
// scheme.
package route

import (
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Router chooses the egress port of frames at one switch. Calls come in the order of
// events; now never decreases.
type Router interface {
	// Route returns the port by which a frame leaves that came in by port in, or -1
	// when its destination cannot be reached. The packet is read-only.
	Route(now units.Time, in int, p *packet.Packet) int
	// Replace installs new tables, after links changed.
	Replace(t *Table)
}

// Gapped is a router that keeps packets of a flow on one path as long as none of them
// comes later than a gap after the one before it. Promising Flowlets takes one.
type Gapped interface{ Gap() units.Time }

// Table holds the next hops of one switch, shared read-only between runs of the
// same topology.
type Table struct {
	To     []uint16          // by destination node: which of the sets leads there; small, because every frame looks
	Sets   []Hops            // of equally good egress ports; number 0 is empty: unreachable
	Ports  []uint16          // egress ports, set by set
	Pinned map[uint32]uint16 // by flow: egress port of packets with the Pinned flag
}

// Hops is a set of equally good egress ports: Ports[At : At+Len].
type Hops struct {
	At  uint32
	Len uint32
}

// NewTable returns a table of a number of nodes, none of which can be reached.
func NewTable(nodes int) *Table {
	return &Table{To: make([]uint16, nodes), Sets: make([]Hops, 1)}
}

// Add appends a set of ports and returns its number.
func (t *Table) Add(ports ...uint16) uint16 {
	t.Sets = append(t.Sets, Hops{At: uint32(len(t.Ports)), Len: uint32(len(ports))})
	t.Ports = append(t.Ports, ports...)
	return uint16(len(t.Sets) - 1)
}

// Set returns the egress ports that lead to a destination.
func (t *Table) Set(dst uint16) []uint16 {
	if int(dst) >= len(t.To) {
		return nil
	}
	h := t.Sets[t.To[dst]]
	return t.Ports[h.At : h.At+h.Len]
}

// Env is what a router may know about its switch.
type Env struct {
	Table *Table
	View  mmu.View     // what waits at each egress port, see mmu.View.Egress
	Rates []units.Rate // of each port
	Seed  uint64       // of this switch, for hashes
	Rand  *rand.PCG    // its own stream
}

// NewEnv returns the environment of a switch with its own random stream.
func NewEnv(t *Table, v mmu.View, rates []units.Rate, seed uint64) Env {
	return Env{t, v, rates, seed, rand.NewPCG(seed, 1)}
}

// New builds the router of one switch.
type New = func(params any, env Env) (Router, error)

// Routers is the table of all routers.
var Routers = registry.NewTable("routing",
	registry.Entry[New]{
		Name: "ecmp", Doc: "equal-cost paths by a seeded hash of the five-tuple", Promises: registry.InOrder, New: newECMP,
	},
	registry.Entry[New]{
		Name: "spray", Doc: "equal-cost paths in turn, packet by packet, per destination; replies apart from data", New: newSpray,
	},
	registry.Entry[New]{
		Name: "static", Traits: registry.FirstPath, Doc: "the first of the equal-cost paths, whatever happens to links",
		Promises: registry.InOrder, New: newStatic,
	},
	registry.Entry[New]{
		Name: "flowlet", Doc: "a random one of the equal-cost paths for each burst of a flow",
		Paper: "Vanini et al., NSDI 2017 (LetFlow)", Promises: registry.Flowlets,
		Params: defaultFlowlet, New: newFlowlet,
	},
	registry.Entry[New]{
		Name: "adaptive", Doc: "the least loaded of the equal-cost ports for each burst of a flow",
		Paper: "Alizadeh et al., SIGCOMM 2014 (CONGA, local part)", Promises: registry.Flowlets,
		Params: defaultFlowlet, New: newAdaptive,
	},
)

// Pin returns the port that a flow with routes of its own takes here.
func (t *Table) Pin(p *packet.Packet) (int, bool) {
	if p.Flags&packet.Pinned == 0 {
		return 0, false
	}
	port, ok := t.Pinned[PinKey(p)]
	return int(port), ok
}

// PinKey names a direction of a flow in Table.Pinned: data frames and what
// comes back for them can be pinned to different routes.
func PinKey(p *packet.Packet) uint32 {
	if p.Kind() == packet.Data {
		return p.Flow << 1
	}
	return p.Flow<<1 | 1
}
