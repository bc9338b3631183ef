package dataplane

import (
	"fmt"
	"iter"

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
	dependents, causes edges
	left               []uint32     // by flow: number of flows it still waits for
	rule               []uint32     // by flow: index in rules; 0: the flow does not wait
	rules              []rule       // flows with the same rule mostly follow each other
	began              []units.Time // plus one; 0: not started
}

// rule is Wait.Delay, and Wait.Until with Never for no limit.
type rule struct{ delay, until units.Time }

// edges lists some flows for each flow.
type edges struct {
	first []uint32 // by flow: index in flows of its first one; one extra entry marks the end
	flows []uint32
}

func (e *edges) of(flow uint32) []uint32 { return e.flows[e.first[flow]:e.first[flow+1]] }

// begin turns counts, which are one entry late, into first.
func (e *edges) begin() {
	for i := range len(e.first) - 1 {
		e.first[i+1] += e.first[i]
	}
	e.flows = make([]uint32, e.first[len(e.first)-1])
}

func newWaits(flows int) *waits {
	return &waits{
		dependents: edges{first: make([]uint32, flows+1)}, causes: edges{first: make([]uint32, flows+1)},
		left: make([]uint32, flows), rule: make([]uint32, flows), rules: make([]rule, 1), began: make([]units.Time, flows),
	}
}

// follow sets the rule of a flow.
func (w *waits) follow(flow uint32, r rule) {
	if r != w.rules[len(w.rules)-1] {
		w.rules = append(w.rules, r)
	}
	w.rule[flow] = uint32(len(w.rules) - 1)
}

// Depend adds dependencies, at most one Wait per flow. It is called once, before a run, and
// iterates twice. Each flow in Wait.On must have the source of the waiting flow as one of its
// ends; otherwise Depend panics. No flow may wait for itself.
func (f *Flows) Depend(list iter.Seq[Wait]) {
	w := newWaits(len(f.Flow))
	for d := range list {
		src := f.Flow[d.Flow].Src
		for _, on := range d.On {
			if g := &f.Flow[on]; g.Src != src && g.Dst != src {
				panic(fmt.Sprintf("dataplane: flow %d waits for flow %d, which does not start or end at its source", d.Flow, on))
			}
			w.dependents.first[on+1]++
		}
		n := uint32(len(d.On))
		w.causes.first[d.Flow+1], w.left[d.Flow] = n, n
		if d.Until == 0 {
			d.Until = units.Never
		}
		w.follow(d.Flow, rule{d.Delay, d.Until})
	}
	w.dependents.begin()
	w.causes.begin()
	at := append([]uint32(nil), w.dependents.first...)
	for d := range list {
		copy(w.causes.of(d.Flow), d.On)
		for _, on := range d.On {
			w.dependents.flows[at[on]] = d.Flow
			at[on]++
		}
	}
	f.wait = w
}

// Waits reports whether a flow waits for others, or for a job, before it starts.
func (f *Flows) Waits(i int) bool { return f.wait != nil && f.wait.rule[i] != 0 }

// Depends reports whether any flow waits for another.
func (f *Flows) Depends() bool { return f.wait != nil && len(f.wait.causes.flows) > 0 }

// Dependents returns the flows that wait for a flow.
func (f *Flows) Dependents(flow uint32) []uint32 { return f.wait.dependents.of(flow) }

// On returns the flows that a flow waits for.
func (f *Flows) On(i int) []uint32 {
	if f.wait == nil {
		return nil
	}
	return f.wait.causes.of(uint32(i))
}

// Dependencies returns the dependencies in the order of the flows that wait.
func (f *Flows) Dependencies() iter.Seq[Wait] {
	return func(yield func(Wait) bool) {
		for i := range f.Flow {
			on := f.On(i)
			if len(on) == 0 {
				continue
			}
			r := f.wait.rules[f.wait.rule[i]]
			if r.until == units.Never {
				r.until = 0
			}
			if !yield(Wait{uint32(i), on, r.delay, r.until}) {
				return
			}
		}
	}
}

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
	return f.wait.rules[f.wait.rule[i]].until
}

// Offered reports whether a flow counts as offered load. Flows with a last start time that are
// still waiting do not.
func (f *Flows) Offered(i int) bool {
	_, began := f.Began(i)
	return began || f.Until(i) == units.Never
}

// releaseWaiters tells the flows of this host that waited for a flow that it is complete. The
// source of each is this host or the other end of that flow.
func (n *NIC) releaseWaiters(now units.Time, flow uint32) {
	w := n.flows.wait
	for _, d := range w.dependents.of(flow) {
		f := &n.flows.Flow[d]
		if f.Src != n.id {
			continue
		}
		if w.left[d]--; w.left[d] > 0 {
			continue
		}
		r := &w.rules[w.rule[d]]
		if at := max(f.Start, now+r.delay); at < r.until {
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
		f.wait = newWaits(len(f.Flow))
	}
	for i := first; i < first+count; i++ {
		f.wait.follow(uint32(i), rule{0, units.Never})
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
