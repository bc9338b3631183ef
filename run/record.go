package run

import (
	"fmt"
	"io"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
)

// recorder writes the series of probes and the files of watchers during a run. The first
// error ends the run.
type recorder struct {
	series   []*metrics.Series
	files    []*disk.File
	names    []string // of files
	watchers []Watcher
	err      error
}

// begin opens the files of probes and watchers. Without a folder their output is
// discarded.
func (r *recorder) begin(to *Folder, probes []*metrics.Series, csv bool) error {
	create := func(name, what string) (io.Writer, error) {
		if to.stage == nil {
			return io.Discard, nil
		}
		f, err := to.create(name, what)
		if err == nil {
			r.files, r.names = append(r.files, f), append(r.names, name)
		}
		return f, err
	}
	for _, s := range probes {
		table, err := create(s.Name+".parquet", "table of the probe")
		if err != nil {
			return err
		}
		var text io.Writer
		if csv {
			if text, err = create(s.Name+".csv", "the same table as CSV"); err != nil {
				return err
			}
		}
		if err := s.Open(table, text); err != nil {
			return err
		}
	}
	r.series = probes
	for _, w := range r.watchers {
		if rec, ok := w.(Recording); ok {
			if err := rec.Open(create); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes what the nodes have recorded so far. It must be called while all nodes are
// at the same time.
func (r *recorder) flush() error {
	for _, s := range r.series {
		if r.err == nil {
			r.err = failed(s, s.Flush())
		}
	}
	for _, w := range r.watchers {
		if r.err == nil {
			r.err = w.Flush()
		}
	}
	return r.err
}

// end closes the files at the end of a run.
func (r *recorder) end(now units.Time, o *metrics.Outcome) error {
	_ = r.flush() // kept in r.err
	for _, s := range r.series {
		if r.err == nil {
			r.err = failed(s, s.Close(now))
		}
	}
	for _, w := range r.watchers {
		if rec, ok := w.(Recording); ok && r.err == nil {
			r.err = rec.Close(o)
		}
	}
	for i, f := range r.files {
		if err := f.Close(); r.err == nil && err != nil {
			r.err = fmt.Errorf("cannot write %s: %w", r.names[i], err)
		}
	}
	return r.err
}

// failed adds the name of the series to a write error.
func failed(s *metrics.Series, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", s.Name, err)
}
