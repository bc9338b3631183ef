package route

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// spray sends the packets to a destination by each of the equal-cost ports in turn. Replies
// take separate turns: otherwise an ACK for every packet would put all data on every second
// port.
type spray struct {
	table *Table
	turns []uint32 // by destination: turn of data, turn of replies
}

func newSpray(_ any, env Env) (Router, error) {
	r := &spray{table: env.Table, turns: make([]uint32, 2*len(env.Table.Homes))}
	for i := range r.turns {
		// Destinations and switches start at different ports.
		r.turns[i] = Mix(uint32(env.Seed) ^ uint32(i))
	}
	return r, nil
}

// Replace implements Router.
func (r *spray) Replace(t *Table) { r.table = t }

// Route implements Router.
func (r *spray) Route(_ units.Time, _ int, p *packet.Packet) int {
	if port, ok := r.table.Pin(p); ok {
		return port
	}
	ports := r.table.Set(p.Dst())
	if len(ports) == 0 {
		return -1
	}
	turn := &r.turns[2*int(p.Dst())]
	if p.Kind() != packet.Data {
		turn = &r.turns[2*int(p.Dst())+1]
	}
	*turn++
	return int(ports[*turn%uint32(len(ports))])
}
