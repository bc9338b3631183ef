package explain

import (
	"cmp"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// waiting calls use for every frame of a class that waits for a port at a time. Frames of a
// class leave in the order in which they came.
func (r *Run) waiting(p *port, class uint8, at units.Time, use func(f *row)) {
	i := sort.Search(len(p.sent), func(i int) bool { return r.frames[p.sent[i]].at > at })
	for ; i < len(p.sent); i++ {
		f := &r.frames[p.sent[i]]
		if f.queue != class || f.came == none {
			continue
		}
		if f.came > at {
			if !p.host {
				return
			}
			continue // of another flow, which may be ready later and leave first
		}
		use(f)
		if p.host && f.at > at+waitingAhead {
			return
		}
	}
	for _, i := range p.waits {
		if f := &r.frames[i]; f.queue == class && f.came <= at && at < r.end {
			use(f)
		}
	}
}

// waitingAhead bounds the search for what waits at a host, where flows take turns.
const waitingAhead = 100 * units.Microsecond

// contents is what an ingress queue of a switch holds at a time.
type contents struct {
	total units.Bytes
	out   int // egress for which most of it waits; -1: it is empty
	byOut []units.Bytes
	flows []Share
}

// contents looks into an ingress queue at a time.
func (r *Run) contents(e End, at units.Time) contents {
	c := contents{out: -1, byOut: make([]units.Bytes, len(r.ports[e.Node]))}
	bytes := make(map[int]units.Bytes)
	for out := range r.ports[e.Node] {
		r.waiting(&r.ports[e.Node][out], e.Class, at, func(f *row) {
			if int(f.in) == e.Port {
				c.byOut[out] += units.Bytes(f.size)
				c.total += units.Bytes(f.size)
				bytes[int(f.flow)] += units.Bytes(f.size)
			}
		})
		if b := c.byOut[out]; b > 0 && (c.out < 0 || b > c.byOut[c.out]) {
			c.out = out
		}
	}
	c.flows = r.shares(bytes, c.total)
	return c
}

// Share is what a flow has of something.
type Share struct {
	Flow     int         `json:"flow"`
	Workload string      `json:"workload"`
	Src      string      `json:"src"`
	Dst      string      `json:"dst"`
	Bytes    units.Bytes `json:"bytes"`
	Share    float64     `json:"share"`
}

// shares lists flows by what they have, the largest first.
func (r *Run) shares(bytes map[int]units.Bytes, total units.Bytes) []Share {
	var list []Share
	for id, b := range bytes {
		f := &r.flows[id]
		list = append(list, Share{id, f.workload, r.names[f.src], r.names[f.dst], b, float64(b) / float64(total)})
	}
	slices.SortFunc(list, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Flow, b.Flow)) })
	return list
}

// egress is how much of a class waits for a port at a time.
func (r *Run) egress(e End, at units.Time) (b units.Bytes) {
	r.waiting(&r.ports[e.Node][e.Port], e.Class, at, func(f *row) { b += units.Bytes(f.size) })
	return b
}

// marked counts the data frames of a class that left by a port in a time, and those with the
// congestion mark.
func (r *Run) marked(e End, from, to units.Time) (frames, marks int) {
	p := &r.ports[e.Node][e.Port]
	i := sort.Search(len(p.sent), func(i int) bool { return r.frames[p.sent[i]].at >= from })
	for ; i < len(p.sent) && r.frames[p.sent[i]].at <= to; i++ {
		if f := &r.frames[p.sent[i]]; f.kind == packet.Data && f.class == e.Class {
			frames++
			if f.ce {
				marks++
			}
		}
	}
	return frames, marks
}

// users are the flows whose data passes a port.
func (r *Run) users(node, at int) map[int32]bool {
	p := &r.ports[node][at]
	list := make(map[int32]bool)
	for _, frames := range [][]int32{p.sent, p.waits} {
		for _, i := range frames {
			if f := &r.frames[i]; f.kind == packet.Data {
				list[f.flow] = true
			}
		}
	}
	return list
}
