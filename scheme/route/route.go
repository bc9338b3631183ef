// Package route holds routing: by which port a frame leaves a switch.
package route

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
)

// Router chooses the egress port of frames at one switch.
type Router interface {
	// Route returns a port, or -1 when the destination cannot be reached.
	Route(p *packet.Packet) int
	// Replace installs new tables, after links changed.
	Replace(t *Table)
}

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

// New builds the router of one switch.
type New = func(t *Table, seed uint64) Router

// Routers is the table of all routers.
var Routers = registry.NewTable("routing",
	registry.Entry[New]{
		Name: "ecmp", Doc: "equal-cost paths by a seeded hash of the five-tuple", Promises: registry.InOrder, New: newECMP,
	},
	registry.Entry[New]{
		Name: "spray", Doc: "equal-cost paths in turn, packet by packet, per destination; replies apart from data", New: newSpray,
	},
	registry.Entry[New]{
		Name: "static", Doc: "the first of the equal-cost paths, whatever happens to links", Promises: registry.InOrder, New: newStatic,
	},
)

// pinned returns the port that a flow with routes of its own takes here.
func (t *Table) pinned(p *packet.Packet) (int, bool) {
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
