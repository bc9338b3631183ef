package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// The queue of port 0 stores 1000 B private, 2000 B shared and 500 B headroom and is OFF. The
// queue of port 1 stores 12000 of 20000 B shared. alpha = 1/4:
//   - everything stays, port 1 is empty: headroom in use, so OFF (sonic too);
//   - 3000 B stay: q = 2000 < T = (20000 - 2000) / 4 = 4500; sonic: 2000 + 2496 <= 4500;
//   - the same, but port 1 stays: T = (20000 - 14000) / 4 = 1500;
//   - everything stays, arranged in its favour: q = 2500 < T = 4375; sonic: 2500 + 2496 > 4375;
//   - 2000 B stay, port 1 stays: q = 1000 < T = 1750; sonic: 1000 < 1248.
//
// dsh has seen no arrival, so tau = 0, and it behaves like pfc: its port of two queues is far
// below 2 T in all cases, except for the insurance. It turns OFF before headroom is used: q =
// 2000 > T = (20000 - 14000) / 4 = 1500.
func TestResumes(t *testing.T) {
	for name, wants := range map[string][5]bool{
		"pfc": {false, true, false, true, true}, "sonic": {false, true, false, false, true}, "dsh": {false, true, false, true, true},
	} {
		entry, err := Schemes.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		scheme, err := entry.New(entry.Params())
		if err != nil {
			t.Fatal(err)
		}
		p := newFakePort()
		p.dynamic(t, units.Ratio{Num: 1, Den: 4})
		r := scheme.Receiver(p)
		store := func(in int, b units.Bytes, s mmu.Segment) *mmu.Arrival {
			a := &mmu.Arrival{In: in, Out: 1, Bytes: b, Class: 1, Kind: mmu.Lossless}
			p.ledger.Charge(a, s)
			if in == 0 {
				r.Charged(5*ns, a, s)
			}
			return a
		}
		store(1, 12000, mmu.Shared)
		store(0, 1000, mmu.Private)
		store(0, 2000, mmu.Shared)
		rest := p.ledger.Rest()
		ask := func(moves packet.ClassMask) bool {
			return r.(Resuming).Resumes(9*ns, &Rest{View: rest.View(), Class: 1, Moves: moves})
		}
		if on := name != "dsh"; ask(0) != on {
			t.Errorf("%s: resumes is %v with nothing in headroom", name, !on)
		}
		store(0, 500, mmu.Headroom)
		for i, keep := range []func(){
			func() { rest.Keep(0, 1, 3500) },
			func() { rest.Keep(0, 1, 3000) },
			func() { rest.Keep(0, 1, 3000); rest.Keep(1, 1, 12000) },
			func() { rest.Favour(0, 1, 3500) },
			func() { rest.Keep(0, 1, 2000); rest.Keep(1, 1, 12000) },
		} {
			rest.Clear()
			keep()
			if got := ask(0b010); got != wants[i] {
				t.Errorf("%s, case %d: resumes is %v", name, i, got)
			}
			if ask(0b100) {
				t.Errorf("%s, case %d: resumes although no frame of the queue leaves", name, i)
			}
		}
		// A departure while the queue is OFF is the last time its state was checked.
		if got := r.(Resuming).Quiet(1); got != 0 {
			t.Errorf("%s: quiet since %s before any departure", name, got)
		}
		a := &mmu.Arrival{In: 0, Out: 1, Bytes: 100, Class: 1, Kind: mmu.Lossless}
		p.ledger.Release(a)
		r.Released(7*ns, a)
		if got := r.(Resuming).Quiet(1); got != 7*ns {
			t.Errorf("%s: quiet since %s, want 7 ns", name, got)
		}
	}
}

// A port of two queues is OFF because its insurance is in use. Once that is empty, it is compared
// with N_q T. 4000 B stay OFF with 2 (20,000 - 4000)/8 = 4000; 3000 B turn ON with 4250, although
// they are above T.
func TestResumesOfAPort(t *testing.T) {
	p := newFakePort()
	p.dynamic(t, units.Ratio{Num: 1, Den: 8})
	r := mustScheme(t, "dsh", defaultDSH()).Receiver(p)
	for _, c := range []struct {
		class uint8
		bytes units.Bytes
		seg   mmu.Segment
	}{{1, 2000, mmu.Shared}, {2, 2000, mmu.Shared}, {2, 500, mmu.Headroom}} {
		a := &mmu.Arrival{In: 0, Out: 1, Bytes: c.bytes, Class: c.class, Kind: mmu.Lossless}
		p.ledger.Charge(a, c.seg)
		r.Charged(5*ns, a, c.seg)
	}
	rest := p.ledger.Rest()
	for _, c := range []struct {
		kept units.Bytes // class 2, in addition to 2000 B of class 1
		want bool
	}{{2500, false}, {2000, false}, {1000, true}} {
		rest.Clear()
		rest.Keep(0, 1, 2000)
		rest.Keep(0, 2, c.kept)
		if got := r.(Resuming).Resumes(9*ns, &Rest{View: rest.View(), Class: 1, Moves: 0b110}); got != c.want {
			t.Errorf("%d B of class 2 stay: resumes is %v", c.kept, got)
		}
	}
}

// Without coalescing, a waiting RESUME is sent although the queue is OFF again. A RESUME of
// another class does not matter.
func TestPausesNothingWhileAResumeWaits(t *testing.T) {
	p := newFakePort()
	p.spec.PFC.Ordered = true
	s := NewPauseSender(p)
	for _, want := range []packet.ClassMask{0b010, 0b110, 0b010} {
		s.Want(0, want)
	}
	if !s.pauses(1) || s.pauses(2) {
		t.Errorf("pauses class 1: %v, class 2: %v; want true, false", s.pauses(1), s.pauses(2))
	}
	var f packet.Packet
	for ok := true; ok; { // send everything
		_, ok = s.Frame(0, &f, nil)
	}
	s.Want(0, 0)
	s.Want(0, 0b010)
	if s.pauses(1) {
		t.Error("a RESUME of class 1 waits, but the class counts as paused")
	}
}
