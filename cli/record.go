package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/trace"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/scenario/build"
)

// recorder writes what is recorded while a run goes: the series of probes, and
// the trace. The first error ends the run.
type recorder struct {
	series []*metrics.Series
	files  []*disk.File
	tracer *trace.Tracer // nil: nothing is traced
	err    error
}

// begin opens the files of the probes.
func (r *recorder) begin(to *results, probes []*metrics.Series, csv bool) error {
	create := func(name, what string) (*disk.File, error) {
		f, err := to.create(name, what)
		if err == nil {
			r.files = append(r.files, f)
		}
		return f, err
	}
	for _, s := range probes {
		table, err := create(s.Name+".parquet", "what the probe saw")
		if err != nil {
			return err
		}
		var text io.Writer
		if csv {
			if text, err = create(s.Name+".csv", "the same as text"); err != nil {
				return err
			}
		}
		if err := s.Open(table, text); err != nil {
			return err
		}
	}
	r.series = probes
	return nil
}

// flush writes what nodes have recorded so far. It is called while all of them
// stand at the same time.
func (r *recorder) flush() error {
	for _, s := range r.series {
		if r.err == nil {
			r.err = failed(s, s.Flush())
		}
	}
	if r.tracer != nil && r.err == nil {
		if r.err = r.tracer.Flush(); r.err != nil {
			r.err = fmt.Errorf("cannot write the trace: %w", r.err)
		}
	}
	return r.err
}

// end closes the files at the end of a run.
func (r *recorder) end(now units.Time) error {
	_ = r.flush() // kept in r.err
	for _, s := range r.series {
		if r.err == nil {
			r.err = failed(s, s.Close(now))
		}
	}
	for _, f := range r.files {
		if err := f.Close(); r.err == nil && err != nil {
			r.err = fmt.Errorf("cannot write what probes saw: %w", err)
		}
	}
	return r.err
}

// failed says which series could not be written.
func failed(s *metrics.Series, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", s.Name, err)
}

// traceFlags say what of a run is printed packet by packet.
type traceFlags struct {
	what, from, to, file string
}

func (f *traceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.what, "trace", "", "print the life of packets: flow=N, or port=NODE.portN, port=NODE.to-NODE")
	flags.StringVar(&f.from, "trace-from", "0s", "simulated time at which the trace begins")
	flags.StringVar(&f.to, "trace-to", "", "simulated time at which the trace ends (default: with the run)")
	flags.StringVar(&f.file, "trace-file", "", "file for the trace (default: standard output)")
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

// sink returns what the trace watches a node with; nil when there is none.
func (t *tracing) sink() func(node int) probe.Sink {
	if t.Tracer == nil {
		return nil
	}
	return t.Sink
}

// bind tells the trace about the run.
func (t *tracing) bind(b *build.Built) error {
	if t.Tracer == nil {
		return nil
	}
	if err := t.Bind(t.what, b.Graph, len(b.Flows.Flow)); err != nil {
		return failf(exitInput, "--trace: %w", err)
	}
	return nil
}

// close closes the file; what was flushed is in it.
func (t *tracing) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}
