package sim

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Options choose how the fast engine runs; none of them changes a result.
type Options struct {
	Workers int // goroutines; 0 or 1: none but the caller's
	// WindowDivisor shortens windows to the lookahead divided by it; 0 or 1: the
	// full lookahead.
	WindowDivisor int
	// Progress is called at every CheckPeriod with the simulated time; it may be
	// nil.
	Progress func(now units.Time)
}

// Fast is the fast engine. With L the shortest time between two nodes, whatever
// can arrive in a window of that length was sent before it began. So every node
// runs its whole window alone, from the frames on its wires and its own timers:
// cache-warm, without a global queue, and in parallel for free.
type Fast struct {
	spec      *Spec
	opts      Options
	nodes     []*fastNode // with one worker hosts after their switch, see collect; else switches first, which are the larger pieces of work
	hosts     []*fastNode
	links     []fastWire
	nics      []*dataplane.NIC
	switches  []*dataplane.Switch
	window    units.Time
	workers   []*worker
	chunks    []*stock[chunk]  // of the workers
	blocks    []*stock[*block] // of the workers
	barrier   barrier
	deadlocks *deadlocks
	planner   *planner // not nil in runs in the order of insertion

	now    units.Time // start of the current window
	end    units.Time
	index  uint64  // of the current window
	active []int32 // nodes to run in the current window
	next   atomic.Int64
	stop   bool
	begun  bool
	until  units.Time // the run ends here
	pause  units.Time // RunUntil ends here
	err    error
}

// NewFast builds the fast engine for a run.
func NewFast(spec *Spec, opts Options) (*Fast, error) {
	look, err := spec.lookahead()
	if err != nil {
		return nil, err
	}
	f := &Fast{spec: spec, opts: opts, until: spec.Until, pause: units.Never,
		window: windowLength(look / units.Time(max(1, opts.WindowDivisor)))}
	total := spec.nodeCount()
	byNumber := make([]*fastNode, total)
	for i := range byNumber {
		ports := spec.portCount(i)
		if ports > MaxPorts {
			return nil, fmt.Errorf("node %d has %d ports; allowed: at most %d", i, ports, MaxPorts)
		}
		byNumber[i] = newFastNode(ports)
		byNumber[i].index = i
	}
	f.connect(byNumber)
	samples := spec.samplers()
	for i, c := range spec.changes() {
		byNumber[i].changes, byNumber[i].samples = c, samples[i]
		byNumber[i].armChange()
	}
	driver := func(i int) dataplane.NICDriver { return byNumber[i] }
	if spec.InsertionOrder {
		f.planner = newPlanner(byNumber)
		driver = func(i int) dataplane.NICDriver { return byNumber[i].ordered }
	}
	f.nics, f.switches, f.deadlocks, err = spec.nodes(driver)
	if err != nil {
		return nil, err
	}
	for i, s := range f.switches {
		n := byNumber[len(spec.Hosts)+i]
		n.sw, n.common = s, s
		f.nodes = append(f.nodes, n)
	}
	for i, h := range f.nics {
		n := byNumber[i]
		n.nic, n.common = h, h
		f.nodes = append(f.nodes, n)
		f.hosts = append(f.hosts, n)
	}
	if opts.Workers <= 1 {
		slices.SortStableFunc(f.nodes, func(a, b *fastNode) int { return a.home() - b.home() })
	}
	for i, n := range f.nodes {
		n.index = i
	}
	for _, n := range f.nodes {
		for i := range n.outputs {
			n.outputs[i].to = uint32(byNumber[n.outputs[i].to].index)
		}
	}
	for range max(1, min(opts.Workers, len(f.nodes))) { // no more than there are nodes to share
		f.workers = append(f.workers, newWorker(f))
	}
	for _, w := range f.workers {
		w.all = f.workers
		f.chunks = append(f.chunks, &w.chunks.stock)
		f.blocks = append(f.blocks, &w.near.blocks)
	}
	return f, nil
}

// windowLength is the longest window not longer than limit that divides
// CheckPeriod.
func windowLength(limit units.Time) units.Time {
	best := units.Time(1)
	for d := units.Time(1); d*d <= CheckPeriod; d++ {
		if CheckPeriod%d != 0 {
			continue
		}
		for _, w := range [2]units.Time{d, CheckPeriod / d} {
			if w <= limit && w > best {
				best = w
			}
		}
	}
	return best
}

// home is the number of a switch, for hosts of theirs.
func (n *fastNode) home() int {
	if n.sw != nil || len(n.outputs) == 0 {
		return n.index
	}
	return int(n.outputs[0].to)
}

func (f *Fast) connect(byNumber []*fastNode) {
	f.links = make([]fastWire, 2*len(f.spec.Cables))
	var first chunks
	for i := range f.spec.Cables {
		c := &f.spec.Cables[i]
		for dir, e := range [2]struct {
			from, to End
			delay    units.Time
		}{{c.A, c.B, c.AtoB}, {c.B, c.A, c.BtoA}} {
			at := 2*i + dir
			l := &f.links[at]
			l.to, l.toPort = byNumber[e.to.Node], uint16(e.to.Port)
			from := byNumber[e.from.Node]
			from.links[e.from.Port] = l
			from.outputs[e.from.Port] = output{delay: e.delay, to: uint32(e.to.Node), toPort: uint16(e.to.Port)}
			in := &byNumber[e.to.Node].inputs[e.to.Port]
			l.connect(in, first.take())
			in.faults = newFaults(c, e.delay, f.spec.Seed, uint64(at))
			l.to.faulty = l.to.faulty || in.faults != nil
		}
	}
}

// Run runs until the spec says stop or the context is done, and returns the
// simulated time at which it ended.
func (f *Fast) Run(ctx context.Context) (units.Time, error) {
	f.windows(ctx)
	for _, s := range f.switches {
		s.Finish(f.now)
	}
	return f.now, f.err
}

// RunUntil runs like Run, but no further than the first multiple of CheckPeriod
// that is not before t. Run goes on from there.
func (f *Fast) RunUntil(ctx context.Context, t units.Time) (units.Time, error) {
	f.pause = t
	f.windows(ctx)
	f.pause = units.Never
	return f.now, f.err
}

// windows runs one window after the other until a check says stop.
func (f *Fast) windows(ctx context.Context) {
	w := f.workers[0]
	if !f.begun {
		f.begun = true
		for i, n := range f.nodes {
			f.active = append(f.active, int32(i))
			n.worker = w
			n.common.Start(0)
			if n.ordered != nil {
				n.ordered.begun()
			}
			n.publish(w)
		}
		if f.planner != nil {
			f.planner.finish(f.nodes, f.active)
		}
		f.now, f.end = 0, f.window
	}
	f.stop = false
	f.plan(ctx)
	if len(f.workers) > 1 {
		f.parallel(ctx)
		return
	}
	for !f.stop {
		for _, i := range f.active {
			w.run(f.nodes[i])
		}
		f.advance(ctx)
	}
}

// advance ends a window and finds the next one in which there is anything to do.
// Only one goroutine runs it, between windows.
func (f *Fast) advance(ctx context.Context) {
	f.now = f.end
	level(f.chunks, 2*slabChunks)
	level(f.blocks, 2*blockSlab)
	if f.planner != nil {
		f.planner.finish(f.nodes, f.active)
	}
	f.plan(ctx)
}

// plan chooses the nodes of the next window that has any, stopping at the times
// at which the run may end.
func (f *Fast) plan(ctx context.Context) {
	f.active = f.active[:0]
	for empty := 0; ; empty++ {
		if f.now%CheckPeriod == 0 || f.now >= f.until {
			if f.stops(ctx) {
				f.stop = true
				return
			}
			if empty > slots && f.skip() {
				continue
			}
		}
		f.end = min(f.now+f.window, f.until)
		f.index = uint64(f.now / f.window)
		for _, w := range f.workers {
			w.due(f.index)
			w.near.begin(f.index)
		}
		f.collect(f.index)
		if len(f.active) > 0 {
			f.next.Store(0)
			return
		}
		f.now = f.end
	}
}

// skip moves on to the last check before the next event. It is for times when
// every window of the bitmaps has been found empty: then only the heaps of far
// wakes know of events. It reports whether there was anything to skip.
func (f *Fast) skip() bool {
	next := min(f.until, f.pause, f.spec.nextAsk(f.now), f.deadlocks.next())
	for _, w := range f.workers {
		if len(w.far) > 0 {
			next = min(next, units.Time(w.far[0].window)*f.window)
		}
	}
	if next -= next % CheckPeriod; next <= f.now {
		return false
	}
	f.now = next
	return true
}

// collect turns the bitmaps of all workers into the list of nodes to run.
func (f *Fast) collect(index uint64) {
	first := f.workers[0].slots[index&(slots-1)]
	for i := range first {
		m := first[i]
		first[i] = 0
		for _, w := range f.workers[1:] {
			other := w.slots[index&(slots-1)]
			m |= other[i]
			other[i] = 0
		}
		for ; m != 0; m &= m - 1 {
			f.active = append(f.active, int32(i<<6+bits.TrailingZeros64(m)))
		}
	}
	// Every other window goes backwards: what it begins with is still in the cache, where
	// going around would find nothing that is older. Frames between neighbours are, too.
	if index%2 != 0 && len(f.workers) == 1 {
		slices.Reverse(f.active)
	}
}

func (f *Fast) stops(ctx context.Context) bool {
	if f.opts.Progress != nil {
		f.opts.Progress(f.now)
	}
	if err := ctx.Err(); err != nil {
		f.err = err
		return true
	}
	f.until = f.spec.lastUntil(f.now, f.until)
	if f.deadlocks.look(f.now) {
		f.until = f.now
	}
	return f.now >= f.until || f.now >= f.pause
}

// slots is the number of windows ahead for which nodes to wake are kept in
// bitmaps; what is further away waits in a heap.
const slots = 128

// worker is one goroutine of the engine. What it learns about which nodes have
// something to do is its own; plan merges it between windows.
type worker struct {
	f     *Fast
	slots [slots][]uint64 // by window: bitmap of nodes
	far   wakeHeap
	arrivals
	chunks
	near near
}

func newWorker(f *Fast) *worker {
	w := &worker{f: f, arrivals: newArrivals(f.window), near: newNear(len(f.nodes), f.window)}
	w.near.begin(0)
	words := (len(f.nodes) + 63) / 64
	for i := range w.slots {
		w.slots[i] = make([]uint64, words)
	}
	return w
}

// run runs a node's window and notes what comes of it.
func (w *worker) run(n *fastNode) {
	n.worker = w
	if n.ordered != nil {
		n.ordered.run(&w.arrivals, w.f.now, w.f.end)
	} else {
		n.run(&w.arrivals, w.f.now, w.f.end)
	}
	for _, from := range w.all {
		if b := from.near.box(uint32(n.index), w.f.index); b.n != 0 {
			w.empty(b)
		}
	}
	n.publish(w)
}

// note remembers that a node has an event at a time.
func (w *worker) note(n *fastNode, at units.Time) { w.noteWindow(n, w.windowOf(at)) }

func (w *worker) noteWindow(n *fastNode, index uint64) {
	if index-w.f.index < slots {
		w.slots[index&(slots-1)][n.index>>6] |= 1 << (n.index & 63)
		return
	}
	w.far.push(farWake{index, n.index})
}

// windowOf returns the window of a time that is not before the current one. Most
// are within the next few: that is quicker than a division.
func (w *worker) windowOf(at units.Time) uint64 {
	f := w.f
	end := f.now + f.window
	for i := uint64(0); i < 8; i++ {
		if at < end {
			return f.index + i
		}
		end += f.window
	}
	return uint64(at / f.window)
}

// noteSelf is note for a node that was just run: a distant wake that is still
// pending need not be noted again, it will look anew when it comes up.
func (w *worker) noteSelf(n *fastNode, at units.Time) {
	index := w.windowOf(at)
	if index-w.f.index >= slots {
		if n.pendingWake > w.f.index && n.pendingWake <= index {
			return
		}
		n.pendingWake = index
	}
	w.noteWindow(n, index)
}

// due moves the far wakes of a window into its bitmap.
func (w *worker) due(index uint64) {
	for len(w.far) > 0 && w.far[0].window <= index {
		node := w.far.pop().node
		w.slots[index&(slots-1)][node>>6] |= 1 << (node & 63)
	}
}

// farWake is a node that has something to do in a distant window. Both do not fit one
// word: windows can be as short as a picosecond.
type farWake struct {
	window uint64
	node   int
}

// wakeHeap is a binary heap by window.
type wakeHeap []farWake

func (h *wakeHeap) push(k farWake) {
	*h = append(*h, k)
	a := *h
	i := len(a) - 1
	for i > 0 && k.window < a[(i-1)/2].window {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = k
}

func (h *wakeHeap) pop() farWake {
	a := *h
	top, k := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	i := 0
	for {
		c := 2*i + 1
		if c >= len(a) {
			break
		}
		if c+1 < len(a) && a[c+1].window < a[c].window {
			c++
		}
		if k.window <= a[c].window {
			break
		}
		a[i] = a[c]
		i = c
	}
	if len(a) > 0 {
		a[i] = k
	}
	return top
}
