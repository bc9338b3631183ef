package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/openmetrics"
	"github.com/xoff-net/xoff/internal/sweep"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario/build"
)

// counting writes counters to a file while something runs. Each time it is a whole file in
// place of the one before, so that who reads it never sees half of one.
type counting struct {
	file string
	last time.Time
	err  error // the first; then it is no use
}

// countEvery is how often, by the clock, counters are written while something runs.
const countEvery = time.Second

func registerCounting(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "metrics", "", "write counters in the OpenMetrics text format to `FILE`, every second and at the end")
}

// newCounting begins the file of --metrics; nil: none is wanted.
func newCounting(file string, first interface{ Write(io.Writer) error }) (*counting, error) {
	if file == "" {
		return nil, nil
	}
	c := &counting{file: file}
	c.write(first.Write)
	if c.err != nil {
		return nil, failf(exitFailure, "--metrics: %w", c.err)
	}
	return c, nil
}

// due reports whether it is time to write.
func (c *counting) due() bool { return c != nil && time.Since(c.last) >= countEvery }

func (c *counting) write(write func(io.Writer) error) {
	if c != nil && c.err == nil {
		c.err = disk.WriteFile(c.file, write)
		c.last = time.Now()
	}
}

// tellCounting says that counters could not be written any more. Results are none the worse.
func (a *app) tellCounting(c *counting) {
	if c != nil && c.err != nil {
		fmt.Fprintf(a.err, "xoff: --metrics: %v; %s is not up to date\n", c.err, c.file)
	}
}

// counters are those of a run that has not begun.
func counters(b *build.Built) *openmetrics.Run {
	return &openmetrics.Run{Scenario: b.Config.Name, Seed: b.Config.Seed, Flows: len(b.Flows.Flow), Nodes: b.Graph.Names}
}

// progress writes how far a run is, from time to time.
func (c *counting) progress(b *build.Built, p run.Progress) {
	if !c.due() {
		return
	}
	at := counters(b)
	at.Now = p.Now
	at.Totals, at.Fabric = p.Counters()
	c.write(at.Write)
}

// end writes what a run left behind.
func (c *counting) end(done *run.Result) {
	at := counters(done.Built)
	at.Now, at.Complete, at.Totals, at.Fabric = done.Outcome.End, !done.Outcome.Partial, done.Outcome.Totals, done.Outcome.Fabric
	c.write(at.Write)
}

// sweeps writes how far a sweep is, from time to time and at its end.
func (c *counting) sweeps(p sweep.Progress) {
	if p.Preparing {
		return
	}
	complete := p.Done == p.Total
	if c.due() || complete {
		c.write((&openmetrics.Sweep{Points: p.Total, Done: p.Done, Reused: p.Reused, Hops: p.Hops, Complete: complete}).Write)
	}
}
