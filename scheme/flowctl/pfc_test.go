package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// fakePort records the calls of an end. At 100 Gbps a quantum is 64 B = 5.12 ns.
type fakePort struct {
	spec      link.Port
	ledger    *mmu.Ledger
	policy    buffer.Policy
	blocked   packet.ClassMask
	wake      units.Time
	requested bool
	timers    int                // in addition to timer 0
	wakes     map[int]units.Time // by these timers
	reserved  units.Bytes        // last value of Reserve
	pool      units.Bytes
	waiting   units.Bytes // waiting bytes of every class
}

func newFakePort() *fakePort {
	spec := mmu.Spec{Ports: 2, Size: 30000, Shared: 20000, Private: 1000}
	spec.Kinds[1], spec.Kinds[2] = mmu.Lossless, mmu.Lossless
	p := &fakePort{spec: link.Port{Rate: 100 * units.Gbps, Lossless: 0b110, PFC: link.PFC{Quanta: 1000}}, ledger: mmu.NewLedger(spec), wake: units.Never}
	return p
}

// dynamic sets the policy dt.
func (p *fakePort) dynamic(t interface{ Fatal(...any) }, alpha units.Ratio) {
	dt, err := buffer.Policies.Get("dt")
	if err != nil {
		t.Fatal(err)
	}
	if p.policy, err = dt.New(&buffer.DTParams{Alpha: alpha, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, buffer.Env{View: p.View()}); err != nil {
		t.Fatal(err)
	}
}

func (p *fakePort) Index() int                                        { return 0 }
func (p *fakePort) Spec() *link.Port                                  { return &p.spec }
func (p *fakePort) View() mmu.View                                    { return p.ledger.View() }
func (p *fakePort) Policy() buffer.Policy                             { return p.policy }
func (p *fakePort) Waiting(uint8) units.Bytes                         { return p.waiting }
func (p *fakePort) Request(units.Time)                                { p.requested = true }
func (p *fakePort) NewTimer() int                                     { p.timers++; return p.timers }
func (p *fakePort) Block(_ units.Time, mask packet.ClassMask)         { p.blocked = mask }
func (p *fakePort) Reserve(b units.Bytes)                             { p.reserved = b }
func (p *fakePort) Pool() (used, size units.Bytes)                    { return p.View().Used(mmu.Headroom), p.pool }
func (p *fakePort) Meter(packet.ClassMask)                            {}
func (p *fakePort) Kick(units.Time)                                   {}
func (p *fakePort) Report(units.Time, string, int, int64)             {}
func (p *fakePort) Relay(units.Time, int, *packet.Packet, packet.Ext) {}

func (p *fakePort) WakeAt(timer int, at units.Time) {
	if timer == 0 {
		p.wake = at
		return
	}
	if p.wakes == nil {
		p.wakes = make(map[int]units.Time)
	}
	p.wakes[timer] = at
}

const ns = units.Nanosecond

func pfc(enable, pause packet.ClassMask, quanta uint16) *packet.Packet {
	var f packet.Packet
	f.SetPFC(enable, pause, quanta)
	return &f
}

func TestPauseGateExpires(t *testing.T) {
	p := newFakePort()
	g := NewPauseGate(p)
	step := func(what string, blocked packet.ClassMask, wake units.Time) {
		t.Helper()
		if p.blocked != blocked || p.wake != wake {
			t.Errorf("%s: blocked %03b, wake %s; want %03b, %s", what, p.blocked, p.wake, blocked, wake)
		}
	}
	g.Control(0, pfc(0b010, 0b010, 1000), nil) // 1000 x 5.12 ns
	step("pause of class 1", 0b010, 5120*ns)
	g.Control(1000*ns, pfc(0b100, 0b100, 500), nil) // 1000 + 2560 ns
	step("pause of class 2", 0b110, 3560*ns)
	g.Wake(3560*ns, 0)
	step("class 2 expires", 0b010, 5120*ns)
	g.Control(4000*ns, pfc(0b010, 0b010, 1000), nil) // refreshed: 4000 + 5120
	step("refresh", 0b010, 9120*ns)
	g.Control(5000*ns, pfc(0b110, 0b100, 1000), nil) // RESUME of 1 and PAUSE of 2 in one frame
	step("both", 0b100, 10120*ns)
	g.Control(6000*ns, pfc(0b100, 0b100, 0), nil) // zero quanta are a RESUME
	step("zero quanta", 0, units.Never)
	g.Control(7000*ns, pfc(0b010, 0b010, 1000), nil)
	g.Reset(8000*ns, false)
	step("link down", 0, units.Never)
	if ext, more := g.Frame(0, &packet.Packet{}, nil); more || ext != nil {
		t.Error("a pause gate sends a frame")
	}
	g.Control(9000*ns, &packet.Packet{Meta: packet.MakeMeta(packet.Feedback, 0)}, nil)
	step("a frame of another scheme", 0, units.Never)
}

func TestPauseGateIndefinite(t *testing.T) {
	p := newFakePort()
	p.spec.PFC.Indefinite = true
	g := NewPauseGate(p)
	g.Control(0, pfc(0b010, 0b010, 1), nil)
	if p.blocked != 0b010 || p.wake != units.Never {
		t.Errorf("blocked %03b, wake %s", p.blocked, p.wake)
	}
}

// With 300 ns of processing, frames take effect later, in order, and a Reset discards pending
// ones.
func TestPauseGateProcessing(t *testing.T) {
	p := newFakePort()
	p.spec.PFC.Processing = 300 * ns
	g := NewPauseGate(p)
	g.Control(0, pfc(0b010, 0b010, 1000), nil)
	g.Control(100*ns, pfc(0b010, 0, 0), nil)
	if p.blocked != 0 || p.wake != 300*ns {
		t.Errorf("before: blocked %03b, wake %s", p.blocked, p.wake)
	}
	g.Wake(300*ns, 0)
	if p.blocked != 0b010 || p.wake != 400*ns {
		t.Errorf("at 300 ns: blocked %03b, wake %s", p.blocked, p.wake)
	}
	g.Wake(400*ns, 0)
	if p.blocked != 0 || p.wake != units.Never {
		t.Errorf("at 400 ns: blocked %03b, wake %s", p.blocked, p.wake)
	}
	g.Control(500*ns, pfc(0b010, 0b010, 1000), nil)
	g.Reset(600*ns, true)
	g.Wake(800*ns, 0)
	if p.blocked != 0 || p.wake != units.Never {
		t.Errorf("after the reset: blocked %03b, wake %s", p.blocked, p.wake)
	}
}

// drainFrames collects the frames of a sender until it has no more.
func drainFrames(s *PauseSender, now units.Time) (frames [][2]packet.ClassMask) {
	for {
		var f packet.Packet
		if _, ok := s.Frame(now, &f, nil); !ok {
			return frames
		}
		enable, pause, _ := f.PFC()
		frames = append(frames, [2]packet.ClassMask{enable, pause})
	}
}

func wantFrames(t *testing.T, what string, got [][2]packet.ClassMask, want ...[2]packet.ClassMask) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: frames %03b, want %03b", what, got, want)
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: frames %03b, want %03b", what, got, want)
		}
	}
}

func TestPauseSender(t *testing.T) {
	p := newFakePort()
	s := NewPauseSender(p)
	s.Want(0, 0)
	if p.requested {
		t.Error("a frame is requested without a change")
	}
	s.Want(0, 0b010)
	s.Want(0, 0b110)
	if !p.requested {
		t.Error("no frame is requested")
	}
	wantFrames(t, "both in one", drainFrames(&s, 100*ns), [2]packet.ClassMask{0b110, 0b110})
	if p.wake != 2660*ns { // 100 + 5120 / 2
		t.Errorf("refresh at %s, want half of the pause later, 2660 ns", p.wake)
	}
	s.Want(200*ns, 0b100)
	s.Want(300*ns, 0b110)
	wantFrames(t, "a change that is undone sends nothing", drainFrames(&s, 400*ns))
	s.Wake(2660*ns, 0)
	wantFrames(t, "refresh", drainFrames(&s, 2700*ns), [2]packet.ClassMask{0b110, 0b110})
	if p.wake != 5260*ns { // 2700 + 2560
		t.Errorf("next refresh at %s", p.wake)
	}
	s.Want(3000*ns, 0b100)
	wantFrames(t, "a RESUME repeats the pause of the other class", drainFrames(&s, 3000*ns), [2]packet.ClassMask{0b110, 0b100})
	s.Want(4000*ns, 0)
	wantFrames(t, "last RESUME", drainFrames(&s, 4000*ns), [2]packet.ClassMask{0b100, 0})
	if p.wake != units.Never {
		t.Errorf("refresh at %s although nothing is paused", p.wake)
	}
	s.Want(5000*ns, 0b010)
	drainFrames(&s, 5000*ns)
	s.Reset(6000*ns, false)
	p.requested = false
	s.Reset(7000*ns, true)
	if !p.requested {
		t.Error("the peer lost the pause, but no frame is requested")
	}
	wantFrames(t, "after the link came up", drainFrames(&s, 7000*ns), [2]packet.ClassMask{0b010, 0b010})
}

func TestPauseSenderOrdered(t *testing.T) {
	p := newFakePort()
	p.spec.PFC.Ordered = true
	s := NewPauseSender(p)
	s.Want(0, 0b010)
	s.Want(0, 0)
	s.Want(0, 0b100)
	wantFrames(t, "every change", drainFrames(&s, 0), [2]packet.ClassMask{0b010, 0b010}, [2]packet.ClassMask{0b010, 0}, [2]packet.ClassMask{0b100, 0b100})
	s.Want(0, 0)
	s.Want(0, 0b100)
	s.Reset(1, true)
	wantFrames(t, "after a reset, the state only", drainFrames(&s, 1), [2]packet.ClassMask{0b100, 0b100})
}

// However often classes change while the wire is busy, a PAUSE waits for no more frames than the
// headroom allows for: four with two classes. The last of them carries all later changes.
func TestPauseSenderOrderedIsBounded(t *testing.T) {
	p := newFakePort()
	p.spec.PFC.Ordered, p.spec.Lossless = true, 0b110
	s := NewPauseSender(p)
	for range 10 {
		s.Want(0, 0b010)
		s.Want(0, 0)
	}
	s.Want(0, 0b100)
	wantFrames(t, "the first three and the last", drainFrames(&s, 0), [2]packet.ClassMask{0b010, 0b010}, [2]packet.ClassMask{0b010, 0}, [2]packet.ClassMask{0b010, 0b010}, [2]packet.ClassMask{0b110, 0b100})
}

// SIH on one queue: 1000 B private, threshold 5000 B, delta 1000 B, headroom 3000 B, frames of
// 1000 B.
func TestSIHSteps(t *testing.T) {
	p := newFakePort()
	static, err := buffer.Policies.Get("static")
	if err != nil {
		t.Fatal(err)
	}
	if p.policy, err = static.New(&buffer.StaticParams{Limit: 5000}, buffer.Env{}); err != nil {
		t.Fatal(err)
	}
	scheme, err := newSIH(&SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 3000}, Delta: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if got := scheme.Reserve(&p.spec); got != 6000 {
		t.Errorf("two lossless classes reserve %d B, want 6000", got)
	}
	r := scheme.Receiver(p).(*sihReceiver)
	q := newQueueSteps(t, p, r, r.Paused)
	q.arrive(mmu.Private, false)
	for range 5 {
		q.arrive(mmu.Shared, false) // up to 5000 B
	}
	for range 3 {
		q.arrive(mmu.Headroom, true)
	}
	q.arrive(mmu.Drop, true)
	for range 3 {
		q.leave(true) // headroom first
	}
	q.leave(true)  // shared 4000 B: not below Xon = 5000 - 1000
	q.leave(false) // 3000 B
	for range 3 {
		q.leave(false)
	}
	q.leave(false) // the private frame
	if n := p.ledger.View().Stored(); n != 0 {
		t.Errorf("%d B are left", n)
	}
	if _, err := newSIH(&SIHParams{Delta: -1}); err == nil {
		t.Error("a negative delta is accepted")
	}
}

// When the threshold is 0, a queue that empties still turns ON.
func TestSIHEmptyQueueTurnsOn(t *testing.T) {
	p := newFakePort()
	p.policy = shrinking{}
	scheme, err := newSIH(&SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 3000}})
	if err != nil {
		t.Fatal(err)
	}
	r := scheme.Receiver(p).(*sihReceiver)
	a := &mmu.Arrival{In: 0, Out: 1, Bytes: 1500, Class: 1, Kind: mmu.Lossless}
	p.ledger.Charge(a, mmu.Headroom)
	r.Charged(0, a, mmu.Headroom)
	if r.Paused() != 0b010 {
		t.Fatal("not OFF")
	}
	p.ledger.Release(a)
	r.Released(0, a)
	if r.Paused() != 0 {
		t.Error("an empty queue stays OFF for ever")
	}
}

// shrinking has a threshold of zero.
type shrinking struct{}

func (shrinking) Fits(units.Time, mmu.View, *mmu.Arrival) bool { return false }
func (shrinking) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), 0
}

func TestNoneDropsAtTheThreshold(t *testing.T) {
	p := newFakePort()
	p.policy = shrinking{}
	scheme, err := newNone(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := scheme.Receiver(p)
	for b, want := range map[units.Bytes]mmu.Segment{1000: mmu.Private, 1001: mmu.Drop} {
		if got := r.Place(0, &mmu.Arrival{Bytes: b, Class: 1, Kind: mmu.Lossless}); got != want {
			t.Errorf("%d B go to %s, want %s", b, got, want)
		}
	}
	if scheme.Reserve(&p.spec) != 0 {
		t.Error("none reserves buffer")
	}
}

// A threshold that falls because others grow turns a queue OFF when one of its frames leaves:
// alpha 1/4 of 20,000 B. With 4000 B stored, T = (20,000 - 4000) / 4 = 4000. Then port 1 takes
// 8000 B: T = (20,000 - 11,000) / 4 = 2250 with 3000 B stored, and 2500 with 2000 B.
func TestSIHThresholdFalls(t *testing.T) {
	p := newFakePort()
	p.dynamic(t, units.Ratio{Num: 1, Den: 4})
	r := mustScheme(t, "pfc", &SIHParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 10_000}}).Receiver(p)
	q := newQueueSteps(t, p, r, r.(Pausing).Paused)
	for range 4 {
		p.ledger.Charge(q.frame, mmu.Shared)
		r.Charged(0, q.frame, mmu.Shared)
	}
	p.ledger.Charge(&mmu.Arrival{In: 1, Out: 1, Bytes: 8000, Class: 1, Kind: mmu.Lossless}, mmu.Shared)
	q.leave(true)  // 3000 > 2250
	q.leave(false) // 2000 < 2500
}
