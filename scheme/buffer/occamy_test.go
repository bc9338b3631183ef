package buffer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// memory is a bench of four ports of 10 Gbps whose memory reads at 40 Gbps, 200 ps per byte. It
// keeps the frames of its lossy queues.
type memory struct {
	*bench
	o      *occamy
	frames [4][]*mmu.Arrival // by port
}

func newMemory(t testing.TB, shared units.Bytes, change func(*OccamyParams)) *memory {
	t.Helper()
	p := &OccamyParams{Alpha: whole, AlphaLossy: whole, MemorySpeedup: whole, Bucket: 1600}
	change(p)
	m := &memory{bench: newBench(t, 4, shared, p, newOccamy)}
	m.o = m.p.(*occamy)
	return m
}

// put stores n lossy frames of 1000 B for a port, whatever the threshold.
func (m *memory) put(out, n int) {
	for range n {
		a := m.arrival(3, out, lossy, 1000)
		m.store(a, mmu.Shared)
		m.frames[out] = append(m.frames[out], a)
	}
}

// leaves removes the first lossy frame of a port, sent or expelled.
func (m *memory) leaves(out int) {
	m.leave(m.frames[out][0])
	m.frames[out] = m.frames[out][1:]
}

// expels lets the policy expel what it may at that time, and checks the ports in order.
func (m *memory) expels(at units.Time, want ...int) {
	m.t.Helper()
	m.now = at
	var got []int
	for {
		port, class, ok := m.o.Expel(at, m.l.View())
		if !ok {
			break
		}
		if class != lossy || len(m.frames[port]) == 0 {
			m.t.Fatalf("at %d ps the policy expels a frame of port %d, class %d", at, port, class)
		}
		got = append(got, port)
		m.leaves(port)
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("at %d ps ports %v lose a frame, want %v", at, got, want)
	}
}

func (m *memory) next(want units.Time) {
	m.t.Helper()
	if at := m.o.ExpelAt(m.now, m.l.View()); at != want {
		m.t.Errorf("at %d ps the next expulsion is at %d ps, want %d", m.now, at, want)
	}
}

// With alpha 8 one queue gets 8/9 of the buffer: 8 frames of 1000 B in 9000 B, since 8000 <= 8 x
// 2000, and 9000 > 8 x 1000. It is then at its threshold, and nothing is expelled. A lossless
// frame of 500 B leaves 500 B free: 8000 > 8 x 500, so the first lossy frame is expelled, and
// 7000 <= 8 x 1500.
func TestOccamyUsesNearlyAll(t *testing.T) {
	m := newMemory(t, 9000, func(p *OccamyParams) { p.AlphaLossy = ratio(8, 1) })
	for i := range 9 {
		a, ok := m.offer(3, 1, lossy, 1000)
		if ok != (i < 8) {
			t.Fatalf("frame %d is taken: %t", i+1, ok)
		}
		if ok {
			m.frames[1] = append(m.frames[1], a)
		}
	}
	m.next(units.Never)
	m.expels(units.Microsecond)
	m.store(m.arrival(2, 0, lossless, 500), mmu.Shared)
	m.expels(units.Microsecond, 1)
	m.next(units.Never)
}

// Queues of 4000 B and 3000 B in 12,000 B, and lossless frames of 4500 B leave 500 B free: with
// alpha 1 both are over-allocated. The memory was idle for 1000 ns, of which 1600 B x 200 ps =
// 320 ns are saved. Reading a frame takes 200 ns. Port 0 loses a frame, read at 1000 - 320 + 200
// = 880 ns (threshold 1500). Port 2 loses one, read at 1080 ns (threshold 2500). Port 0 has to
// wait until then although it stores 3000 B. After that 2000 <= 3500.
func TestOccamySteps(t *testing.T) {
	ns := units.Nanosecond
	pressed := func() *memory {
		m := newMemory(t, 12000, func(*OccamyParams) {})
		m.put(0, 4)
		m.put(2, 3)
		m.next(units.Never)
		m.store(m.arrival(1, 3, lossless, 4500), mmu.Shared)
		m.next(1) // the memory has read nothing yet
		return m
	}
	m := pressed()
	m.expels(1000*ns, 0, 2)
	if spare := m.gauge("spare_bytes", 0, lossy); spare != -400 { // 80 ns
		t.Errorf("%.0f B are spare, want -400", spare)
	}
	m.next(1080*ns + 1)
	m.expels(1080 * ns)
	m.expels(1080*ns+1, 0)
	m.next(units.Never)
	if got := m.gauge("threshold_bytes", 0, lossy); got != 3500 {
		t.Errorf("the threshold is %.0f B, want 12,000 - 2000 - 2000 - 4500", got)
	}

	// Sent frames go first: 1500 B of control that pass at 1000 ns are read at 1000 - 320 + 300 =
	// 980 ns. There is time for one frame (1180 ns), not for two.
	m = pressed()
	m.now = 1000 * ns
	passing := m.arrival(1, 3, 0, 1500)
	m.store(passing, mmu.Shared)
	m.leave(passing)
	m.expels(1000*ns, 0)
	m.next(1180*ns + 1)
	m.expels(1180*ns+1, 2) // 3000 > 1500; then 3000 > 2500
	m.expels(1380 * ns)
	m.expels(1380*ns+1, 0)

	// With twice the bandwidth the same frames are read by 1000 - 160 + 2 x 100 = 1040 ns.
	m = newMemory(t, 12000, func(p *OccamyParams) { p.MemorySpeedup = ratio(2, 1) })
	m.put(0, 4)
	m.put(2, 3)
	m.store(m.arrival(1, 3, lossless, 4500), mmu.Shared)
	m.expels(1000*ns, 0, 2)
	m.next(1040*ns + 1)
}

// Lossless queues have Dynamic Threshold at the ingress and keep their frames, however far they
// are above it: 8000 B of 9000 with alpha 1.
func TestOccamyKeepsLossless(t *testing.T) {
	m := newMemory(t, 9000, func(*OccamyParams) {})
	m.store(m.arrival(0, 1, lossless, 8000), mmu.Shared)
	if q, xoff := m.o.Level(0, m.l.View(), 0, lossless); q != 8000 || xoff != 1000 {
		t.Errorf("level %d of %d B, want 8000 of 1000", q, xoff)
	}
	m.next(units.Never)
	m.expels(units.Second)
}

func TestOccamyRefuses(t *testing.T) {
	for about, change := range map[string]func(*OccamyParams){
		"alpha is 0/1 (expected more than 0)":           func(p *OccamyParams) { p.Alpha.Num = 0 },
		"alpha_lossy is 0/1 (expected more than 0)":     func(p *OccamyParams) { p.AlphaLossy = ratio(0, 1) },
		"memory_speedup is 0/1 (expected 1/100 to 100)": func(p *OccamyParams) { p.MemorySpeedup.Num = 0 },
		"memory_speedup is 101/1 (expected":             func(p *OccamyParams) { p.MemorySpeedup = ratio(101, 1) },
		"memory_speedup is 1/101 (expected":             func(p *OccamyParams) { p.MemorySpeedup = ratio(1, 101) },
		"bucket is 0B (expected more than 0B":           func(p *OccamyParams) { p.Bucket = 0 },
	} {
		p := &OccamyParams{Alpha: whole, AlphaLossy: whole, MemorySpeedup: whole, Bucket: 1600}
		change(p)
		if _, err := newOccamy(p, Env{View: newLedger().View()}); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("%v, want %q", err, about)
		}
	}
}

// The tree gives the same answer as a linear search, and its root is the largest number.
func TestOccamyMaxTree(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "n")
		tree, plain := newMaxTree(n), make([]units.Bytes, n)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			b := units.Bytes(rapid.IntRange(int(-plain[i]), 9).Draw(t, "b"))
			plain[i] += b
			tree.add(i, b)
			from, bound := rapid.IntRange(0, n).Draw(t, "from"), units.Bytes(rapid.IntRange(0, 9).Draw(t, "bound"))
			want, most := -1, units.Bytes(0)
			for k := range n {
				most = max(most, plain[k])
				if at := (from + k) % n; want < 0 && plain[at] > bound {
					want = at
				}
			}
			if tree.most() != most {
				t.Fatalf("%v: the largest is %d", plain, tree.most())
			}
			if want >= 0 && tree.above(from, bound) != want {
				t.Fatalf("%v: above %d, from %d: found %d, want %d", plain, bound, from, tree.above(from, bound), want)
			}
		}
	})
}

// read is one frame that the memory read, sent or expelled.
type read struct {
	at units.Time
	b  units.Bytes
}

// spare reports whether the memory has time now, by the definition. Since any earlier read it has
// read less than it could in that time plus the bucket. Since the start it has read less than it
// could.
func spare(reads []read, now units.Time, perByte units.Time, bucket units.Bytes) bool {
	sum := units.Time(0)
	for i := len(reads) - 1; i >= 0; i-- {
		sum += units.Time(reads[i].b) * perByte
		if sum >= units.Time(bucket)*perByte+now-reads[i].at {
			return false
		}
	}
	return sum < now
}

// Only lossy queues above their threshold lose frames, only when the memory has time, always when
// it has, and in round-robin order. The ledger stays consistent.
func TestOccamyProperties(t *testing.T) {
	taken, waits := 0, 0
	for seed := range uint64(200) {
		c := newOccamyCase(t, seed)
		for step := range 100 {
			c.step()
			c.expel()
			if err := c.l.Check(); err != nil || t.Failed() {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		taken, waits = taken+c.taken, waits+c.waits
	}
	t.Logf("%d frames expelled, %d waits", taken, waits)
	if taken < 1000 || waits < 500 {
		t.Error("too few frames expelled or delayed")
	}
}

// occamyCase is a bench with random frames.
type occamyCase struct {
	*memory
	*rand.Rand
	alpha        units.Ratio
	perByte      units.Time
	bucket       units.Bytes
	reads        []read
	others       []*mmu.Arrival // lossless frames
	last         int            // last port that lost a frame
	taken, waits int
}

func newOccamyCase(t *testing.T, seed uint64) *occamyCase {
	r := rand.New(rand.NewPCG(seed, 0))
	speedup := []units.Ratio{ratio(1, 2), whole, ratio(2, 1)}[r.IntN(3)]
	c := &occamyCase{
		Rand: r, alpha: []units.Ratio{ratio(1, 4), whole, ratio(8, 1)}[r.IntN(3)], bucket: []units.Bytes{1, 500, 1600, 5000}[r.IntN(4)],
		perByte: units.Time(200 * speedup.Den / speedup.Num), last: 3,
	}
	c.memory = newMemory(t, 20000, func(p *OccamyParams) { p.AlphaLossy, p.MemorySpeedup, p.Bucket = c.alpha, speedup, c.bucket })
	return c
}

// step advances the time and lets a frame arrive or leave.
func (c *occamyCase) step() {
	c.now += units.Time(c.IntN(300)) * units.Nanosecond
	port, b := c.IntN(4), units.Bytes(60+c.IntN(1441))
	switch what := c.IntN(7); {
	case what < 3:
		if a, ok := c.offer(3, port, lossy, b); ok {
			c.frames[port] = append(c.frames[port], a)
		}
	case what < 5:
		if b <= c.l.View().SharedFree() {
			c.others = append(c.others, c.arrival(port, 2, lossless, b))
			c.store(c.others[len(c.others)-1], mmu.Shared)
		}
	case what < 6 && len(c.frames[port]) > 0:
		c.reads = append(c.reads, read{c.now, c.frames[port][0].Bytes})
		c.leaves(port)
	case len(c.others) > 0:
		c.reads = append(c.reads, read{c.now, c.others[0].Bytes})
		c.leave(c.others[0])
		c.others = c.others[1:]
	}
}

// expel lets the policy expel what it may, and compares with the expected queue.
func (c *occamyCase) expel() {
	for {
		v := c.l.View()
		over, victim := c.alpha.Of(v.SharedFree()), -1
		for k := 1; k <= 4 && victim < 0; k++ {
			if at := (c.last + k) % 4; v.Egress(at, lossy) > over {
				victim = at
			}
		}
		want := victim >= 0 && spare(c.reads, c.now, c.perByte, c.bucket)
		if due := c.o.ExpelAt(c.now, v); (due <= c.now) != want || (due == units.Never) != (victim < 0) {
			c.t.Errorf("at %d ps the next expulsion is at %d ps; victim %d, spare %t", c.now, due, victim, want)
		}
		at, class, ok := c.o.Expel(c.now, v)
		if ok != want || ok && (at != victim || class != lossy) {
			c.t.Errorf("at %d ps port %d, class %d loses a frame: %t, want port %d: %t", c.now, at, class, ok, victim, want)
			return
		}
		if !ok {
			if victim >= 0 {
				c.waits++
			}
			return
		}
		c.last = at
		c.taken++
		c.reads = append(c.reads, read{c.now, c.frames[at][0].Bytes})
		c.leaves(at)
	}
}
