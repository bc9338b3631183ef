package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/goal"
	"github.com/xoff-net/xoff/internal/interop/htsim"
	"github.com/xoff-net/xoff/topo"
)

// traceKinds are the extensions of traces that check reads.
var traceKinds = map[string]string{".goal": "goal", ".gol": "goal", ".bin": "goal", ".cm": "htsim", ".tm": "htsim", ".topo": "topology"}

// isTrace reports whether a file is a trace, by its extension.
func isTrace(name string) bool { return traceKinds[strings.ToLower(filepath.Ext(name))] != "" }

// traceReport is what check finds in a trace.
type traceReport struct {
	File     string   `json:"file"`
	Format   string   `json:"format"`
	Ranks    int      `json:"ranks"`
	CPUs     int      `json:"cpus,omitempty"`
	NICs     int      `json:"nics,omitempty"`
	Sends    int64    `json:"sends"`
	Recvs    int64    `json:"recvs,omitempty"`
	Calcs    int64    `json:"calcs,omitempty"`
	Edges    int64    `json:"dependencies,omitempty"`
	Bytes    uint64   `json:"bytes"`
	Compute  uint64   `json:"compute_ns,omitempty"`
	Switches []int    `json:"switches,omitempty"` // of a topology, by tier
	Frames   uint64   `json:"frames,omitempty"`   // data frames of 1000 B of a run
	Memory   int64    `json:"memory_bytes,omitempty"`
	Notes    []string `json:"notes"`
	Problems []string `json:"problems"`
	Partial  bool     `json:"partial,omitempty"` // some problems are missing
}

// Bytes of a run per operation, dependency and flow.
const (
	opMemory   = 48
	edgeMemory = 4
	flowMemory = 200
)

// Limits of a run: see workload.Env.
const (
	maxTraceSend = uint64(100 * units.GB)
	maxTraceCalc = 1000 * uint64(topo.MaxDelay/units.Nanosecond)
)

// checkTrace checks a trace: what is in it, what is wrong with it, and what a run would cost.
func (a *app) checkTrace(cmd *cobra.Command, file string) error {
	var flag string
	for _, name := range []string{"set", "seed", "failures", "flows", "dot", "against", "require-lossless"} {
		if cmd.Flags().Changed(name) {
			flag = name
		}
	}
	if flag != "" {
		return failf(exitInput, "--%s is for scenarios and switch configurations (allowed with a trace: --json, --quiet)", flag)
	}
	r := &traceReport{File: file, Notes: []string{}, Problems: []string{}}
	var err error
	switch traceKinds[strings.ToLower(filepath.Ext(file))] {
	case "goal":
		err = r.goal(file)
	case "htsim":
		err = r.traffic(file)
	default:
		err = r.topology(file)
	}
	if err != nil {
		return wrap(exitInput, err)
	}
	switch {
	case a.json:
		err = a.printJSON(r)
	case !a.quiet:
		err = r.print(&sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)})
	}
	if err != nil {
		return wrap(exitFailure, err)
	}
	if len(r.Problems) > 0 {
		return failf(exitFailure, "%s in %s", plural(len(r.Problems), "problem"), file)
	}
	return nil
}

func (r *traceReport) goal(file string) error {
	f, err := goal.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	found, err := goal.Check(f)
	if err != nil {
		return err
	}
	if r.Format = "GOAL text"; f.Binary {
		r.Format = "GOAL binary"
	}
	r.Ranks, r.CPUs, r.NICs = f.Ranks(), f.CPUs, f.NICs
	r.Sends, r.Recvs, r.Calcs, r.Edges = found.Ops[goal.Send], found.Ops[goal.Recv], found.Ops[goal.Calc], found.Edges
	r.Bytes, r.Compute = found.Bytes, found.Compute
	r.Frames, r.Memory = found.Frames, f.Ops*opMemory+f.Edges*edgeMemory+r.Sends*flowMemory
	if f.NICs > 1 {
		r.Notes = append(r.Notes, "messages use several nics: a rank has one NIC in a run, which they share")
	}
	if found.Wildcards > 0 {
		r.Notes = append(r.Notes, plural(int(found.Wildcards), "recv")+" with any source or tag: matched as messages arrive")
	}
	for _, m := range found.Mismatches {
		r.Problems = append(r.Problems, m.String())
	}
	r.Partial = found.Partial
	if p := found.LargestSend; p.Size > maxTraceSend {
		r.Problems = append(r.Problems, fmt.Sprintf("rank %d, operation %d: send of %d bytes (expected at most %d in a run)", p.Rank, p.Op, p.Size, maxTraceSend))
	}
	if p := found.LongestCalc; p.Size > maxTraceCalc {
		r.Problems = append(r.Problems, fmt.Sprintf("rank %d, operation %d: calc of %d ns (expected at most %d in a run)", p.Rank, p.Op, p.Size, maxTraceCalc))
	}
	if len(r.Problems) > 0 {
		return nil
	}
	searched, cycle, err := goal.FindCycle(f, found)
	switch {
	case err != nil:
		return err
	case cycle != nil:
		r.Problems = append(r.Problems, cycle.Error())
	case !searched:
		r.Notes = append(r.Notes, "not checked: whether ranks wait for each other")
	}
	return nil
}

func (r *traceReport) traffic(file string) error {
	t, err := htsim.OpenTraffic(file)
	if err != nil {
		return err
	}
	r.Format, r.Ranks, r.Sends = "htsim traffic", t.Nodes, int64(len(t.Connections))
	endless := 0
	for i := range t.Connections {
		r.Bytes += uint64(t.Connections[i].Size)
		r.Frames += (uint64(t.Connections[i].Size) + goal.FramePayload - 1) / goal.FramePayload
		if t.Connections[i].Size == 0 {
			endless++
		}
	}
	r.Memory = r.Sends * flowMemory
	if endless > 0 {
		r.Notes = append(r.Notes, plural(endless, "connection")+" without an end")
	}
	if n := len(t.Triggers); n > 0 {
		r.Notes = append(r.Notes, plural(n, "trigger"))
	}
	if n := len(t.Failures); n > 0 {
		r.Notes = append(r.Notes, plural(n, "failed link"))
	}
	return nil
}

func (r *traceReport) topology(file string) error {
	t, err := htsim.OpenTopology(file)
	if err != nil {
		return err
	}
	r.Format, r.Ranks, r.Switches = "htsim topology", t.Nodes, []int{t.ToRs, t.Aggs}
	if t.Cores > 0 {
		r.Switches = append(r.Switches, t.Cores)
	}
	return nil
}

// maxProblems limits the problems that are printed without --json.
const maxProblems = 20

func (r *traceReport) print(w *sheet) error {
	state := "no problems"
	if n := len(r.Problems); n > 0 {
		state = plural(n, "problem")
	}
	w.line("%s: %s, %s", r.File, r.Format, state)
	if r.Switches != nil {
		w.line("  hosts\t%d", r.Ranks)
		for i, kind := range []string{"ToR", "aggregation", "core"}[:len(r.Switches)] {
			w.line("  %s switches\t%d", kind, r.Switches[i])
		}
	} else {
		w.line("  ranks\t%d", r.Ranks)
		w.line("  messages\t%s, %s", count(uint64(r.Sends)), units.Bytes(min(r.Bytes, 1<<62)).Human())
		if r.Calcs > 0 {
			w.line("  computes\t%s, %s in all", count(uint64(r.Calcs)), human(units.Time(min(r.Compute, 1<<53))*units.Nanosecond))
		}
		if r.Edges > 0 {
			w.line("  dependencies\t%s", count(uint64(r.Edges)))
		}
		w.line("  a run\t%s data frames of %d B, %s of memory besides the fabric", count(r.Frames), goal.FramePayload, units.Bytes(r.Memory).Human())
	}
	for _, n := range r.Notes {
		w.line("  note\t%s", n)
	}
	for _, p := range r.Problems[:min(len(r.Problems), maxProblems)] {
		w.line("  %s", p)
	}
	if n := len(r.Problems) - maxProblems; n > 0 {
		w.line("  and %d more (all with --json)", n)
	}
	if r.Partial {
		w.line("  there may be more: the file has too many different messages to compare all")
	}
	return w.flush()
}

// areTraces reports whether all files of a command are traces.
func areTraces(args []string) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(s string) bool { return !isTrace(s) })
}
