package publicsim

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// Run is a run of the public simulator's files. It records the pauses of the run.
type Run struct {
	*fabric.Fabric
	in        *Input
	numbers   []int // number in the files of each node of the graph
	recorders []*pauseRecorder
}

// Build builds the scenario made from the files, for run.Prepare with the same options. It
// adds the Run to their watchers.
func (in *Input) Build(c *scenario.Config, o *run.Options) (*Run, error) {
	r := &Run{in: in, numbers: in.numbers()}
	o.Watchers = append(o.Watchers, r)
	var err error
	r.Fabric, err = fabric.New(c, o.BuildOptions())
	return r, in.locate(err)
}

// numbers returns the number in the files of each node of the graph, which has hosts first.
func (in *Input) numbers() []int {
	numbers := make([]int, 0, in.Fabric.Nodes)
	for _, sw := range []bool{false, true} {
		for n, is := range in.Fabric.Switch {
			if is == sw {
				numbers = append(numbers, n)
			}
		}
	}
	return numbers
}

// Done returns the completed flows in order of completion.
func (r *Run) Done() []Done {
	var list []Done
	for i, f := range r.in.Flows {
		if r.Flows.Done(i) {
			list = append(list, Done{f.Src, f.Dst, f.SrcPort, f.DstPort, f.Size, f.Start, r.Flows.Send[i].Acked - f.Start, r.in.alone(&f)})
		}
	}
	slices.SortStableFunc(list, func(a, b Done) int { return cmp.Compare(a.Start+a.FCT, b.Start+b.FCT) })
	return list
}

// alone returns the standalone FCT by the public simulator's formula: the base round trip
// plus the transmission time of the flow with headers on the slowest link.
func (in *Input) alone(f *Flow) units.Time {
	t := in.paths().trips[[2]int{f.Src, f.Dst}]
	packets := (f.Size + in.Settings.Payload - 1) / in.Settings.Payload
	return truncate(t.rtt + t.rate.TxTime(f.Size+packets*header))
}

// pauseRecorder records the pauses of a node.
type pauseRecorder struct {
	probe.Ignore
	node int
	host bool
	seen []Pause
}

// Paused implements probe.Sink.
func (s *pauseRecorder) Paused(now units.Time, port int, from, to packet.ClassMask) {
	s.note(now, port, from, to, PauseSent, ResumeSent)
}

// Blocked implements probe.Sink.
func (s *pauseRecorder) Blocked(now units.Time, port int, from, to packet.ClassMask) {
	s.note(now, port, from, to, PauseReceived, ResumeReceived)
}

// Sink implements run.Watcher.
func (r *Run) Sink(node int) probe.Sink {
	n := r.numbers[node]
	s := &pauseRecorder{node: n, host: !r.in.Fabric.Switch[n]}
	r.recorders = append(r.recorders, s)
	return s
}

// Bind implements run.Watcher.
func (r *Run) Bind(*fabric.Fabric) error { return nil }

// Flush implements run.Watcher.
func (r *Run) Flush() error { return nil }

// Pauses returns the recorded pauses in order of time.
func (r *Run) Pauses() []Pause {
	var all []Pause
	for _, s := range r.recorders {
		all = append(all, s.seen...)
	}
	slices.SortStableFunc(all, func(a, b Pause) int { return cmp.Compare(a.At, b.At) })
	return all
}

func (s *pauseRecorder) note(now units.Time, port int, from, to packet.ClassMask, on, off PauseKind) {
	if to&^from != 0 {
		s.seen = append(s.seen, Pause{now, s.node, s.host, port + 1, on})
	}
	if from&^to != 0 {
		s.seen = append(s.seen, Pause{now, s.node, s.host, port + 1, off})
	}
}
