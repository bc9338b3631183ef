package buffer

import (
	"fmt"
	"math/bits"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// OccamyParams are the parameters of Occamy.
type OccamyParams struct {
	Alpha         units.Ratio `yaml:"alpha" doc:"threshold of a lossless ingress queue: this times the free part of the shared segment"`
	AlphaLossy    units.Ratio `yaml:"alpha_lossy" doc:"threshold of a lossy egress queue: this times the free shared bytes; frames above it are refused or expelled"`
	MemorySpeedup units.Ratio `yaml:"memory_speedup" doc:"packet memory bandwidth as a multiple of the sum of line rates; bandwidth that departures leave unused expels frames"`
	Bucket        units.Bytes `yaml:"bucket" doc:"unused memory bandwidth that can be saved up, in bytes"`
}

// occamy is Occamy (Shan et al., EuroSys 2025): Dynamic Threshold with an alpha so large that a
// few queues may fill nearly the whole buffer. In addition, expulsion drops frames from the heads
// of over-allocated lossy queues (above the current threshold) in round-robin order, using memory
// bandwidth that forwarding leaves unused. Details that the paper leaves open follow the authors'
// code (docs/hybrid.md).
type occamy struct {
	dt
	view    mmu.View
	speed   units.Rate // bandwidth of the packet memory
	saved   units.Time // longest idle time that counts
	read    units.Time // time at which all departed frames are read; in the past: idle since then
	classes []uint8    // lossy classes
	rank    [mmu.Classes]int
	queues  maxTree // by port and lossy class
	turn    int     // next queue in round-robin order
}

func newOccamy(params any, env Env) (Policy, error) {
	p := params.(*OccamyParams)
	speed, err := memorySpeed(env.Rates, p.MemorySpeedup)
	if err := firstError(positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy), err); err != nil {
		return nil, err
	}
	if p.Bucket <= 0 || p.Bucket > mmu.MaxBuffer {
		return nil, fmt.Errorf("bucket is %s (expected more than 0B and at most %dB)", p.Bucket, int64(mmu.MaxBuffer))
	}
	o := &occamy{
		dt: dt{lossless: newAlpha(p.Alpha), lossy: newAlpha(p.AlphaLossy)}, view: env.View, speed: speed, saved: speed.TxTimeDown(p.Bucket),
	}
	for c := range uint8(mmu.Classes) {
		if o.view.Kind(c) == mmu.Lossy {
			o.rank[c] = len(o.classes)
			o.classes = append(o.classes, c)
		}
	}
	o.queues = newMaxTree(env.View.Ports() * len(o.classes))
	return o, nil
}

// maxSpeedup and its inverse are the limits of memory_speedup.
const maxSpeedup = 100

// memorySpeed returns the bandwidth of the packet memory: speedup times the sum of the port
// rates, and at least 1 Mbps, for a switch without cables.
func memorySpeed(rates []units.Rate, speedup units.Ratio) (units.Rate, error) {
	if speedup.Num <= 0 || speedup.Den <= 0 || speedup.Num > maxSpeedup*speedup.Den || speedup.Den > maxSpeedup*speedup.Num {
		return 0, fmt.Errorf("memory_speedup is %d/%d (expected 1/%d to %d)", speedup.Num, speedup.Den, maxSpeedup, maxSpeedup)
	}
	sum := units.Rate(0)
	for _, r := range rates {
		sum += r
	}
	hi, lo := bits.Mul64(uint64(sum), uint64(speedup.Num))
	speed, _ := bits.Div64(hi, lo, uint64(speedup.Den))
	return max(units.Mbps, units.Rate(speed)), nil
}

// threshold returns the threshold of all lossy egress queues.
func (o *occamy) threshold(v mmu.View) units.Bytes { return o.lossy.of(v.SharedFree()) }

// count adds b to the length of a lossy queue.
func (o *occamy) count(a *mmu.Arrival, b units.Bytes) {
	if a.Kind == mmu.Lossy {
		o.queues.add(a.Out*len(o.classes)+o.rank[a.Class&7], b)
	}
}

// Enqueued implements Observer.
func (o *occamy) Enqueued(_ units.Time, _ mmu.View, a *mmu.Arrival) { o.count(a, a.Bytes) }

// Dequeued implements Observer. The memory reads every departing frame, sent or expelled. Sent
// frames go first: expulsions wait until the memory is idle again.
func (o *occamy) Dequeued(now units.Time, _ mmu.View, a *mmu.Arrival) {
	o.count(a, -a.Bytes)
	o.read = max(o.read, now-o.saved) + o.speed.TxTime(a.Bytes)
}

// ExpelAt implements Expeller.
func (o *occamy) ExpelAt(_ units.Time, v mmu.View) units.Time {
	if o.queues.most() <= o.threshold(v) {
		return units.Never
	}
	return o.read + 1
}

// Expel implements Expeller.
func (o *occamy) Expel(now units.Time, v mmu.View) (port int, class uint8, ok bool) {
	over := o.threshold(v)
	if now <= o.read || o.queues.most() <= over {
		return 0, 0, false
	}
	i := o.queues.above(o.turn, over)
	o.turn = i + 1
	return i / len(o.classes), o.classes[i%len(o.classes)], true
}

var occamyGauges = []registry.Export{
	{Name: "queue_bytes", Doc: "shared bytes of a lossless ingress queue, or all bytes of a lossy egress queue"},
	{Name: "threshold_bytes", Doc: "PFC threshold, or the threshold above which frames are expelled"},
	{Name: "spare_bytes", Doc: "bytes that the packet memory of the switch can expel now; below 0: bytes it has yet to read"},
}

var occamyGaugeNames = registry.NamesOf(occamyGauges)

// Gauges implements probe.Gauged.
func (o *occamy) Gauges() []string { return occamyGaugeNames }

// Measure implements probe.Gauged.
func (o *occamy) Measure(now units.Time, port int, class uint8, values []float64) bool {
	v, spare := o.view, o.speed.In(min(o.saved, max(0, now-o.read)))
	if o.read > now {
		spare = -o.speed.In(o.read - now)
	}
	switch v.Kind(class) {
	case mmu.Lossless:
		q, xoff := o.Level(now, v, port, class)
		setGauges(values, q, xoff, spare)
	case mmu.Lossy:
		setGauges(values, v.Egress(port, class), o.threshold(v), spare)
	default:
		return false
	}
	return true
}

// maxTree keeps numbers in a tree of maxima. Changing a number, and finding the next one above a
// bound, take one step per level of the tree.
type maxTree struct {
	leaves int           // a power of two
	max    []units.Bytes // by node: the root is 1, the children of i are 2i and 2i+1, the leaves are the numbers
}

func newMaxTree(n int) maxTree {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	return maxTree{leaves, make([]units.Bytes, 2*leaves)}
}

// most returns the largest number.
func (t *maxTree) most() units.Bytes { return t.max[1] }

func (t *maxTree) add(i int, b units.Bytes) {
	i += t.leaves
	t.max[i] += b
	for i > 1 {
		m := max(t.max[i], t.max[i^1])
		if i /= 2; t.max[i] == m {
			return
		}
		t.max[i] = m
	}
}

// above returns the index of the first number above a bound, searching from index from and
// wrapping around. There must be one.
func (t *maxTree) above(from int, bound units.Bytes) int {
	i := t.leaves + from%t.leaves
	for t.max[i] <= bound { // next subtree to the right; after the last one, the root
		for i&1 == 1 && i > 1 {
			i /= 2
		}
		if i > 1 {
			i++
		}
	}
	for i < t.leaves {
		if i *= 2; t.max[i] <= bound {
			i++
		}
	}
	return i - t.leaves
}
