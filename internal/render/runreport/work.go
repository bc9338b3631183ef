package runreport

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/metrics"
)

// operation is a row of operations.parquet.
type operation struct {
	Workload   string `column:"workload"`
	Operation  int64  `column:"operation"`
	Flows      int64  `column:"flows"`
	Size       int64  `column:"size_bytes"`
	Completion int64  `column:"completion_ps"`
	Steps      int64  `column:"steps"`
	Step       int64  `column:"slowest_step"`
	StepTime   int64  `column:"slowest_took_ps"`
	StepIdeal  int64  `column:"slowest_ideal_ps"`
	Straggler  string `column:"straggler"`
	To         string `column:"straggler_to"`
	Measured   bool   `column:"measured"`
}

// operations returns the section about collectives, requests and bursts, if there are any.
func (r *Run) operations() ([]report.Section, error) {
	if r.Summary.Operations == nil || r.Summary.Operations.Measured == 0 {
		return nil, nil
	}
	sec := report.Section{Heading: "Operations"}
	sec.Add(report.Paragraph("An operation is a collective, a request with its responses, or a burst. Its completion time is from the start of its first flow to the delivery of its last byte."))
	t := &report.Table{Columns: report.Heads("workload", "measured|", "unfinished|", "mean|", "p50|", "p95|", "p99|", "max|")}
	for _, w := range r.Summary.Workloads {
		o := w.Operations
		if o == nil || o.Measured == 0 {
			continue
		}
		cells := []string{w.Name, units.Thousands(uint64(o.Measured)), units.Thousands(uint64(o.Unfinished)), "-", "-", "-", "-", "-"}
		if o.Time != nil {
			cells = append(cells[:3], o.Time.Mean.Human(), o.Time.P50.Human(), o.Time.P95.Human(), o.Time.P99.Human(), o.Time.Max.Human())
		}
		t.Row(cells...)
	}
	sec.Add(t)
	list, err := rows[operation](r.Folder, "operations.parquet")
	if err != nil {
		return nil, err
	}
	slow, count := top(list, topRows, func(o *operation) int64 {
		if !o.Measured {
			return 0
		}
		return o.Completion
	})
	if len(slow) == 0 {
		return []report.Section{sec}, nil
	}
	t = &report.Table{
		Caption: fmt.Sprintf("Slowest operations (%d of %d), each with the step that lost the most time compared with an empty network", len(slow), count),
		Columns: report.Heads("workload", "number|", "flows|", "time|", "slowest step|", "straggler", "to", "step time|", "ideal step time|"),
	}
	for _, o := range slow {
		t.Row(o.Workload, fmt.Sprint(o.Operation), units.Thousands(uint64(o.Flows)), units.Time(o.Completion).Human(),
			fmt.Sprintf("%d of %d", o.Step, o.Steps), o.Straggler, o.To, units.Time(o.StepTime).Human(), units.Time(o.StepIdeal).Human())
	}
	sec.Add(t)
	return []report.Section{sec}, nil
}

// throughput returns the section about the goodput of flows and the utilisation of links.
func (r *Run) throughput(ports []port) report.Section {
	sec := report.Section{Heading: "Throughput"}
	sec.Add(report.Paragraph("Goodput is payload delivered in order, also of unfinished flows. Utilisation is the share of the run in which a link was busy, including headers, ACKs and retransmissions."))
	t := &report.Table{Columns: report.Heads("flows", "delivered|", "total goodput|", "per flow: median|", "slowest 1 %|", "slowest|", "fastest|")}
	add := func(name string, v *metrics.Throughput) {
		if v.Flows == nil {
			t.Row(name, v.Delivered.Human(), "-", "-", "-", "-", "-")
			return
		}
		t.Row(name, v.Delivered.Human(), rate(v.Rate), rate(v.Flows.P50), rate(v.Flows.P1), rate(v.Flows.Min), rate(v.Flows.Max))
	}
	add("all", &r.Summary.Throughput)
	for _, g := range groupsOf(r.Summary) {
		add(g.Name, &g.Throughput)
	}
	sec.Add(t)
	t = &report.Table{Columns: report.Heads("links", "ports|", "sent|", "utilisation mean|", "max|", "busiest")}
	for _, l := range r.Summary.Links {
		if l.Ports > 0 {
			t.Row(strings.ReplaceAll(l.Name, "_", " "), fmt.Sprint(l.Ports), l.Sent.Human(), percent(l.Utilisation.Mean), percent(l.Utilisation.Max), l.Busiest)
		}
	}
	sec.Add(t)
	busy, count := top(ports, topRows, func(p *port) int64 { return int64(p.Utilisation * 1e9) })
	if len(busy) > 0 {
		t = &report.Table{Caption: fmt.Sprintf("Busiest ports and classes (%d of %d)", len(busy), count), Columns: report.Heads("port", "class|", "sent|", "utilisation|")}
		for _, p := range busy {
			t.Row(p.name(), fmt.Sprint(p.Class), units.Bytes(p.Sent).Human(), percent(p.Utilisation))
		}
		sec.Add(t)
	}
	return sec
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func rate(bps float64) string { return units.Human(bps, "bps", "Kbps", "Mbps", "Gbps", "Tbps") }
