package explain

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/topo"
)

// Options restrict an explanation to some ports or to a point in time.
type Options struct {
	Ports string     // pattern of ports; empty: all
	At    units.Time // only pauses active at this time; negative: all
}

// Explanation lists the causes of pauses, drops and slow flows of a run, most important first.
type Explanation struct {
	Scenario   string      `json:"scenario"`
	Seed       uint64      `json:"seed"`
	Headline   string      `json:"headline"`
	Causes     []*Cause    `json:"causes"`
	More       int         `json:"more_causes"` // number of further causes
	Deadlocks  []Deadlock  `json:"deadlocks"`
	Drops      []Drops     `json:"drops"`
	Stragglers []Straggler `json:"stragglers"`
	Faults     []Fault     `json:"faults"`
	Slowest    []Slow      `json:"slowest"` // flows with the largest slowdown
}

// Deadlock is a loop of queues that wait for each other.
type Deadlock struct {
	Onset  units.Time  `json:"onset_ps"`
	End    *units.Time `json:"end_ps"` // null: it lasts until the end of the run
	Loop   []Stuck     `json:"loop"`   // each waits for the next, the last for the first
	Closed string      `json:"closed"` // how the loop was closed, in words
	Queues int         `json:"queues"` // stuck queues: in the loop or behind it
}

// Stuck is a queue in the loop of a deadlock.
type Stuck struct {
	Queue  string      `json:"queue"`
	Paused units.Time  `json:"paused_ps"`
	Bytes  units.Bytes `json:"bytes"`
}

// Drops are the drops of one queue for one reason.
type Drops struct {
	Queue  string     `json:"queue"` // ingress queue, or the egress queue that rejected a lossy frame
	Egress bool       `json:"egress"`
	Reason string     `json:"reason"`
	Frames int        `json:"frames"`
	Flows  int        `json:"flows"`
	First  units.Time `json:"first_ps"`
	Last   units.Time `json:"last_ps"`
	// State at the first drop: of the queue, of the port's headroom, and of the buffer.
	Queued    units.Bytes `json:"queue_bytes"`
	Threshold units.Bytes `json:"threshold_bytes"`
	Headroom  units.Bytes `json:"headroom_bytes"` // headroom in use
	Reserved  units.Bytes `json:"headroom_size_bytes"`
	Stored    units.Bytes `json:"stored_bytes"`

	reason probe.Reason
}

// Straggler is the flow that an operation of a workload waited for.
type Straggler struct {
	Workload  string     `json:"workload"`
	Operation int64      `json:"operation"`
	Took      units.Time `json:"took_ps"` // time of the slowest step
	Ideal     units.Time `json:"ideal_ps"`
	Slow
}

// Slow is a flow and the largest part of its time.
type Slow struct {
	Flow     int        `json:"flow"`
	Of       string     `json:"of"` // workload
	Src      string     `json:"src"`
	Dst      string     `json:"dst"`
	FCT      units.Time `json:"fct_ps"` // up to the end of the run if it did not finish
	Slowdown float64    `json:"slowdown"`
	Mostly   string     `json:"mostly"`
}

// Fault is a fault of the scenario and its effects.
type Fault struct {
	What   string     `json:"what"`
	From   units.Time `json:"from_ps"`
	To     units.Time `json:"to_ps"`
	Lost   int        `json:"frames_lost"`   // frames that its link corrupted or lost
	Pauses int        `json:"pauses"`        // pauses that started during the fault
	Before int        `json:"pauses_before"` // pauses that started in an equally long time before it
}

// Explain finds the causes of pauses, drops and slow flows.
func (r *Run) Explain(o Options) (*Explanation, error) {
	selected, err := r.selectPorts(o.Ports)
	if err != nil {
		return nil, err
	}
	at := func(node, port int) bool { return selected == nil || selected[node] != nil && selected[node][port] }
	wanted := func(i int, c *Cause) bool {
		p := &r.pauses[i]
		if o.At >= 0 && (o.At < p.sent || o.At >= p.ended) {
			return false
		}
		up := &r.ports[p.node][p.port]
		return at(p.node, p.port) || at(up.peer, up.peerPort) || at(c.node, max(0, c.port))
	}
	e := &Explanation{Scenario: r.Summary.Scenario, Seed: r.Summary.Seed, Deadlocks: []Deadlock{}, Stragglers: []Straggler{}, Slowest: []Slow{}}
	e.Drops = r.groupDrops(func(d *drop) bool {
		return (at(d.node, d.port) || d.out >= 0 && at(d.node, d.out)) && (o.At < 0 || d.at <= o.At)
	})
	list := r.congestion(wanted)
	e.More = max(0, len(list)-maxShown)
	if selected == nil {
		if e.Deadlocks, err = r.deadlocks(o.At); err != nil {
			return nil, err
		}
	}
	e.Causes = slices.Concat(r.violations(e), list[:min(maxShown, len(list))])
	e.Faults = r.faultEffects(at)
	if selected == nil && o.At < 0 {
		if e.Stragglers, err = r.stragglers(); err != nil {
			return nil, err
		}
		e.Slowest = r.slowest()
	}
	e.Headline = r.headline(e)
	return e, nil
}

// selectPorts returns the ports that match a pattern, by node and port; nil: all.
func (r *Run) selectPorts(pattern string) ([][]bool, error) {
	if pattern == "" {
		return nil, nil
	}
	g := &topo.Graph{Names: r.names}
	for node := range r.ports {
		if len(r.ports[node]) > 0 && r.ports[node][0].host {
			g.Hosts++
		}
		for i, p := range r.ports[node] {
			if p.peer > node {
				g.Links = append(g.Links, topo.Link{A: node, PortA: i, B: p.peer, PortB: p.peerPort})
			}
		}
	}
	return g.PortsLike(pattern)
}

// violations returns the causes that rank above congestion: deadlocks, and drops in lossless
// classes.
func (r *Run) violations(e *Explanation) []*Cause {
	var list []*Cause
	for _, d := range e.Deadlocks {
		c := &Cause{Kind: KindDeadlock, Victims: []Victim{}, port: -1}
		c.Where = d.Loop[0].Queue
		c.What = fmt.Sprintf("%s wait for each other, starting at %s", plural(len(d.Loop), "queue"), d.Onset.Human())
		if d.End != nil {
			c.What += ", until " + d.End.Human()
		}
		c.What += "; " + d.Closed
		list = append(list, c)
	}
	for _, d := range e.Drops {
		if d.reason != probe.Lossless {
			continue
		}
		room := fmt.Sprintf("%s of %s headroom were used", d.Headroom.Human(), d.Reserved.Human())
		if d.Reserved == 0 {
			room = "it has no headroom"
		}
		list = append(list, &Cause{Kind: KindHeadroom, Where: d.Queue, Victims: []Victim{}, port: -1, What: fmt.Sprintf(
			"%s dropped %s of a lossless class, the first at %s: %s, with %s in the queue (threshold %s)",
			d.Queue, plural(d.Frames, "frame"), d.First.Human(), room, d.Queued.Human(), d.Threshold.Human())})
	}
	return list
}

// headline summarises the most important cause in one line.
func (r *Run) headline(e *Explanation) string {
	if len(e.Causes) > 0 {
		c := e.Causes[0]
		return fmt.Sprintf("%s: %s", c.Kind, c.What)
	}
	for _, d := range e.Drops {
		return fmt.Sprintf("%s: %s dropped %s (%s)", KindDrops, d.Queue, plural(d.Frames, "frame"), d.Reason)
	}
	if len(e.Slowest) > 0 {
		s := &e.Slowest[0]
		return fmt.Sprintf("no pauses and no drops; the slowest flow, %d, has a slowdown of %.1f, mostly %s", s.Flow, s.Slowdown, s.Mostly)
	}
	return "no pauses and no drops"
}

// needMarks reports whether all flows have a congestion control that slows down only on marks.
func (r *Run) needMarks(flows map[int]units.Bytes) bool {
	cfg := r.config
	entry, err := cc.Algorithms.Get(cfg.Hosts.CC.Name)
	if err != nil || entry.Traits&registry.NeedsMarks == 0 {
		return false
	}
	for id := range flows {
		i := slices.IndexFunc(cfg.Workload, func(w scenario.Workload) bool { return w.Name == r.flows[id].workload })
		if i >= 0 && cfg.Workload[i].Transport != "" {
			return false
		}
	}
	return true
}

// groupDrops groups drops by queue and reason: lossless classes first, then by number.
func (r *Run) groupDrops(wanted func(*drop) bool) []Drops {
	type key struct {
		End
		egress bool
		why    probe.Reason
	}
	list, index := []Drops{}, make(map[key]int)
	flows := make(map[key]map[int]bool)
	for i := range r.drops {
		d := &r.drops[i]
		if !wanted(d) {
			continue
		}
		k := key{End{d.node, d.port, d.class}, d.out >= 0, d.reason}
		if k.egress {
			k.Port = d.out
		}
		at, known := index[k]
		if !known {
			at = len(list)
			index[k], flows[k] = at, make(map[int]bool)
			list = append(list, Drops{Queue: fmt.Sprintf("%s class %d", r.portName(k.Node, k.Port), d.class), Egress: k.egress, Reason: d.reason.String(), First: d.at,
				Queued: d.queue, Threshold: d.threshold, Headroom: d.headroom, Reserved: d.reserved, Stored: d.stored, reason: d.reason})
		}
		x := &list[at]
		x.Frames++
		x.Last = d.at
		if d.flow >= 0 && !flows[k][d.flow] {
			flows[k][d.flow] = true
			x.Flows++
		}
	}
	slices.SortStableFunc(list, func(a, b Drops) int {
		return cmp.Or(cmp.Compare(lossless(&b), lossless(&a)), cmp.Compare(b.Frames, a.Frames))
	})
	return list
}

// lossless returns 1 for drops in a lossless class, else 0.
func lossless(d *Drops) int {
	if d.reason == probe.Lossless {
		return 1
	}
	return 0
}

// deadlocks reads the deadlocks of the run; if at is not negative, only those that existed
// then.
func (r *Run) deadlocks(at units.Time) ([]Deadlock, error) {
	t, err := r.table(deadlocksTable, []string{"deadlock", "onset_ps", "end_ps", "port", "class", "paused_ps", "bytes", "hop"}, []string{"node", "peer"})
	if err != nil {
		return nil, err
	}
	nodes, err := t.indices("node", r.names)
	if err != nil {
		return nil, err
	}
	list := []Deadlock{}
	hops := make(map[int]map[int64]int) // by deadlock and hop: row
	for i := range nodes {
		k := int(t.ints["deadlock"][i])
		for len(list) <= k {
			list = append(list, Deadlock{})
			hops[len(list)-1] = make(map[int64]int)
		}
		d := &list[k]
		d.Queues++
		d.Onset = units.Time(t.ints["onset_ps"][i])
		if v := t.ints["end_ps"][i]; v != probe.Null {
			end := units.Time(v)
			d.End = &end
		}
		if hop := t.ints["hop"][i]; hop != probe.Null {
			hops[k][hop] = i
		}
	}
	for k := range list {
		d, last := &list[k], -1
		for hop := range int64(len(hops[k])) {
			i := hops[k][hop]
			d.Loop = append(d.Loop, Stuck{
				Queue:  fmt.Sprintf("%s class %d", r.portName(int(nodes[i]), int(t.ints["port"][i])), t.ints["class"][i]),
				Paused: units.Time(t.ints["paused_ps"][i]), Bytes: units.Bytes(t.ints["bytes"][i]),
			})
			if last < 0 || t.ints["paused_ps"][i] > t.ints["paused_ps"][last] {
				last = i
			}
		}
		if last >= 0 {
			d.Closed = r.closedBy(End{int(nodes[last]), int(t.ints["port"][last]), uint8(t.ints["class"][last])}, units.Time(t.ints["paused_ps"][last]))
		}
	}
	return slices.DeleteFunc(list, func(d Deadlock) bool {
		return len(d.Loop) == 0 || at >= 0 && (at < d.Onset || d.End != nil && at >= *d.End)
	}), nil
}

// closedBy describes the pause that closed a loop, and the root of its tree.
func (r *Run) closedBy(e End, at units.Time) string {
	text := fmt.Sprintf("the loop closed when %s class %d was paused at %s", r.portName(e.Node, e.Port), e.Class, at.Human())
	spans := r.ports[e.Node][e.Port].blocked[e.Class]
	if i := sort.Search(len(spans), func(i int) bool { return spans[i].from > at }) - 1; i >= 0 {
		if s := spans[i]; at < s.to && s.by >= 0 {
			p := &r.pauses[s.by]
			root := &r.pauses[p.root]
			text += fmt.Sprintf(" by %s with %s in its queue (threshold %s)", r.names[p.node], p.queue.Human(), p.threshold.Human())
			if p.root != s.by {
				text += fmt.Sprintf("; the root of that pause is %s, which paused at %s", r.queueName(root), root.sent.Human())
			}
		}
	}
	return text
}

// stragglers returns the stragglers of the operations with the largest delay over the ideal.
func (r *Run) stragglers() ([]Straggler, error) {
	list := []Straggler{}
	if _, err := os.Stat(filepath.Join(r.folder, "operations.parquet")); err != nil {
		return list, nil
	}
	t, err := r.table("operations", []string{"operation", "slowest_took_ps", "slowest_ideal_ps", "straggler_flow"}, []string{"workload"})
	if err != nil {
		return nil, err
	}
	for i, flow := range t.ints["straggler_flow"] {
		if flow != probe.Null {
			list = append(list, Straggler{Workload: t.words["workload"][t.texts["workload"][i]], Operation: t.ints["operation"][i],
				Took: units.Time(t.ints["slowest_took_ps"][i]), Ideal: units.Time(t.ints["slowest_ideal_ps"][i]), Slow: Slow{Flow: int(flow)}})
		}
	}
	slices.SortStableFunc(list, func(a, b Straggler) int { return cmp.Compare(b.Took-b.Ideal, a.Took-a.Ideal) })
	list = list[:min(3, len(list))]
	for i := range list {
		list[i].Slow = r.slow(list[i].Flow)
	}
	return list, nil
}

// slow returns a flow with the largest part of its time.
func (r *Run) slow(id int) Slow {
	f := &r.flows[id]
	s := Slow{Flow: id, Of: f.workload, Src: r.names[f.src], Dst: r.names[f.dst], FCT: r.duration(f), Mostly: "unknown"}
	s.Slowdown = math.Round(100*float64(s.FCT)/float64(f.ideal)) / 100
	if b, err := r.Flow(id); err == nil {
		s.Mostly = b.mostly()
	}
	return s
}

// duration returns the FCT of a flow, or the time up to the end of the run.
func (r *Run) duration(f *flow) units.Time {
	if f.fct != none {
		return f.fct
	}
	return max(0, r.end-f.start)
}

// slowest returns the flows with the largest slowdown.
func (r *Run) slowest() []Slow {
	var ids []int
	for i := range r.flows {
		if len(r.flows[i].sent) > 0 {
			ids = append(ids, i)
		}
	}
	ratio := func(i int) float64 { return float64(r.duration(&r.flows[i])) / float64(r.flows[i].ideal) }
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(ratio(b), ratio(a)) })
	list := []Slow{}
	for _, id := range ids[:min(3, len(ids))] {
		list = append(list, r.slow(id))
	}
	return list
}

// faultEffects returns the faults of the selected ports and their effects.
func (r *Run) faultEffects(at func(node, port int) bool) []Fault {
	list := []Fault{}
	for _, f := range r.faults {
		if !at(f.node, max(0, f.port)) && (f.port < 0 || !at(f.peer, f.peerPort)) {
			continue
		}
		x := Fault{From: f.from, To: min(f.to, r.end)}
		switch f.what {
		case "stuck":
			x.What = fmt.Sprintf("host %s is stuck", r.names[f.node])
		case "down":
			x.What = fmt.Sprintf("link %s-%s is down", r.names[f.node], r.names[f.peer])
		default:
			x.What = fmt.Sprintf("link %s-%s corrupts frames", r.names[f.node], r.names[f.peer])
		}
		for i := range r.drops {
			d := &r.drops[i]
			here := d.node == f.node && d.port == f.port || d.node == f.peer && d.port == f.peerPort
			if f.port >= 0 && here && d.reason == probe.Corrupt && d.at >= f.from {
				x.Lost++
			}
		}
		until := func(at units.Time) int { // pauses before a time
			return sort.Search(len(r.pauses), func(i int) bool { return r.pauses[i].sent >= at })
		}
		if length := x.To - f.from; length > 0 {
			x.Pauses, x.Before = until(x.To)-until(f.from), until(f.from)-until(f.from-length)
		}
		list = append(list, x)
	}
	return list
}
