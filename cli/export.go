package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/internal/record/perfetto"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

func (a *app) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Convert results or scenarios for other programs",
		Args:  rejectCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.exportPerfettoCommand(), a.exportSonicCommand())
	return cmd
}

func (a *app) exportPerfettoCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "perfetto RUN",
		Short: "Write the timeline of a run for ui.perfetto.dev",
		Long: "Write the timeline of a run for ui.perfetto.dev, like `xoff run --perfetto`.\n" +
			"RUN is a results folder. It has no events, so its scenario is simulated again and must give the same results.",
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				file = filepath.Join(args[0], "trace.perfetto")
			}
			return a.exportPerfetto(cmd, args[0], file)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`FILE` for the timeline (default RUN/trace.perfetto)")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// exportPerfetto simulates the scenario in a results folder again and writes its timeline.
func (a *app) exportPerfetto(cmd *cobra.Command, folder, file string) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	want, err := os.ReadFile(filepath.Join(folder, run.SummaryFile))
	if err != nil {
		return failf(exitInput, "no results of a run in %s: %w (expected a folder written by `xoff run`)", folder, err)
	}
	cfg, err := scenario.ReadFile(filepath.Join(folder, run.ResolvedFile))
	if err != nil {
		return wrap(exitInput, err)
	}
	var t *timeline
	err = disk.WriteFile(file, func(w io.Writer) error {
		t = &timeline{Timeline: perfetto.New(), out: w}
		m := a.newMeter()
		done, err := run.Scenario(cmd.Context(), cfg, run.Options{Workers: a.workers, Watchers: []run.Watcher{t}, Progress: func(p run.Progress) {
			m.show(func(passed time.Duration) string { return progressLine(p.Now, p.Share(), p.Hops(), passed) })
		}})
		m.clear()
		if err != nil {
			return err
		}
		var got bytes.Buffer
		if err := done.Summary.Write(&got); err != nil {
			return err
		}
		switch {
		case done.Unwritten != nil:
			return done.Unwritten
		case cmd.Context().Err() != nil:
			return failf(exitInterrupted, "interrupted: no timeline was written")
		case !bytes.Equal(got.Bytes(), want):
			return failf(exitFailure, "results differ from %s: they are from another version or an interrupted run; "+
				"fix: `xoff run %s --perfetto FILE`", folder, filepath.Join(folder, run.ResolvedFile))
		}
		return nil
	})
	if err != nil {
		var f *failure
		if errors.As(err, &f) {
			return err
		}
		return wrap(exitFailure, err)
	}
	return a.printTimeline(file, t.Events())
}

// printTimeline prints the path and size of a timeline.
func (a *app) printTimeline(file string, events int) error {
	if a.json {
		return a.printJSON(struct {
			File   string `json:"file"`
			Events int    `json:"events"`
		}{file, events})
	}
	if !a.quiet {
		fmt.Fprintf(a.out, "%s: %s events, for ui.perfetto.dev\n", file, count(uint64(events)))
	}
	return nil
}

func (a *app) exportSonicCommand() *cobra.Command {
	f := &sonicFlags{}
	cmd := &cobra.Command{
		Use:   "sonic SCENARIO",
		Short: "Write SONiC configurations for the switches of a scenario",
		Long: `Write a config_db.json for every switch of a scenario. Its switches must use buffer
policy chip and flow control sonic, like the scenarios of xoff import sonic. Importing
the files again gives the same scenario. See docs/sonic.md.

  xoff export sonic fabric.yaml --chip td3 -o fabric/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failf(exitInput, "found %d scenarios (expected xoff export sonic SCENARIO)", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.exportSonic(args[0], f) },
	}
	cmd.Flags().StringVar(&f.Chip, "chip", "", "`NAME` of the switches' chip, or comma-separated PATTERN=NAME (see docs/sonic.md)")
	a.outputFlag(cmd, "`FOLDER` for the configurations, one folder per switch (required)")
	a.quietFlag(cmd)
	return cmd
}

func (a *app) exportSonic(path string, f *sonicFlags) error {
	if a.folder == "" {
		return failf(exitInput, "no output folder (expected -o FOLDER)")
	}
	cfg, err := scenario.ReadFile(path)
	if err != nil {
		return wrap(exitInput, err)
	}
	plan, err := fabric.NewPlan(cfg)
	if err != nil {
		return wrap(exitInput, err)
	}
	choices, err := f.Choices()
	if err != nil {
		return wrap(exitInput, err)
	}
	files, omitted, err := convert.Configurations(plan.Layout, choices.Need)
	if err != nil {
		return wrap(exitInput, err)
	}
	a.printOmitted(omitted)
	for _, x := range files {
		dir := filepath.Join(a.folder, x.Switch)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return wrap(exitFailure, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config_db.json"), x.Text, 0o644); err != nil {
			return wrap(exitFailure, err)
		}
	}
	return nil
}
