package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/hardware"
)

func (a *app) fidelitySONiCCommand() *cobra.Command {
	var render string
	cmd := &cobra.Command{
		Use:   "sonic [CSV]",
		Short: "Hold the switch model against measurements of real switches",
		Long: `Repeats the measurements of a file on simulated switches: frames of one class to a
port that does not send, until the switch pauses, until it drops; then until it
resumes; queues that fill in turn; the pool of headroom. Without a file it takes
the measurements that are built in.

Exit code 1 says that a demand is not met; see docs/fidelity-sonic.md.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.fidelitySONiC(cmd, args, render) },
	}
	cmd.Flags().StringVar(&render, "render", "", "write the page about the agreement to `FILE`")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

// sonicFidelity is what --json prints.
type sonicFidelity struct {
	Shares   hardware.Shares      `json:"shares"`
	Chips    []hardware.ChipShare `json:"chips"`
	Rows     []hardware.Result    `json:"rows"`
	Problems []string             `json:"problems"`
}

func (a *app) fidelitySONiC(cmd *cobra.Command, args []string, render string) error {
	if err := a.startRuns(); err != nil {
		return err
	}
	rows, err := measurements(args)
	if err != nil {
		return wrap(exitInput, err)
	}
	m := a.newMeter()
	results, err := hardware.Compare(cmd.Context(), rows, a.workers, func(done, all int) {
		m.show(func(time.Duration) string { return fmt.Sprintf("%d of %d switches measured", done, all) })
	})
	m.clear()
	if err != nil {
		return wrap(exitInput, err)
	}
	s := sonicFidelity{hardware.SharesOf(results), hardware.ByChip(results), results, []string{}}
	s.Problems = append(s.Problems, s.Shares.Problems()...)
	if err := a.printSONiC(&s); err != nil {
		return wrap(exitFailure, err)
	}
	if render != "" {
		var page bytes.Buffer
		if err := hardware.Render(&page, results); err != nil {
			return wrap(exitFailure, err)
		}
		if err := os.WriteFile(render, page.Bytes(), 0o644); err != nil {
			return wrap(exitFailure, err)
		}
	}
	if len(s.Problems) > 0 {
		return failf(exitFailure, "%s", strings.Join(s.Problems, "; "))
	}
	return nil
}

// measurements reads the file, or those that are built in.
func measurements(args []string) ([]hardware.Row, error) {
	if len(args) == 0 {
		return hardware.Builtin()
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, err
	}
	rows, err := hardware.Read(args[0], f)
	return rows, errors.Join(err, f.Close())
}

func (a *app) printSONiC(s *sonicFidelity) error {
	if a.json {
		return a.printJSON(s)
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("%s", strings.Join(hardware.Columns, "\t"))
	for i := range s.Rows {
		r := &s.Rows[i]
		w.line("%s", strings.Join(r.Cells(), "\t"))
	}
	w.line("(predicted/measured, in brackets the difference in cells; ! is not within)")
	if err := w.flush(); err != nil {
		return err
	}
	for i := range s.Rows {
		r := &s.Rows[i]
		for _, why := range r.Why {
			fmt.Fprintf(a.out, "%s (%s): %s\n", r.ID, r.Chip, why)
		}
	}
	verdict := color.GreenString("ok")
	if len(s.Problems) > 0 {
		verdict = color.RedString("not met")
	}
	_, err := fmt.Fprintf(a.out, "drop after PFC within: %s of rows, %s of groups; PFC: %s of rows, %s of groups: %s\n",
		s.Shares.Drop, s.Shares.DropGroups, s.Shares.PFC, s.Shares.PFCGroups, verdict)
	return err
}
