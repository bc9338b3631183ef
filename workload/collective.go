package workload

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/units"
)

// Collective has the parameters of collective operations. The hosts of `from` are the ranks.
// A rank sends as soon as it has received the data it must send, so steps can overlap.
type Collective struct {
	Size   units.Bytes `yaml:"size" doc:"bytes of data per rank"`
	Ranks  int         `yaml:"ranks,omitempty" doc:"ranks per operation: the hosts are divided into operations of this size; 0: one operation"`
	Order  string      `yaml:"order" doc:"hosts: as listed; across_racks: one host of each rack in turn"`
	Repeat int         `yaml:"repeat" doc:"number of operations, one after the other"`
	Gap    units.Time  `yaml:"gap,omitempty" doc:"compute time of a rank before the next operation"`
}

var collectiveUses = Uses{From: true, Start: true}

// check returns the number of ranks per operation and of concurrent operations.
func (c *Collective) check(e *Env) (ranks, teams int, err error) {
	ranks = c.Ranks
	if ranks == 0 {
		ranks = len(e.From)
	}
	err = first(
		e.checkSize("size", c.Size), checkCount("repeat", c.Repeat, 1, maxRepeat), e.checkSpan("gap", c.Gap),
		checkCount("ranks", ranks, 2, max(2, len(e.From))),
	)
	switch {
	case err != nil:
	case c.Order != "hosts" && c.Order != "across_racks":
		err = keyf("order", "%q is unknown (allowed: hosts, across_racks)", c.Order)
	case len(e.From)%ranks != 0:
		err = keyf("ranks", "%d hosts cannot be divided into operations of %d (expected a divisor of the number of hosts)", len(e.From), ranks)
	}
	return ranks, len(e.From) / ranks, err
}

// ordered returns the hosts in rank order.
func (c *Collective) ordered(e *Env) []int32 {
	if c.Order == "hosts" {
		return e.From
	}
	byRack := map[int][]int32{}
	var racks []int // in order of appearance
	for _, h := range e.From {
		k := e.Fabric.Rack[h]
		if byRack[k] == nil {
			racks = append(racks, k)
		}
		byRack[k] = append(byRack[k], h)
	}
	var out []int32
	for i := 0; len(out) < len(e.From); i++ {
		for _, k := range racks {
			if i < len(byRack[k]) {
				out = append(out, byRack[k][i])
			}
		}
	}
	return out
}

// run makes the operations of each team, one after the other. check returns the number of
// flows. operate adds the flows of one operation and records in received which flows each rank
// gets.
func (c *Collective) run(e *Env, check func(*Env) (float64, error), operate func(o *operation)) (*Plan, error) {
	flows, err := check(e)
	if err != nil {
		return nil, err
	}
	ranks, teams, err := c.check(e)
	if err != nil {
		return nil, err
	}
	p := &Plan{Flows: make([]Flow, 0, int(flows)), Waits: make([]Wait, 0, int(flows))}
	hosts := c.ordered(e)
	for t := range teams {
		o := &operation{
			env: e, plan: p, hosts: hosts[t*ranks : (t+1)*ranks], class: e.Classes.Next(), hashes: make(map[[2]int]uint32),
			received: make([][]int32, ranks), before: make([][]int32, ranks), size: c.Size, gap: c.Gap,
			last: make([]connection, ranks),
		}
		for k := range c.Repeat {
			o.group = int32(t*c.Repeat + k)
			operate(o)
			// A rank starts the next operation when it has received everything.
			o.received, o.before = make([][]int32, ranks), o.received
		}
	}
	return p, nil
}

// operation is a collective operation under construction.
type operation struct {
	env      *Env
	plan     *Plan
	hosts    []int32 // by rank
	class    uint8
	group    int32
	size     units.Bytes
	gap      units.Time
	hashes   map[[2]int]uint32 // ECMP hashes of the connections between ranks
	received [][]int32         // by rank: flows to it, in step order
	before   [][]int32         // received of the previous operation
	memory   []int32           // for the lists of Wait.On
	last     []connection      // by rank: of its last flow
}

// connection is a connection to a rank.
type connection struct {
	to   int
	hash uint32
	used bool
}

// send adds a flow that waits for the flows on of this operation. Without any, it is a first
// step and waits for the whole previous operation.
func (o *operation) send(from, to int, size units.Bytes, on ...int32) int32 {
	c := &o.last[from] // a ring has one connection per rank
	if !c.used || c.to != to {
		hash, ok := o.hashes[[2]int{from, to}]
		if !ok {
			hash = o.env.hash()
			o.hashes[[2]int{from, to}] = hash
		}
		*c = connection{to, hash, true}
	}
	i := o.plan.add(Flow{Start: o.env.Start, Src: o.hosts[from], Dst: o.hosts[to], Size: size, Class: o.class, Group: o.group, Hash: c.hash})
	switch {
	case len(on) > 0:
		o.plan.wait(0, 0, o.keep(on)...)
	case len(o.before[from]) > 0:
		o.plan.wait(o.gap, 0, o.before[from]...)
	}
	o.received[to] = append(o.received[to], i)
	return i
}

// keep copies a list that is mostly one flow, without an allocation for each.
func (o *operation) keep(on []int32) []int32 {
	at := len(o.memory)
	if at+len(on) > cap(o.memory) {
		o.memory, at = make([]int32, 0, max(1<<12, len(on))), 0
	}
	o.memory = append(o.memory, on...)
	return o.memory[at:len(o.memory):len(o.memory)]
}

// part returns the size of piece i of n.
func part(size units.Bytes, i, n int) units.Bytes {
	p := size / units.Bytes(n)
	if units.Bytes(i) < size%units.Bytes(n) {
		p++
	}
	return p
}

// RingAllReduce sums data over all ranks. In each of 2 (n - 1) steps a rank sends the piece
// it received last, 1/n of the data, to the next rank.
type RingAllReduce Collective

// Uses implements Generator.
func (g *RingAllReduce) Uses() Uses { return collectiveUses }

// Check implements Generator.
func (g *RingAllReduce) Check(e *Env) (float64, error) {
	n, teams, err := (*Collective)(g).check(e)
	if err == nil && g.Size < units.Bytes(n) {
		err = keyf("size", "%s in %d pieces leaves empty pieces (expected at least a byte for each rank)", g.Size, n)
	}
	return float64(2*(n-1)) * float64(n) * float64(teams) * float64(g.Repeat), err
}

// Generate implements Generator.
func (g *RingAllReduce) Generate(e *Env) (*Plan, error) {
	return (*Collective)(g).run(e, g.Check, func(o *operation) {
		n := len(o.hosts)
		last := make([]int32, n) // by rank: the last flow to it
		for step := range 2 * (n - 1) {
			now := make([]int32, n)
			for i := range n {
				piece := part(g.Size, ((i-step)%n+n)%n, n)
				to := (i + 1) % n
				if step == 0 {
					now[to] = o.send(i, to, piece)
				} else {
					now[to] = o.send(i, to, piece, last[i])
				}
			}
			last = now
		}
	})
}

// HalvingDoubling sums data over a power of two of ranks: log2 n exchanges of half of the
// remaining data with ever nearer ranks, then the same in reverse.
type HalvingDoubling Collective

// Uses implements Generator.
func (g *HalvingDoubling) Uses() Uses { return collectiveUses }

// Check implements Generator.
func (g *HalvingDoubling) Check(e *Env) (float64, error) {
	n, teams, err := (*Collective)(g).check(e)
	switch {
	case err != nil:
	case n&(n-1) != 0:
		err = keyf("ranks", "%d is not a power of two (expected a power of two, at least 2)", n)
	case g.Size < units.Bytes(n):
		err = keyf("size", "%s in %d pieces leaves empty pieces (expected at least a byte for each rank)", g.Size, n)
	}
	return 2 * float64(bits.Len(uint(n))-1) * float64(n) * float64(teams) * float64(g.Repeat), err
}

// Generate implements Generator.
func (g *HalvingDoubling) Generate(e *Env) (*Plan, error) {
	return (*Collective)(g).run(e, g.Check, func(o *operation) {
		n := len(o.hosts)
		lo, hi := make([]units.Bytes, n), make([]units.Bytes, n) // range of data that a rank reduces
		for i := range hi {
			hi[i] = g.Size
		}
		// A rank needs all messages of earlier steps: one of a later step may arrive before one
		// of an earlier step.
		exchange := func(distance int, size func(i int) units.Bytes) {
			needs := make([][]int32, n)
			for i := range n {
				needs[i] = append([]int32(nil), o.received[i]...)
			}
			for i := range n {
				o.send(i, i^distance, size(i), needs[i]...)
			}
		}
		for d := n / 2; d > 0; d /= 2 {
			exchange(d, func(i int) units.Bytes {
				middle := (lo[i] + hi[i]) / 2
				if i&d == 0 {
					return hi[i] - middle
				}
				return middle - lo[i]
			})
			for i := range n {
				middle := (lo[i] + hi[i]) / 2
				if i&d == 0 {
					hi[i] = middle
				} else {
					lo[i] = middle
				}
			}
		}
		for d := 1; d < n; d *= 2 {
			exchange(d, func(i int) units.Bytes { return hi[i] - lo[i] })
			for i := range n {
				if i&d == 0 {
					hi[i], lo[i^d] = hi[i^d], lo[i]
				}
			}
		}
	})
}

// AllToAll lets every rank send a different piece to every other rank: in step s to rank
// i + s, so each rank receives from one rank at a time.
type AllToAll struct {
	Size     units.Bytes `yaml:"size" doc:"bytes that a rank sends to all others together"`
	Ranks    int         `yaml:"ranks,omitempty" doc:"ranks per operation: the hosts are divided into operations of this size; 0: one operation"`
	Order    string      `yaml:"order" doc:"hosts: as listed; across_racks: one host of each rack in turn"`
	Repeat   int         `yaml:"repeat" doc:"number of operations, one after the other"`
	Gap      units.Time  `yaml:"gap,omitempty" doc:"compute time of a rank before the next operation"`
	Parallel int         `yaml:"parallel" doc:"concurrent steps of a rank; 0: all"`
}

// Uses implements Generator.
func (g *AllToAll) Uses() Uses { return collectiveUses }

func (g *AllToAll) collective() *Collective {
	return &Collective{Size: g.Size, Ranks: g.Ranks, Order: g.Order, Repeat: g.Repeat, Gap: g.Gap}
}

// Check implements Generator.
func (g *AllToAll) Check(e *Env) (float64, error) {
	n, teams, err := g.collective().check(e)
	if err == nil && g.Size < units.Bytes(n-1) {
		err = keyf("size", "%s in %d pieces leaves empty pieces (expected at least a byte for each other rank)", g.Size, n-1)
	}
	return float64(n-1) * float64(n) * float64(teams) * float64(g.Repeat), first(err, checkCount("parallel", g.Parallel, 0, maxRepeat))
}

// Generate implements Generator.
func (g *AllToAll) Generate(e *Env) (*Plan, error) {
	return g.collective().run(e, g.Check, func(o *operation) {
		n := len(o.hosts)
		flows := make([][]int32, n) // by step and sending rank
		for step := 1; step < n; step++ {
			flows[step] = make([]int32, n)
			for i := range n {
				var on []int32
				if k := step - g.Parallel; g.Parallel > 0 && k > 0 {
					// Its own message of that step, and the one it receives in that step, are
					// complete.
					on = []int32{flows[k][i], flows[k][(i-k+n)%n]}
				}
				flows[step][i] = o.send(i, (i+step)%n, part(g.Size, step-1, n-1), on...)
			}
		}
	})
}
