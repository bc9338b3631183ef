package flowctl

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// dshModel is a second implementation of DSH without shortcuts. It keeps the bytes per queue and
// segment, adds them up whenever it needs a sum, and computes every estimate at every arrival.
type dshModel struct {
	stored                  [mmu.Classes]map[mmu.Segment]units.Bytes
	at                      [mmu.Classes]units.Time
	length, g, v, phi       [mmu.Classes]float64
	seen                    [mmu.Classes]bool
	previous                int
	start                   units.Time
	single                  bool
	off                     [mmu.Classes]bool
	portOff                 bool
	others                  units.Bytes // shared bytes of the other port
	size, insurance, phiMax units.Bytes
	private                 units.Bytes
	alpha                   units.Ratio
	sharing                 bool
	deltaQ, deltaP          units.Bytes
	table                   *tables // estimates instead, from the queue lengths of the model; nil: ideal
}

func (w *dshModel) sum(s mmu.Segment) units.Bytes {
	n := units.Bytes(0)
	for c := range w.stored {
		n += w.stored[c][s]
	}
	return n
}

func (w *dshModel) threshold() units.Bytes {
	free := max(0, w.size-w.others-w.sum(mmu.Shared))
	return units.Bytes(math.Floor(float64(free) * float64(w.alpha.Num) / float64(w.alpha.Den)))
}

func (w *dshModel) arrive(now units.Time, c uint8, b units.Bytes) mmu.Segment {
	length := float64(b)
	for _, n := range w.stored[c] {
		length += float64(n)
	}
	if w.seen[c] && now > w.at[c] {
		g := (length - w.length[c]) / float64(now-w.at[c])
		v := math.Abs(w.g[c] - g)
		w.g[c] += 0.25 * (g - w.g[c])
		w.v[c] += 0.25 * (v - w.v[c])
		delay := float64(w.phiMax) / (100e9 / 8 / 1e12)
		w.phi[c] = math.Max(0, math.Min((w.g[c]+4*w.v[c])*delay, float64(w.phiMax)))
	}
	if w.table != nil {
		w.table.arrive(now, c, units.Bytes(length))
		w.phi[c] = float64(w.table.estimate(c))
	}
	w.seen[c], w.at[c], w.length[c] = true, now, length
	if int(c) != w.previous {
		w.previous, w.start, w.single = int(c), now, false
	} else if now-w.start > 10*units.Millisecond {
		w.single = true
	}
	t := w.threshold()
	fits := w.sum(mmu.Shared)+b <= 2*t
	if !w.sharing {
		fits = w.stored[c][mmu.Shared]+b <= t
	}
	var s mmu.Segment
	switch {
	case w.stored[c][mmu.Private]+b <= w.private:
		s = mmu.Private
	case fits && w.others+w.sum(mmu.Shared)+b <= w.size:
		s = mmu.Shared
	case w.sum(mmu.Headroom)+b <= w.insurance:
		s, w.portOff = mmu.Headroom, true
	default:
		if w.sum(mmu.Shared) > 0 {
			w.portOff = true
		}
		return mmu.Drop
	}
	w.stored[c][s] += b
	w.look(c)
	return s
}

func (w *dshModel) leave(c uint8, b units.Bytes) {
	for _, s := range []mmu.Segment{mmu.Headroom, mmu.Shared, mmu.Private} {
		n := min(b, w.stored[c][s])
		w.stored[c][s] -= n
		b -= n
	}
	w.look(c)
}

func (w *dshModel) look(c uint8) {
	t, tau := w.threshold(), units.Bytes(math.Floor(w.phi[c]+0.5))
	if w.single || !w.sharing {
		tau = 0
	}
	xoff := max(0, t-tau)
	if q := w.stored[c][mmu.Shared]; q > xoff {
		w.off[c] = true
	} else if q < xoff-w.deltaQ || q+w.stored[c][mmu.Headroom] == 0 {
		w.off[c] = false
	}
	if p := w.sum(mmu.Shared); p > 2*t {
		w.portOff = true
	} else if w.sum(mmu.Headroom) == 0 && (p < 2*t-w.deltaP || p == 0) {
		w.portOff = false
	}
}

func (w *dshModel) paused() packet.ClassMask {
	mask := packet.ClassMask(0)
	for c := uint8(1); c <= 2; c++ {
		if w.off[c] || w.portOff {
			mask |= 1 << c
		}
	}
	return mask
}

// untold reports whether a switch skips the call of Released for a frame.
func untold(r *dshReceiver, p *fakePort, a *mmu.Arrival) bool {
	s := r.Shortcuts()
	q, t := p.policy.Level(0, p.View(), a.In, a.Class)
	return !r.Paused().Has(a.Class) && s.Release && q+s.Margin <= t && p.View().PortIn(a.In, mmu.Shared) <= units.Bytes(s.Levels)*t
}

// A port can be above its threshold while the queue of a departing frame is far below its own, if
// others grew: alpha 1/4 of 40,000 B, PHI 1000 B. Class 1 stores 2000 B and class 2 7000 B, far
// apart in time; then port 1 takes 18,000 B. When 1000 B of class 1 leave, T = (40,000 - 8000 -
// 18,000) / 4 = 3500: 1000 B + PHI are below, 8000 B above 2 T.
func TestDSHSteady(t *testing.T) {
	b := newDSHBench(t, nil)
	b.dynamic(t, units.Ratio{Num: 1, Den: 4})
	params := defaultDSH().(*DSHParams)
	params.Headroom = link.Headroom{Rule: link.RuleBytes, Bytes: 1000}
	b.dshReceiver = mustScheme(t, "dsh", params).Receiver(b.fakePort).(*dshReceiver)
	for i := range units.Time(9) {
		class := uint8(2)
		if i < 2 {
			class = 1
		}
		b.arrive(100_000*i, class, 1000, mmu.Shared, 0)
	}
	b.ledger.Charge(&mmu.Arrival{In: 1, Out: 1, Bytes: 18_000, Class: 1, Kind: mmu.Lossless}, mmu.Shared)
	a := &mmu.Arrival{Class: 1, Bytes: 1000, Kind: mmu.Lossless, Out: 1}
	b.ledger.Release(a)
	if untold(b.dshReceiver, b.fakePort, a) {
		t.Error("a switch would skip Released")
	}
	b.Released(1_000_000*ns, a)
	if b.Paused() != 0b110 {
		t.Errorf("paused %03b", b.Paused())
	}
}

// For random frames, with or without shortcuts, the receiver and the model choose the same
// segments, store the same bytes per class and segment, and pause the same classes.
func TestDSHAgreesWithModel(t *testing.T) {
	var cases, insured, paused, portPaused, brief, dropped, single int
	property := func(t *rapid.T) {
		pick := func(name string, list ...units.Bytes) units.Bytes { return rapid.SampledFrom(list).Draw(t, name) }
		w := &dshModel{
			previous: -1, size: pick("shared", 20_000, 60_000, 200_000), private: pick("private", 0, 0, 3000), phiMax: pick("phi", 4000, 10_000),
			alpha: rapid.SampledFrom([]units.Ratio{{Num: 1, Den: 16}, {Num: 1, Den: 4}, {Num: 1, Den: 1}, {Num: 1, Den: 3}}).Draw(t, "alpha"), sharing: rapid.IntRange(0, 3).Draw(t, "sharing") > 0,
			deltaQ: pick("delta_q", 0, 2000), deltaP: pick("delta_p", 0, 2000),
		}
		w.insurance = w.phiMax
		params := defaultDSH().(*DSHParams)
		params.Headroom, params.SharedHeadroom, params.DeltaQueue, params.DeltaPort = link.Headroom{Rule: link.RuleBytes, Bytes: w.phiMax}, w.sharing, w.deltaQ, w.deltaP
		if n := rapid.IntRange(0, 11).Draw(t, "uninsured"); n < 3 {
			w.insurance = units.Bytes(n) * 250 // at most half a frame
			params.Insurance = Insurance{Bytes: w.insurance}
		}
		if rapid.IntRange(0, 2).Draw(t, "table") == 0 {
			params.Estimator = "table"
			w.table, _ = newTables(paperWeights, w.phiMax, 100*units.Gbps)
		}
		for c := range w.stored {
			w.stored[c] = map[mmu.Segment]units.Bytes{}
		}
		spec := mmu.Spec{Ports: 2, Size: w.size + 40_000, Shared: w.size, Private: w.private}
		spec.Kinds[1], spec.Kinds[2] = mmu.Lossless, mmu.Lossless
		p := &fakePort{spec: link.Port{Rate: 100 * units.Gbps, Lossless: 0b110, PFC: link.PFC{Quanta: 1000}}, ledger: mmu.NewLedger(spec), wake: units.Never}
		p.dynamic(t, w.alpha)
		s, err := newDSH(params)
		if err != nil {
			t.Fatal(err)
		}
		r := s.Receiver(p).(*dshReceiver)
		cases++
		var queued [mmu.Classes][]units.Bytes
		now, short := units.Time(0), rapid.Bool().Draw(t, "short")
		seen := struct{ insured, paused, port, brief, dropped, single bool }{}
		for range rapid.IntRange(100, 200).Draw(t, "steps") {
			now += rapid.SampledFrom([]units.Time{200_000, 80_000, 80_000, 80_000, 80_000, 80_000, 3_000_000, 11_000_000_000}).Draw(t, "wait")
			c := uint8(1 + rapid.IntRange(0, 5).Draw(t, "class")/4)
			b := rapid.SampledFrom([]units.Bytes{1000, 64, 1000, 1000}).Draw(t, "bytes")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 4:
				if n := len(queued[c]); n > 0 {
					a := &mmu.Arrival{Class: c, Bytes: queued[c][0], Kind: mmu.Lossless, Out: 1}
					queued[c] = queued[c][1:]
					p.ledger.Release(a)
					if !short || !untold(r, p, a) {
						r.Released(now, a)
					}
					w.leave(c, a.Bytes)
				}
			case 5:
				// Another port takes shared bytes, or releases them.
				o := &mmu.Arrival{In: 1, Class: 1, Bytes: 5 * b, Kind: mmu.Lossless, Out: 1}
				if rapid.Bool().Draw(t, "grow") && o.Bytes <= p.View().SharedFree() {
					p.ledger.Charge(o, mmu.Shared)
					w.others += o.Bytes
				} else if w.others >= o.Bytes {
					p.ledger.Release(o)
					w.others -= o.Bytes
				}
			default:
				a := &mmu.Arrival{Class: c, Bytes: b, Kind: mmu.Lossless, Out: 1}
				got, called := mmu.Shared, true
				if short {
					called = !(r.Shortcuts().Arrived != nil && r.Arrived(now, c, b))
					seen.brief = seen.brief || !called
				}
				if called {
					got = r.Place(now, a)
				}
				if want := w.arrive(now, c, b); got != want {
					t.Fatalf("%s: a frame of class %d goes to %s, want %s", now, c, got, want)
				}
				if got == mmu.Drop {
					seen.dropped = true
					break
				}
				p.ledger.Charge(a, got)
				if called {
					r.Charged(now, a, got)
				}
				queued[c] = append(queued[c], b)
				seen.insured = seen.insured || got == mmu.Headroom
			}
			for c := uint8(1); c <= 2; c++ {
				in := p.View().Ingress(0, c)
				if h := w.stored[c]; in.Private != h[mmu.Private] || in.Shared != h[mmu.Shared] || in.Headroom != h[mmu.Headroom] {
					t.Fatalf("%s: class %d stores %+v, want %v", now, c, in, h)
				}
			}
			if got, want := r.Paused(), w.paused(); got != want {
				t.Fatalf("%s: paused %03b, want %03b", now, got, want)
			}
			if port := p.View().PortIn(0, mmu.Headroom); port != w.sum(mmu.Headroom) || port > w.insurance {
				t.Fatalf("%s: the insurance of %d B stores %d B, want %d B", now, w.insurance, port, w.sum(mmu.Headroom))
			}
			seen.paused, seen.port, seen.single = seen.paused || w.paused() != 0, seen.port || w.portOff, seen.single || w.single
		}
		for c := uint8(1); c <= 2; c++ {
			for _, b := range queued[c] {
				a := &mmu.Arrival{Class: c, Bytes: b, Kind: mmu.Lossless, Out: 1}
				p.ledger.Release(a)
				r.Released(now, a)
			}
		}
		if r.Paused() != 0 {
			t.Fatalf("all frames have left, but %03b are OFF", r.Paused())
		}
		for _, k := range []struct {
			seen bool
			n    *int
		}{{seen.insured, &insured}, {seen.paused, &paused}, {seen.port, &portPaused}, {seen.brief, &brief}, {seen.dropped, &dropped}, {seen.single, &single}} {
			if k.seen {
				*k.n++
			}
		}
	}
	for range 10 { // rapid runs a hundred cases each
		trials.Check(t, property)
	}
	t.Logf("of %d cases: %d paused, %d paused the port, %d used the insurance, %d dropped, %d took shortcuts, %d had one queue for a window", cases, paused, portPaused, insured, dropped, brief, single)
	if paused < cases/2 || portPaused < cases/4 || insured < cases/5 || brief < cases/20 || dropped < 1 || single < cases/10 {
		t.Error("too few cases reach these states")
	}
}
