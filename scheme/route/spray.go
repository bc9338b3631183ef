package route

import "github.com/xoff-net/xoff/base/packet"

// spray sends the packets to a destination by each of the equal-cost ports in
// turn. Replies take turns of their own, so that they do not disturb the spread of
// data: an ACK for every packet would put all data on every second port.
type spray struct {
	table *Table
	turns []uint32 // by destination: of data, of what comes back for it
}

func newSpray(t *Table, seed uint64) Router {
	r := &spray{table: t, turns: make([]uint32, 2*len(t.To))}
	for i := range r.turns {
		// Destinations, and switches, do not begin in step.
		r.turns[i] = Mix(uint32(seed) ^ uint32(i))
	}
	return r
}

// Replace implements Router.
func (r *spray) Replace(t *Table) { r.table = t }

// Route implements Router.
func (r *spray) Route(p *packet.Packet) int {
	if port, ok := r.table.pinned(p); ok {
		return port
	}
	ports := r.table.Set(p.Dst)
	if len(ports) == 0 {
		return -1
	}
	turn := &r.turns[2*int(p.Dst)]
	if p.Kind() != packet.Data {
		turn = &r.turns[2*int(p.Dst)+1]
	}
	*turn++
	return int(ports[*turn%uint32(len(ports))])
}

// static takes the first of the equal-cost ports and never learns of changes,
// which is how routing loops and cyclic dependencies are constructed.
type static struct{ table *Table }

func newStatic(t *Table, _ uint64) Router { return &static{table: t} }

// Replace implements Router: static routes stay.
func (r *static) Replace(*Table) {}

// Route implements Router.
func (r *static) Route(p *packet.Packet) int {
	if port, ok := r.table.pinned(p); ok {
		return port
	}
	ports := r.table.Set(p.Dst)
	if len(ports) == 0 {
		return -1
	}
	return int(ports[0])
}
