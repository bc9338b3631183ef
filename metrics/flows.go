package metrics

import (
	"math"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// flowColumns is the layout of flows.parquet and flows.csv: one row per flow, ordered by id.
func (o *Outcome) flowColumns() []probe.Column {
	return []probe.Column{
		{Name: "id", Doc: "flow number, from 0, in order of start"},
		{Name: "workload", Type: probe.Text, Texts: o.Workloads, Doc: "name of the workload it belongs to"},
		{Name: "src", Type: probe.Text, Texts: o.Hosts, Doc: "source host"},
		{Name: "dst", Type: probe.Text, Texts: o.Hosts, Doc: "destination host"},
		{Name: "class", Doc: "traffic class of its data"},
		{Name: "size_bytes", Doc: "payload"},
		{Name: "start_ps", Doc: "start"},
		{Name: "acked_ps", Nullable: true, Doc: "when the last ACK reached the source; null: unfinished"},
		{Name: "delivered_ps", Nullable: true, Doc: "when the last byte reached the destination in order; null: not yet"},
		{Name: "fct_ps", Nullable: true, Doc: "completion time, acked_ps - start_ps; null: unfinished"},
		{Name: "ideal_ps", Doc: "completion time in an empty network"},
		{Name: "slowdown", Type: probe.Float, Nullable: true, Doc: "fct_ps / ideal_ps; null: unfinished"},
		{Name: "resent", Doc: "retransmitted data packets"},
		{Name: "timeouts", Doc: "timeouts of the source"},
		{Name: "early", Doc: "packets that arrived ahead of a gap"},
		{Name: "twice", Doc: "packets that had arrived before"},
		{Name: "measured", Type: probe.Bool, Doc: "started in the measurement window: counts in summary.json"},
		{Name: "finished", Type: probe.Bool, Doc: "the last ACK has arrived"},
		{Name: "group", Doc: "its collective, request or burst, `operation` in operations.parquet; -1: none"},
		{Name: "delivered_bytes", Doc: "payload that had arrived in order by the end of the run"},
		{Name: "goodput_bps", Type: probe.Float, Nullable: true, Doc: "delivered_bytes over the time from start_ps to delivered_ps, or to the end of the run; null: not started"},
	}
}

// writeFlows writes the rows of flowColumns.
func (o *Outcome) writeFlows(t *Table) error {
	words := make([]int64, 0, len(t.columns))
	for i := range o.Flows.Flow {
		if !o.Flows.Offered(i) {
			continue
		}
		if err := t.Row(o.flowRow(words[:0], i)); err != nil {
			return err
		}
	}
	return nil
}

func (o *Outcome) flowRow(row []int64, i int) []int64 {
	f, send, recv := &o.Flows.Flow[i], &o.Flows.Send[i], &o.Flows.Recv[i]
	known := func(t units.Time) int64 {
		if t == 0 {
			return probe.Null
		}
		return int64(t)
	}
	fct, slowdown := int64(probe.Null), int64(probe.Null)
	t, done := o.fct(i)
	if done {
		fct, slowdown = int64(t), int64(math.Float64bits(o.slowdown(i, t)))
	}
	goodput := int64(probe.Null)
	if o.started(i) {
		goodput = int64(math.Float64bits(o.goodput(i)))
	}
	return append(row,
		int64(i), int64(o.Origin[i]), int64(f.Src), int64(f.Dst), int64(f.Class), int64(f.Size), int64(o.start(i)),
		known(send.Acked), known(recv.Delivered), fct, int64(o.Ideal[i]), slowdown,
		int64(send.Resent), int64(send.Timeouts), int64(recv.Early), int64(recv.Twice),
		word(o.measured(i)), word(done), int64(o.Groups[i]), int64(o.delivered(i)), goodput,
	)
}

func word(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
