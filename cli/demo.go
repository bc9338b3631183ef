package cli

import (
	_ "embed"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/workload"
)

//go:embed demo.yaml
var demoScenario []byte

func (a *app) demoCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a built-in scenario: an incast on a leaf-spine fabric with PFC",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			cfg, err := scenario.Parse("demo.yaml", demoScenario, f.settings()...)
			if err != nil {
				return wrap(exitInput, err)
			}
			if a.folder == "" {
				a.folder = "xoff-demo"
			}
			done, err := a.simulate(cmd, cfg, f)
			if err != nil || a.json || a.quiet {
				return err
			}
			return wrap(exitFailure, a.explain(done.Summary, cfg))
		},
	}
	f.register(cmd)
	f.registerShow(cmd)
	a.outputFlag(cmd, "`FOLDER` for results (default xoff-demo)")
	a.simulationFlags(cmd)
	return cmd
}

// explain prints what the demo shows, with the numbers of this run.
func (a *app) explain(s *metrics.Summary, cfg *scenario.Config) error {
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	incast := cfg.Workload[1].Params.(*workload.Incast)
	w.line("")
	w.line("What happened")
	w.line("  Again and again, %d hosts sent %s each to one host at the same moment. Its link carries one", incast.Senders, incast.Size)
	w.line("  frame at a time, so the other frames queued up in its switch.")
	if s.Pauses.Pauses > 0 {
		w.line("  Before its buffer ran out, the switch told its neighbours to stop sending (PFC): %s", count(s.Pauses.Pauses))
		w.line("  pauses in total. A paused switch fills up in turn and pauses its own neighbours.")
	}
	if s.Drops.Lossless == 0 {
		w.line("  So %s.", color.GreenString("not one frame was dropped"))
	} else {
		w.line("  Even so, %s, and hosts retransmitted %s packets.",
			color.RedString("%s frames were dropped", count(s.Drops.Lossless)), count(s.Transport.Retransmissions))
	}
	if b, i := s.Workloads[0].Slowdown, s.Workloads[1].Slowdown; b != nil && i != nil {
		w.line("  The price is delay: half of the incast flows took more than %.1f times as long as in an empty", i.P50)
		w.line("  network, and 1 in 100 background flows more than %.1f times.", b.P99)
	}
	w.line("")
	w.line("Try next")
	w.line("  xoff demo --flow-control none\tthe same without pauses: frames are dropped instead")
	w.line("  xoff demo --cc none\tsenders that do not slow down: more pauses")
	w.line("  xoff list\tall schemes")
	return w.flush()
}
