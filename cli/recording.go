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

// traceFlags say what of a run is printed packet by packet.
type traceFlags struct {
	what, from, to, file string
}

func (f *traceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.what, "trace", "", "print the life of packets that match `PATTERN`: flow=N, port=NODE.portN or port=NODE.to-NODE")
	flags.StringVar(&f.from, "trace-from", "0s", "simulated `TIME` at which the trace begins")
	flags.StringVar(&f.to, "trace-to", "", "simulated `TIME` at which the trace ends (default: with the run)")
	flags.StringVar(&f.file, "trace-file", "", "write the trace to `FILE` (default: standard output)")
}

// tracing is the trace of a run and the file it goes to.
type tracing struct {
	*trace.Tracer // nil: nothing is traced
	what          string
	file          *os.File // nil: standard output
}

// newTracer reads the flags of a trace.
func (a *app) newTracer(f *traceFlags) (*tracing, error) {
	t := &tracing{what: f.what}
	if f.what == "" {
		if f.file != "" || f.to != "" {
			return nil, failf(exitInput, "--trace-file and --trace-to need --trace")
		}
		return t, nil
	}
	if a.json && f.file == "" {
		return nil, failf(exitInput, "--trace and --json both want standard output; allowed: --trace with --trace-file FILE")
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

// close closes the file; what was flushed is in it.
func (t *tracing) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}

// captureFile is the capture of a run in its folder.
const captureFile = "capture.pcapng"

// pcapFlags say which frames of a run are captured.
type pcapFlags struct {
	what, from, to, limit string
}

func (f *pcapFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.what, "pcap", "", "capture the frames of ports that match `PATTERN` in "+captureFile+": NODE.to-NODE or NODE.portN, several with commas, * for any text")
	flags.StringVar(&f.from, "pcap-from", "0s", "simulated `TIME` at which the capture begins")
	flags.StringVar(&f.to, "pcap-to", "", "simulated `TIME` at which the capture ends (default: with the run)")
	flags.StringVar(&f.limit, "pcap-limit", "100MB", "largest `SIZE` of the capture; later frames are left out")
}

// capturing is the capture of a run.
type capturing struct {
	*capture.Capture
	limit units.Bytes
}

// newCapture reads the flags of a capture; nil: nothing is captured.
func (a *app) newCapture(cmd *cobra.Command, f *pcapFlags) (*capturing, error) {
	if f.what == "" {
		for _, flag := range []string{"pcap-from", "pcap-to", "pcap-limit"} {
			if cmd.Flags().Changed(flag) {
				return nil, failf(exitInput, "--%s needs --pcap", flag)
			}
		}
		return nil, nil
	}
	ports := strings.TrimPrefix(f.what, "port=") // as --trace has it
	if ports == "" || strings.Contains(ports, "=") {
		return nil, failf(exitInput, "--pcap: %q cannot be captured; allowed: NODE.portN, NODE.to-NODE, several with commas", f.what)
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
	w, err := create(captureFile, "the frames of chosen ports, for Wireshark and tshark")
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

// tellCapture says what is missing in a capture.
func (a *app) tellCapture(c *capturing) {
	if c == nil || a.quiet {
		return
	}
	if at, full := c.Full(); full {
		fmt.Fprintf(a.err, "xoff: %s is full: --pcap-limit %s was reached after %s frames, at %s; what passed later is not in it\n",
			captureFile, c.limit, count(uint64(c.Frames())), at)
	} else if c.Frames() == 0 {
		fmt.Fprintf(a.err, "xoff: %s has no frames: none passed these ports in that time\n", captureFile)
	}
}

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
func (t *timeline) Bind(b *fabric.Fabric) error {
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
	err := t.Timeline.Close(o.End, o.Counters.Deadlocks)
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
func counters(b *fabric.Fabric) *openmetrics.Run {
	return &openmetrics.Run{Scenario: b.Config.Name, Seed: b.Config.Seed, Flows: len(b.Flows.Flow), Nodes: b.Graph.Names}
}

// progress writes how far a run is, from time to time.
func (c *counting) progress(b *fabric.Fabric, p run.Progress) {
	if !c.due() {
		return
	}
	at := counters(b)
	at.Now = p.Now
	at.Totals, at.Counters = p.Counters()
	c.write(at.Write)
}

// end writes what a run left behind.
func (c *counting) end(done *run.Result) {
	at := counters(done.Fabric)
	at.Now, at.Complete, at.Totals, at.Counters = done.Outcome.End, !done.Outcome.Partial, done.Outcome.Totals, done.Outcome.Counters
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
