package explain

import (
	"cmp"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/mmu"
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
	flows []Share
}

// contents returns the contents of an ingress queue at a time.
func (r *Run) contents(e End, at units.Time) contents {
	c := contents{}
	bytes := make(map[int]units.Bytes)
	for out := range r.ports[e.Node] {
		r.eachWaiting(&r.ports[e.Node][out], e.Class, at, func(f *row) {
			if int(f.in) == e.Port {
				c.total += units.Bytes(f.size)
				bytes[int(f.flow)] += units.Bytes(f.size)
			}
		})
	}
	c.flows = r.shares(bytes, c.total)
	return c
}

// rootPorts returns the congested egress port by pause: for the root of a tree at a switch, the
// port that most bytes of the queue waited for when it paused; -1 for other pauses, and if the
// queue was empty. It follows every queue once, since asking for the contents of a queue at every
// pause would cost pauses times frames.
func (r *Run) rootPorts() []int32 {
	if r.congested != nil {
		return r.congested
	}
	r.congested = make([]int32, len(r.pauses))
	roots := make([][][]int32, len(r.ports)) // by node and ingress port, in order of time
	frames := make([][][]int32, len(r.ports))
	for i := range r.pauses {
		r.congested[i] = -1
		p := &r.pauses[i]
		if p.root != i || r.ports[p.node][p.port].host {
			continue
		}
		if roots[p.node] == nil {
			roots[p.node] = make([][]int32, len(r.ports[p.node]))
			frames[p.node] = make([][]int32, len(r.ports[p.node]))
		}
		roots[p.node][p.port] = append(roots[p.node][p.port], int32(i))
	}
	for i := range r.frames {
		if f := &r.frames[i]; f.in >= 0 && roots[f.node] != nil && roots[f.node][f.in] != nil {
			frames[f.node][f.in] = append(frames[f.node][f.in], int32(i))
		}
	}
	for node := range roots {
		for in := range roots[node] {
			r.followQueues(roots[node][in], frames[node][in])
			if frames[node] != nil {
				frames[node][in] = nil
			}
		}
	}
	return r.congested
}

// followQueues fills in congested for the roots of one ingress port, given its frames in order of
// departure.
func (r *Run) followQueues(roots, departures []int32) {
	if len(roots) == 0 {
		return
	}
	arrivals := slices.Clone(departures)
	slices.SortFunc(arrivals, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.frames[a].came, r.frames[b].came), cmp.Compare(a, b))
	})
	var stored [mmu.Classes][]units.Bytes // by class and egress port
	ports := len(r.ports[r.pauses[roots[0]].node])
	for c := range stored {
		stored[c] = make([]units.Bytes, ports)
	}
	came, left := 0, 0
	for _, root := range roots {
		p := &r.pauses[root]
		for ; came < len(arrivals) && r.frames[arrivals[came]].came <= p.sent; came++ {
			f := &r.frames[arrivals[came]]
			stored[f.queue][f.port] += units.Bytes(f.size)
		}
		for ; left < len(departures) && r.frames[departures[left]].at <= p.sent; left++ {
			f := &r.frames[departures[left]]
			stored[f.queue][f.port] -= units.Bytes(f.size)
		}
		out, most := int32(-1), units.Bytes(0)
		for k, b := range stored[p.class] {
			if b > most {
				out, most = int32(k), b
			}
		}
		r.congested[root] = out
	}
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
