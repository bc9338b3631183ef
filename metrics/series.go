package metrics

import (
	"cmp"
	"io"
	"slices"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// Series is the table of one probe of a scenario: the rows of all its nodes, ordered by time,
// then by node. Nodes write into their own recorders while they run. Between windows the rows
// go to the file, so memory has only the rows of a few microseconds. The order of rows does
// not depend on the time of flushes or on which thread runs a node.
type Series struct {
	Name     string // file name without extension
	columns  []probe.Column
	sources  []source
	watchers []probe.Watcher
	open     []int // columns whose texts become known during the run
	table    *Table
	order    []rowRef
	words    []int64
}

// source is a recorder and the node it belongs to.
type source struct {
	*probe.Recorder
	node int
}

// rowRef is the location of a row in a recorder.
type rowRef struct {
	at     int64
	source int32
	offset int32
}

// NewSeries returns the table of a probe.
func NewSeries(name string, nodes []string, columns []probe.Column) *Series {
	s := &Series{Name: name, columns: append([]probe.Column{
		{Name: "time_ps", Doc: "simulated time"},
		{Name: "node", Type: probe.Text, Texts: nodes, Doc: "name of the node"},
	}, columns...)}
	for i, c := range s.columns {
		if c.Type == probe.Text && c.Texts == nil {
			s.open = append(s.open, i)
		}
	}
	return s
}

// Columns returns the columns of the table.
func (s *Series) Columns() []probe.Column { return s.columns }

// Recorder adds the recorder of a node. Nodes must be added in order of their numbers.
func (s *Series) Recorder(node int, from, to units.Time) *probe.Recorder {
	r := &probe.Recorder{Width: len(s.columns) - 1, From: from, To: to}
	s.sources = append(s.sources, source{r, node})
	return r
}

// Watch adds a probe to be told when the run ends.
func (s *Series) Watch(w probe.Watcher) { s.watchers = append(s.watchers, w) }

// Open begins the files. asCSV may be nil.
func (s *Series) Open(w, asCSV io.Writer) (err error) {
	s.table, err = NewTable(s.columns, w, asCSV)
	return err
}

// Flush writes the recorded rows. All nodes must have run up to the same time.
func (s *Series) Flush() error {
	s.order = s.order[:0]
	for i, r := range s.sources {
		for at := 0; at < len(r.Words); at += r.Width {
			s.order = append(s.order, rowRef{r.Words[at], int32(i), int32(at)})
		}
	}
	if len(s.order) == 0 {
		return nil
	}
	// Sources are ordered by node and their rows by time: a stable sort by time is enough.
	slices.SortStableFunc(s.order, func(a, b rowRef) int { return cmp.Compare(a.at, b.at) })
	for _, p := range s.order {
		r := s.sources[p.source]
		row := r.Words[p.offset : int(p.offset)+r.Width]
		s.words = append(append(s.words[:0], row[0], int64(r.node)), row[1:]...)
		for _, i := range s.open {
			s.words[i] = s.table.word(i, r.Text(s.words[i]))
		}
		if err := s.table.Row(s.words); err != nil {
			return err
		}
	}
	for i := range s.sources {
		s.sources[i].Words = s.sources[i].Words[:0]
	}
	return nil
}

// Close completes the series at the end of the run.
func (s *Series) Close(end units.Time) error {
	if err := s.Flush(); err != nil {
		return err
	}
	for _, w := range s.watchers {
		w.Finish(end)
	}
	if err := s.Flush(); err != nil {
		return err
	}
	return s.table.Close()
}

// Rows returns the number of rows written.
func (s *Series) Rows() int64 { return s.table.Rows() }
