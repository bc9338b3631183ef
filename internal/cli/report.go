package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/units"
)

// print shows a run on standard output, as text or JSON; r is nil when the files
// could not be written.
func (a *app) print(b *scenario.Built, s *metrics.Summary, r *results, wall time.Duration) error {
	if a.json {
		return s.Write(a.out)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.heading(b, s, wall)
	w.flows(s)
	w.network(b, s)
	if r != nil {
		w.files(r)
	}
	return w.flush()
}

// sheet is a text report. It keeps the first error. Colour only ever stands in
// the last cell of a line: it would confuse the widths of the others.
type sheet struct {
	tab *tabwriter.Writer
	err error
}

func (w *sheet) line(format string, args ...any) {
	if _, err := fmt.Fprintf(w.tab, format+"\n", args...); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *sheet) flush() error {
	if err := w.tab.Flush(); err != nil && w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *sheet) heading(b *scenario.Built, s *metrics.Summary, wall time.Duration) {
	c := b.Config
	state := ""
	if s.Partial {
		state = color.YellowString(" (interrupted: partial results)")
	}
	w.line("%s, seed %d%s", color.New(color.Bold).Sprint(s.Scenario), s.Seed, state)
	switches := fmt.Sprintf("%d switches with %s of buffer each", len(b.Spec.Switches), c.Switch.Buffer.Size)
	if len(b.Spec.Switches) == 1 {
		switches = fmt.Sprintf("1 switch with %s of buffer", c.Switch.Buffer.Size)
	}
	w.line("  fabric\t%s: %d hosts, %s, host links of %s", c.Topology.Name, b.Graph.Hosts, switches, hostRates(b.Graph))
	w.line("  schemes\tflow control %s, buffer policy %s, congestion control %s, ECN %s", c.Switch.FlowControl.Name, c.Switch.Policy.Name, c.Hosts.CC.Name, c.Switch.ECN.Name)
	w.line("  simulated\t%s, %s frame hops, in %s", human(s.End), count(s.Network.Hops), wall.Round(10*time.Millisecond))
	w.line("")
}

// hostRates says how fast the links of the hosts are.
func hostRates(g *topo.Graph) string {
	rates := g.HostRates()
	lo, hi := slices.Min(rates), slices.Max(rates)
	if lo == hi {
		return lo.String()
	}
	return fmt.Sprintf("%s to %s", lo, hi)
}

func (w *sheet) flows(s *metrics.Summary) {
	w.line("flows\tmeasured\tfinished\tFCT p50\tp99\tmax\tslowdown p50\tp99\tp99.9")
	w.part("all", s.Flows.Measured, s.Flows.Finished, s.FCT, s.Slowdown)
	if len(s.Workloads) > 1 {
		for _, p := range s.Workloads {
			w.part("  "+p.Name, p.Measured, p.Finished, p.FCT, p.Slowdown)
		}
	}
	w.line("  (FCT: from the start of a flow to its last ACK; slowdown: FCT over that in an empty network)")
	if s.Flows.Unfinished > 0 {
		w.line("%s", color.YellowString("  %d measured flows did not finish", s.Flows.Unfinished))
	}
	w.line("")
}

func (w *sheet) part(name string, measured, done int, fct *metrics.Times, slow *metrics.Ratios) {
	if fct == nil {
		w.line("%s\t%d\t%d\t-\t-\t-\t-\t-\t-", name, measured, done)
		return
	}
	w.line("%s\t%d\t%d\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f", name, measured, done, human(fct.P50), human(fct.P99), human(fct.Max), slow.P50, slow.P99, slow.P999)
}

func (w *sheet) network(b *scenario.Built, s *metrics.Summary) {
	w.line("pauses\t%s sent, %s withdrawn, %s refreshed; queues stood still for %s in total", count(s.Pauses.Pauses), count(s.Pauses.Resumes), count(s.Pauses.Refreshes), human(s.Pauses.Blocked))
	lossless := "none of lossless classes"
	if s.Drops.Lossless > 0 {
		lossless = color.New(color.FgRed, color.Bold).Sprintf("%s OF LOSSLESS CLASSES", count(s.Drops.Lossless))
	}
	w.line("drops\t%s lossy, %s by links, %s without a route, %s", count(s.Drops.Overflow), count(s.Drops.Link), count(s.Drops.NoRoute), lossless)
	w.line("transport\t%s ECN marks, %s CNPs, %s packets sent again, %s timeouts", count(s.Network.Marks), count(s.Transport.CNPs), count(s.Transport.Retransmissions), count(s.Transport.Timeouts))
	w.line("buffer\tat most %s of %s in one switch, %s of it headroom", human(s.Buffer.Peak), b.Config.Switch.Buffer.Size, human(s.Buffer.PeakHeadroom))
	if s.Invariants.Checked {
		state := "all held"
		if s.Invariants.Broken > 0 {
			state = color.RedString("broken %d times; first: %s", s.Invariants.Broken, s.Invariants.First)
		}
		w.line("invariants\t%s", state)
	}
	w.line("")
}

func (w *sheet) files(r *results) {
	w.line("files")
	for _, f := range r.listed() {
		w.line("  %s\t%s", filepath.Join(r.stage.Folder, f.name), f.what)
	}
}

// human prints a time or a size with three digits.
func human[T units.Time | units.Bytes](v T) string {
	if b, ok := any(v).(units.Bytes); ok {
		return units.Human(float64(b), "B", "KB", "MB", "GB", "TB")
	}
	return units.Human(float64(v), "ps", "ns", "us", "ms", "s")
}

// count prints a number with separators.
func count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), ",")
}
