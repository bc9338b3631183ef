package metrics

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// s3 pauses s2, which pauses h0 twice and h1 until the end of the run; then s2 pauses h0 for
// another reason.
func TestPauseTrees(t *testing.T) {
	h0, h1 := sim.End{Node: 0}, sim.End{Node: 1}
	o := &Outcome{
		End: 200, Flows: dataplane.NewFlows(nil), Nodes: []string{"h0", "h1", "s2", "s3"}, Hosts: []string{"h0", "h1"}, Trees: true,
		Counters: sim.Counters{Pauses: []sim.Pause{
			{End: sim.End{Node: 3}, Class: 1, Peer: sim.End{Node: 2, Port: 1}, Sent: 10, Ended: 50, Depth: 1, Parent: -1, Root: 0},
			{End: sim.End{Node: 2}, Class: 1, Peer: h0, Sent: 20, Ended: 70, Depth: 2, Parent: 0, Root: 0},
			{End: sim.End{Node: 2, Port: 2}, Class: 1, Peer: h1, Sent: 30, Ended: units.Never, Depth: 2, Parent: 0, Root: 0},
			{End: sim.End{Node: 2}, Class: 1, Peer: h0, Sent: 80, Ended: 90, Depth: 2, Parent: 0, Root: 0},
			{End: sim.End{Node: 2}, Class: 1, Peer: h0, Sent: 100, Ended: 110, Depth: 1, Parent: -1, Root: 4},
		}},
	}
	want := &PauseTrees{
		Trees: 2, MaxPorts: 3, MaxHosts: 2, MaxDepth: 2, MaxDuration: 190,
		Largest: []PauseTree{
			{Root: "s3 port 0 class 1", Start: 10, Duration: 190, Pauses: 4, Ports: 3, Hosts: 2, Depth: 2},
			{Root: "s2 port 0 class 1", Start: 100, Duration: 10, Pauses: 1, Ports: 1, Hosts: 1, Depth: 1},
		},
		Drawn: []string{"s3 paused s2 (class 1) at 10ps", "  s2 paused 2 hosts (class 1) at 20ps, 3 times"},
	}
	if got := o.pauseTrees(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if o.Trees = false; o.pauseTrees() != nil {
		t.Error("trees without pauses")
	}
}

// Two deadlocks; the second stands at the end: 30 + 50 ps in total.
func TestDeadlockOfASummary(t *testing.T) {
	queue := func(node, port int) sim.StuckQueue {
		return sim.StuckQueue{End: sim.End{Node: node, Port: port}, Class: 3}
	}
	o := &Outcome{
		End: 200, Flows: dataplane.NewFlows(nil), Nodes: []string{"h0", "s1", "s2"}, Hosts: []string{"h0"}, Watched: true,
		Counters: sim.Counters{Deadlocks: []sim.Deadlock{
			{Onset: 100, End: 130, Queues: []sim.StuckQueue{queue(1, 0), queue(1, 4), queue(2, 5)}, Loop: []int{1, 2}, Hosts: 1},
			{Onset: 150, End: units.Never, Queues: []sim.StuckQueue{queue(1, 0), queue(2, 1)}, Loop: []int{0, 1}},
		}},
	}
	onset := units.Time(100)
	want := Deadlock{
		Watched: true, Found: 2, Standing: 1, Onset: &onset, Stuck: 80, Queues: 3, Hosts: 1,
		Loop: []string{"s1 port 4 class 3", "s2 port 5 class 3"},
	}
	if got := o.Summarize().Deadlock; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	o.Counters = sim.Counters{}
	if got := o.Summarize().Deadlock; got.Onset != nil || got.Found != 0 {
		t.Errorf("%+v without deadlock", got)
	}
}
