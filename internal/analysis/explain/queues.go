package explain

import (
	"cmp"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// eachWaiting calls use for every frame of a class that waits for a port at a time. Frames of
// a class depart in order of arrival.
func (r *Run) eachWaiting(p *port, class uint8, at units.Time, use func(f *row)) {
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
			continue // at a host, a frame of another flow may be ready later and depart first
		}
		use(f)
		if p.host && f.at > at+waitingAhead {
			return
		}
	}
	for _, i := range p.waiting {
		if f := &r.frames[i]; f.queue == class && f.came <= at && at < r.end {
			use(f)
		}
	}
}

// waitingAhead limits the search for frames that wait at a host, where flows take turns.
const waitingAhead = 100 * units.Microsecond

// contents describes the frames stored in an ingress queue of a switch.
type contents struct {
	total units.Bytes
	out   int           // egress port that most bytes wait for; -1: the queue is empty
	byOut []units.Bytes // by egress port
	flows []Share
}

// contents returns the contents of an ingress queue at a time.
func (r *Run) contents(e End, at units.Time) contents {
	c := contents{out: -1, byOut: make([]units.Bytes, len(r.ports[e.Node]))}
	bytes := make(map[int]units.Bytes)
	for out := range r.ports[e.Node] {
		r.eachWaiting(&r.ports[e.Node][out], e.Class, at, func(f *row) {
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

// Share is the share of a flow, or of a workload, in the bytes of a queue.
type Share struct {
	Flow     int         `json:"flow"`
	Workload string      `json:"workload"`
	Src      string      `json:"src"`
	Dst      string      `json:"dst"`
	Bytes    units.Bytes `json:"bytes"`
	Share    float64     `json:"share"`
}

// shares returns the shares of flows, largest first.
func (r *Run) shares(bytes map[int]units.Bytes, total units.Bytes) []Share {
	var list []Share
	for id, b := range bytes {
		f := &r.flows[id]
		list = append(list, Share{id, f.workload, r.names[f.src], r.names[f.dst], b, float64(b) / float64(total)})
	}
	slices.SortFunc(list, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Flow, b.Flow)) })
	return list
}

// egress returns the length of an egress queue at a time.
func (r *Run) egress(e End, at units.Time) (b units.Bytes) {
	r.eachWaiting(&r.ports[e.Node][e.Port], e.Class, at, func(f *row) { b += units.Bytes(f.size) })
	return b
}

// marked returns the number of data frames that departed from an egress queue in a time span,
// and how many of them had the congestion mark.
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

// users returns the flows whose data uses an egress port.
func (r *Run) users(node, at int) map[int32]bool {
	p := &r.ports[node][at]
	list := make(map[int32]bool)
	for _, frames := range [][]int32{p.sent, p.waiting} {
		for _, i := range frames {
			if f := &r.frames[i]; f.kind == packet.Data {
				list[f.flow] = true
			}
		}
	}
	return list
}
