package sim

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/job"
)

// Options configure the fast engine. None of them changes a result.
type Options struct {
	Workers int // goroutines; with 0 or 1 only the caller's
	// WindowDivisor limits windows to the lookahead divided by it; 0 means 1.
	WindowDivisor int
	// Progress is called at every CheckPeriod with the simulated time. It may be nil.
	Progress func(now units.Time)
}

// Fast is the fast engine. A window is no longer than the shortest delay between two
// nodes, so every frame that arrives in a window was sent before it began. Each node can
// therefore run its whole window alone, from the frames in flight to it and its own
// timers: without a global queue, and in parallel with other nodes.
type Fast struct {
	spec      *Spec
	opts      Options
	nodes     []*fastNode // in the order of arrange
	hosts     []*fastNode
	links     []fastWire
	nics      []*dataplane.NIC
	switches  []*dataplane.Switch
	window    units.Time
	depth     uint64   // number of windows with boxes
	senders   []uint64 // like near.boxes: workers with frames in these boxes, as bits; nil with one worker
	workers   []*worker
	queued    []word           // workers whose queue may have nodes, as bits
	chunks    []*stock[chunk]  // by worker
	blocks    []*stock[*block] // by worker
	barrier   barrier
	deadlocks *deadlocks
	planner   *planner // nil unless Spec.InsertionOrder is set

	now    units.Time // start of the current window
	end    units.Time
	index  uint64  // index of the current window
	active []int32 // nodes to run in the current window, in ascending order with several workers
	wires  bool    // some frames have used their wire
	stop   bool
	begun  bool
	until  units.Time // end of the run
	pause  units.Time // end of RunUntil
	err    error
}

// NewFast returns a fast engine for a run. It fails if a cable has no delay, a node has
// more than MaxPorts ports, or a scheme rejects its parameters.
func NewFast(spec *Spec, opts Options) (*Fast, error) {
	look, err := spec.lookahead()
	if err != nil {
		return nil, err
	}
	f := &Fast{spec: spec, opts: opts, until: spec.Until, pause: units.Never,
		window: windowLength(look / units.Time(max(1, opts.WindowDivisor)))}
	total := spec.nodeCount()
	byNode := make([]*fastNode, total)
	for i := range byNode {
		ports := spec.portCount(i)
		if ports > MaxPorts {
			return nil, fmt.Errorf("node %d has %d ports (expected at most %d)", i, ports, MaxPorts)
		}
		byNode[i] = newFastNode(ports)
		byNode[i].index = i
	}
	f.connect(byNode)
	samples := spec.samplers()
	for i, c := range spec.changes() {
		byNode[i].changes, byNode[i].samples = c, samples[i]
		byNode[i].armChange()
	}
	driver := func(i int) dataplane.NICDriver { return byNode[i] }
	if spec.InsertionOrder {
		f.planner = newPlanner(byNode)
		driver = func(i int) dataplane.NICDriver { return byNode[i].ordered }
	}
	f.nics, f.switches, f.deadlocks, err = spec.nodes(driver)
	if err != nil {
		return nil, err
	}
	for i, s := range f.switches {
		n := byNode[len(spec.Hosts)+i]
		n.sw, n.common = s, s
		f.nodes = append(f.nodes, n)
	}
	for i, h := range f.nics {
		n := byNode[i]
		n.nic, n.common = h, h
		f.nodes = append(f.nodes, n)
		f.hosts = append(f.hosts, n)
	}
	workers := max(1, min(opts.Workers, len(f.nodes))) // at most one worker per node
	if f.planner != nil {
		workers = min(workers, maxOrderedWorkers)
	}
	ends := f.arrange(workers)
	for i, n := range f.nodes {
		n.index = i
	}
	for _, n := range f.nodes {
		for i := range n.outputs {
			n.outputs[i].to = uint32(byNode[n.outputs[i].to].index)
		}
	}
	f.depth = nearWindows(spec.Cables, f.window)
	if workers > 1 {
		f.queued = make([]word, (workers+63)/64)
		f.senders = make([]uint64, uint64(len(f.nodes))*f.depth)
	}
	for i, end := range ends {
		f.workers = append(f.workers, newWorker(f, i, end))
	}
	for _, w := range f.workers {
		w.all = f.workers
		f.chunks = append(f.chunks, &w.chunks.stock)
		f.blocks = append(f.blocks, &w.near.blocks)
	}
	return f, nil
}

// windowLength returns the longest window that is at most limit and divides CheckPeriod.
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

func (f *Fast) connect(byNode []*fastNode) {
	f.links = make([]fastWire, 2*len(f.spec.Cables))
	starts := make([]rest, len(f.links))
	for i := range f.spec.Cables {
		c := &f.spec.Cables[i]
		for dir, e := range [2]struct {
			from, to End
			delay    units.Time
		}{{c.A, c.B, c.AtoB}, {c.B, c.A, c.BtoA}} {
			at := 2*i + dir
			l := &f.links[at]
			l.to, l.toPort = byNode[e.to.Node], uint16(e.to.Port)
			from := byNode[e.from.Node]
			from.links[e.from.Port] = l
			from.outputs[e.from.Port] = output{delay: e.delay, to: uint32(e.to.Node), toPort: packet.IngressOf(e.to.Port)}
			in := &byNode[e.to.Node].inputs[e.to.Port]
			l.connect(in, &starts[at])
			in.faults = newFaults(c, e.delay, f.spec.Seed, uint64(at))
			l.to.faulty = l.to.faulty || in.faults != nil
		}
	}
}

// Run runs until the stop rule of the spec holds or the context is done. It returns the
// simulated time at which the run ended.
func (f *Fast) Run(ctx context.Context) (units.Time, error) {
	f.windows(ctx)
	for _, s := range f.switches {
		s.Finish(f.now)
	}
	return f.now, f.err
}

// RunUntil runs like Run, but at most to the first multiple of CheckPeriod at or after
// t. A later Run or RunUntil continues from there.
func (f *Fast) RunUntil(ctx context.Context, t units.Time) (units.Time, error) {
	f.pause = t
	f.windows(ctx)
	f.pause = units.Never
	return f.now, f.err
}

// windows runs windows until a check ends the run.
func (f *Fast) windows(ctx context.Context) {
	w := f.workers[0]
	if !f.begun {
		f.begun = true
		for i, n := range f.nodes {
			f.active = append(f.active, int32(i))
			n.worker = w
			n.common.Start(0)
			n.publish(w)
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
		// Every other window runs the nodes in reverse order, so that it starts with nodes and
		// frames that are still in the cache.
		if f.index%2 == 0 {
			for _, i := range f.active {
				w.run(f.nodes[i])
			}
		} else {
			for k := len(f.active) - 1; k >= 0; k-- {
				w.run(f.nodes[f.active[k]])
			}
		}
		f.advance(ctx)
	}
}

// advance ends a window and finds the next one that has events. One goroutine runs it,
// between windows.
func (f *Fast) advance(ctx context.Context) {
	if f.planner != nil {
		f.planner.finish(f.workers, f.now, f.window)
	}
	f.passNotices()
	f.now = f.end
	level(f.chunks, 2*slabChunks)
	level(f.blocks, 2*blockSlab)
	f.plan(ctx)
}

// notice is a notice of a job to another host.
type notice struct {
	of *job.Job
	job.Notice
}

// passNotices passes the notices of a window to their hosts. All take effect after it.
func (f *Fast) passNotices() {
	for _, w := range f.workers {
		for _, m := range w.notices {
			n := f.hosts[m.To]
			n.nic.Noticed(m.of, m.Notice)
			w.note(n, m.At)
		}
		w.notices = w.notices[:0]
	}
}

// Notify implements dataplane.Notifier.
func (n *fastNode) Notify(from *job.Host, m job.Notice) {
	n.worker.notices = append(n.worker.notices, notice{from.Job(), m})
}

// plan finds the next window with events and the nodes that are active in it. It stops at
// every time at which the run may end.
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
			f.wires = f.wires || w.wires
		}
		for _, w := range f.workers {
			w.near.quick = !f.wires && f.planner == nil && f.end == w.near.windowEnd()
		}
		f.collect(f.index)
		if len(f.active) > 0 {
			if len(f.workers) > 1 {
				f.share()
			}
			return
		}
		f.now = f.end
	}
}

// skip moves to the last check before the next event. It requires that every window in
// the bitmaps is empty, so that only the heaps of far wakes contain events. It reports
// whether it skipped any time.
func (f *Fast) skip() bool {
	next := min(f.until, f.pause, f.spec.nextDoneCheck(f.now), f.deadlocks.next())
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
	first, active := f.workers[0].slots[index&(slots-1)], f.active
	for i := range first {
		m := first[i]
		first[i] = 0
		for _, w := range f.workers[1:] {
			other := w.slots[index&(slots-1)]
			m |= other[i]
			other[i] = 0
		}
		for ; m != 0; m &= m - 1 {
			active = append(active, int32(i<<6+bits.TrailingZeros64(m)))
		}
	}
	f.active = active
}

func (f *Fast) stops(ctx context.Context) bool {
	if f.opts.Progress != nil {
		f.opts.Progress(f.now)
	}
	if err := ctx.Err(); err != nil {
		f.err = err
		return true
	}
	f.until = f.spec.endTime(f.now, f.until)
	if f.deadlocks.check(f.now) {
		f.until = f.now
	}
	return f.now >= f.until || f.now >= f.pause
}

// senderBits is the number of workers that Fast.senders tells apart. Worker i shares a bit with
// worker i+senderBits.
const senderBits = 64

// slots is the number of windows ahead whose active nodes are kept in bitmaps. Later
// wakes are kept in a heap.
const slots = 128

// worker is one goroutine of the engine. It owns some of the nodes (see arrange). It keeps its
// own bitmaps of nodes to wake; plan merges them between windows.
type worker struct {
	f     *Fast
	slots [slots][]uint64 // by window: bitmap of nodes
	far   wakeHeap
	// notices that the nodes of this worker sent in the current window.
	notices []notice
	arrivals
	chunks
	near    near
	bit     uint64 // in Fast.senders
	index   int    // in Fast.workers
	end     int32  // index in Fast.nodes after the last node that it owns
	wires   bool   // its nodes have sent frames that use their wire
	queue   runQueue
	journal journal // insertion order: causes of the current window
}

func newWorker(f *Fast, index, end int) *worker {
	w := &worker{
		f: f, arrivals: newArrivals(f.window), near: newNear(len(f.nodes), f.window, f.depth),
		bit: 1 << (index % senderBits), index: index, end: int32(end),
	}
	w.near.begin(0)
	w.journal.worker = uint64(index) << causeWorkerShift
	words := (len(f.nodes) + 63) / 64
	for i := range w.slots {
		w.slots[i] = make([]uint64, words)
	}
	return w
}

// run runs the current window of a node and publishes the frames that it sent.
func (w *worker) run(n *fastNode) {
	n.worker = w
	if n.ordered != nil {
		n.ordered.run(&w.arrivals, w.f.now, w.f.end)
	} else {
		n.run(&w.arrivals, w.f.now, w.f.end)
	}
	for _, b := range w.boxes {
		w.empty(b)
	}
	n.publish(w)
}

// note schedules a node for the window that contains at.
func (w *worker) note(n *fastNode, at units.Time) { w.noteWindow(n, w.windowOf(at)) }

func (w *worker) noteWindow(n *fastNode, index uint64) {
	if index-w.f.index < slots {
		w.slots[index&(slots-1)][n.index>>6] |= 1 << (n.index & 63)
		return
	}
	w.far.push(farWake{index, n.index})
}

// windowOf returns the index of the window that contains at, which must not be before the
// current window.
func (w *worker) windowOf(at units.Time) uint64 {
	if at < w.near.far {
		return w.near.of(at)
	}
	return uint64(at / w.f.window)
}

// noteSelf is note for a node that has just run. It adds no far wake if an earlier one is
// pending: the node checks its next event again then.
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

// due moves the far wakes of a window to its bitmap.
func (w *worker) due(index uint64) {
	for len(w.far) > 0 && w.far[0].window <= index {
		node := w.far.pop().node
		w.slots[index&(slots-1)][node>>6] |= 1 << (node & 63)
	}
}

// farWake is a node with an event in a distant window. The two fields do not fit one
// word, because windows can be as short as a picosecond.
type farWake struct {
	window uint64
	node   int
}

// wakeHeap is a binary heap ordered by window.
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
