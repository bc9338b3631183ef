package flowctl

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// longPort is a port of 100 Gbps with 4 km of cable, 20 us each way, and frames of 1500 B: DELTA
// = 2 x 250,000 + 64 + 2 x 1500 = 503,064 B.
func longPort(lossless packet.ClassMask) *fakePort {
	spec := mmu.Spec{Ports: 2, Size: 10_000_000, Shared: 20_000}
	for c := range spec.Kinds {
		if lossless.Has(uint8(c)) {
			spec.Kinds[c] = mmu.Lossless
		}
	}
	return &fakePort{
		spec:   link.Port{Rate: 100 * units.Gbps, DelayIn: 20 * us, DelayOut: 20 * us, MTU: 1500, MinFrame: 64, Lossless: lossless, PFC: link.PFC{Quanta: 1000}},
		ledger: mmu.NewLedger(spec), wake: units.Never,
	}
}

const us = units.Microsecond

// slotBench plays slots of 10 us: R_s T = 125,000 B, N = 40/10 + 1 = 5 slots, and
// H = DELTA + 3 R_s T = 878,064 B.
type slotBench struct {
	*fakePort
	recv Receiver
	t    *testing.T
	now  units.Time
}

func newSlotBench(t *testing.T, lossless packet.ClassMask, name string, change func(params any)) *slotBench {
	t.Helper()
	e, err := Schemes.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	params := e.Params()
	if change != nil {
		change(params)
	}
	s, err := e.New(params)
	if err != nil {
		t.Fatal(err)
	}
	p := longPort(lossless)
	return &slotBench{p, s.Receiver(p), t, 0}
}

// arrive stores bytes of a class.
func (b *slotBench) arrive(class uint8, bytes units.Bytes) {
	b.t.Helper()
	a := &mmu.Arrival{Class: class, Bytes: bytes, Kind: mmu.Lossless, Out: 1}
	if s := b.recv.Place(b.now, a); s != mmu.Headroom {
		b.t.Fatalf("%d B are placed in %s", bytes, s)
	}
	b.ledger.Charge(a, mmu.Headroom)
	b.recv.Charged(b.now, a, mmu.Headroom)
}

func (b *slotBench) leave(class uint8, bytes units.Bytes) {
	a := &mmu.Arrival{Class: class, Bytes: bytes, Kind: mmu.Lossless, Out: 1}
	b.ledger.Release(a)
	b.recv.Released(b.now, a)
}

// turn starts the next slot and returns its frame, nil if there is none.
func (b *slotBench) turn() (*packet.Packet, packet.Ext) {
	b.t.Helper()
	b.now = b.wake
	b.requested = false
	b.recv.Wake(b.now, 0)
	if b.wake != b.now+10*us {
		b.t.Fatalf("at %s the next slot is at %s", b.now, b.wake)
	}
	var f packet.Packet
	ext, ok := b.recv.Frame(b.now, &f, nil)
	if ok != b.requested {
		b.t.Errorf("at %s: frame %v, requested %v", b.now, ok, b.requested)
	}
	if !ok {
		return nil, nil
	}
	var again packet.Packet
	if _, more := b.recv.Frame(b.now, &again, nil); more {
		b.t.Errorf("at %s: a second frame in a slot", b.now)
	}
	return &f, ext
}

// slot starts the next slot and expects a pause of that many quanta; -1: no frame. F and c^ are
// read from the gauges.
func (b *slotBench) slot(quanta int, virtual, granted units.Bytes) {
	b.t.Helper()
	f, _ := b.turn()
	got := -1
	if f != nil {
		enable, pause, q := f.PFC()
		if got = int(q); enable != b.spec.Lossless || (pause != 0) != (q != 0) {
			b.t.Errorf("at %s: frame enables %08b, pauses %08b for %d", b.now, enable, pause, q)
		}
	}
	values := make([]float64, 4)
	b.recv.(*bifrostReceiver).Measure(b.now, 0, 1, values)
	if got != quanta || units.Bytes(values[1]) != virtual || units.Bytes(values[2]) != granted {
		b.t.Errorf("at %s with %.0f B: %d quanta, F %.0f, c %.0f; want %d, %d, %d", b.now, values[0], got, values[1], values[2], quanta, virtual, granted)
	}
}

// F starts with N full slots, 625,000 B.
func TestBifrostByHand(t *testing.T) {
	b := newSlotBench(t, 0b010, "bifrost", nil)
	b.slot(-1, 625_000, 125_000) // 878,064 - 625,000 = 253,064: a full slot, no frame
	b.arrive(1, 200_000)
	// 878,064 - 200,000 - 625,000 = 53,064: 35 frames and 128 B; 125,000 - 51,128 = 73,872 B of
	// pause are 1154.25 quanta.
	b.slot(1155, 552_628, 52_628)
	b.arrive(1, 125_000)
	b.slot(3907, 427_628, 0) // 436 B: less than a frame, so two slots of pause, 250,000 / 64 = 3906.25
	b.arrive(1, 125_000)
	b.slot(3907, 302_628, 0) // L 450,000
	b.leave(1, 150_000)
	b.slot(0, 302_628, 125_000) // 578,064 - 302,628 = 275,436: full; F - 125,000 + 125,000
	b.slot(-1, 302_628, 125_000)
	b.arrive(1, 150_000)
	b.slot(-1, 375_000, 125_000) // 428,064 - 302,628; F - 52,628 + 125,000
	b.arrive(1, 51_437)
	b.slot(3907, 375_000, 0) // 878,064 - 501,437 - 375,000 = 1627: a byte less than a frame and 128 B
	b.leave(1, 1)
	b.slot(1952, 376_628, 1628) // the gate is open for 128 B; 124,872 / 64 = 1951.1
	b.arrive(1, 10_000)
	b.slot(3907, 251_628, 0)      // L + F is 10,000 B above H: nothing; F - 125,000
	b.slot(194, 240_756, 114_128) // 878,064 - 511,436 - 251,628 = 115,000: 76 frames and 128 B; 12,372 / 64 = 193.3
}

// Algorithm 1 as printed: F starts with DELTA + R_s T = 628,064 B.
func TestBifrostPrintedByHand(t *testing.T) {
	for _, form := range []string{"printed", "clamped"} {
		b := newSlotBench(t, 0b010, "bifrost", func(p any) { p.(*BifrostParams).Form = form })
		b.arrive(1, 125_000)
		b.leave(1, 125_000)
		b.slot(-1, 628_064, 125_000) // 878,064 - 628,064 = 250,000; F - 125,000 + 125,000
		b.arrive(1, 200_000)
		b.slot(1172, 478_064, 50_000) // 250,000 - 200,000; 75,000 / 64 = 1171.9; F - 200,000 + 50,000
		b.arrive(1, 125_000)
		b.slot(782, 428_064, 75_000) // 878,064 - 325,000 - 478,064; 50,000 / 64 = 781.25
		b.arrive(1, 126_500)         // one frame more than granted
		if form == "printed" {
			b.slot(1954, 300_064, 0) // c = -1500: the leak is subtracted from F twice
		} else {
			b.slot(1954, 301_564, 0)
		}
	}
}

// In cells of 128 B, frames of 64 B cost twice their size: F is in bytes on the wire, L and r are
// in cells. H is 878,064 B of frames of 64 B, 13,720 of them.
func TestBifrostPrintedInCells(t *testing.T) {
	for _, form := range []string{"printed", "clamped"} {
		b := newSlotBench(t, 0b010, "bifrost", nil)
		b.spec.Cell = 128
		s, err := newBifrost(&BifrostParams{Form: form, Slot: 10 * us, Buffer: SlotBuffer{Slots: 3}})
		if err != nil {
			t.Fatal(err)
		}
		b.recv = s.Receiver(b)
		b.arrive(1, 249_984) // 124,992 B on the wire in a slot
		// 878,080 - 124,992 - 628,064 = 125,024: a full slot. F - 124,992 + 125,000 exceeds its bound.
		b.slot(-1, 628_064, 125_000)
		b.arrive(1, 249_984)
		b.slot(1953, 503_104, 32) // 32 B fit: 124,968 / 64 = 1952.6; F - 124,992 + 32
	}
}

// After a link comes up, the peer sends at line rate: the first slot starts at once, without any
// pause.
func TestBifrostAfterReset(t *testing.T) {
	b := newSlotBench(t, 0b110, "bifrost", nil)
	b.arrive(1, 300_000)
	b.arrive(2, 200_000)
	b.slot(3907, 500_000, 0) // 878,064 - 500,000 - 625,000 < 0
	b.recv.Reset(b.now, false)
	if _, ok := b.recv.Frame(b.now, new(packet.Packet), nil); ok {
		t.Error("a frame for a link that is down")
	}
	b.now += 3 * us
	b.recv.Reset(b.now, true)
	var f packet.Packet
	if _, ok := b.recv.Frame(b.now, &f, nil); !ok || f.Seq != 3907 || b.wake != b.now+10*us {
		t.Errorf("after the link came up: %v, %d quanta, next slot %s later", ok, f.Seq, b.wake-b.now)
	}
}

// Ports that Bifrost rejects, and the messages: DELTA is 503,064 B, R_s T 125,000 B.
func TestBifrostCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*BifrostParams, *link.Port)
		want   string // "": accepted
	}{
		{"default", func(*BifrostParams, *link.Port) {}, ""},
		{"slot as long as the cable", func(p *BifrostParams, _ *link.Port) { p.Slot = 20 * us }, "slot is 20us, but the one-way delay of the cable is 20us (expected more than 1us and less than 20us)"},
		{"short cable", func(_ *BifrostParams, s *link.Port) { s.DelayIn, s.DelayOut = us, us }, "one-way delay of the cable is 1us (expected more than 1us, the shortest slot)"},
		{"slot shorter than two frames", func(p *BifrostParams, s *link.Port) { s.Rate, p.Slot = units.Gbps, 10*us }, "slot is 10us, which is 1250 bytes at line rate: less than two frames, so the gate would never open (expected 24us or more)"},
		{"slot longer than a pause", func(p *BifrostParams, s *link.Port) {
			s.Rate, s.DelayIn, s.DelayOut, p.Slot = 400*units.Gbps, 900*us, 900*us, 84*us
		}, "slot is 84us, longer than a pause of 65535 quanta minus one frame (expected less than 83.8548us)"}, // 4,194,240 - 1500 B
		{"slot too long for a late frame", func(p *BifrostParams, s *link.Port) {
			s.Rate, s.DelayIn, s.DelayOut, p.Slot = 400*units.Gbps, 900*us, 900*us, 83_855*ns
		}, "slot is 83.855us, longer than"},
		{"longest slot", func(p *BifrostParams, s *link.Port) {
			s.Rate, s.DelayIn, s.DelayOut, p.Slot = 400*units.Gbps, 900*us, 900*us, 83_854*ns
		}, ""},
		{"smallest buffer", func(p *BifrostParams, _ *link.Port) { p.Buffer = SlotBuffer{Bytes: 628_064} }, ""},
		{"buffer one byte short", func(p *BifrostParams, _ *link.Port) { p.Buffer = SlotBuffer{Bytes: 628_063} }, "buffer is 628063 bytes (expected at least a bandwidth-delay product and a slot, 628064 bytes; bdp+3 is 878064)"},
		{"indefinite pauses", func(_ *BifrostParams, s *link.Port) { s.PFC.Indefinite = true }, "pauses must expire by themselves (expected switch.pfc.hold: timed)"},
		{"ticks", func(_ *BifrostParams, s *link.Port) { s.Tick = ns }, "pauses are computed from exact line times, which compat.tick rounds (expected compat.tick: 0s)"},
		{"host", func(_ *BifrostParams, s *link.Port) { s.Host = true }, "works only between switches, and this port leads to a host (expected switch.overrides"},
		{"2 GiB", func(_ *BifrostParams, s *link.Port) {
			s.Rate, s.DelayIn, s.DelayOut = 400*units.Gbps, 25_000*us, 25_000*us
		}, "buffer is 2501509064 bytes including leaks (expected at most 2147483647)"},
	} {
		params, port := defaultBifrost().(*BifrostParams), longPort(2).spec
		c.change(params, &port)
		s, err := newBifrost(params)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		err = s.Properties().Check(&port)
		if got := ""; err != nil || c.want != "" {
			if err != nil {
				got = err.Error()
			}
			if c.want == "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
	for want, change := range map[string]func(*BifrostParams){
		"slot is 1us (expected more than 1us": func(p *BifrostParams) { p.Slot = us },
		"form is \"exact\" (allowed: window":  func(p *BifrostParams) { p.Form = "exact" },
	} {
		p := defaultBifrost().(*BifrostParams)
		change(p)
		if _, err := newBifrost(p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Line rate needs N + 1 = 6 slots of 125,000 B and 3064 B: bdp+2 if slots divide the round trip.
// With slots of 12 us, 40 us are rounded up to 48: N = 5, 6 x 150,000 + 3064.
func TestBifrostAdvice(t *testing.T) {
	for _, c := range []struct {
		slot   units.Time
		buffer SlotBuffer
		steady units.Bytes // 0: no advice
	}{
		{10 * us, SlotBuffer{Slots: 3}, 0}, {10 * us, SlotBuffer{Slots: 2}, 0}, {10 * us, SlotBuffer{Bytes: 753_063}, 753_064},
		{12 * us, SlotBuffer{Slots: 2}, 903_064}, {12 * us, SlotBuffer{Bytes: 903_064}, 0}, {12 * us, SlotBuffer{Slots: 3}, 0},
	} {
		s := &bifrost{slotRules{c.slot, c.buffer}, formWindow}
		port := longPort(2).spec
		if what, _ := s.advise(&port); (what == "") != (c.steady == 0) {
			t.Errorf("slots of %s, %+v: %q", c.slot, c.buffer, what)
		}
		if c.steady != 0 && s.steady(&port) != c.steady {
			t.Errorf("slots of %s: line rate with %d B, want %d", c.slot, s.steady(&port), c.steady)
		}
	}
}

// Only the form window keeps F above the bytes in flight.
func TestBifrostPromises(t *testing.T) {
	all := registry.Lossless | registry.InOrder | registry.Bounded
	for form, want := range map[string]registry.Promise{"window": all, "clamped": all &^ registry.Lossless, "printed": all &^ registry.Lossless} {
		if got := all &^ (&bifrost{form: form}).Properties().Breaks; got != want {
			t.Errorf("%s keeps %v, want %v", form, got, want)
		}
	}
}

func TestSlotBufferText(t *testing.T) {
	for text, want := range map[string]SlotBuffer{"bdp+3": {Slots: 3}, "bdp+1000": {Slots: 1000}, "300MB": {Bytes: 300 * units.MB}} {
		var h SlotBuffer
		if err := h.UnmarshalText([]byte(text)); err != nil || h != want {
			t.Errorf("%q: %+v, %v", text, h, err)
		}
		if back, err := h.MarshalText(); err != nil || string(back) != text {
			t.Errorf("%q is written %q, %v", text, back, err)
		}
	}
	for _, text := range []string{"", "bdp", "bdp+", "bdp+0", "bdp+1001", "bdp-1", "0B", "2GiB", "3"} {
		if err := new(SlotBuffer).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
