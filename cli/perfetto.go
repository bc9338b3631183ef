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

	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/perfetto"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scenario/build"
)

// timeline is the timeline of a run and where it goes to.
type timeline struct {
	*perfetto.Timeline
	out  io.Writer
	file *os.File // nil: somebody else's
}

// newTimeline begins the file of --perfetto; nil: none is wanted.
func newTimeline(file string) (*timeline, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, failf(exitFailure, "--perfetto: %w", err)
	}
	return &timeline{perfetto.New(), f, f}, nil
}

// Bind implements run.Watcher.
func (t *timeline) Bind(b *build.Built) error {
	t.Timeline.Bind(b.Graph, b.Spec)
	t.Timeline.Open(t.out)
	return nil
}

// Open implements run.Recording: it is no file of the folder.
func (t *timeline) Open(func(name, what string) (io.Writer, error)) error { return nil }

// Flush implements run.Watcher.
func (t *timeline) Flush() error {
	if err := t.Timeline.Flush(); err != nil {
		return fmt.Errorf("cannot write the timeline: %w", err)
	}
	return nil
}

// Close implements run.Recording.
func (t *timeline) Close(o *metrics.Outcome) error {
	err := t.Timeline.Close(o.End, o.Fabric.Deadlocks)
	if t.file != nil && err == nil {
		err = t.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("cannot write the timeline: %w", err)
	}
	return nil
}

// close closes the file, however the run ended.
func (t *timeline) close() {
	if t != nil && t.file != nil {
		_ = t.file.Close()
	}
}

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

func oneFolder(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return failf(exitInput, "%d folders are named; allowed: one folder of results", len(args))
	}
	return nil
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
