package scenario

import (
	"io"

	"github.com/xoff-net/xoff/workload"
)

// TraceFile is the name of a trace beside the scenario that replays it.
const TraceFile = "flows.trace.csv"

// Traceable checks that a trace can hold the flows: it has no place for routes.
func (c *Config) Traceable() error {
	for i := range c.Workload {
		list, ok := c.Workload[i].Params.(*workload.List)
		if !ok {
			continue
		}
		for k := range list.Flows {
			if f := &list.Flows[k]; len(f.Via)+len(f.Back) > 0 {
				return atf("output.flow_trace", "flow %d of workload %s has routes of its own, which a trace cannot hold; allowed: no trace, or flows without via and back", k, c.Workload[i].Name)
			}
		}
	}
	return nil
}

// WriteTrace writes the flows of a run as they were planned, so that the trace
// generator makes the same of them.
func (b *Built) WriteTrace(w io.Writer) error {
	t, err := workload.NewTraceWriter(w)
	if err != nil {
		return err
	}
	waits := b.Waits
	for i := range b.Flows.Flow {
		f := &b.Flows.Flow[i]
		var wait *workload.Wait
		if len(waits) > 0 && int(waits[0].Flow) == i {
			wait = &workload.Wait{Delay: waits[0].Delay, Until: waits[0].Until}
			for _, on := range waits[0].On {
				wait.On = append(wait.On, int32(on))
			}
			waits = waits[1:]
		}
		flow := workload.Flow{Start: f.Start, Size: f.Size, Class: f.Class, Hash: f.Hash, Group: int32(b.Groups[i])}
		if err := t.Write(&flow, b.Graph.Names[f.Src], b.Graph.Names[f.Dst], b.Workloads[b.Origin[i]], wait); err != nil {
			return err
		}
	}
	return t.Close()
}

// carried returns the transports of workloads, by the names in a trace.
func (b *Built) carried() map[string]string {
	var by map[string]string
	for i := range b.Flows.Flow {
		if name := b.set.transports()[b.Flows.Flow[i].Transport].name; name != "" {
			if by == nil {
				by = make(map[string]string)
			}
			by[b.Workloads[b.Origin[i]]] = name
		}
	}
	return by
}

// Replay returns the scenario with the trace of this run, TraceFile beside it, in
// place of its workloads. It gives the same results.
func (b *Built) Replay() ([]byte, error) {
	c := *b.Config
	c.Workload = []Workload{{
		Name: "replay", Generator: "trace",
		Params: &workload.Trace{Path: TraceFile, Format: "csv", Workloads: b.Workloads, Transports: b.carried()},
	}}
	return c.Marshal()
}
