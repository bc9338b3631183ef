package flowctl

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

func newSIHPort(t *testing.T, limit units.Bytes) *fakePort {
	t.Helper()
	spec := mmu.Spec{Ports: 2, Size: 400_000, Shared: 100_000}
	spec.Kinds[1], spec.Kinds[2] = mmu.Lossless, mmu.Lossless
	p := &fakePort{
		spec:   link.Port{Rate: 100 * units.Gbps, MTU: 1000, DelayIn: 700 * ns, DelayOut: 300 * ns, Lossless: 0b110, PFC: link.PFC{Quanta: 1000}},
		ledger: mmu.NewLedger(spec), wake: units.Never,
	}
	static, err := buffer.Policies.Get("static")
	if err != nil {
		t.Fatal(err)
	}
	if p.policy, err = static.New(&buffer.StaticParams{Limit: limit}, buffer.Env{View: p.View()}); err != nil {
		t.Fatal(err)
	}
	return p
}

func mustScheme(t *testing.T, name string, params any) Scheme {
	t.Helper()
	e, err := Schemes.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.New(params)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An exchange worked out by hand. The question leaves at 50 ns, takes 5.12 ns of line time and
// 300 ns of cable; the peer keeps it for 200 ns; the answer takes 5.12 and 700 ns: 1210.24 ns in
// all. The delay of both directions is 1000 ns, 12,500 B. With three frames of 1000 B and a PAUSE
// of 64 B a queue needs 15,564 B instead of 60,000 B.
func TestAdaptiveExchange(t *testing.T) {
	p, peer := newSIHPort(t, 5000), newSIHPort(t, 5000)
	s := mustScheme(t, "adaptive", &AdaptiveParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 60_000}, Rule: "exact"})
	if got := s.Reserve(&p.spec); got != 120_000 {
		t.Errorf("before the measurement, two queues reserve %d B", got)
	}
	r, g := s.Receiver(p).(*adaptiveReceiver), s.Gate(peer)
	if !p.requested {
		t.Fatal("no question when the link comes up")
	}
	var f packet.Packet
	ext, ok := r.Frame(50*ns, &f, nil)
	if !ok || f.Kind() != packet.Feedback || f.Size != 64 {
		t.Fatalf("the question is a %s frame of %d B, %v", f.Kind(), f.Size, ok)
	}
	if p.wakes[1] != 50*ns+units.Millisecond {
		t.Errorf("asks again at %s", p.wakes[1])
	}
	if _, ok := r.Frame(50*ns, &f, nil); ok {
		t.Error("asks twice")
	}
	arrived := 50*ns + 5120 + 300*ns
	g.Control(arrived, &packet.Packet{Meta: packet.MakeMeta(packet.Feedback, 0)}, ext)
	if !peer.requested {
		t.Fatal("the peer does not answer")
	}
	ext, ok = g.Frame(arrived+200*ns, &f, nil)
	if !ok || f.Kind() != packet.Request || f.Size != 64 {
		t.Fatalf("the answer is a %s frame of %d B, %v", f.Kind(), f.Size, ok)
	}
	if _, ok := g.Frame(arrived+200*ns, &f, nil); ok {
		t.Error("answers twice")
	}
	r.Control(arrived+200*ns+5120+700*ns, &packet.Packet{Meta: packet.MakeMeta(packet.Request, 0)}, ext)
	if r.headroom != 15_564 || p.reserved != 31_128 || p.wakes[1] != units.Never {
		t.Errorf("headroom %d B, reserved %d B, wake %s; want 15564, twice that, never", r.headroom, p.reserved, p.wakes[1])
	}
	// With 20 B of preamble and gap each frame takes 6.72 ns of line time. The cable is as long
	// as before, and 15,564 + 4 x 20 B can arrive.
	p.spec.WireOverhead = 20
	r = s.Receiver(p).(*adaptiveReceiver)
	r.Control(2000*ns, &packet.Packet{Meta: packet.MakeMeta(packet.Request, 0)}, packet.Ext{uint64(1000*ns - 2*6720), 0})
	if r.headroom != 15_644 {
		t.Errorf("with overhead the headroom is %d B, want 15644", r.headroom)
	}
	p.spec.WireOverhead = 0
	// By eq. 1: 2 (6250 + 1000) + 3840.
	s = mustScheme(t, "adaptive", &AdaptiveParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 60_000}, Rule: "eq1"})
	r = s.Receiver(p).(*adaptiveReceiver)
	r.Control(2000*ns, &packet.Packet{Meta: packet.MakeMeta(packet.Request, 0)}, packet.Ext{uint64(1000*ns - 2*5120), 0})
	if r.headroom != 18_340 {
		t.Errorf("by eq. 1 the headroom is %d B, want 18340", r.headroom)
	}
}

// Without an answer the configured headroom stays, and the question is repeated after 1, 2, 4 ms.
// Refreshes of a pause use another timer.
func TestAdaptiveWithoutAnswer(t *testing.T) {
	p := newSIHPort(t, 500)
	p.spec.PFC.Quanta = 1000 // 5120 ns: a refresh every 2560 ns
	s := mustScheme(t, "adaptive", &AdaptiveParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 60_000}, Rule: "exact"})
	r := s.Receiver(p).(*adaptiveReceiver)
	var f packet.Packet
	r.Frame(0, &f, nil)
	a := &mmu.Arrival{Class: 1, Bytes: 1000, Kind: mmu.Lossless, Out: 1}
	p.ledger.Charge(a, r.Place(10*ns, a))
	r.Charged(10*ns, a, mmu.Headroom)
	if _, ok := r.Frame(10*ns, &f, nil); !ok || f.Kind() != packet.PFC || p.wake != 10*ns+2560*ns {
		t.Fatalf("no PAUSE, or the next refresh is at %s", p.wake)
	}
	p.requested = false
	r.Wake(2570*ns, 0)
	if _, ok := r.Frame(2570*ns, &f, nil); !ok || f.Kind() != packet.PFC {
		t.Fatal("no refresh")
	}
	p.ledger.Release(a)
	r.Released(3000*ns, a)
	r.Frame(3000*ns, &f, nil) // RESUME: only the question's timer is left
	at := units.Millisecond
	for _, wait := range []units.Time{2, 4, 8} {
		if p.wakes[1] != at {
			t.Fatalf("the next question is due at %s, want %s", p.wakes[1], at)
		}
		r.Wake(at, 1)
		if _, ok := r.Frame(at, &f, nil); !ok || f.Kind() != packet.Feedback {
			t.Fatal("not asked again")
		}
		at += wait * units.Millisecond
	}
	if r.headroom != 60_000 {
		t.Errorf("headroom %d B", r.headroom)
	}
	r.Reset(at, false)
	if p.wakes[1] != units.Never {
		t.Errorf("a link that is down has a question at %s", p.wakes[1])
	}
	r.Reset(at+10, true)
	if _, ok := r.Frame(at+10, &f, nil); !ok || f.Kind() != packet.Feedback || p.wakes[1] != at+10+units.Millisecond {
		t.Error("no question after the link came up")
	}
}

// A queue that stores more than the measured headroom delays the change until enough has left.
// The headroom never exceeds the configured one.
func TestAdaptiveWaitsForTheQueue(t *testing.T) {
	p := newSIHPort(t, 500)
	s := mustScheme(t, "adaptive", &AdaptiveParams{Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: 60_000}, Rule: "exact"})
	r := s.Receiver(p).(*adaptiveReceiver)
	a := &mmu.Arrival{Class: 2, Bytes: 16_000, Kind: mmu.Lossless, Out: 1}
	p.ledger.Charge(a, r.Place(0, a))
	answer := &packet.Packet{Meta: packet.MakeMeta(packet.Request, 0)}
	r.Control(2000*ns, answer, packet.Ext{uint64(1000*ns - 2*5120), 0})
	if r.headroom != 60_000 || p.reserved != 0 {
		t.Errorf("headroom %d B, reserved %d B while 16,000 B are stored", r.headroom, p.reserved)
	}
	part := *a
	part.Bytes = 436
	p.ledger.Release(&part)
	r.Released(2100*ns, &part)
	if r.headroom != 15_564 || p.reserved != 31_128 {
		t.Errorf("headroom %d B, reserved %d B with 15,564 B stored", r.headroom, p.reserved)
	}
	r.Control(9000*ns, answer, packet.Ext{0, 0})
	if r.headroom != 15_564 {
		t.Errorf("the headroom grew to %d B", r.headroom)
	}
}

func TestAdaptiveParams(t *testing.T) {
	for about, p := range map[string]*AdaptiveParams{"delta is": {Delta: -1, Rule: "exact"}, "rule is": {Rule: "guess"}} {
		if _, err := newAdaptive(p); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("got %v, want %q", err, about)
		}
	}
}
