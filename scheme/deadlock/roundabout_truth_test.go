package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// Detection only, compared with the ground truth. A confirmed loop is a deadlock, and every
// deadlock is confirmed within 2N hops of its onset plus one check of queues per hop. A hop is a
// cable of 1 us and less than 0.2 us on the wire, behind a frame of 1048 B.
func TestRoundaboutDetectsWhatIs(t *testing.T) {
	found := 0
	for seed := range uint64(60) {
		net, p, name := randomLoop(seed)
		p.Resolve, p.Mixed = false, units.Second // no queue becomes stuck by time
		net.Watch, net.Until = true, 3*units.Millisecond
		r, reports := withHandler(net, "roundabout", p)
		var confirmed []units.Time
		for _, s := range reports {
			if s.event == deadlock.Confirmed {
				confirmed = append(confirmed, s.at)
			}
		}
		if len(r.Deadlocks) == 0 {
			if len(confirmed) > 0 {
				t.Errorf("%s: confirmed at %s, but there is no deadlock", name, confirmed[0])
			}
			continue
		}
		found++
		onset, n := r.Deadlocks[0].Onset, units.Time(len(net.Graph.Names)/2)
		switch within := 2*n*1200*units.Nanosecond + n*p.Look; {
		case len(confirmed) == 0:
			t.Errorf("%s: missed the deadlock at %s", name, onset)
		case confirmed[0] < onset:
			t.Errorf("%s: confirmed at %s, before the onset at %s", name, confirmed[0], onset)
		case confirmed[0] > onset+within:
			t.Errorf("%s: onset at %s, confirmed %s later, want at most %s", name, onset, confirmed[0]-onset, within)
		}
	}
	t.Logf("%d deadlocks", found)
	if found == 0 {
		t.Error("nothing deadlocks")
	}
}

// armWatch counts what a handler arms while no egress is paused.
type armWatch struct {
	deadlock.Switch
	armed *int
}

func (a armWatch) note() {
	for p := range a.Ports() {
		if a.GatedClasses(p) != 0 {
			return
		}
	}
	*a.armed++
}

func (a armWatch) ArmIngress(port int, mask packet.ClassMask) {
	a.note()
	a.Switch.ArmIngress(port, mask)
}
func (a armWatch) ArmEgress(port int, mask packet.ClassMask) {
	a.note()
	a.Switch.ArmEgress(port, mask)
}
func (a armWatch) WakeAt(timer int, at units.Time) {
	if at != units.Never {
		a.note()
	}
	a.Switch.WakeAt(timer, at)
}

// A host of 400 Gbps sends into a cable of 100 Gbps: the switch pauses it all the time, and
// nothing pauses the switch.
func TestRoundaboutArmsNothing(t *testing.T) {
	e, _ := deadlock.Handlers.Get("roundabout")
	net := pathNetwork(2, 500*units.KB, []int{0, 1})
	armed := 0
	net.PFC.Ordered = true
	net.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) {
		return e.New(e.Params(), armWatch{s, &armed})
	}
	r := net.Run()
	if r.Err != nil || r.Unfinished() != 0 || armed != 0 {
		t.Errorf("%v, %d unfinished, armed %d times", r.Err, r.Unfinished(), armed)
	}
	if r.Totals.Pauses == 0 {
		t.Error("nothing was paused")
	}
}
