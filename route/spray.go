package route

import "github.com/xoff-net/xoff/packet"

// spray sends each packet by the next of the equal-cost ports.
type spray struct {
	table *Table
	next  uint32
}

func newSpray(t *Table, seed uint64) Router { return &spray{table: t, next: uint32(seed)} }

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
	r.next++
	return int(ports[uint64(r.next)%uint64(len(ports))])
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
