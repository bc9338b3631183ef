package fabric

import (
	"io"
	"iter"
	"slices"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/workload"
)

// Outcome returns the outcome of a run that ended at the given time; partial means that it
// was interrupted.
func (b *Fabric) Outcome(end units.Time, totals sim.Totals, counters sim.Counters, partial bool) *metrics.Outcome {
	return &metrics.Outcome{
		Scenario: b.Config.Name, Seed: b.Config.Seed, End: end, Partial: partial, Totals: totals, Counters: counters,
		Flows: b.Flows, Ideal: b.Ideal, Origin: b.Origin, Groups: b.Groups, Payloads: b.payloads(), Workloads: b.Workloads, Jobs: b.Jobs, NICs: b.Plan.NICsPerServer(),
		Measured: func(i int) bool { return b.measured(i, end) },
		Nodes:    b.Graph.Names, Hosts: b.Graph.Names[:b.Graph.Hosts], Checks: b.Checks,
		Watched: b.Spec.WatchDeadlocks || b.Spec.StopAtDeadlock, Trees: b.Spec.LogPauses,
		Grouping: metrics.Grouping{By: b.Config.Output.GroupBy, Sizes: b.Config.Output.SizeBuckets},
	}
}

// payloads returns the payload of a full packet, by transport.
func (b *Fabric) payloads() []units.Bytes {
	var list []units.Bytes
	for _, h := range b.Plan.Transports() {
		list = append(list, h.Payload)
	}
	return list
}

// measured reports whether a flow counts in the summary of a run that ended at end. It must
// have started, and it or the first flow that it waited for must have started in the
// measurement window.
func (b *Fabric) measured(i int, end units.Time) bool {
	counts, _ := b.counts(i)
	began, ok := b.Flows.Began(i)
	return counts && ok && began <= end
}

// FlowControls returns the names of the flow control schemes that promise to be lossless, or
// of those that do not.
func (b *Fabric) FlowControls(lossless bool) []string {
	var names []string
	for _, s := range slices.Concat(b.Plan.OfSwitches, b.Plan.OfPorts) {
		if s.Promises()&registry.Lossless != 0 == lossless && !slices.Contains(names, s.FlowControl.Name) {
			names = append(names, s.FlowControl.Name)
		}
	}
	return names
}

// TraceFile is the name of a flow trace, in the same folder as the scenario that replays
// it.
const TraceFile = "flows.trace.csv"

// WriteTrace writes the planned flows of a run, so that the trace generator reproduces
// them.
func (b *Fabric) WriteTrace(w io.Writer) error {
	t, err := workload.NewTraceWriter(w)
	if err != nil {
		return err
	}
	next, stop := iter.Pull(b.Flows.Dependencies())
	defer stop()
	d, more := next()
	for i := range b.Flows.Flow {
		f := &b.Flows.Flow[i]
		var wait *workload.Wait
		if more && int(d.Flow) == i {
			wait = &workload.Wait{Delay: d.Delay, Until: d.Until}
			for _, on := range d.On {
				wait.On = append(wait.On, int32(on))
			}
			d, more = next()
		}
		flow := workload.Flow{Start: f.Start, Size: f.Size, Class: f.Class, Hash: f.Hash, Group: int32(b.Groups[i])}
		if err := t.Write(&flow, b.Graph.Names[f.Src], b.Graph.Names[f.Dst], b.Workloads[b.Origin[i]], wait); err != nil {
			return err
		}
	}
	return t.Close()
}

// transports returns the transports of workloads, by workload name. Workloads with the
// default transport have no entry.
func (b *Fabric) transports() map[string]string {
	var by map[string]string
	for i := range b.Flows.Flow {
		if name := b.Plan.Transports()[b.Flows.Flow[i].Transport].Name; name != "" {
			if by == nil {
				by = make(map[string]string)
			}
			by[b.Workloads[b.Origin[i]]] = name
		}
	}
	return by
}

// Replay returns the scenario with the trace of this run instead of its workloads. It reads
// TraceFile from its own folder and gives the same results.
func (b *Fabric) Replay() ([]byte, error) {
	c := *b.Config
	c.Workload = []scenario.Workload{{
		Name: "replay", Generator: "trace",
		Params: &workload.Trace{Path: TraceFile, Format: "csv", Workloads: b.Workloads, Transports: b.transports(), Endless: b.endless},
	}}
	return c.Marshal()
}
