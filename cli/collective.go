package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// collectiveFlags are the flags of `xoff collective`.
type collectiveFlags struct {
	runFlags
	preset    string
	sizes     string
	factor    int
	operation workload.CollectiveJob
}

func (a *app) collectiveCommand() *cobra.Command {
	f := &collectiveFlags{}
	cmd := &cobra.Command{
		Use:   "collective [FILE]",
		Short: "Measure a collective at many sizes, like nccl-tests",
		Long: `Simulate a collective operation once per size and print time, algorithm bandwidth and
bus bandwidth as nccl-tests define them. The fabric comes from a scenario FILE, whose
workloads do not run, or a preset with 8 GPUs per server.

  xoff collective --preset superpod-512 --ranks 64 --sizes 1KB..16MiB
  xoff collective mine.yaml --kind all-to-all --algorithm pairwise
  xoff collective mine.yaml --sizes 1MB,4MB --channels 8 --cc hpcc

See docs/training.md for operations and algorithms.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.collective(cmd, args, f) },
	}
	s := cmd.Flags()
	s.StringVar(&f.preset, "preset", "", "`NAME` of a rail fabric instead of FILE: "+strings.Join(topo.RailPresets(), ", "))
	s.StringVar(&f.sizes, "sizes", "8B..64MiB", "`SIZES`: from..to, or a comma-separated list")
	s.IntVar(&f.factor, "factor", 2, "`N` by which one size of from..to is larger than the previous one")
	s.StringVar(&f.operation.Operation, "kind", "all_reduce", "`OPERATION`: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all")
	s.StringVar(&f.operation.Algorithm, "algorithm", "", "`NAME` of the algorithm (default: the first of the operation, see docs/training.md)")
	s.IntVar(&f.operation.Ranks, "ranks", 0, "number `N` of ranks; 0: all GPUs")
	s.IntVar(&f.operation.Channels, "channels", 1, "number `N` of parts that are sent at the same time")
	s.IntVar(&f.operation.Chunks, "chunks", 1, "number `N` of chunks of trees and broadcasts")
	s.IntVar(&f.operation.Repeat, "repeat", 1, "number `N` of operations per size; times are means")
	s.StringVar(&f.operation.Placement, "placement", "packed", "`GPUS` of the ranks: packed, spread, random, or numbers such as \"0-7 16\"")
	f.registerChanges(cmd)
	a.simulationFlags(cmd)
	completeFlag(cmd, "preset", topo.RailPresets)
	return cmd
}

// collectiveTable is the result of `xoff collective`.
type collectiveTable struct {
	Operation string          `json:"operation"`
	Algorithm string          `json:"algorithm"`
	Ranks     int             `json:"ranks"`
	Fabric    string          `json:"fabric"`
	Rows      []collectiveRow `json:"rows"`
	Average   float64         `json:"average_busbw_bytes_per_s"`
}

// collectiveRow is the result for one size.
type collectiveRow struct {
	Size  units.Bytes `json:"size_bytes"`
	Time  units.Time  `json:"time_ps"`
	AlgBW float64     `json:"algbw_bytes_per_s"`
	BusBW float64     `json:"busbw_bytes_per_s"`
}

func (a *app) collective(cmd *cobra.Command, args []string, f *collectiveFlags) error {
	f.operation.Operation = strings.ReplaceAll(f.operation.Operation, "-", "_")
	f.operation.Algorithm = strings.ReplaceAll(f.operation.Algorithm, "-", "_")
	if f.factor < 2 {
		return failf(exitInput, "--factor is %d (expected 2 or more)", f.factor)
	}
	sizes, err := parseSizes(f.sizes, f.factor)
	if err != nil {
		return failf(exitInput, "--sizes: %w", err)
	}
	name, text, err := f.fabric(args)
	if err != nil {
		return wrap(exitInput, err)
	}
	if err := a.startRuns(); err != nil {
		return err
	}
	plan := func(size units.Bytes) (fabric.Plan, error) {
		cfg, err := scenario.Parse(name, text, f.changes(size)...)
		if err != nil {
			return fabric.Plan{}, wrap(exitInput, flagOf(err))
		}
		if cmd.Flags().Changed("seed") {
			cfg.Seed = a.seed
		}
		p, err := fabric.NewPlan(cfg)
		return p, wrap(exitInput, flagOf(err))
	}
	if _, err := plan(slices.Max(sizes)); err != nil {
		return err
	}
	t := &collectiveTable{Rows: []collectiveRow{}}
	m := a.newMeter()
	var problem error
	for i, size := range sizes {
		p, err := plan(size)
		if err != nil {
			return err
		}
		var row *collectiveRow
		row, problem = a.measureCollective(cmd.Context(), p, t, size, m, fmt.Sprintf("%s, %d of %d", size, i+1, len(sizes)))
		if row == nil {
			break
		}
		t.Rows = append(t.Rows, *row)
		t.Average += (row.BusBW - t.Average) / float64(len(t.Rows))
		if !a.json && !a.quiet {
			if i == 0 {
				fmt.Fprint(a.out, t.head())
			}
			fmt.Fprint(a.out, t.line(row))
		}
		if problem != nil {
			break
		}
	}
	switch {
	case len(t.Rows) == 0:
	case a.json:
		if err := a.printJSON(t); err != nil {
			return wrap(exitFailure, err)
		}
	case !a.quiet:
		fmt.Fprintf(a.out, "# Avg bus bandwidth: %.4g GB/s\n", t.Average/float64(units.GB))
	}
	return problem
}

// measureCollective runs a plan and returns its row. It returns no row if the collective did
// not end.
func (a *app) measureCollective(ctx context.Context, p fabric.Plan, t *collectiveTable, size units.Bytes, m *meter, what string) (*collectiveRow, error) {
	o := run.Options{Workers: a.workers, Progress: func(p run.Progress) {
		m.show(func(passed time.Duration) string {
			return fmt.Sprintf("%s: %s simulated", what, human(p.Now)) + speed(p.Hops(), passed)
		})
	}}
	built, err := p.Build(o.BuildOptions())
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	r, err := run.Prepare(built, o)
	if err != nil {
		return nil, wrap(exitInput, err)
	}
	m.restart()
	done, err := r.Start(ctx)
	m.clear()
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	problem := verdict(done.Verdict)
	if problem != nil {
		problem = &failure{done.Verdict.Code, fmt.Errorf("size %s: %w", size, problem)}
	}
	j := done.Summary.Jobs[0]
	if done.Verdict.Unfinished > 0 {
		problem = failf(done.Verdict.Code, "size %s: the collective did not end by %s of simulated time: %d operations are left; fix: look for deadlocks and faults with `xoff run`", size, human(done.Summary.End), j.Unfinished)
	}
	if len(j.Collectives) == 0 {
		return nil, problem
	}
	c := &j.Collectives[0]
	t.Operation, t.Algorithm, t.Ranks = c.Operation, c.Algorithm, c.Ranks
	t.Fabric = fmt.Sprintf("%s, %d NICs of %s", p.Config.Topology.Name, p.Graph.Hosts, hostRates(p.Graph))
	return &collectiveRow{Size: size, Time: c.Mean, AlgBW: c.AlgBW, BusBW: c.BusBW}, problem
}

// fabric returns the text of the scenario with the fabric.
func (f *collectiveFlags) fabric(args []string) (name string, text []byte, err error) {
	switch {
	case f.preset == "" && len(args) == 0:
		return "", nil, fmt.Errorf("no fabric (expected a scenario FILE, or --preset with one of %s)", strings.Join(topo.RailPresets(), ", "))
	case f.preset != "" && len(args) > 0:
		return "", nil, fmt.Errorf("--preset cannot be combined with a scenario FILE: found %s", args[0])
	case f.preset == "":
		return scenario.ReadText(args[0])
	case !slices.Contains(topo.RailPresets(), f.preset):
		return "", nil, registry.Unknown("preset", f.preset, topo.RailPresets())
	}
	scaleUp := "3.6Tbps" // NVLink 4
	if strings.HasPrefix(f.preset, "b300") {
		scaleUp = "7.2Tbps"
	}
	return f.preset, fmt.Appendf(nil, "name: %s\ntopology: {name: rail, preset: %s}\nnodes: {scale_up: {rate: %s}}\nswitch: {buffer: {size: 128MiB}}\n", f.preset, f.preset, scaleUp), nil
}

// atMost ends a collective that does not end by itself.
const atMost = "10s"

// changes returns the changes that replace the workloads of a scenario by a collective.
func (f *collectiveFlags) changes(size units.Bytes) []string {
	o := &f.operation
	return append(f.settings(), "expect=[]", "probes=[]", "run={stop: {when: all_flows_done, deadlock: true, at_most: "+atMost+"}}",
		fmt.Sprintf("workload=[{name: collective, generator: collective, operation: %q, algorithm: %q, size: %dB, ranks: %d, channels: %d, chunks: %d, repeat: %d, placement: %q}]",
			o.Operation, o.Algorithm, size, o.Ranks, o.Channels, o.Chunks, o.Repeat, o.Placement))
}

// flagOf names the flag instead of the key of the workload that the command adds.
func flagOf(err error) error {
	if err == nil {
		return nil
	}
	text, ours := err.Error(), false
	if _, text, ours = strings.Cut(text, "placement: "); !ours {
		return err
	}
	if _, text, ours = strings.Cut(text, "]: workload[0]."); !ours {
		return err
	}
	if rest, ok := strings.CutPrefix(text, "operation:"); ok {
		text = "kind:" + rest
	}
	if rest, ok := strings.CutPrefix(text, "size:"); ok {
		text = "sizes:" + rest
	}
	return errors.New("--" + text)
}

// maxSizes limits the number of sizes.
const maxSizes = 1000

// parseSizes parses from..to, or a list of sizes.
func parseSizes(text string, factor int) ([]units.Bytes, error) {
	from, to, isRange := strings.Cut(text, "..")
	var list []units.Bytes
	if !isRange {
		for _, word := range strings.Split(text, ",") {
			size, err := units.ParseBytes(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			list = append(list, size)
		}
	} else {
		lo, err := units.ParseBytes(from)
		if err != nil {
			return nil, err
		}
		hi, err := units.ParseBytes(to)
		if err != nil {
			return nil, err
		}
		if lo < 1 || lo > hi {
			return nil, fmt.Errorf("%s to %s is empty (expected at least 1B, and from before to)", lo, hi)
		}
		for size := lo; size <= hi; size *= units.Bytes(factor) {
			list = append(list, size)
			if size > hi/units.Bytes(factor) {
				break
			}
		}
	}
	if len(list) > maxSizes {
		return nil, fmt.Errorf("%d sizes (expected at most %d)", len(list), maxSizes)
	}
	if least := slices.Min(list); least < 1 {
		return nil, fmt.Errorf("%s is too small (expected at least 1B)", least)
	}
	return list, nil
}

// elementSize is the size of a float, the default type of nccl-tests.
const elementSize = 4

// head returns the lines above the rows.
func (t *collectiveTable) head() string {
	return fmt.Sprintf("# %s %s, %d ranks; %s\n", t.Operation, t.Algorithm, t.Ranks, t.Fabric) +
		fmt.Sprintf("#%11s  %12s  %6s  %6s  %10s  %7s  %7s\n", "size", "count", "type", "redop", "time", "algbw", "busbw") +
		fmt.Sprintf("#%11s  %12s  %6s  %6s  %10s  %7s  %7s\n", "(B)", "(elements)", "", "", "(us)", "(GB/s)", "(GB/s)")
}

// line returns a row as text. Like nccl-tests, it counts the elements that each rank
// contributes to a gather, scatter or exchange.
func (t *collectiveTable) line(r *collectiveRow) string {
	n, redop := int64(r.Size)/elementSize, "none"
	switch t.Operation {
	case "all_reduce":
		redop = "sum"
	case "reduce_scatter":
		redop = "sum"
		n /= int64(t.Ranks)
	case "all_gather", "all_to_all":
		n /= int64(t.Ranks)
	}
	us := float64(r.Time) / float64(units.Microsecond)
	digits := 2
	if us >= 10000 {
		digits = 0
	}
	return fmt.Sprintf("%12d  %12d  %6s  %6s  %10.*f  %7.2f  %7.2f\n", int64(r.Size), n, "float", redop, digits, us, r.AlgBW/float64(units.GB), r.BusBW/float64(units.GB))
}
