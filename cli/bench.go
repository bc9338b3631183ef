package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/bench"
	"github.com/xoff-net/xoff/internal/sys/hugepage"
)

// defaultPairs is the default number of pairs in a comparison. Fewer do not resolve a
// difference of a few per cent.
const defaultPairs = 9

func (a *app) benchCommand() *cobra.Command {
	c := bench.Default()
	var delay, warmUp, against string
	var us, reps int
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of the simulator on this machine",
		Long: `Measure CPU nanoseconds per hop (one frame finishing one link) on a leaf-spine
fabric at 100 Gbps with web search traffic at 80 % load. Also print the result in
points: divided by the cost of a fixed calibration loop, to compare machines.

--against compares with other settings, alternating every 10 us of simulated time,
or with another program, in interleaved pairs. COMMAND is another xoff bench, or a
program that prints "ns/hop(all) X" and "cal X".

  xoff bench --against workers=2
  xoff bench --hosts 64 --against hosts=1024
  xoff bench --against link-delay=20ns,cc=none
  xoff bench --against 'cmd:COMMAND'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if c.LinkDelay, err = units.ParseDelay(delay); err != nil {
				return failf(exitInput, "--link-delay: %w", err)
			}
			if c.WarmUp, err = units.ParseTime(warmUp); err != nil {
				return failf(exitInput, "--warm-up: %w", err)
			}
			c.Measured = units.Time(us) * units.Microsecond
			if cmd.Flags().Changed("seed") {
				c.Seed = a.seed
			}
			if reps < 1 {
				return failf(exitInput, "--reps is %d (expected 1 or more)", reps)
			}
			if _, err := c.Scenario(); err != nil {
				return wrap(exitInput, err)
			}
			if against != "" && !cmd.Flags().Changed("reps") {
				reps = defaultPairs
			}
			hugepage.Prefer()
			return a.bench(cmd.Context(), c, against, reps)
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Workers, "workers", c.Workers, "number `N` of goroutines that simulate")
	f.IntVar(&c.Hosts, "hosts", c.Hosts, "number `N` of hosts, a multiple of 16")
	f.StringVar(&delay, "link-delay", c.LinkDelay.String(), "propagation `TIME` of every link")
	f.IntVar(&us, "us", int(c.Measured/units.Microsecond), "number `N` of simulated microseconds to measure")
	f.StringVar(&warmUp, "warm-up", c.WarmUp.String(), "simulated `TIME` before the measurement")
	f.IntVar(&reps, "reps", 3, fmt.Sprintf("number `N` of measurements, of which the best counts; with --against, the number of pairs, %d if not set", defaultPairs))
	f.StringVar(&against, "against", "", "`SETTING=VALUE` to compare with, comma-separated, or cmd:COMMAND")
	registerSchemes(cmd, &c.CC, &c.Policy, &c.FlowControl)
	a.printFlags(cmd)
	a.seedFlag(cmd)
	return cmd
}

// registerSchemes adds the flags that replace the schemes of the benchmark.
func registerSchemes(cmd *cobra.Command, cc, policy, flowControl *string) {
	cmd.Flags().StringVar(cc, "cc", "", "`NAME` of the congestion control (see xoff list cc)")
	cmd.Flags().StringVar(policy, "policy", "", "`NAME` of the buffer policy (see xoff list policy)")
	cmd.Flags().StringVar(flowControl, "flow-control", "", "`NAME` of the flow control (see xoff list flow_control)")
}

func (a *app) bench(ctx context.Context, c bench.Case, against string, reps int) error {
	var value any
	var text func(w *sheet)
	m := a.newMeter()
	defer m.clear()
	taken, samples := 0, "samples"
	if against != "" {
		samples = "pairs"
	}
	progress := func() {
		taken++
		m.show(func(passed time.Duration) string {
			return fmt.Sprintf("%d of %d %s", taken, reps, samples) + timeLeft(float64(taken)/float64(reps), passed)
		})
	}
	if against == "" {
		r, err := bench.Run(ctx, c, reps, progress)
		if err != nil {
			return benchError(err)
		}
		value, text = r, func(w *sheet) { w.bench(r) }
	} else {
		other, err := bench.Opponent(c, against)
		if err != nil {
			return failf(exitInput, "--against: %w", err)
		}
		r, err := bench.Compare(ctx, c, other, reps, progress)
		if err != nil {
			return benchError(err)
		}
		value, text = r, func(w *sheet) { w.comparison(r, against) }
	}
	m.clear()
	if a.json {
		return wrap(exitFailure, a.printJSON(value))
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	text(w)
	return wrap(exitFailure, w.flush())
}

func benchError(err error) error {
	if errors.Is(err, context.Canceled) {
		return failf(exitInterrupted, "interrupted")
	}
	return wrap(exitFailure, err)
}

func (w *sheet) bench(r *bench.Result) {
	if r.Command != "" {
		w.line("command\t%s", r.Command)
	} else {
		w.line("case\t%d hosts, link delay %s, %d workers; %s warm-up, %s measured", r.Hosts, r.LinkDelay, r.Workers, r.WarmUp, r.Measured)
	}
	w.line("speed\t%.1f ns of CPU per hop = %.1f points (calibration step %.3f ns); best of %d, spread %.1f %%", r.NsPerHop, r.Points, r.CalNs, r.Reps, r.Spread*100)
	if r.Command != "" {
		return
	}
	w.line("work\t%s hops in %.3f s (%.3f s of CPU)", count(r.Hops), r.Wall, r.CPU)
	memory := fmt.Sprintf("%.6f allocations per hop", r.AllocsPerHop)
	if r.PeakRSS > 0 {
		memory += ", peak " + human(units.Bytes(r.PeakRSS))
	}
	w.line("memory\t%s", memory)
}

func (w *sheet) comparison(c *bench.Comparison, against string) {
	w.bench(&c.Result)
	w.line("")
	w.line("compared with %s", against)
	w.bench(&c.Against)
	w.line("")
	w.line("against / this\tpoints %.3f (this / against %.3f); best of each, %d interleaved pairs", c.PointsRatio, 1/c.PointsRatio, c.Pairs)
	if c.WallRatio > 0 {
		w.line("\twall time %.3f; median of pairs %.3f, spread %.1f %%", c.WallRatio, c.WallMedian, c.WallSpread*100)
	}
}
