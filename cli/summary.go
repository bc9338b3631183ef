package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/live/engine"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/topo"
)

// print prints a simulated run as text or JSON, also when its results could not be written.
func (a *app) print(done *run.Result, bySize bool) error {
	return a.printRun(done, bySize, nil)
}

// printRun prints a run as text or JSON. late is the lateness of a live run, nil for a
// simulation.
func (a *app) printRun(done *run.Result, bySize bool, late *engine.Report) error {
	b, s := done.Fabric, done.Summary
	if a.json {
		if len(done.Expected) == 0 && late == nil {
			return s.Write(a.out)
		}
		return a.printJSON(struct {
			*metrics.Summary
			Expected []run.Expected `json:"expected,omitempty"`
			Lateness *engine.Report `json:"lateness,omitempty"`
		}{s, done.Expected, late})
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.heading(b, s, done.Wall, late)
	w.flows(s, bySize)
	w.jobs(s)
	w.operations(s)
	w.network(b, s)
	w.expected(done.Expected)
	if done.Unwritten == nil {
		w.files(done.Folder, done.Files)
	}
	return w.flush()
}

func (w *sheet) heading(b *fabric.Fabric, s *metrics.Summary, wall time.Duration, late *engine.Report) {
	c := b.Config
	state := ""
	if s.Partial {
		state = color.YellowString(" (interrupted: partial results)")
	}
	w.line("%s, seed %d%s", color.New(color.Bold).Sprint(s.Scenario), s.Seed, state)
	switches := fmt.Sprintf("%d switches with %s of buffer each", len(b.Spec.Switches), bufferSizes(b, units.Bytes.String))
	if len(b.Spec.Switches) == 1 {
		switches = fmt.Sprintf("1 switch with %s of buffer", bufferSizes(b, units.Bytes.String))
	}
	w.line("  fabric\t%s: %d hosts, %s, host links of %s", c.Topology.Name, b.Graph.Hosts, switches, hostRates(b.Graph))
	w.line("  schemes\t%s", c.Schemes())
	if late == nil {
		w.line("  simulated\t%s, %s frame hops, in %s", human(s.End), count(s.Network.Hops), wall.Round(10*time.Millisecond))
	} else {
		w.line("  live\t%s, %s frame hops", human(s.End), count(s.Network.Hops))
		w.lateness(late)
	}
	w.line("")
}

// hostRates formats the rates of host links.
func hostRates(g *topo.Graph) string {
	rates := g.HostRates()
	lo, hi := slices.Min(rates), slices.Max(rates)
	if lo == hi {
		return lo.String()
	}
	return fmt.Sprintf("%s to %s", lo, hi)
}

// maxDetail is the number of size groups that are printed without --by-size.
const maxDetail = 12

// rowsOf counts the size groups that have flows.
func rowsOf(groups []metrics.Part) int {
	n := 0
	for _, g := range groups {
		for _, p := range g.Sizes {
			if p.Measured > 0 {
				n++
			}
		}
	}
	return n
}

// sizes prints the size buckets of a group, if it has flows in more than one.
func (w *sheet) sizes(indent string, parts []metrics.Part) {
	if rowsOf([]metrics.Part{{Sizes: parts}}) < 2 {
		return
	}
	for _, p := range parts {
		if p.Measured > 0 {
			w.part(indent+p.Name, &p)
		}
	}
}

func (w *sheet) flows(s *metrics.Summary, bySize bool) {
	w.line("flows\tmeasured\tfinished\tFCT mean\tp50\tp99\tmax\tslowdown mean\tp50\tp95\tp99\tp99.9")
	w.part("all", &metrics.Part{Measured: s.Flows.Measured, Finished: s.Flows.Finished, FCT: s.FCT, Slowdown: s.Slowdown})
	w.sizes("  ", s.Sizes)
	groups := s.Workloads
	if s.GroupBy == "class" {
		groups = s.Classes
	}
	detail := bySize || rowsOf(groups) <= maxDetail
	for _, p := range groups {
		if len(groups) > 1 {
			w.part("  "+p.Name, &p)
			if detail {
				w.sizes("    ", p.Sizes)
			}
		}
	}
	if !detail {
		w.line("  (by %s and size: --by-size, or summary.json)", s.GroupBy)
	}
	w.line("  (FCT: flow completion time, from the start to the last ACK; slowdown: FCT over FCT in an empty network)")
	if s.Flows.Unfinished > 0 {
		w.line("  %s", color.RedString("%d measured flows did not finish", s.Flows.Unfinished))
	}
	w.line("")
}

func (w *sheet) part(name string, p *metrics.Part) {
	if p.FCT == nil {
		w.line("%s\t%d\t%d\t-\t-\t-\t-\t-\t-\t-\t-\t-", name, p.Measured, p.Finished)
		return
	}
	f, s := p.FCT, p.Slowdown
	w.line("%s\t%d\t%d\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f", name, p.Measured, p.Finished,
		human(f.Mean), human(f.P50), human(f.P99), human(f.Max), s.Mean, s.P50, s.P95, s.P99, s.P999)
}

// drops formats the number of dropped frames: lossless classes in red or green, others in
// yellow.
func drops(d *metrics.Drops) string {
	lossless := color.GreenString("none in lossless classes")
	if d.Lossless > 0 {
		lossless = color.New(color.FgRed, color.Bold).Sprintf("%s IN LOSSLESS CLASSES", count(d.Lossless))
	}
	handler := ""
	if d.Handler > 0 {
		handler = fmt.Sprintf(", %s by a deadlock handler", count(d.Handler))
	}
	expelled := ""
	if d.Expelled > 0 {
		expelled = fmt.Sprintf("%s expelled by the policy, ", count(d.Expelled))
	}
	text := fmt.Sprintf("%s lossy, %s%s by links, %s without a route%s", count(d.Overflow), expelled, count(d.Link), count(d.NoRoute), handler)
	if d.Overflow+d.Expelled+d.Link+d.NoRoute+d.Handler > 0 {
		text = color.YellowString("%s", text)
	}
	return text + ", " + lossless
}

// byDesign returns why lossless drops broke no promise, or "" if all of them did.
func byDesign(b *fabric.Fabric, d *metrics.Drops) string {
	n := d.Lossless - d.Broken
	if n == 0 {
		return ""
	}
	var why []string
	if names := b.FlowControls(false); len(names) > 0 {
		why = append(why, fmt.Sprintf("flow control %s drops by design", strings.Join(names, ", ")))
	}
	if len(b.Config.Faults) > 0 {
		why = append(why, "faulty links lose pauses")
	}
	return fmt.Sprintf(" (%s broke no promise: %s)", count(n), strings.Join(why, "; "))
}

// depth formats how far pauses spread.
func depth(p *metrics.Pauses) string {
	if p.MaxDepth == 0 {
		return ""
	}
	deeper := uint64(0)
	for _, n := range p.Depths[1:] {
		deeper += n
	}
	return fmt.Sprintf("; %s caused by another pause, chains of up to %d", count(deeper), p.MaxDepth)
}

func (w *sheet) network(b *fabric.Fabric, s *metrics.Summary) {
	w.line("pauses\t%s sent, %s resumed, %s refreshed; paused time of all queues %s%s", count(s.Pauses.Pauses), count(s.Pauses.Resumes), count(s.Pauses.Refreshes), human(s.Pauses.Blocked), depth(&s.Pauses))
	w.deadlock(&s.Deadlock)
	w.line("drops\t%s%s", drops(&s.Drops), byDesign(b, &s.Drops))
	w.line("transport\t%s ECN marks, %s CNPs, %s retransmissions, %s timeouts", count(s.Network.Marks), count(s.Transport.CNPs), count(s.Transport.Retransmissions), count(s.Transport.Timeouts))
	w.throughput(s)
	w.line("buffer\tpeak %s of %s in one switch; headroom peak %s", human(s.Buffer.Peak), bufferSizes(b, units.Bytes.Human), human(s.Buffer.PeakHeadroom))
	if s.Invariants.Checked {
		state := color.GreenString("all held")
		if s.Invariants.Broken > 0 {
			state = color.RedString("broken %d times; first: %s", s.Invariants.Broken, s.Invariants.First)
		}
		w.line("invariants\t%s", state)
	}
	w.line("")
	if t := s.PauseTrees; t != nil && t.Trees > 0 {
		w.trees(t)
	}
}

// operations prints the completion times of collectives, requests and bursts, if there are any.
func (w *sheet) operations(s *metrics.Summary) {
	if s.Operations == nil || s.Operations.Measured == 0 {
		return
	}
	w.line("operations\tmeasured\tfinished\tmean\tp50\tp99\tmax")
	for _, p := range s.Workloads {
		o := p.Operations
		if o == nil || o.Measured == 0 {
			continue
		}
		if o.Time == nil {
			w.line("%s\t%d\t%d\t-\t-\t-\t-", p.Name, o.Measured, o.Finished)
			continue
		}
		w.line("%s\t%d\t%d\t%s\t%s\t%s\t%s", p.Name, o.Measured, o.Finished, human(o.Time.Mean), human(o.Time.P50), human(o.Time.P99), human(o.Time.Max))
	}
	if o := s.Operations; o.Slowest != nil {
		w.line("  (slowest: %s)", o.Slowest)
	}
	w.line("")
}

// throughput prints the goodput of flows and the utilisation of links.
func (w *sheet) throughput(s *metrics.Summary) {
	w.line("goodput\t%s", goodput(&s.Throughput))
	if len(s.Workloads) > 1 {
		for _, p := range s.Workloads {
			if p.Measured > 0 {
				w.line("\t%s: %s", p.Name, goodput(&p.Throughput))
			}
		}
	}
	var parts []string
	for _, l := range s.Links {
		if l.Ports > 0 {
			parts = append(parts, fmt.Sprintf("%s mean %.0f %%, max %.0f %%", strings.ReplaceAll(l.Name, "_", " "), 100*l.Utilisation.Mean, 100*l.Utilisation.Max))
		}
	}
	w.line("utilisation\t%s", strings.Join(parts, "; "))
}

func goodput(t *metrics.Throughput) string {
	if t.Flows == nil {
		return "nothing was delivered"
	}
	return fmt.Sprintf("%s in total; per flow median %s, %s to %s", humanRate(t.Rate), humanRate(t.Flows.P50), humanRate(t.Flows.Min), humanRate(t.Flows.Max))
}

// humanRate formats a rate with three digits.
func humanRate(bps float64) string { return units.Human(bps, "bps", "Kbps", "Mbps", "Gbps", "Tbps") }

// expected prints how many of the scenario's expectations hold, and those that do not.
func (w *sheet) expected(list []run.Expected) {
	if len(list) == 0 {
		return
	}
	held := 0
	for i := range list {
		if list[i].Holds {
			held++
		}
	}
	hold := color.GreenString("%d of %d hold", held, len(list))
	if held < len(list) {
		hold = color.RedString("%d of %d hold", held, len(list))
	}
	w.line("expected\t%s", hold)
	for i := range list {
		if !list[i].Holds {
			w.line("\t%s", color.RedString("%s", &list[i]))
		}
	}
	w.line("")
}

// deadlock prints the deadlocks of a run. Without a deadlock it prints a line only if the
// run was watched for deadlocks.
func (w *sheet) deadlock(d *metrics.Deadlock) {
	switch {
	case d.Found == 0:
		if d.Watched {
			w.line("deadlock\t%s", color.GreenString("none"))
		}
		return
	case d.Found == 1 && d.Standing == 1:
		since := color.RedString("from %s to the end of the run", human(*d.Onset))
		w.line("deadlock\t%s: %d queues are stuck, %d hosts cannot send", since, d.Queues, d.Hosts)
	default:
		w.line("deadlock\t%s, the first at %s, %s in total; up to %d queues were stuck, %d hosts could not send; at the end: %s",
			color.RedString("%d", d.Found), human(*d.Onset), human(d.Stuck), d.Queues, d.Hosts, map[int]string{0: "none", 1: "one"}[d.Standing])
	}
	w.line("\t%s -> back to the first", strings.Join(d.Loop, " -> "))
}

// trees prints how pauses spread.
func (w *sheet) trees(t *metrics.PauseTrees) {
	w.line("pause trees\t%s; the largest:", count(uint64(t.Trees)))
	w.line("  root\tstart\tduration\tpauses\tpaused ports\tof hosts\tdepth")
	for _, x := range t.Largest {
		w.line("  %s\t%s\t%s\t%d\t%d\t%d\t%d", x.Root, human(x.Start), human(x.Duration), x.Pauses, x.Ports, x.Hosts, x.Depth)
	}
	w.line("  the first tree:")
	for _, text := range t.Drawn {
		w.line("    %s", text)
	}
	w.line("")
}

// bufferSizes formats the buffer size of switches, a range if overrides make them differ.
func bufferSizes(b *fabric.Fabric, show func(units.Bytes) string) string {
	least, most := b.Spec.Switches[0].Buffer.Size, b.Spec.Switches[0].Buffer.Size
	for _, s := range b.Spec.Switches {
		least, most = min(least, s.Buffer.Size), max(most, s.Buffer.Size)
	}
	if least == most {
		return show(most)
	}
	return show(least) + " to " + show(most)
}

func (w *sheet) files(folder string, list []run.File) {
	w.line("files")
	for _, f := range list {
		w.line("  %s\t%s", filepath.Join(folder, f.Name), f.What)
	}
}

// human formats a time or a size with three digits.
func human(v interface{ Human() string }) string { return v.Human() }

// count formats a number with thousands separators.
func count(n uint64) string { return units.Thousands(n) }
