package metrics

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// An operation is a group of flows: a collective, a request with its answers, or a burst. It
// begins with the start of its first flow and ends when the last byte of its last flow is
// delivered.

// Operations are the measured operations of a run or of a workload.
type Operations struct {
	Measured   int               `json:"measured"`
	Finished   int               `json:"finished"`
	Unfinished int               `json:"unfinished"`
	Time       *Times            `json:"completion_ps"` // of finished operations; null: none
	Slowest    *SlowestOperation `json:"slowest,omitempty"`
}

// SlowestOperation describes the operation that took longest and the flow that delayed it most.
type SlowestOperation struct {
	Workload  string     `json:"workload"`
	Operation int        `json:"operation"`
	Time      units.Time `json:"completion_ps"`
	Steps     int        `json:"steps"`            // flows in the chain that ended last, each waiting for the previous one
	Step      int        `json:"slowest_step"`     // step of that chain that lost most time, from 1
	StepTime  units.Time `json:"slowest_took_ps"`  // duration of that step
	StepIdeal units.Time `json:"slowest_ideal_ps"` // its duration in an empty network
	Straggler string     `json:"straggler"`        // host that sent it
	To        string     `json:"straggler_to"`
}

// String describes what delayed the operation.
func (s *SlowestOperation) String() string {
	step := ""
	if s.Steps > 1 {
		step = fmt.Sprintf("step %d of %d, ", s.Step, s.Steps)
	}
	return fmt.Sprintf("%s %d took %s: %s%s to %s, %s instead of %s", s.Workload, s.Operation, s.Time.Human(), step, s.Straggler, s.To, s.StepTime.Human(), s.StepIdeal.Human())
}

// operation is a row of operations.parquet.
type operation struct {
	origin, group int32
	flows         []int32 // in order of their numbers
	start, end    units.Time
	size          units.Bytes
	delivered     units.Bytes
	done          int // delivered flows
	measured      bool
	steps, slow   int   // of the chain that ended last
	straggler     int32 // flow number
	took, ideal   units.Time
}

func (p *operation) finished() bool { return p.done == len(p.flows) }

// operations returns the operations of a run, ordered by workload and group.
func (o *Outcome) operations() []operation {
	if o.ops != nil {
		return o.ops
	}
	var members []int32
	for i, g := range o.Groups {
		if g >= 0 && o.Flows.Offered(i) {
			members = append(members, int32(i))
		}
	}
	slices.SortFunc(members, func(a, b int32) int {
		return cmp.Or(cmp.Compare(o.Origin[a], o.Origin[b]), cmp.Compare(o.Groups[a], o.Groups[b]), cmp.Compare(a, b))
	})
	list := []operation{}
	for first := 0; first < len(members); {
		last := first
		a := members[first]
		for last < len(members) && o.Origin[members[last]] == o.Origin[a] && o.Groups[members[last]] == o.Groups[a] {
			last++
		}
		list = append(list, o.operation(members[first:last]))
		first = last
	}
	o.ops = list
	return list
}

// operation summarizes the flows of one operation.
func (o *Outcome) operation(flows []int32) operation {
	p := operation{origin: o.Origin[flows[0]], group: o.Groups[flows[0]], flows: flows, start: units.Never, straggler: -1}
	last := int32(-1) // last flow to be delivered
	for _, f := range flows {
		i := int(f)
		p.size += o.Flows.Flow[i].Size
		if !o.started(i) {
			continue
		}
		p.delivered += o.delivered(i)
		p.start = min(p.start, o.start(i))
		p.measured = p.measured || o.measured(i)
		if o.Flows.Recv[i].Delivered != 0 {
			p.done++
		}
		if last < 0 || o.until(i) > o.until(int(last)) {
			last = f
		}
	}
	if last < 0 { // none has started
		p.start = o.Flows.Flow[flows[0]].Start
		return p
	}
	p.end = o.until(int(last))
	o.follow(&p, last)
	return p
}

// follow walks back from the flow that was delivered last: each flow started when the last
// of those it waited for was complete. The straggler is the flow of this chain that lost
// most time compared with an empty network.
func (o *Outcome) follow(p *operation, flow int32) {
	var chain []int32
	for flow >= 0 {
		chain = append(chain, flow)
		flow = o.cause(p, flow)
	}
	lost := units.Time(-1)
	for k, f := range chain {
		i := int(f)
		took, done := o.fct(i) // the ideal time includes the last ACK, too
		if !done {
			took = o.End - o.start(i)
		}
		if l := max(0, took-o.Ideal[i]); l >= lost { // of equal ones, the earliest
			lost, p.straggler, p.slow, p.took, p.ideal = l, f, len(chain)-k, took, o.Ideal[i]
		}
	}
	p.steps = len(chain)
}

// cause returns the flow of the same operation whose end started another flow, or -1.
func (o *Outcome) cause(p *operation, flow int32) int32 {
	best, at := int32(-1), units.Time(-1)
	for _, on := range o.Flows.On(int(flow)) {
		if o.Origin[on] != p.origin || o.Groups[on] != p.group {
			continue
		}
		if t := o.seen(int(on), o.Flows.Flow[flow].Src); t > at {
			best, at = int32(on), t
		}
	}
	return best
}

// seen returns when a host learned that a flow was complete.
func (o *Outcome) seen(i int, host uint32) units.Time {
	if o.Flows.Flow[i].Dst == host {
		return o.Flows.Recv[i].Delivered
	}
	return o.Flows.Send[i].Acked
}

// operationsOf summarizes the measured operations of a workload, or of all.
func (o *Outcome) operationsOf(origin int) *Operations {
	var s *Operations
	var times []units.Time
	var slowest *operation
	for i := range o.operations() {
		p := &o.ops[i]
		if origin != every && int(p.origin) != origin {
			continue
		}
		if s == nil {
			s = &Operations{}
		}
		if !p.measured {
			continue
		}
		s.Measured++
		if !p.finished() {
			s.Unfinished++
			continue
		}
		s.Finished++
		times = append(times, p.end-p.start)
		if slowest == nil || p.end-p.start > slowest.end-slowest.start {
			slowest = p
		}
	}
	if s == nil {
		return nil
	}
	s.Time = timesOf(times)
	if slowest != nil {
		s.Slowest = o.slowest(slowest)
	}
	return s
}

func (o *Outcome) slowest(p *operation) *SlowestOperation {
	f := &o.Flows.Flow[p.straggler]
	return &SlowestOperation{
		Workload: o.Workloads[p.origin], Operation: int(p.group), Time: p.end - p.start, Steps: p.steps, Step: p.slow,
		StepTime: p.took, StepIdeal: p.ideal, Straggler: o.Nodes[f.Src], To: o.Nodes[f.Dst],
	}
}

// operationColumns is the layout of operations.parquet: one row per operation, ordered by
// workload and number.
func (o *Outcome) operationColumns() []probe.Column {
	return []probe.Column{
		{Name: "workload", Type: probe.Text, Texts: o.Workloads, Doc: "name of the workload it belongs to"},
		{Name: "operation", Doc: "its number in the workload, from 0: `group` of its flows"},
		{Name: "flows", Doc: "number of flows"},
		{Name: "size_bytes", Doc: "payload of all its flows"},
		{Name: "delivered_bytes", Doc: "payload that had arrived in order by the end of the run"},
		{Name: "start_ps", Doc: "start of its first flow"},
		{Name: "end_ps", Nullable: true, Doc: "when the last byte of the last flow was delivered; null: unfinished"},
		{Name: "completion_ps", Nullable: true, Doc: "end_ps - start_ps; null: unfinished"},
		{Name: "steps", Nullable: true, Doc: "flows in the chain that ended last, each waiting for the previous one; null: not started"},
		{Name: "slowest_step", Nullable: true, Doc: "step of that chain that lost most time compared with an empty network, from 1"},
		{Name: "slowest_took_ps", Nullable: true, Doc: "time from its start to its last ACK, or to the end of the run"},
		{Name: "slowest_ideal_ps", Nullable: true, Doc: "completion time of that flow in an empty network"},
		{Name: "straggler", Type: probe.Text, Nullable: true, Texts: o.Hosts, Doc: "host that sent it"},
		{Name: "straggler_to", Type: probe.Text, Nullable: true, Texts: o.Hosts, Doc: "host that it was sent to"},
		{Name: "straggler_flow", Nullable: true, Doc: "its id in flows.parquet"},
		{Name: "measured", Type: probe.Bool, Doc: "it is counted in summary.json"},
		{Name: "finished", Type: probe.Bool, Doc: "every flow was delivered"},
	}
}

func (o *Outcome) writeOperations(t *Table) error {
	var words []int64
	for i := range o.operations() {
		if err := t.Row(o.operationRow(words[:0], &o.ops[i])); err != nil {
			return err
		}
	}
	return nil
}

func (o *Outcome) operationRow(row []int64, p *operation) []int64 {
	row = append(row, int64(p.origin), int64(p.group), int64(len(p.flows)), int64(p.size), int64(p.delivered), int64(p.start))
	if p.finished() {
		row = append(row, int64(p.end), int64(p.end-p.start))
	} else {
		row = append(row, probe.Null, probe.Null)
	}
	if p.straggler >= 0 {
		f := &o.Flows.Flow[p.straggler]
		row = append(row, int64(p.steps), int64(p.slow), int64(p.took), int64(p.ideal), int64(f.Src), int64(f.Dst), int64(p.straggler))
	} else {
		for range 7 {
			row = append(row, probe.Null)
		}
	}
	return append(row, word(p.measured), word(p.finished()))
}
