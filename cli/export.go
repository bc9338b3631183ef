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
		Short: "Show results in other programs, or make configurations of switches",
		Args:  noSuchCommand,
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
		Long: "Write the timeline of a run for ui.perfetto.dev, as `xoff run --perfetto` does.\n" +
			"RUN is a folder of results. The scenario in it runs again, since events are not kept; results must be the same.",
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				file = filepath.Join(args[0], "trace.perfetto")
			}
			return a.exportPerfetto(cmd, args[0], file)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "write the timeline to `FILE` (default RUN/trace.perfetto)")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// exportPerfetto runs the scenario of a folder again and writes its timeline.
func (a *app) exportPerfetto(cmd *cobra.Command, folder, file string) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	want, err := os.ReadFile(filepath.Join(folder, run.SummaryFile))
	if err != nil {
		return failf(exitInput, "%s holds no results of a run: %w; allowed: a folder that `xoff run` wrote", folder, err)
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
			return failf(exitInterrupted, "interrupted: there is no timeline")
		case !bytes.Equal(got.Bytes(), want):
			return failf(exitFailure, "the scenario in %s gives other results now: they are of another version, or of a run that was interrupted; "+
				"allowed: `xoff run %s --perfetto FILE`", folder, filepath.Join(folder, run.ResolvedFile))
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
	return a.tellTimeline(file, t.Events())
}

// tellTimeline says what was written.
func (a *app) tellTimeline(file string, events int) error {
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
		Short: "Make configurations of switches of a scenario",
		Long: `Makes a config_db.json for every switch of a scenario whose switches run policy chip
and flow control sonic, such as one that was imported, into a folder:

  xoff export sonic fabric.yaml --chip td3 -o fabric/

Importing them again gives the same scenario. See docs/sonic.md.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failf(exitInput, "%d scenarios cannot be exported; allowed: xoff export sonic SCENARIO", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.exportSonic(args[0], f) },
	}
	cmd.Flags().StringVar(&f.Chip, "chip", "", "chip of the switches: `NAME`, or PATTERN=NAME with commas (see docs/sonic.md)")
	a.outputFlag(cmd, "`FOLDER` for the configurations, with a folder for each switch")
	a.quietFlag(cmd)
	return cmd
}

func (a *app) exportSonic(path string, f *sonicFlags) error {
	if a.folder == "" {
		return failf(exitInput, "there is no place to write to; allowed: -o FOLDER")
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
	files, left, err := convert.Configurations(plan.Layout, choices.Need)
	if err != nil {
		return wrap(exitInput, err)
	}
	a.leftOut(left)
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
