package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/calibrate"
	"github.com/xoff-net/xoff/internal/interop/counters"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/scheme/cc"
)

// calibrateFlags are the flags of `xoff calibrate`.
type calibrateFlags struct {
	sonicFlags
	counters []string
	cc, span string
	runs     int
}

func (a *app) calibrateCommand() *cobra.Command {
	f := &calibrateFlags{}
	cmd := &cobra.Command{
		Use:   "calibrate PATH...",
		Short: "Create a scenario that behaves like a fabric, from its configurations and counters",
		Long: `Create a scenario from the configurations of SONiC switches, as xoff import does, with
traffic that explains their counters. Bytes of ports with hosts give the traffic matrix.
The number of senders and the size of bursts are fitted to PFC frames and ECN marks, by
short simulations. The report names the ports that cause pauses, and compares measured
and simulated counters of every port.

Counters are CSV with the columns time, switch, port, queue, counter and value and SAI
names, or the output of show pfc counters and show queue counters, each capture after a
line "# SWITCH TIME". See docs/calibrate.md.

  xoff calibrate fabric/ --counters counters.csv -o mine.yaml
  xoff run mine.yaml --set workload.congested.scale=1.5`,
		Args: minOneArg,
		RunE: func(cmd *cobra.Command, args []string) error { return a.calibrate(cmd, args, f) },
	}
	f.register(cmd)
	s := cmd.Flags()
	s.StringArrayVar(&f.counters, "counters", nil, "`FILE` with counters over time (required, repeatable)")
	s.StringVar(&f.cc, "cc", "", "congestion control `NAME` of the hosts (default: none or dcqcn, which fits better)")
	s.IntVar(&f.runs, "runs", 60, "largest number `N` of simulations of the search")
	s.StringVar(&f.span, "span", "", "simulated `TIME` of each (default: 1ms to 50ms, some 100 MB of data)")
	a.outputFlag(cmd, "`FILE` for the scenario (default: calibrated.yaml); the traffic matrix is written next to it")
	a.printFlags(cmd)
	a.workersFlag(cmd)
	return cmd
}

func (a *app) calibrate(cmd *cobra.Command, paths []string, f *calibrateFlags) error {
	o := calibrate.Options{Runs: f.runs, CC: f.cc, Workers: a.workers}
	switch {
	case len(f.counters) == 0:
		return failf(exitInput, "no counters are given (expected --counters FILE)")
	case f.runs < 1:
		return failf(exitInput, "--runs is %d (expected 1 or more)", f.runs)
	}
	if _, err := cc.Algorithms.Get(f.cc); err != nil && f.cc != "" {
		return failf(exitInput, "--cc: %v", err)
	}
	if f.span != "" {
		span, err := units.ParseTime(f.span)
		if err != nil || span < 10*units.Microsecond || span > 10*units.Second {
			return failf(exitInput, "--span is %q (expected a time from 10us to 10s)", f.span)
		}
		o.Span = span
	}
	if err := a.startRuns(); err != nil {
		return err
	}
	p, err := a.readPlant(paths, &f.sonicFlags)
	if err != nil {
		return wrap(exitInput, err)
	}
	made, err := convertPlant(p)
	if err != nil {
		return wrap(exitInput, err)
	}
	set, err := counters.Read(f.counters)
	if err != nil {
		return wrap(exitInput, err)
	}
	file := a.folder
	if file == "" {
		file = "calibrated.yaml"
	}
	o.Matrix = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + ".matrix.csv"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { // before the search, not after it
		return wrap(exitFailure, err)
	}
	m := a.newMeter()
	o.Progress = func(done, most int) {
		m.show(func(passed time.Duration) string {
			return fmt.Sprintf("%d of at most %d simulations", done, most) + timeLeft(float64(done)/float64(most), passed)
		})
	}
	done, err := calibrate.Fit(cmd.Context(), made, set, o)
	m.clear()
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return failf(exitInterrupted, "interrupted before the first simulation: no scenario was written")
	case err != nil:
		return wrap(exitInput, err)
	}
	done.Report.Scenario = file
	if err := a.writeCalibrated(file, done); err != nil {
		return wrap(exitFailure, err)
	}
	if done.Report.Partial {
		return failf(exitInterrupted, "interrupted: %s has the best setting of %s", file, plural(done.Report.Runs, "simulation"))
	}
	return nil
}

// writeCalibrated writes the scenario and its matrix, and prints the report.
func (a *app) writeCalibrated(file string, done *calibrate.Result) error {
	write := func(name string, text []byte) error {
		return disk.WriteFile(name, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	r := &done.Report
	if err := write(filepath.Join(filepath.Dir(file), r.Matrix), done.Matrix); err != nil {
		return err
	}
	if err := write(file, done.Text); err != nil {
		return err
	}
	switch {
	case a.json:
		return a.printJSON(r)
	case a.quiet:
		return nil
	}
	return a.printCalibrated(r)
}

func (a *app) printCalibrated(r *calibrate.Report) error {
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.line("%s", r.Sentence())
	for _, s := range r.Suspects {
		w.line("congested: %s %s%s, %.0f %%: %s", s.Switch, s.Port, ofHost(s.Host), 100*s.Share, s.Why)
	}
	w.line("")
	w.line("switch\tport\thost\tmeasured\tsimulated\tPFC/s\tsimulated\tmarks/s\tsimulated\tmatch: bytes\tPFC\tmarks")
	for _, p := range r.Ports {
		m, s := &p.Measured, &p.Simulated
		w.line("%s\t%s\t%s\t%s\t%s\t%.3g\t%.3g\t%.3g\t%.3g\t%s\t%s\t%s", p.Switch, p.Port, p.Host,
			calibrate.RateText(m.Bytes), calibrate.RateText(s.Bytes), m.PausesSent+m.PausesReceived, s.PausesSent+s.PausesReceived, m.Marks, s.Marks,
			percent(p.Bytes), percent(p.Pauses), percent(p.Marks))
	}
	w.line("")
	for _, f := range r.Findings {
		w.line("not explained: %s (%s)", f.Text, f.Reason)
	}
	for _, p := range r.Ports {
		for _, f := range p.Findings {
			w.line("not explained: %s %s%s: %s (%s)", p.Switch, p.Port, ofHost(p.Host), f.Text, f.Reason)
		}
	}
	w.line("explained: %d of %s; wrote %s and %s", r.Explained, plural(len(r.Ports), "port"), r.Scenario, r.Matrix)
	return w.flush()
}

func ofHost(name string) string {
	if name == "" {
		return ""
	}
	return " to " + name
}

func percent(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", *x)
}
