package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/job"
)

// Wait delays the start of a flow until other flows are complete. Each of these must have the
// flow's source as one of its ends: as destination, or as source, where it is complete when its
// last ACK is back. So every start is decided by one host, and hosts can run in parallel.
type Wait struct {
	Flow  uint32
	On    []uint32   // flows it waits for
	Delay units.Time // from the completion of the last of them to the start
	Until units.Time // the flow never starts at this time or later; 0: no limit
}

// waits has all dependencies. Entries that change are written by the source of the waiting flow.
type waits struct {
	first []uint32 // by flow: index in next of its first dependent; one extra entry marks the end
	next  []uint32 // dependents
	left  []uint32 // by flow: number of flows it still waits for
	delay []units.Time
	until []units.Time // 0: the flow does not wait
	began []units.Time // plus one; 0: not started
}

// Depend adds dependencies. It is called once, before a run. Each flow in Wait.On must have the
// source of the waiting flow as one of its ends; otherwise Depend panics. No flow may wait for
// itself.
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
				panic(fmt.Sprintf("dataplane: flow %d waits for flow %d, which does not start or end at its source", d.Flow, on))
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

// Began returns when a flow started, and false if it still waits. A flow that does not wait for
// others returns its Start, even if the run ended before.
func (f *Flows) Began(i int) (at units.Time, ok bool) {
	if !f.Waits(i) {
		return f.Flow[i].Start, true
	}
	at = f.wait.began[i] - 1
	return max(at, 0), at >= 0
}

// Begin records the start of a flow that waited for others.
func (f *Flows) Begin(i int, at units.Time) { f.wait.began[i] = at + 1 }

// Until returns the time from which a flow no longer starts, or Never.
func (f *Flows) Until(i int) units.Time {
	if !f.Waits(i) {
		return units.Never
	}
	return f.wait.until[i]
}

// Offered reports whether a flow counts as offered load. Flows with a last start time that are
// still waiting do not.
func (f *Flows) Offered(i int) bool {
	_, began := f.Began(i)
	return began || f.wait.until[i] == units.Never
}

// releaseWaiters tells the flows of this host that waited for a flow that it is complete. The
// source of each is this host or the other end of that flow.
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
			n.released.push(at, int32(d))
			n.armStart()
		}
	}
	for _, j := range n.jobs {
		if j.Job().Owns(flow) {
			j.Ended(now, flow, n.flows.Flow[flow].Src == n.id)
			n.followJob(now, j)
			n.armStart()
		}
	}
}

// followJob starts the flows and sends the notices that a job asks for.
func (n *NIC) followJob(now units.Time, j *job.Host) {
	for _, f := range j.Starts {
		n.released.push(now, int32(f))
	}
	for _, m := range j.Notices {
		n.notices.Notify(j, m)
	}
	j.Starts, j.Notices = j.Starts[:0], j.Notices[:0]
}

// runJobs handles the timers of jobs that are due.
func (n *NIC) runJobs(now units.Time) {
	for _, j := range n.jobs {
		if j.Next() <= now {
			j.Run(now)
			n.followJob(now, j)
		}
	}
}

// Noticed is called when a notice for a job of this host has arrived, before it takes effect.
func (n *NIC) Noticed(j *job.Job, m job.Notice) {
	for _, h := range n.jobs {
		if h.Job() == j {
			h.Notice(m.At, m.Op)
		}
	}
	n.armStart()
}

// Await makes flows wait for a job to start them. It is called once for each job, before a run.
func (f *Flows) Await(first, count int) {
	if f.wait == nil {
		n := len(f.Flow)
		f.wait = &waits{first: make([]uint32, n+1), left: make([]uint32, n), delay: make([]units.Time, n), until: make([]units.Time, n),
			began: make([]units.Time, n)}
	}
	for i := first; i < first+count; i++ {
		f.wait.until[i] = units.Never
	}
}

// startReleased opens the flows that no longer wait.
func (n *NIC) startReleased(now units.Time) {
	for n.released.next() <= now {
		d := n.released.pop()
		n.flows.Begin(int(d), now)
		n.open(now, uint32(d))
	}
}
