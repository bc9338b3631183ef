package buffer

import (
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

func l2bmParams() *L2BMParams {
	return &L2BMParams{Algorithm: "mended", Alpha: ratio(1, 8), AlphaLossy: whole, C: Norm{Rule: "sum"}, PausedTime: "ignore", LossyPool: whole}
}

const us = units.Microsecond

// Frames of 1000 B take 0.8 us at 10 Gbps, 0.2 us at 40 Gbps. Queue A has three for a port of
// 10 Gbps: tau = (0.8 + 1.6 + 2.4) / 3 = 1.6 us. Queue B has one for a port of 40 Gbps, 0.2 us,
// which is its floor, too. 100,000 - 4000 B are free. With C the sum, 1.8 us: T of A is
// 1.8 / 1.6 / 8 x 96,000 = 13,500, T of B 1.8 / 0.2 / 8 = 9/8 of what is free, cut to that. With the
// mean, 0.9 us, half: 6750 and 54,000. With 3.2 us 24,000 and all.
func TestL2BMThresholds(t *testing.T) {
	for _, c := range []struct {
		norm Norm
		a, b units.Bytes
	}{{Norm{Rule: "sum"}, 13_500, 96_000}, {Norm{Rule: "mean"}, 6750, 54_000}, {Norm{Time: 3200 * units.Nanosecond}, 24_000, 96_000}} {
		p := l2bmParams()
		p.C = c.norm
		b := newBench(t, 4, 100_000, p, newL2BM, 10*units.Gbps, 40*units.Gbps, 10*units.Gbps, 40*units.Gbps)
		for range 3 {
			b.store(b.arrival(0, 2, lossless, 1000), mmu.Shared)
		}
		b.store(b.arrival(1, 3, lossless, 1000), mmu.Shared)
		for port, want := range []units.Bytes{c.a, c.b} {
			if _, xoff := b.p.Level(0, b.l.View(), port, lossless); xoff != want {
				t.Errorf("%+v: T of queue %d is %d B, want %d", c.norm, port, xoff, want)
			}
		}
	}
}

// With the clock: at 1 us queue A has 1.6 - 1 = 0.6 us left, below its floor of 0.8 us, and B
// is at its floor. T of A is 1.0 / 0.8 / 8 x 96,000 = 15,000. When A's first frame has left, on
// time, 1.2 - 0.2 = 1.0 us are left of (1.6 + 2.4) / 2 - 1: T = 1.2 / 1.0 / 8 x 97,000 = 14,550.
func TestL2BMClock(t *testing.T) {
	b := newBench(t, 4, 100_000, l2bmParams(), newL2BM, 10*units.Gbps, 40*units.Gbps, 10*units.Gbps, 40*units.Gbps)
	first := b.arrival(0, 2, lossless, 1000)
	b.store(first, mmu.Shared)
	b.store(b.arrival(0, 2, lossless, 1000), mmu.Shared)
	b.store(b.arrival(0, 2, lossless, 1000), mmu.Shared)
	b.store(b.arrival(1, 3, lossless, 1000), mmu.Shared)
	b.now = us
	if _, xoff := b.p.Level(b.now, b.l.View(), 0, lossless); xoff != 15_000 {
		t.Errorf("T is %d B, want 15,000", xoff)
	}
	b.leave(first)
	if _, xoff := b.p.Level(b.now, b.l.View(), 0, lossless); xoff != 14_550 {
		t.Errorf("T is %d B, want 14,550", xoff)
	}
}

// mu is the part of a class: with another class at the port, of the same quantum, half of the
// line: 1000 B are expected to take 1.6 us.
func TestL2BMShareOfTheLine(t *testing.T) {
	b := newBench(t, 3, 100_000, l2bmParams(), newL2BM)
	b.store(b.arrival(0, 2, lossy, 1000), mmu.Shared)
	b.store(b.arrival(1, 2, lossless, 1000), mmu.Shared)
	if a, c := b.gauge("sojourn_us", 0, lossy), b.gauge("sojourn_us", 1, lossless); a != 0.8 || c != 1.6 {
		t.Errorf("sojourn times are %v and %v us, want 0.8 and 1.6", a, c)
	}
}

// Eq. 8 and 9. Queues that are alike have weights n alpha, whatever their sojourn. Two: 1/4
// each, Q = B x 1/2 / (3/2), 150,000 B each of 900,000. Eight: 1 each, so each threshold is all
// that is free, and Q = 8/9 B, 100,000 B each.
func TestL2BMSteadyState(t *testing.T) {
	for n, want := range map[int]units.Bytes{2: 150_000, 8: 100_000} {
		b := newBench(t, 16, 900_000, l2bmParams(), newL2BM)
		var queues [][3]int
		for i := range n {
			queues = append(queues, [3]int{i, 8 + i, lossless})
		}
		for i, held := range b.fill(500, queues...) {
			if held < want-1500 || held > want+1500 {
				t.Errorf("queue %d of %d holds %d B, want %d", i, n, held, want)
			}
		}
	}
}

// One queue and C = 80 us: frame k + 1 finds k of 0.8 us each, so tau = 0.8 (k + 2) / 2 us with
// itself, and T = 80 / (0.4 (k + 2)) / 8 x (1,000,000 - 1000 k). 1000 (k + 1) <= T is
// (k + 1)(k + 2) <= 25 (1000 - k): 145 x 146 = 21,170 <= 25 x 856 = 21,400, but
// 146 x 147 = 21,462 > 25 x 855 = 21,375. So 145 frames. Eq. 8 has 146,199 B there, with
// w = 80 / 58.4 / 8 = 0.17123 and Q = B w / (1 + w).
func TestL2BMConstant(t *testing.T) {
	p := l2bmParams()
	p.C = Norm{Time: 80 * us}
	b := newBench(t, 2, 1_000_000, p, newL2BM)
	if held := b.fill(1000, [3]int{0, 1, lossless})[0]; held != 145_000 {
		t.Errorf("the queue holds %d B, want 145,000", held)
	}
	if w := b.gauge("weight", 0, lossless); w < 0.17123 || w > 0.17124 {
		t.Errorf("weight %v, want 0.17123", w)
	}
}

// Lossy queues are held against T at the ingress, and against Dynamic Threshold in their pool
// at the egress: half of 100,000 B, of which alpha 1/4.
func TestL2BMLossy(t *testing.T) {
	p := l2bmParams()
	p.Alpha, p.AlphaLossy, p.LossyPool = whole, ratio(1, 4), ratio(1, 2)
	b := newBench(t, 3, 100_000, p, newL2BM)
	// q = (50,000 - q) / 4 at 10,000.
	b.near("lossy", sum(b.fill(100, [3]int{0, 2, lossy}, [3]int{1, 2, lossy})), 10_000, 200)
	p.AlphaLossy, p.LossyPool, p.C = ratio(1000, 1), whole, Norm{Time: 80 * units.Nanosecond}
	b = newBench(t, 3, 100_000, p, newL2BM)
	// A frame of 1000 B of its own takes 0.8 us: T = 0.08 / 0.8 x 100,000 = 10,000.
	if b.p.Fits(0, b.l.View(), b.arrival(0, 2, lossy, 10_001)) {
		t.Error("a lossy frame exceeds T at the ingress")
	}
}

// twin follows each packet of an ingress queue: how much time it has left, which the clock
// takes unless its egress is paused.
type twin struct {
	left map[*mmu.Arrival]units.Time
	at   units.Time
	held map[[2]int]bool // egress queues that are paused
}

func (w *twin) until(now units.Time) {
	for a := range w.left {
		if !w.held[[2]int{a.Out, int(a.Class)}] {
			w.left[a] -= now - w.at
		}
	}
	w.at = now
}

// of returns S - N now and N of an ingress queue.
func (w *twin) of(in int, class uint8) (rest, n units.Time) {
	for a, left := range w.left {
		if a.In == in && a.Class == class {
			rest, n = rest+left, n+1
		}
	}
	return rest, n
}

// S / N equals that of the twin to the picosecond, with pauses and without, and so does the
// sum over queues: to a picosecond per queue, and with clocks that stand still for some
// packets of a queue by their share in 65,536 parts of the time since it changed.
func TestL2BMAgreesWithItsTwin(t *testing.T) {
	const ports = 5
	for _, paused := range []string{"ignore", "freeze"} {
		seen, pauses, floors := 0, 0, 0
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(7, seed))
			p := l2bmParams()
			p.PausedTime = paused
			b := newBench(t, ports, 200_000, p, newL2BM, 10*units.Gbps, 40*units.Gbps, 25*units.Gbps)
			w := &twin{left: make(map[*mmu.Arrival]units.Time), held: make(map[[2]int]bool)}
			core := coreOf(b.p)
			fifos := make([][]*mmu.Arrival, ports*mmu.Classes) // by egress
			for range 1500 {
				b.now += units.Time(r.IntN(400_000))
				w.until(b.now)
				class := uint8(1 + r.IntN(2))
				switch k := r.IntN(20); {
				case k < 10:
					in, out := r.IntN(ports), r.IntN(ports)
					if a, ok := b.offer(in, out, class, units.Bytes(64+r.IntN(1400))); ok {
						w.left[a] = core.expected(b.l.View(), out, class, b.l.View().Egress(out, class))
						fifos[out*mmu.Classes+int(class)] = append(fifos[out*mmu.Classes+int(class)], a)
					}
				case k < 19:
					f := &fifos[r.IntN(ports)*mmu.Classes+int(class)]
					if len(*f) == 0 || w.held[[2]int{(*f)[0].Out, int(class)}] && r.IntN(10) > 0 {
						continue // some leave in spite of a pause, as handlers of deadlocks have it
					}
					delete(w.left, (*f)[0])
					b.leave((*f)[0])
					*f = (*f)[1:]
				default:
					o, ok := b.p.(PauseObserver)
					if !ok {
						continue
					}
					key := [2]int{r.IntN(ports), int(class)}
					w.held[key] = !w.held[key]
					o.EgressPaused(b.now, key[0], class, w.held[key])
					pauses++
				}
				wantSum, n := units.Time(0), units.Time(0)
				for in := range ports {
					for class := uint8(1); class < 3; class++ {
						rest, packets := w.of(in, class)
						q := core.queues[in*mmu.Classes+int(class)]
						q.settle(b.now)
						if q.rest != rest || q.n != packets {
							t.Fatalf("%s, seed %d, at %s: queue %d.%d has %d ps left of %d packets, its twin %d of %d", paused, seed, b.now, in, class, q.rest, q.n, rest, packets)
						}
						if packets > 0 {
							tau, floor := floorDiv(rest, packets), core.taus.queues[in*mmu.Classes+int(class)].floor
							if tau < floor {
								floors++
							}
							wantSum += max(tau, floor)
							n++
						}
					}
				}
				slack := n
				if paused == "freeze" {
					slack += n * 100 * us >> slopeBits
				}
				if got, m := core.taus.sum(b.now); units.Time(m) != n || got < wantSum-slack || got > wantSum+slack {
					t.Fatalf("%s, seed %d, at %s: the sum is %d ps of %d queues, want %d of %d", paused, seed, b.now, got, m, wantSum, n)
				}
				seen++
			}
		}
		t.Logf("%s: %d states, %d pauses, %d queues at their floor", paused, seen, pauses, floors)
		if floors < seen/10 || paused == "freeze" && pauses < 100 {
			t.Error("the cases are too tame")
		}
	}
}

func coreOf(p Policy) *l2bm {
	if f, ok := p.(*frozenL2BM); ok {
		return f.l2bm
	}
	return p.(*l2bm)
}

// Algorithm 1 as printed drifts: with packets that leave when they can, but not when they were
// expected to, t_total is far from zero when the queue is empty, and stays so. Mended, it is
// exactly zero.
func TestL2BMPrintedDrifts(t *testing.T) {
	drift := make(map[string]units.Time)
	for _, algorithm := range []string{"mended", "printed"} {
		p := l2bmParams()
		p.Algorithm = algorithm
		b := newBench(t, 3, 4_000_000, p, newL2BM)
		r := rand.New(rand.NewPCG(3, 3))
		var fifo []*mmu.Arrival
		for i := range 200_000 {
			b.now += 800 * units.Nanosecond
			if r.IntN(2) == 0 {
				a := b.arrival(i%2, 2, lossless, 1000)
				b.store(a, mmu.Shared)
				fifo = append(fifo, a)
			} else if len(fifo) > 0 {
				b.leave(fifo[0])
				fifo = fifo[1:]
			}
		}
		for _, a := range fifo {
			b.now += 800 * units.Nanosecond
			b.leave(a)
		}
		q := coreOf(b.p).queues[lossless]
		if q.n != 0 {
			t.Fatalf("%d packets are left", q.n)
		}
		drift[algorithm] = q.rest
		if s, n := coreOf(b.p).taus.sum(b.now); s != 0 || n != 0 {
			t.Errorf("%s: the sum of no queues is %d of %d", algorithm, s, n)
		}
	}
	t.Logf("t_total of an empty queue after 200,000 steps: %s as printed", drift["printed"])
	if drift["mended"] != 0 || max(drift["printed"], -drift["printed"]) < units.Millisecond {
		t.Errorf("drift %s mended, %s printed", drift["mended"], drift["printed"])
	}
}

// As printed: enqueue at 0 adds 0.8 us, at 0.3 us another 1.6 - 1 x 0.3; a departure at 0.8 us
// takes 0.8 - 0.3. Left are 0.8 + 1.3 - 0.5 = 1.6 us of one packet, which has 1.1 us left.
func TestL2BMPrintedSteps(t *testing.T) {
	p := l2bmParams()
	p.Algorithm = "printed"
	b := newBench(t, 2, 100_000, p, newL2BM)
	first := b.arrival(0, 1, lossless, 1000)
	b.store(first, mmu.Shared)
	b.now = 300 * units.Nanosecond
	b.store(b.arrival(0, 1, lossless, 1000), mmu.Shared)
	b.now = 800 * units.Nanosecond
	b.leave(first)
	if tau := b.gauge("sojourn_us", 0, lossless); tau != 1.6 {
		t.Errorf("tau is %v us, want 1.6", tau)
	}
}

// A clock that stands still: a packet behind an egress that is paused from 0.2 to 5.2 us is
// expected at 6.6, not at 1.6 us, and one that comes at 1 us then, too, later by its turn.
func TestL2BMFreeze(t *testing.T) {
	p := l2bmParams()
	p.PausedTime = "freeze"
	b := newBench(t, 2, 100_000, p, newL2BM)
	first := b.arrival(0, 1, lossless, 2000)
	b.store(first, mmu.Shared) // 1.6 us
	pause := b.p.(PauseObserver)
	b.now = 200 * units.Nanosecond
	pause.EgressPaused(b.now, 1, lossless, true)
	b.now = us
	if tau := b.gauge("sojourn_us", 0, lossless); tau != 1.4 {
		t.Errorf("tau is %v us, want 1.6 - 0.2", tau)
	}
	b.store(b.arrival(0, 1, lossless, 2000), mmu.Shared) // 3.2 us: (1.4 + 3.2) / 2
	b.now = 5200 * units.Nanosecond
	if tau := b.gauge("sojourn_us", 0, lossless); tau != 2.3 {
		t.Errorf("tau is %v us, want 2.3", tau)
	}
	pause.EgressPaused(b.now, 1, lossless, false)
	b.now = 6200 * units.Nanosecond
	if tau := b.gauge("sojourn_us", 0, lossless); tau != 1.3 {
		t.Errorf("tau is %v us, want 2.3 - 1", tau)
	}
	b.leave(first) // 3.2 - 1 is left of the other
	if tau := b.gauge("sojourn_us", 0, lossless); tau != 2.2 {
		t.Errorf("tau is %v us, want 2.2", tau)
	}
}
