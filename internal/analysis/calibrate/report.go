package calibrate

import (
	"fmt"
	"math"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/counters"
)

// Report compares the calibrated scenario with the counters.
type Report struct {
	Scenario  string     `json:"scenario"`
	Matrix    string     `json:"matrix"`
	Window    float64    `json:"measured_seconds"`
	Span      units.Time `json:"simulated_ps"`
	Runs      int        `json:"runs"`
	Partial   bool       `json:"partial,omitempty"` // interrupted: the best setting so far
	Load      Load       `json:"load"`
	Fit       Fitted     `json:"fit"`
	Suspects  []Suspect  `json:"congested"`
	Findings  []Finding  `json:"findings,omitempty"`
	Ports     []PortRow  `json:"ports"`
	Explained int        `json:"ports_explained"`
}

// Load is the offered payload.
type Load struct {
	Offered units.Rate `json:"offered_bps"`
	Share   float64    `json:"share_of_host_links"`
}

// Fitted has the fitted parameters.
type Fitted struct {
	CC     string  `json:"cc"`
	Groups []Group `json:"groups"`
	Slow   []Slow  `json:"slow_receivers,omitempty"`
	Error  float64 `json:"error"` // 0: pauses, marks and bytes of every port match; 1: nothing does
}

// Group are receivers whose bursts have the same shape, or a part of what they receive.
type Group struct {
	Name    string      `json:"name"`
	Hosts   []string    `json:"hosts"`
	Senders int         `json:"senders"`
	Size    units.Bytes `json:"size_bytes"`
	Share   float64     `json:"share"` // of the bytes to these hosts
}

// Slow is a host that receives slowly.
type Slow struct {
	Host string     `json:"host"`
	Rate units.Rate `json:"rate_bps"`
}

// Reason classifies what the scenario cannot explain.
type Reason string

// Reasons.
const (
	NoCounters   Reason = "no_counters"
	NoSource     Reason = "bytes_without_source"
	NoSink       Reason = "bytes_without_destination"
	HostPauses   Reason = "host_pauses"
	NoCongestion Reason = "pauses_without_congestion"
	Bytes        Reason = "bytes_differ"
	Pauses       Reason = "pauses_differ"
	Marks        Reason = "marks_differ"
	Rare         Reason = "too_rare"
	Drops        Reason = "drops"
)

// Finding is a difference that the scenario does not explain.
type Finding struct {
	Reason Reason `json:"reason"`
	Text   string `json:"text"`
}

// Counts are rates per second at a port.
type Counts struct {
	Bytes          float64 `json:"bytes_per_s"`
	PausesSent     float64 `json:"pfc_sent_per_s"`
	PausesReceived float64 `json:"pfc_received_per_s"`
	Marks          float64 `json:"marks_per_s"`
	Drops          float64 `json:"drops_per_s"`
}

// PortRow compares a port. A match is in per cent; nil: nothing to compare.
type PortRow struct {
	Switch    string    `json:"switch"`
	Port      string    `json:"port"`
	Host      string    `json:"host,omitempty"`
	Measured  Counts    `json:"measured"`
	Simulated Counts    `json:"simulated"`
	Bytes     *float64  `json:"match_bytes_percent"`
	Pauses    *float64  `json:"match_pauses_percent"`
	Marks     *float64  `json:"match_marks_percent"`
	Findings  []Finding `json:"findings,omitempty"`
}

// counts sums the rates of a port over classes. Bytes left its queues.
func (f *model) counts(get func(kind counters.Kind, class int) float64) Counts {
	sum := func(kind counters.Kind) float64 {
		x := 0.0
		for _, c := range f.made.Classes {
			x += get(kind, c)
		}
		return x
	}
	return Counts{
		sum(counters.QueueBytes), sum(counters.PFCSent), sum(counters.PFCReceived), sum(counters.Marks),
		sum(counters.GroupDrops) + sum(counters.QueueDrops),
	}
}

// rows compares all ports.
func (f *model) rows(r *result, suspects []Suspect) []PortRow {
	var rows []PortRow
	blamed := map[string]bool{}
	for _, s := range suspects {
		blamed[s.Switch] = true
	}
	all := &Counts{} // of all ports
	for _, p := range f.ports {
		all.Marks += p.sum(counters.Marks)
		all.PausesSent += p.sum(counters.PFCSent)
		all.PausesReceived += p.sum(counters.PFCReceived)
	}
	for i, p := range f.ports {
		row := PortRow{Switch: p.Switch, Port: p.Name, Host: p.Host}
		row.Measured = f.counts(func(k counters.Kind, c int) float64 { return p.rate[k][c] })
		row.Simulated = f.counts(func(k counters.Kind, c int) float64 { return r.rate(i, k, c) })
		m, s, seconds := &row.Measured, &row.Simulated, r.span.Seconds()
		if p.has(counters.QueueBytes) {
			row.Bytes = match(m.Bytes*seconds/fullPayload, s.Bytes*seconds/fullPayload)
		}
		if p.has(counters.PFCSent) || p.has(counters.PFCReceived) {
			row.Pauses = match((m.PausesSent+m.PausesReceived)*seconds, (s.PausesSent+s.PausesReceived)*seconds)
		}
		if p.has(counters.Marks) {
			row.Marks = match(m.Marks*seconds, s.Marks*seconds)
		}
		row.Findings = f.explain(p, &row, all, seconds, blamed[p.Switch])
		if row.Bytes != nil || row.Pauses != nil || row.Marks != nil || len(row.Findings) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// match returns the smaller of two counts as a percentage of the larger one. Below one event both
// count as equal.
func match(a, b float64) *float64 {
	if max(a, b) == 0 {
		return nil
	}
	x := 100.0
	if max(a, b) >= 1 {
		x = math.Round(1000*min(a, b)/max(a, b)) / 10
	}
	return &x
}

// enough is the match in per cent from which on a counter counts as explained. Differences below
// this share of the counter in the whole fabric do not matter.
const enough, negligible = 50, 0.01

// explain returns what the scenario does not explain at a port.
func (f *model) explain(p *port, row *PortRow, all *Counts, seconds float64, blamed bool) []Finding {
	var list []Finding
	add := func(reason Reason, format string, args ...any) {
		list = append(list, Finding{reason, fmt.Sprintf(format, args...)})
	}
	m, s := &row.Measured, &row.Simulated
	if p.Host != "" && !p.has(counters.QueueBytes) && !p.has(counters.OutOctets) {
		add(NoCounters, "no byte counters: the host neither sends nor receives in the scenario")
	}
	differs := func(x *float64, measured, simulated, all float64) bool {
		return x != nil && *x < enough && math.Abs(measured-simulated) > negligible*all
	}
	if differs(row.Bytes, m.Bytes, s.Bytes, 0) {
		add(Bytes, "%s measured, %s simulated", RateText(m.Bytes), RateText(s.Bytes))
	}
	pauses, simulated := m.PausesSent+m.PausesReceived, s.PausesSent+s.PausesReceived
	other := differs(row.Pauses, pauses, simulated, all.PausesSent+all.PausesReceived)
	switch {
	case p.Host != "" && m.PausesReceived > 0 && other:
		add(HostPauses, "the host sends %.3g PFC frames per second: a slow receiver, or a host that pauses for another reason", m.PausesReceived)
	case pauses > 0 && pauses*seconds < 1:
		add(Rare, "%.3g PFC frames per second are too rare for %.3g ms of simulation", pauses, seconds*1000)
	case m.PausesSent > 0 && s.PausesSent == 0 && !blamed:
		add(NoCongestion, "%.3g PFC frames per second, but no port of the switch is congested", m.PausesSent)
	case other:
		add(Pauses, "%.3g PFC frames per second measured, %.3g simulated", pauses, simulated)
	}
	if differs(row.Marks, m.Marks, s.Marks, all.Marks) {
		add(Marks, "%.3g marks per second measured, %.3g simulated", m.Marks, s.Marks)
	}
	if m.Drops > 0 && s.Drops == 0 {
		add(Drops, "%.3g drops per second, which are not fitted", m.Drops)
	}
	return list
}

// RateText formats bytes per second as a rate.
func RateText(bytes float64) string {
	return units.Human(bytes*8, "bps", "kbps", "Mbps", "Gbps", "Tbps")
}

// Sentence tells what was found, in a few sentences.
func (r *Report) Sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Load: %s, %.1f %% of the links of all hosts.", units.Human(float64(r.Load.Offered), "bps", "kbps", "Mbps", "Gbps", "Tbps"), 100*r.Load.Share)
	for _, g := range r.Fit.Groups {
		fmt.Fprintf(&b, " Bursts to %s: %d x %s", hostList(g.Hosts), g.Senders, g.Size.Human())
		if g.Share < 1 {
			fmt.Fprintf(&b, ", %.0f %% of the bytes", 100*g.Share)
		}
		b.WriteByte('.')
	}
	return b.String()
}

// hostList names up to three hosts.
func hostList(hosts []string) string {
	if len(hosts) > 3 {
		return fmt.Sprintf("%d hosts", len(hosts))
	}
	return strings.Join(hosts, ", ")
}
