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

// fault is one of the scenario.
type fault struct {
	from, to units.Time
	where    string
	what     string
	cable    *sim.Cable // that goes down; else nil
	track    uint64
	lane     int // of several at the same place that overlap
}

// turn is the beginning or the end of a fault.
type turn struct {
	*fault
	at     units.Time
	begins bool
}

// faults lists the turns of all faults, by time; ends come before beginnings.
func faults(g *topo.Graph, spec *sim.Spec) []turn {
	var turns []turn
	free := make(map[string][]units.Time) // by place: when each lane is free again
	for _, x := range spec.Faults() {
		f := &fault{from: x.From, to: x.To}
		switch x.What {
		case sim.FaultDown:
			f.where, f.what, f.cable = "link "+g.LinkName(x.Cable), "down", &spec.Cables[x.Cable]
		case sim.FaultCorrupt:
			f.where, f.what = "link "+g.LinkName(x.Cable), fmt.Sprintf("damages frames at a rate of %v", x.Rate)
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
		turns = append(turns, turn{f, f.from, true}, turn{f, f.to, false})
	}
	slices.SortStableFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(order(a), order(b)))
	})
	return turns
}

// order of turns at the same time: what ended makes room for what begins.
func order(t turn) int {
	switch {
	case !t.begins && t.from < t.at:
		return 0
	case t.begins:
		return 1
	}
	return 2
}

// turnsUpTo writes the turns of faults up to a time.
func (t *Timeline) turnsUpTo(at units.Time) {
	for len(t.turns) > 0 && t.turns[0].at <= at {
		t.turn(&t.turns[0])
		t.turns = t.turns[1:]
	}
}

// turn writes one. When a link changes both ends forget their pauses.
func (t *Timeline) turn(x *turn) {
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
	if !t.lists[root] {
		t.lists[root] = true
		t.w.process(root, processesAfterAll, "faults")
	}
	name := f.where
	if f.lane > 0 {
		name += fmt.Sprintf(" (%d)", f.lane+1)
	}
	f.track = uuid("faults/" + name)
	if !t.lists[f.track] {
		t.lists[f.track] = true
		t.w.track(f.track, root, name)
	}
	t.w.event(&event{kind: typeBegin, category: "fault", name: f.what, track: f.track, at: x.at, args: []arg{{name: "begin_ps", n: uint64(x.at)}}})
}
