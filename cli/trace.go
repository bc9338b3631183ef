package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/trace"
	"github.com/xoff-net/xoff/scenario/build"
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
func (t *tracing) Bind(b *build.Built) error {
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
