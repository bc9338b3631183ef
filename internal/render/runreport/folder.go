// Package runreport creates the report of a run from its results folder, for `xoff run` and
// `xoff report`.
package runreport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/parquet-go/parquet-go"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/metrics"
)

// maxRows is the largest number of rows of a probe that Page draws, which takes some tenths
// of a second. `xoff report` has no limit.
const maxRows = 50_000

// Page returns the report of a run as HTML. The folder has the tables of its results.
func Page(folder string, s *metrics.Summary) ([]byte, error) {
	d, err := (&Run{Folder: folder, Summary: s, MaxRows: maxRows}).Document()
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = d.HTML(&page)
	return page.Bytes(), err
}

// Run is the results folder of a run.
type Run struct {
	Folder  string
	Summary *metrics.Summary
	// MaxRows is the largest number of rows of a probe that is drawn; 0: no limit.
	MaxRows int64

	recorded *explain.Run         // nil: not recorded, or too large
	why      *explain.Explanation // explanation of recorded
	unread   int64                // number of recorded frames, if too many to analyse
	names    map[portKey]portName
}

// portKey identifies a port.
type portKey struct {
	node string
	port int64
}

// portName has the names of a port and of its peer.
type portName struct{ name, peer string }

// Open opens the results in a folder.
func Open(folder string) (*Run, error) {
	s, err := metrics.ReadSummary(folder)
	if err != nil {
		return nil, err
	}
	return &Run{Folder: folder, Summary: s}, nil
}

// Slowdowns are the slowdowns of the measured flows of a workload, +Inf for unfinished flows.
type Slowdowns struct {
	Workload string
	Values   []float64
	Sizes    []float64 // in bytes
}

// ReadSlowdowns reads slowdowns from a results folder, workloads in order of their first
// flow.
func ReadSlowdowns(folder string) ([]Slowdowns, error) {
	path := filepath.Join(folder, "flows.parquet")
	f, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer f.close()
	// Read by column: reading rows takes ten times as long.
	n := f.NumRows()
	values := make([]float64, 0, n)
	counts, sizes := make([]bool, 0, n), make([]float64, 0, n)
	err = errors.Join(
		f.column("measured", func(v parquet.Value) { counts = append(counts, v.Boolean()) }),
		f.column("size_bytes", func(v parquet.Value) { sizes = append(sizes, float64(v.Int64())) }),
		f.column("slowdown", func(v parquet.Value) {
			if v.IsNull() {
				values = append(values, math.Inf(1))
				return
			}
			values = append(values, v.Double())
		}),
	)
	var list []Slowdowns
	at := make(map[string]int)
	row := 0
	err = errors.Join(err, f.column("workload", func(v parquet.Value) {
		i := row
		if row++; i >= len(values) || i >= len(counts) || i >= len(sizes) || !counts[i] {
			return
		}
		k, ok := at[string(v.ByteArray())]
		if !ok {
			k = len(list)
			list = append(list, Slowdowns{Workload: string(v.ByteArray())})
			at[list[k].Workload] = k
		}
		list[k].Values, list[k].Sizes = append(list[k].Values, values[i]), append(list[k].Sizes, sizes[i])
	}))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// tableFile is an open parquet file.
type tableFile struct {
	*parquet.File
	close func()
}

func openTable(path string) (*tableFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var t *parquet.File
		if t, err = parquet.OpenFile(f, info.Size()); err == nil {
			return &tableFile{t, func() { _ = f.Close() }}, nil
		}
	}
	_ = f.Close()
	return nil, fmt.Errorf("%s: %w", path, err)
}

// column calls use with every value of a column, in order.
func (t *tableFile) column(name string, use func(parquet.Value)) error {
	leaf, ok := t.Schema().Lookup(name)
	if !ok {
		return fmt.Errorf("no column %s", name)
	}
	var buf [1024]parquet.Value
	for _, group := range t.RowGroups() {
		pages := group.ColumnChunks()[leaf.ColumnIndex].Pages()
		for {
			page, err := pages.ReadPage()
			if err == io.EOF {
				break
			}
			if err != nil {
				return errors.Join(err, pages.Close())
			}
			for values := page.Values(); ; {
				n, err := values.ReadValues(buf[:])
				for _, v := range buf[:n] {
					use(v)
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					return errors.Join(err, pages.Close())
				}
			}
			parquet.Release(page)
		}
		if err := pages.Close(); err != nil {
			return err
		}
	}
	return nil
}

// port is a row of ports.parquet: a class of a port.
type port struct {
	Node         string  `parquet:"node"`
	Port         int64   `parquet:"port"`
	Peer         string  `parquet:"peer,optional"`
	Class        int64   `parquet:"class"`
	Pauses       int64   `parquet:"pauses_sent"`
	Blocked      int64   `parquet:"blocked_ps"`
	Marks        int64   `parquet:"marks"`
	NoRoute      int64   `parquet:"drops_no_route"`
	Overflow     int64   `parquet:"drops_overflow"`
	Lossless     int64   `parquet:"drops_lossless"`
	Handler      int64   `parquet:"drops_deadlock_handler"`
	Link         int64   `parquet:"drops_link"`
	Expelled     int64   `parquet:"drops_expelled"` // the column may be missing
	PeakEgress   int64   `parquet:"peak_egress_bytes,optional"`
	PeakHeadroom int64   `parquet:"peak_headroom_bytes,optional"`
	Headroom     int64   `parquet:"headroom_bytes"`
	Sent         int64   `parquet:"sent_bytes"`
	Utilisation  float64 `parquet:"utilisation"`
}

// name returns the display name of a port.
func (p *port) name() string { return p.Node + " → " + p.Peer }

func (p *port) drops() int64 {
	return p.NoRoute + p.Overflow + p.Lossless + p.Handler + p.Link + p.Expelled
}

// pool is a row of pools.parquet.
type pool struct {
	Node string `parquet:"node"`
	Pool string `parquet:"pool"`
	Size int64  `parquet:"size_bytes"`
	Peak int64  `parquet:"peak_bytes"`
	End  int64  `parquet:"end_bytes"`
}

// rows reads the columns of a table that T names.
func rows[T any](folder, name string) ([]T, error) {
	path := filepath.Join(folder, name)
	list, err := parquet.ReadFile[T](path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// schemes are the parts of a scenario that a report uses.
type schemes struct {
	Topology struct {
		Name    string
		Columns int // columns of a torus
	}
	Faults []fault
	Switch struct {
		Policy      struct{ Name string }
		FlowControl struct{ Name string } `yaml:"flow_control"`
		ECN         struct{ Name string }
	}
	Hosts struct{ CC struct{ Name string } }
}

// scenario returns the text of the resolved scenario and its schemes.
func (r *Run) scenario() (string, *schemes, error) {
	path := filepath.Join(r.Folder, "scenario.resolved.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	s := new(schemes)
	if err := yaml.Unmarshal(data, s); err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return string(data), s, nil
}

// probes returns the names of the probe files, sorted.
func (r *Run) probes() ([]string, error) {
	entries, err := os.ReadDir(r.Folder) // sorted
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "probe-") && strings.HasSuffix(e.Name(), ".parquet") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// sample is a row of any probe; missing columns are zero.
type sample struct {
	Time     int64  `parquet:"time_ps"`
	Node     string `parquet:"node"`
	Port     int64  `parquet:"port,optional"`
	Class    int64  `parquet:"class,optional"`
	Pool     string `parquet:"pool,optional"`
	Flow     int64  `parquet:"flow,optional"`
	Event    string `parquet:"event,optional"`
	Way      string `parquet:"way,optional"`
	Bytes    int64  `parquet:"bytes,optional"`
	Rate     int64  `parquet:"bps,optional"`
	FlowRate int64  `parquet:"rate_bps,optional"`
	Xoff     int64  `parquet:"xoff_bytes,optional"`
	Start    int64  `parquet:"start_ps,optional"`
}

// table is the table of a probe.
type table struct {
	name    string // without prefix probe- and extension
	columns map[string]bool
	ports   map[portKey]portName
	end     units.Time // end of the run
	count   int64
	rows    []sample // nil: too many rows
}

// readProbe reads the file of a probe.
func (r *Run) readProbe(file string) (*table, error) {
	path := filepath.Join(r.Folder, file)
	from, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer from.close()
	t := &table{name: strings.TrimSuffix(strings.TrimPrefix(file, "probe-"), ".parquet"), columns: make(map[string]bool),
		count: from.NumRows(), ports: r.names, end: r.Summary.End}
	for _, c := range from.Schema().Columns() {
		t.columns[c[0]] = true
	}
	if r.MaxRows > 0 && t.count > r.MaxRows {
		return t, nil
	}
	reader := parquet.NewGenericReader[sample](from.File)
	defer func() { _ = reader.Close() }()
	t.rows = make([]sample, t.count)
	for done := 0; done < len(t.rows); {
		n, err := reader.Read(t.rows[done:])
		done += n
		if err != nil && err != io.EOF || n == 0 && done < len(t.rows) {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return t, nil
}
