package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// Wait lets a flow start only when others are complete. The source of the flow
// must see that by itself: each of the others ends there, or starts there and is
// then complete when its last ACK is back. So a start is the business of one
// host, and hosts can run in parallel.
type Wait struct {
	Flow  uint32
	On    []uint32
	Delay units.Time // from the completion of the last of them
	Until units.Time // no start at this time or later; 0: whenever it may be
}

// waits is the list of all dependencies. What changes belongs to the source of
// the flow that waits.
type waits struct {
	first []uint32 // by flow: where its dependents begin in next; one more for the end
	next  []uint32 // dependents
	left  []uint32 // by flow: how many it still waits for
	delay []units.Time
	until []units.Time // 0: the flow waits for none
	began []units.Time // 0: not yet
}

// Depend adds dependencies. It is called once, before a run. The flows that a
// flow waits for must touch its source, and no flow may wait for itself.
func (f *Flows) Depend(list []Wait) {
	if len(list) == 0 {
		return
	}
	n := len(f.Flow)
	w := &waits{first: make([]uint32, n+1), left: make([]uint32, n), delay: make([]units.Time, n), until: make([]units.Time, n),
		began: make([]units.Time, n)}
	edges := 0
	for _, d := range list {
		src := f.Flow[d.Flow].Src
		for _, on := range d.On {
			if g := &f.Flow[on]; g.Src != src && g.Dst != src {
				panic(fmt.Sprintf("dataplane: flow %d waits for flow %d, which its source does not see", d.Flow, on))
			}
			w.first[on+1]++
		}
		edges += len(d.On)
		w.left[d.Flow], w.delay[d.Flow], w.until[d.Flow] = uint32(len(d.On)), d.Delay, d.Until
		if d.Until == 0 {
			w.until[d.Flow] = units.Never
		}
	}
	for i := range n {
		w.first[i+1] += w.first[i]
	}
	w.next = make([]uint32, edges)
	at := append([]uint32(nil), w.first...)
	for _, d := range list {
		for _, on := range d.On {
			w.next[at[on]] = d.Flow
			at[on]++
		}
	}
	f.wait = w
}

// Waits reports whether a flow waits for others before it starts.
func (f *Flows) Waits(i int) bool { return f.wait != nil && f.wait.until[i] != 0 }

// Began returns when a flow started; for one that waits for no other that is its
// Start, whether or not the run came that far. It is false for a flow that still
// waits.
func (f *Flows) Began(i int) (at units.Time, ok bool) {
	if !f.Waits(i) {
		return f.Flow[i].Start, true
	}
	at = f.wait.began[i]
	return at, at != 0
}

// Begin notes that a flow that waited for others has started.
func (f *Flows) Begin(i int, at units.Time) { f.wait.began[i] = at }

// Until returns the time from which a flow does not start any more, or Never.
func (f *Flows) Until(i int) units.Time {
	if !f.Waits(i) {
		return units.Never
	}
	return f.wait.until[i]
}

// Offered reports whether a flow counts: all do but those that had a last time to
// start and were still waiting.
func (f *Flows) Offered(i int) bool {
	_, began := f.Began(i)
	return began || f.wait.until[i] == units.Never
}

// releaseWaiters tells the flows of this host that waited for one that it is complete.
// Each of them has this host or the other end of that flow as its source.
func (n *NIC) releaseWaiters(now units.Time, flow uint32) {
	w := n.flows.wait
	for _, d := range w.next[w.first[flow]:w.first[flow+1]] {
		f := &n.flows.Flow[d]
		if f.Src != n.id {
			continue
		}
		if w.left[d]--; w.left[d] > 0 {
			continue
		}
		if at := max(f.Start, now+w.delay[d]); at < w.until[d] {
			n.later.push(at, int32(d))
			n.armStart()
		}
	}
}

// startReleased opens the flows whose waiting is over.
func (n *NIC) startReleased(now units.Time) {
	for n.later.next() <= now {
		d := n.later.pop()
		n.flows.Begin(int(d), now)
		n.open(now, uint32(d))
	}
}
