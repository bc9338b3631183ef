package explain

import (
	"cmp"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/units"
)

// Span is a time span.
type Span struct{ From, To units.Time }

// Lane is a named list of time spans, in order and without overlap.
type Lane struct {
	Name  string
	Spans []Span
}

// Union sorts spans, in place, and returns them with overlapping ones merged.
func Union(list []Span) []Span {
	slices.SortFunc(list, func(a, b Span) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	var out []Span
	for _, s := range list {
		if n := len(out); n > 0 && s.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Lasted returns the total duration of a lane.
func (l *Lane) Lasted() (sum units.Time) {
	for _, s := range l.Spans {
		sum += s.To - s.From
	}
	return sum
}

// Blocked returns the spans in which a port could not send some class, for the n ports that
// were blocked longest.
func (r *Run) Blocked(n int) []Lane {
	byPort := make(map[portKey][]Span)
	r.eachSpan(func(e End, s span) {
		k := portKey{e.Node, e.Port}
		byPort[k] = append(byPort[k], Span{s.from, min(s.to, r.end)})
	})
	var list []Lane
	for node := range r.ports {
		for at := range r.ports[node] {
			if spans := byPort[portKey{node, at}]; len(spans) > 0 {
				list = append(list, Lane{r.portName(node, at), Union(spans)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Lane) int { return cmp.Compare(b.Lasted(), a.Lasted()) })
	return list[:min(n, len(list))]
}

// Storms returns, by cause, the spans of pause trees deeper than one link.
func (r *Run) Storms(e *Explanation) []Lane {
	ends := make(map[int]units.Time)
	deep := make(map[int]bool)
	for i := range r.pauses {
		p := &r.pauses[i]
		ends[p.root] = max(ends[p.root], min(p.ended, r.end))
		deep[p.root] = deep[p.root] || p.depth > 1
	}
	var list []Lane
	for _, c := range e.Causes {
		var spans []Span
		for _, root := range c.roots {
			if deep[root] {
				spans = append(spans, Span{r.pauses[root].sent, ends[root]})
			}
		}
		if len(spans) > 0 {
			list = append(list, Lane{c.Where, Union(spans)})
		}
	}
	return list
}

// find returns a port by its name, or nil.
func (r *Run) find(name string) *port {
	for node := range r.ports {
		for at := range r.ports[node] {
			if r.portName(node, at) == name {
				return &r.ports[node][at]
			}
		}
	}
	return nil
}

// Rate returns the sending rate of a port in bits per second, in bins of the given width; nil
// if there is no such port. A frame counts in the bin in which it starts.
func (r *Run) Rate(name string, width units.Time) []float64 {
	p := r.find(name)
	if p == nil {
		return nil
	}
	bins := make([]float64, r.end/width+1)
	for _, i := range p.sent {
		f := &r.frames[i]
		bins[min(f.at, r.end)/width] += 8 * float64(units.Bytes(f.size)+p.overhead)
	}
	for i := range bins {
		bins[i] /= width.Seconds()
	}
	return bins
}

// Level is a queue length at a time.
type Level struct {
	At    units.Time
	Bytes units.Bytes
}

// Occupancy is the length of an ingress queue over time, in the cells of its buffer, and the
// length at which it paused: its threshold plus what thresholds do not count.
type Occupancy struct {
	Queue      string
	Levels     []Level // after each change
	Thresholds []Level
}

// Occupancy returns the occupancy of the switch queue that started most pause trees of a
// cause; nil if no switch queue started any.
func (r *Run) Occupancy(c *Cause) *Occupancy {
	count := make(map[End]int)
	best := End{Node: -1}
	for _, i := range c.roots {
		p := &r.pauses[i]
		e := End{p.node, p.port, p.class}
		if count[e]++; !r.ports[p.node][p.port].host && (best.Node < 0 || count[e] > count[best]) {
			best = e
		}
	}
	if best.Node < 0 {
		return nil
	}
	o := &Occupancy{Queue: r.portName(best.Node, best.Port)}
	var changes []Level
	for out := range r.ports[best.Node] {
		p := &r.ports[best.Node][out]
		cells := r.ports[best.Node][best.Port].cells
		for _, frames := range [][]int32{p.sent, p.waiting} {
			for _, i := range frames {
				f := &r.frames[i]
				if int(f.in) != best.Port || f.queue != best.Class || f.came == none {
					continue
				}
				changes = append(changes, Level{f.came, cells(f.size)})
				if f.at < r.end {
					changes = append(changes, Level{f.at, -cells(f.size)})
				}
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b Level) int { return cmp.Compare(a.At, b.At) })
	bytes := units.Bytes(0)
	for i, x := range changes {
		bytes += x.Bytes
		if i+1 == len(changes) || changes[i+1].At != x.At {
			o.Levels = append(o.Levels, Level{x.At, bytes})
		}
	}
	for _, i := range r.ports[best.Node][best.Port].pauses[best.Class] {
		if p := &r.pauses[i]; p.threshold >= 0 {
			other := max(0, o.at(p.sent)-p.queue-p.headroom) // in the private segment and in the reserve
			o.Thresholds = append(o.Thresholds, Level{p.sent, p.threshold + other})
		}
	}
	return o
}

// at returns the length of the queue at a time.
func (o *Occupancy) at(t units.Time) units.Bytes {
	i := sort.Search(len(o.Levels), func(i int) bool { return o.Levels[i].At > t })
	if i == 0 {
		return 0
	}
	return o.Levels[i-1].Bytes
}
