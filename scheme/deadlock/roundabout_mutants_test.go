package deadlock_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// mutantSwitch skips or changes one operation of the switch.
type mutantSwitch struct {
	deadlock.Switch
	how string
}

func (m mutantSwitch) HoldResume(now units.Time, port int, mask packet.ClassMask) {
	if m.how != "RESUMEs are not delayed" {
		m.Switch.HoldResume(now, port, mask)
	}
}

func (m mutantSwitch) InsertHead(now units.Time, in, out int, p *packet.Packet) bool {
	return m.how != "no barrier" && m.Switch.InsertHead(now, in, out, p)
}

func (m mutantSwitch) Splice(now units.Time, port int, class uint8) {
	if m.how != "the side queue stays" {
		m.Switch.Splice(now, port, class)
	}
}

func (m mutantSwitch) GiveBack(b units.Bytes) {
	if m.how != "the reserve stays" {
		m.Switch.GiveBack(b)
	}
}

func (m mutantSwitch) SetAside(b units.Bytes, from mmu.Segment) bool {
	if m.how == "nothing is set aside" {
		return true
	}
	return m.Switch.SetAside(b, from)
}

func (m mutantSwitch) SetGate(now units.Time, port int, class uint8, g deadlock.Gate, budget units.Bytes) {
	if m.how == "the gate obeys pauses in a round" {
		g = deadlock.Obey
	}
	m.Switch.SetGate(now, port, class, g, budget)
}

// mutantHandler changes one input or output of Roundabout.
type mutantHandler struct {
	deadlock.Handler
	hook  deadlock.Hook
	how   string
	first map[int]bool // exits for which a frame was marked
	twice uint64
}

func (*mutantHandler) NeedsPairs() {}

func (m *mutantHandler) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if m.how == "credits are added up" && f.Kind() == packet.Loop && uint8(ext[0]>>56) == deadlock.OpCredit {
		m.twice += ext[1] >> 32
		ext[1] = ext[1]&(1<<32-1) | m.twice<<32
	}
	m.Handler.Control(now, port, f, ext)
}

func (m *mutantHandler) Arriving(now units.Time, p *packet.Packet, out *int) deadlock.Verdict {
	exit, was := *out, p.Flags&packet.Marked
	v := m.hook.Arriving(now, p, out)
	switch {
	case m.how == "others join the loop" && v == deadlock.Aside:
		return deadlock.Normal
	case m.how == "in-loop frames have no reserve" && v == deadlock.InLoop:
		return deadlock.Normal
	case m.how == "nothing is marked" && was == 0 && p.Flags&packet.Marked != 0:
		p.Flags &^= packet.Marked
		*out = exit
	case m.how == "marks stay" && was != 0:
		p.Flags |= packet.Marked
	case m.how == "only one frame per exit is marked" && was == 0 && p.Flags&packet.Marked != 0:
		if m.first[exit] {
			p.Flags &^= packet.Marked
			*out = exit
		}
		m.first[exit] = true
	}
	return v
}

func (m *mutantHandler) Departing(now units.Time, port int, p *packet.Packet) deadlock.Verdict {
	v := m.hook.Departing(now, port, p)
	if m.how == "the barrier goes around again" && v == deadlock.Consume {
		return deadlock.Normal
	}
	return v
}

func (m *mutantHandler) Departed(now units.Time, port int, p *packet.Packet) {
	if m.how != "freed bytes are not granted" {
		m.hook.Departed(now, port, p)
	}
}

// withMutant runs a network with a handler that lacks a rule, and returns its reports.
func withMutant(net *conformance.Network, p *deadlock.RoundaboutParams, how string) (*conformance.Result, []report) {
	e, _ := deadlock.Handlers.Get("roundabout")
	var list []report
	net.PFC.Ordered, net.Until = true, 100*units.Millisecond
	net.Deadlock = func(node int, s deadlock.Switch) (deadlock.Handler, error) {
		h, err := e.New(p, mutantSwitch{recorder{s, node, &list}, how})
		return &mutantHandler{Handler: h, hook: h.(deadlock.Hook), how: how, first: make(map[int]bool)}, err
	}
	return net.Run(), list
}

// brokenPromise returns the first promise that a handler without a rule breaks.
func brokenPromise(how string) error {
	for seed := uint64(0); seed <= 40; seed++ {
		net, p, name := randomLoop(seed)
		if seed == 0 {
			net, p = blockedExit()
			name = "a blocked exit"
		}
		r, reports := withMutant(net, p, how)
		if err := promises(r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if n := count(reports, deadlock.GivenUp); n > 0 {
			return fmt.Errorf("%s: %d switches gave up", name, n)
		}
	}
	return nil
}

// A round that is given up, here because nothing is marked, leaves no frame, reserve, delayed
// RESUME or side queue behind: everything drains when the exit opens, and nothing is lost.
func TestRoundaboutGivenUp(t *testing.T) {
	net, p := blockedExit()
	r, reports := withMutant(net, p, "nothing is marked")
	if n := count(reports, deadlock.GivenUp); n != 8 {
		t.Errorf("%d switches gave up, want all 8", n)
	}
	if err := promises(r); err != nil || r.End < 10*units.Millisecond {
		t.Errorf("done at %s: %v", r.End, err)
	}
}

// blockedExit is a ring of eight in which most frames leave at one switch. Its host is stuck from
// the time the loop has closed until long after a round is given up. The buffer before that exit
// has no room for all of them.
func blockedExit() (*conformance.Network, *deadlock.RoundaboutParams) {
	const n = 8
	e, _ := deadlock.Handlers.Get("roundabout")
	p := e.Params().(*deadlock.RoundaboutParams)
	p.Redundant = 1048 // one frame
	net := conformance.Ring(n, 1, 0)
	net.Flows = nil
	for i := range n {
		clear(net.Tables[n+i].Pinned)
	}
	for i, f := range [][2]int{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {6, 3}, {7, 4}, {0, 5}} {
		net.Flows = append(net.Flows, dataplane.Flow{Size: 200 * units.KB, Src: uint32(f[0]), Dst: uint32(f[1]), Class: 1, Pinned: true})
		for at := f[1]; at != f[0]; at = (at + n - 1) % n {
			net.Tables[n+at].Pinned[uint32(i)<<1|1] = conformance.RingPrev
		}
	}
	net.Receive = func(node int) dataplane.ReceiveSpec {
		if node != 0 {
			return dataplane.ReceiveSpec{}
		}
		return dataplane.ReceiveSpec{Xoff: 10 * units.KB, Stuck: []units.Interval{{From: 25 * units.Microsecond, To: 10 * units.Millisecond}}}
	}
	net.Linger = 200 * units.Microsecond
	return net, p
}
