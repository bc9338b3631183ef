package perfetto

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// fault is a fault of the scenario.
type fault struct {
	from, to units.Time
	where    string
	what     string
	cable    *sim.Cable // the cable that goes down, or nil
	track    uint64
	lane     int // separates overlapping faults of a link or host
}

// faultEdge is the beginning or the end of a fault.
type faultEdge struct {
	*fault
	at     units.Time
	begins bool
}

// faults returns the edges of all faults by time; ends come before beginnings.
func faults(g *topo.Graph, spec *sim.Spec) []faultEdge {
	var faultEdges []faultEdge
	free := make(map[string][]units.Time) // by link or host: when each lane becomes free
	for _, x := range spec.Faults() {
		f := &fault{from: x.From, to: x.To}
		switch x.What {
		case sim.FaultDown:
			f.where, f.what, f.cable = "link "+g.LinkName(x.Cable), "down", &spec.Cables[x.Cable]
		case sim.FaultCorrupt:
			f.where, f.what = "link "+g.LinkName(x.Cable), fmt.Sprintf("corrupts frames (rate %v)", x.Rate)
		default:
			f.where, f.what = "host "+g.Names[x.Node], "stuck"
		}
		lanes := free[f.where]
		f.lane = slices.IndexFunc(lanes, func(to units.Time) bool { return to <= f.from })
		if f.lane < 0 {
			f.lane = len(lanes)
			lanes = append(lanes, 0)
		}
		lanes[f.lane] = f.to
		free[f.where] = lanes
		faultEdges = append(faultEdges, faultEdge{f, f.from, true}, faultEdge{f, f.to, false})
	}
	slices.SortStableFunc(faultEdges, func(a, b faultEdge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(order(a), order(b)))
	})
	return faultEdges
}

// order returns the order of edges at the same time: ends free their lanes for beginnings.
func order(t faultEdge) int {
	switch {
	case !t.begins && t.from < t.at:
		return 0
	case t.begins:
		return 1
	}
	return 2
}

// writeFaults writes the edges of faults up to a time.
func (t *Timeline) writeFaults(at units.Time) {
	for len(t.faultEdges) > 0 && t.faultEdges[0].at <= at {
		t.writeFault(&t.faultEdges[0])
		t.faultEdges = t.faultEdges[1:]
	}
}

// writeFault writes an edge. When a link changes, both ends forget their pauses.
func (t *Timeline) writeFault(x *faultEdge) {
	f := x.fault
	if c := f.cable; c != nil {
		for _, e := range [2]sim.End{c.A, c.B} {
			for class := range uint8(mmu.Classes) {
				if q := t.queues[e.Node][e.Port*mmu.Classes+int(class)]; q != nil && q.open[paused] {
					t.end(x.at, e.Node, e.Port, class, paused)
				}
			}
		}
	}
	if !x.begins {
		t.w.event(&event{kind: typeEnd, track: f.track, at: x.at, args: []arg{{name: "end_ps", n: uint64(x.at)}}})
		return
	}
	root := uuid("faults")
	if !t.faultTracks[root] {
		t.faultTracks[root] = true
		t.w.process(root, firstExtraPID, "faults")
	}
	name := f.where
	if f.lane > 0 {
		name += fmt.Sprintf(" (%d)", f.lane+1)
	}
	f.track = uuid("faults/" + name)
	if !t.faultTracks[f.track] {
		t.faultTracks[f.track] = true
		t.w.track(f.track, root, name)
	}
	t.w.event(&event{kind: typeBegin, category: "fault", name: f.what, track: f.track, at: x.at, args: []arg{{name: "begin_ps", n: uint64(x.at)}}})
}
