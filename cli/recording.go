package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/record/capture"
	"github.com/xoff-net/xoff/internal/record/openmetrics"
	"github.com/xoff-net/xoff/internal/record/perfetto"
	"github.com/xoff-net/xoff/internal/record/trace"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

// traceFlags select the packets of a trace.
type traceFlags struct {
	what, from, to, file string
}

func (f *traceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.what, "trace", "", "`PATTERN` of packets to trace: flow=N, port=NODE.portN or port=NODE.to-NODE")
	flags.StringVar(&f.from, "trace-from", "0s", "simulated `TIME` at which the trace begins")
	flags.StringVar(&f.to, "trace-to", "", "simulated `TIME` at which the trace ends (default: end of the run)")
	flags.StringVar(&f.file, "trace-file", "", "`FILE` for the trace (default: standard output)")
}

// tracing is the trace of a run and its file.
type tracing struct {
	*trace.Tracer // nil: no trace
	what          string
	file          *os.File // nil: standard output
}

// newTracer creates the trace that the flags describe.
func (a *app) newTracer(f *traceFlags) (*tracing, error) {
	t := &tracing{what: f.what}
	if f.what == "" {
		if f.file != "" || f.to != "" {
			return nil, failf(exitInput, "--trace-file and --trace-to need --trace")
		}
		return t, nil
	}
	if a.json && f.file == "" {
		return nil, failf(exitInput, "--trace with --json needs --trace-file FILE: both write to standard output")
	}
	from, err := units.ParseTime(f.from)
	if err != nil {
		return nil, failf(exitInput, "--trace-from: %w", err)
	}
	to := units.Never
	if f.to != "" {
		if to, err = units.ParseTime(f.to); err != nil {
			return nil, failf(exitInput, "--trace-to: %w", err)
		}
	}
	out := a.out
	if f.file != "" {
		if t.file, err = os.Create(f.file); err != nil {
			return nil, failf(exitFailure, "--trace-file: %w", err)
		}
		out = t.file
	}
	if t.Tracer, err = trace.New(f.what, from, to, out); err != nil {
		t.close()
		return nil, failf(exitInput, "--trace: %w", err)
	}
	return t, nil
}

// Bind implements run.Watcher.
func (t *tracing) Bind(b *fabric.Fabric) error {
	if err := t.Tracer.Bind(t.what, b.Graph, len(b.Flows.Flow)); err != nil {
		return failf(exitInput, "--trace: %w", err)
	}
	return nil
}

// Flush implements run.Watcher.
func (t *tracing) Flush() error {
	if err := t.Tracer.Flush(); err != nil {
		return fmt.Errorf("cannot write the trace: %w", err)
	}
	return nil
}

// close closes the file, if there is one.
func (t *tracing) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}

// captureFile is the results file with the capture of a run.
const captureFile = "capture.pcapng"

// pcapFlags select the frames of a capture.
type pcapFlags struct {
	what, from, to, limit string
}

func (f *pcapFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.what, "pcap", "", "`PATTERN` of ports to capture in "+captureFile+": NODE.to-NODE or NODE.portN, comma-separated, * for any text")
	flags.StringVar(&f.from, "pcap-from", "0s", "simulated `TIME` at which the capture begins")
	flags.StringVar(&f.to, "pcap-to", "", "simulated `TIME` at which the capture ends (default: end of the run)")
	flags.StringVar(&f.limit, "pcap-limit", "100MB", "largest `SIZE` of the capture; later frames are not captured")
}

// capturing is the capture of a run.
type capturing struct {
	*capture.Capture
	limit units.Bytes
}

// newCapture creates the capture that the flags describe, or returns nil.
func (a *app) newCapture(cmd *cobra.Command, f *pcapFlags) (*capturing, error) {
	if f.what == "" {
		for _, flag := range []string{"pcap-from", "pcap-to", "pcap-limit"} {
			if cmd.Flags().Changed(flag) {
				return nil, failf(exitInput, "--%s needs --pcap", flag)
			}
		}
		return nil, nil
	}
	ports := strings.TrimPrefix(f.what, "port=") // the notation of --trace
	if ports == "" || strings.Contains(ports, "=") {
		return nil, failf(exitInput, "--pcap is %q (expected NODE.portN or NODE.to-NODE, comma-separated)", f.what)
	}
	spec := capture.Spec{Ports: ports, To: units.Never}
	var err error
	if spec.From, err = units.ParseTime(f.from); err != nil {
		return nil, failf(exitInput, "--pcap-from: %w", err)
	}
	if f.to != "" {
		if spec.To, err = units.ParseTime(f.to); err != nil {
			return nil, failf(exitInput, "--pcap-to: %w", err)
		}
	}
	if spec.Limit, err = units.ParseBytes(f.limit); err != nil {
		return nil, failf(exitInput, "--pcap-limit: %w", err)
	}
	if err := spec.Check(); err != nil {
		return nil, failf(exitInput, "--pcap: %w", err)
	}
	return &capturing{capture.New(spec), spec.Limit}, nil
}

// Bind implements run.Watcher.
func (c *capturing) Bind(b *fabric.Fabric) error {
	if err := c.Capture.Bind(b.Graph, b.Flows, b.Spec.Hosts); err != nil {
		return failf(exitInput, "--pcap: %w", err)
	}
	return nil
}

// Open implements run.Recording.
func (c *capturing) Open(create func(name, what string) (io.Writer, error)) error {
	w, err := create(captureFile, "frames of the chosen ports, for Wireshark and tshark")
	if err != nil {
		return err
	}
	return c.Capture.Open(w)
}

// Flush implements run.Watcher.
func (c *capturing) Flush() error {
	if err := c.Capture.Flush(); err != nil {
		return fmt.Errorf("cannot write the capture: %w", err)
	}
	return nil
}

// Close implements run.Recording.
func (c *capturing) Close(*metrics.Outcome) error { return nil }

// warnCapture warns about a full or empty capture.
func (a *app) warnCapture(c *capturing) {
	if c == nil || a.quiet {
		return
	}
	if at, full := c.Full(); full {
		fmt.Fprintf(a.err, "xoff: %s is full: reached --pcap-limit %s after %s frames, at %s; later frames are missing\n",
			captureFile, c.limit, count(uint64(c.Frames())), at)
	} else if c.Frames() == 0 {
		fmt.Fprintf(a.err, "xoff: %s has no frames: none passed the chosen ports in the chosen time\n", captureFile)
	}
}

// timeline is the timeline of a run and its output.
type timeline struct {
	*perfetto.Timeline
	out  io.Writer
	file *os.File // closed with the timeline; nil: the caller owns out
}

// newTimeline creates the file of --perfetto. It returns nil if file is empty.
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
func (t *timeline) Bind(b *fabric.Fabric) error {
	t.Timeline.Bind(b.Graph, b.Spec)
	t.Timeline.Open(t.out)
	return nil
}

// Open implements run.Recording. The timeline is not a results file.
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
	err := t.Timeline.Close(o.End, o.Counters.Deadlocks)
	if t.file != nil && err == nil {
		err = t.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("cannot write the timeline: %w", err)
	}
	return nil
}

// close closes the file. It may be called on nil.
func (t *timeline) close() {
	if t != nil && t.file != nil {
		_ = t.file.Close()
	}
}

// explaining records a run for `xoff explain`.
type explaining struct{ *explain.Recorder }

// Bind implements run.Watcher.
func (e explaining) Bind(b *fabric.Fabric) error {
	e.Recorder.Bind(b.Graph, b.Spec)
	return nil
}

// Flush implements run.Watcher.
func (e explaining) Flush() error { return recorded(e.Recorder.Flush()) }

// Close implements run.Recording.
func (e explaining) Close(o *metrics.Outcome) error { return recorded(e.Recorder.Close(o)) }

func recorded(err error) error {
	if err != nil {
		return fmt.Errorf("cannot write what --explain records: %w", err)
	}
	return nil
}

// counting writes counters to a file during a run or sweep. Every write replaces the whole
// file, so that readers never see a partial one.
type counting struct {
	file string
	last time.Time
	err  error // first error; there are no writes after it
}

// countEvery is the wall-clock interval between writes of the counters.
const countEvery = time.Second

func registerCounting(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "metrics", "", "`FILE` for counters in the OpenMetrics text format, written every second and at the end")
}

// newCounting creates the file of --metrics. It returns nil if file is empty.
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

// due reports whether countEvery has passed since the last write.
func (c *counting) due() bool { return c != nil && time.Since(c.last) >= countEvery }

func (c *counting) write(write func(io.Writer) error) {
	if c != nil && c.err == nil {
		c.err = disk.WriteFile(c.file, write)
		c.last = time.Now()
	}
}

// warnCounting warns if counters could not be written. Results are not affected.
func (a *app) warnCounting(c *counting) {
	if c != nil && c.err != nil {
		fmt.Fprintf(a.err, "xoff: --metrics: %v; %s is out of date\n", c.err, c.file)
	}
}

// openCounters returns the counters of a run that has not started.
func openCounters(b *fabric.Fabric) *openmetrics.Run {
	return &openmetrics.Run{Scenario: b.Config.Name, Seed: b.Config.Seed, Flows: len(b.Flows.Flow), Nodes: b.Graph.Names}
}

// progress writes the counters of a run, if a write is due.
func (c *counting) progress(b *fabric.Fabric, p run.Progress) {
	if !c.due() {
		return
	}
	at := openCounters(b)
	at.Now = p.Now
	at.Totals, at.Counters = p.Counters()
	c.write(at.Write)
}

// end writes the final counters of a run.
func (c *counting) end(done *run.Result) {
	at := openCounters(done.Fabric)
	at.Now, at.Complete, at.Totals, at.Counters = done.Outcome.End, !done.Outcome.Partial, done.Outcome.Totals, done.Outcome.Counters
	c.write(at.Write)
}

// sweeps writes the counters of a sweep, if a write is due and at its end.
func (c *counting) sweeps(p sweep.Progress) {
	if p.Preparing {
		return
	}
	complete := p.Done == p.Total
	if c.due() || complete {
		c.write((&openmetrics.Sweep{Points: p.Total, Done: p.Done, Reused: p.Reused, Hops: p.Hops, Complete: complete}).Write)
	}
}
