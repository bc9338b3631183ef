// Package route provides the routers by which switches choose the port of a frame. There is one
// file per scheme.
package route

import (
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Router selects the egress port of frames at one switch. Calls are in the order of events;
// now never decreases.
type Router interface {
	// Route returns the egress port of a frame that arrived by port in, or -1 if its
	// destination is unreachable. The packet is read-only.
	Route(now units.Time, in int, p *packet.Packet) int
	// Replace installs a new table after links changed.
	Replace(t *Table)
}

// Gapped is a router that keeps packets of a flow on one path while the time between them is
// at most a gap. A router that promises Flowlets must implement it.
type Gapped interface{ Gap() units.Time }

// Table has the next hops of one switch. Runs of the same topology share it read-only.
type Table struct {
	Homes  []Home            // by destination node; tables of one topology share it
	To     []Hops            // by edge
	Ports  []uint16          // egress ports, set by set
	Pinned map[uint32]uint16 // by PinKey: egress port of packets with the Pinned flag
}

// Home is where a destination is attached: its edge, a switch with hosts, and its slot among
// the hosts of that switch. All other switches reach the hosts of an edge by the same ports.
type Home uint32

// MakeHome returns the home of a host.
func MakeHome(edge, slot int) Home { return Home(edge<<homeShift | slot) }

const homeShift = packet.PortBits

// Hops is a set of equal-cost egress ports: Ports[At : At+Len]. At the edge itself it is one
// port per slot instead, with Len 1 and Slots set.
type Hops struct {
	At    uint32
	Len   uint16 // 0: unreachable
	Slots uint16 // mask of slots: 0 or EachSlot
}

// EachSlot is the mask of Hops with one port per slot.
const EachSlot = 1<<homeShift - 1

// NewTable returns a table for a number of nodes, all of them unreachable. Each destination is
// an edge of its own.
func NewTable(nodes int) *Table {
	t := &Table{Homes: make([]Home, nodes), To: make([]Hops, nodes)}
	for i := range t.Homes {
		t.Homes[i] = MakeHome(i, 0)
	}
	return t
}

// Add appends a set of ports.
func (t *Table) Add(ports ...uint16) Hops {
	t.Ports = append(t.Ports, ports...)
	return Hops{At: uint32(len(t.Ports) - len(ports)), Len: uint16(len(ports))}
}

// Set returns the egress ports that lead to a destination.
func (t *Table) Set(dst uint32) []uint16 {
	if int(dst) >= len(t.Homes) {
		return nil
	}
	home := t.Homes[dst]
	h := t.To[home>>homeShift]
	at := h.At + uint32(home)&uint32(h.Slots)
	return t.Ports[at : at+uint32(h.Len)]
}

// Env describes a switch to its router.
type Env struct {
	Table *Table
	View  mmu.View     // queue lengths of egress ports, see mmu.View.Egress
	Rates []units.Rate // rate of each port
	Seed  uint64       // seed of this switch, for hashes
	Rand  *rand.PCG    // random stream of this switch
}

// NewEnv returns the environment of a switch, with its own random stream.
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
		Name: "spray", Doc: "equal-cost paths in turn for each packet and destination; replies separate from data", New: newSpray,
	},
	registry.Entry[New]{
		Name: "static", Traits: registry.FirstPath, Doc: "the first of the equal-cost paths, even if links fail",
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

// Pin returns the port of a flow with pinned routes at this switch.
func (t *Table) Pin(p *packet.Packet) (int, bool) {
	if p.Flags&packet.Pinned == 0 {
		return 0, false
	}
	port, ok := t.Pinned[PinKey(p)]
	return int(port), ok
}

// PinKey returns the key of a packet in Table.Pinned. Data and replies of a flow have
// different keys, so they can be pinned to different routes.
func PinKey(p *packet.Packet) uint32 {
	if p.Kind() == packet.Data {
		return p.Flow << 1
	}
	return p.Flow<<1 | 1
}
