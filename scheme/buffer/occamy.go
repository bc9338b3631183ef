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
	AlphaLossy    units.Ratio `yaml:"alpha_lossy" doc:"the same of a lossy egress queue: at it frames are refused, above it they are taken back"`
	MemorySpeedup units.Ratio `yaml:"memory_speedup" doc:"packet memory bandwidth as a multiple of all line rates; what departures leave unused expels frames"`
	Bucket        units.Bytes `yaml:"bucket" doc:"unused bandwidth of the memory that can be saved up"`
}

// occamy is Occamy (Shan et al., EuroSys 2025): Dynamic Threshold with an alpha so large that
// few queues may fill nearly everything, and beside it an expulsion that takes frames back
// from the heads of over-allocated lossy queues, those above the threshold as it is now,
// in turn, with memory bandwidth that forwarding leaves. What the public text leaves open
// is as in the authors' programs (docs/hybrid.md).
type occamy struct {
	dt
	view    mmu.View
	speed   units.Rate // of the packet memory
	saved   units.Time // the longest time that the memory can have been idle
	read    units.Time // when it will have read all that left so far; before now: idle since then
	classes []uint8    // the lossy ones
	rank    [mmu.Classes]int
	queues  tallest // by port and lossy class
	turn    int     // the queue whose turn it is
}

func newOccamy(params any, env Env) (Policy, error) {
	p := params.(*OccamyParams)
	speed, err := memorySpeed(env.Rates, p.MemorySpeedup)
	if err := first(positive("alpha", p.Alpha), positive("alpha_lossy", p.AlphaLossy), err); err != nil {
		return nil, err
	}
	if p.Bucket <= 0 || p.Bucket > mmu.MaxBuffer {
		return nil, fmt.Errorf("bucket is %s; allowed: more than 0B, at most %dB", p.Bucket, int64(mmu.MaxBuffer))
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
	o.queues = newTallest(env.View.Ports() * len(o.classes))
	return o, nil
}

// maxSpeedup, and one over it, keep the times that the memory needs within bounds.
const maxSpeedup = 100

// memorySpeed is a multiple of the sum of rates.
func memorySpeed(rates []units.Rate, times units.Ratio) (units.Rate, error) {
	if times.Num <= 0 || times.Den <= 0 || times.Num > maxSpeedup*times.Den || times.Den > maxSpeedup*times.Num {
		return 0, fmt.Errorf("memory_speedup is %d/%d; allowed: 1/%d to %d", times.Num, times.Den, maxSpeedup, maxSpeedup)
	}
	sum := units.Rate(0)
	for _, r := range rates {
		sum += r
	}
	hi, lo := bits.Mul64(uint64(sum), uint64(times.Num))
	speed, _ := bits.Div64(hi, lo, uint64(times.Den))
	return max(units.Mbps, units.Rate(speed)), nil // a switch without cables needs none
}

// threshold is that of every lossy egress queue.
func (o *occamy) threshold(v mmu.View) units.Bytes { return o.lossy.of(v.SharedFree()) }

// count follows the length of a queue.
func (o *occamy) count(a *mmu.Arrival, b units.Bytes) {
	if a.Kind == mmu.Lossy {
		o.queues.add(a.Out*len(o.classes)+o.rank[a.Class&7], b)
	}
}

// Enqueued implements Observer.
func (o *occamy) Enqueued(_ units.Time, _ mmu.View, a *mmu.Arrival) { o.count(a, a.Bytes) }

// Dequeued implements Observer. The memory reads every frame that leaves, whether it is
// sent or taken back: the former first, so that the latter wait until it is idle again.
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

var occamyGauges = []registry.Shown{
	{Name: "queue_bytes", Doc: "what a lossless ingress queue holds in the shared segment, or a lossy egress queue in all"},
	{Name: "threshold_bytes", Doc: "what it is held against: a PFC threshold, or that above which frames are taken back"},
	{Name: "spare_bytes", Doc: "what the packet memory of the switch can take back now; below 0: what it has yet to read"},
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
		measured(values, q, xoff, spare)
	case mmu.Lossy:
		measured(values, v.Egress(port, class), o.threshold(v), spare)
	default:
		return false
	}
	return true
}

// tallest keeps numbers in a tree of maxima: one is changed, and the next above some
// bound is found, in as many steps as the tree has levels.
type tallest struct {
	leaves int           // a power of two
	max    []units.Bytes // by node: the root is 1, below i are 2i and 2i+1, the last are the numbers
}

func newTallest(n int) tallest {
	leaves := 1
	for leaves < n {
		leaves *= 2
	}
	return tallest{leaves, make([]units.Bytes, 2*leaves)}
}

// most is the largest number.
func (t *tallest) most() units.Bytes { return t.max[1] }

func (t *tallest) add(i int, b units.Bytes) {
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

// above returns the first number above a bound from some place on, and after the last
// from the first on. There must be one.
func (t *tallest) above(from int, bound units.Bytes) int {
	i := t.leaves + from%t.leaves
	for t.max[i] <= bound { // the next part to the right, after the last one all
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
