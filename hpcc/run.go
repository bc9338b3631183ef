package hpcc

import (
	"slices"

	"github.com/xoff-net/xoff/probe"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/units"
)

// Run is a run of the files of the public simulator.
type Run struct {
	*scenario.Built
	in    *Input
	paths *paths
	spies []*spy
}

// Build prepares a run. With compat it agrees with the public simulator.
func (in *Input) Build(c *scenario.Config, compat bool, opts scenario.BuildOptions) (*Run, error) {
	r := &Run{in: in, paths: in.paths()}
	opts.Sink = r.watch()
	b, err := scenario.Build(c, opts)
	if err != nil {
		return nil, err
	}
	r.Built = b
	for i, s := range b.Spec.Switches {
		s.Buffer.Size = in.pool() + units.Bytes(len(b.Spec.Switches[i].Ports))*in.headroom()
	}
	if compat {
		r.pin()
	}
	return r, nil
}

// pin gives every flow the paths that the public simulator's ECMP would choose.
// Answers hash with source and destination swapped, so they take other ones.
func (r *Run) pin() {
	tables := topo.Routes(r.Graph, nil)
	node := make([]int, r.in.Fabric.Nodes) // in the graph, by number of the files
	for n := range node {
		node[n] = r.Graph.Node(r.in.nodeName(n))
	}
	port := make(map[[2]int]uint16)
	for _, l := range r.Graph.Links {
		port[[2]int{l.A, l.B}], port[[2]int{l.B, l.A}] = uint16(l.PortA), uint16(l.PortB)
	}
	for i, f := range r.in.Flows {
		r.Flows.Flow[i].Pinned = true
		for direction, way := range [2][4]int{{f.Src, f.Dst, f.SrcPort, f.DstPort}, {f.Dst, f.Src, f.DstPort, f.SrcPort}} {
			for at := r.paths.next[[2]int{way[0], way[1]}][0]; at != way[1]; {
				next := r.paths.hop(at, way[0], way[1], way[2], way[3])
				t := tables[node[at]]
				if t.Pinned == nil {
					t.Pinned = make(map[uint32]uint16)
				}
				t.Pinned[uint32(i)<<1|uint32(direction)] = port[[2]int{node[at], node[next]}]
				at = next
			}
		}
	}
	for i, s := range r.Spec.Switches {
		s.Router.Replace(tables[r.Graph.Hosts+i])
	}
}

// Done returns the completed flows in the order of their completion.
func (r *Run) Done() []Done {
	var list []Done
	for i, f := range r.in.Flows {
		if r.Flows.Done(i) {
			list = append(list, Done{f.Src, f.Dst, f.SrcPort, f.DstPort, f.Size, f.Start, r.Flows.Send[i].Acked - f.Start, r.alone(&f)})
		}
	}
	slices.SortStableFunc(list, func(a, b Done) int { return compare(a.Start+a.FCT, b.Start+b.FCT) })
	return list
}

func compare(a, b units.Time) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// alone is the completion time by the formula of the public simulator: the base
// round trip, and the whole flow with headers on the slowest link.
func (r *Run) alone(f *Flow) units.Time {
	slowest := units.Rate(0)
	for at := f.Src; at != f.Dst; {
		next := r.paths.next[[2]int{at, f.Dst}][0]
		if l := r.paths.link(at, next); slowest == 0 || l.Rate < slowest {
			slowest = l.Rate
		}
		at = next
	}
	packets := (f.Size + r.in.Settings.Payload - 1) / r.in.Settings.Payload
	t := r.paths.rtt[[2]int{f.Src, f.Dst}] + slowest.TxTime(f.Size+packets*header)
	return t - t%units.Nanosecond
}

// spy notes the pauses of a node.
type spy struct {
	probe.Ignore
	node int
	host bool
	seen []Pause
}

// Paused implements probe.Sink.
func (s *spy) Paused(now units.Time, port int, from, to uint8) {
	s.note(now, port, from, to, PauseSent, ResumeSent)
}

// Blocked implements probe.Sink.
func (s *spy) Blocked(now units.Time, port int, from, to uint8) {
	s.note(now, port, from, to, PauseReceived, ResumeReceived)
}

// watch puts a spy on every node.
func (r *Run) watch() func(int) probe.Sink {
	numbers := make([]int, 0, r.in.Fabric.Nodes) // hosts first, as in the graph
	for _, sw := range []bool{false, true} {
		for n, is := range r.in.Fabric.Switch {
			if is == sw {
				numbers = append(numbers, n)
			}
		}
	}
	return func(node int) probe.Sink {
		s := &spy{node: numbers[node], host: !r.in.Fabric.Switch[numbers[node]]}
		r.spies = append(r.spies, s)
		return s
	}
}

// Pauses returns what happened to pauses, by time.
func (r *Run) Pauses() []Pause {
	var all []Pause
	for _, s := range r.spies {
		all = append(all, s.seen...)
	}
	slices.SortStableFunc(all, func(a, b Pause) int { return compare(a.At, b.At) })
	return all
}

func (s *spy) note(now units.Time, port int, from, to uint8, on, off PauseKind) {
	if to&^from != 0 {
		s.seen = append(s.seen, Pause{now, s.node, s.host, port + 1, on})
	}
	if from&^to != 0 {
		s.seen = append(s.seen, Pause{now, s.node, s.host, port + 1, off})
	}
}
