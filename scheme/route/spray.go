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
	seed  uint32
	turns []*turns // by destination, in chunks: hosts that get nothing here need no memory
}

// turns has the next port of data and of replies for each of 64 destinations.
type turns [64][2]uint32

func newSpray(_ any, env Env) (Router, error) {
	return &spray{table: env.Table, seed: uint32(env.Seed), turns: make([]*turns, (len(env.Table.Homes)+63)/64)}, nil
}

// chunk returns a new chunk of turns.
func (r *spray) chunk(i int) *turns {
	c := new(turns)
	for k := range c {
		// Destinations and switches start at different ports.
		at := 2 * uint32(len(c)*i+k)
		c[k] = [2]uint32{Mix(r.seed ^ at), Mix(r.seed ^ (at + 1))}
	}
	r.turns[i] = c
	return c
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
	c := r.turns[p.Dst()/64]
	if c == nil {
		c = r.chunk(int(p.Dst() / 64))
	}
	turn := &c[p.Dst()%64][0]
	if p.Kind() != packet.Data {
		turn = &c[p.Dst()%64][1]
	}
	*turn++
	return int(ports[*turn%uint32(len(ports))])
}
