// Package runreport creates the report of a run from its results folder, for `xoff run` and
// `xoff report`.
package runreport

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/record/table"
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
	flows, err := metrics.ReadColumns(path, "measured", "size_bytes", "slowdown")
	if err != nil {
		return nil, err
	}
	workloads, names, err := metrics.ReadTexts(path, "workload")
	if err != nil {
		return nil, err
	}
	measured, sizes, values := flows[0], flows[1], flows[2]
	if len(measured) != len(workloads) || len(sizes) != len(workloads) || len(values) != len(workloads) {
		return nil, fmt.Errorf("%s: columns have different lengths", path)
	}
	var list []Slowdowns
	at := make(map[int32]int) // index in list by workload
	for i, w := range workloads {
		if measured[i] == 0 || w < 0 {
			continue
		}
		k, ok := at[w]
		if !ok {
			k = len(list)
			list = append(list, Slowdowns{Workload: names[w]})
			at[w] = k
		}
		value := values[i]
		if math.IsNaN(value) { // unfinished
			value = math.Inf(1)
		}
		list[k].Values, list[k].Sizes = append(list[k].Values, value), append(list[k].Sizes, sizes[i])
	}
	return list, nil
}

// port is a row of ports.parquet: a class of a port.
type port struct {
	Node         string  `column:"node"`
	Port         int64   `column:"port"`
	Peer         string  `column:"peer"`
	Class        int64   `column:"class"`
	Pauses       int64   `column:"pauses_sent"`
	Blocked      int64   `column:"blocked_ps"`
	Marks        int64   `column:"marks"`
	NoRoute      int64   `column:"drops_no_route"`
	Overflow     int64   `column:"drops_overflow"`
	Lossless     int64   `column:"drops_lossless"`
	Handler      int64   `column:"drops_deadlock_handler"`
	Link         int64   `column:"drops_link"`
	Expelled     int64   `column:"drops_expelled"` // the column may be missing
	PeakEgress   int64   `column:"peak_egress_bytes"`
	PeakHeadroom int64   `column:"peak_headroom_bytes"`
	Headroom     int64   `column:"headroom_bytes"`
	Sent         int64   `column:"sent_bytes"`
	Utilisation  float64 `column:"utilisation"`
}

// name returns the display name of a port.
func (p *port) name() string { return p.Node + " → " + p.Peer }

func (p *port) drops() int64 {
	return p.NoRoute + p.Overflow + p.Lossless + p.Handler + p.Link + p.Expelled
}

// pool is a row of pools.parquet.
type pool struct {
	Node string `column:"node"`
	Pool string `column:"pool"`
	Size int64  `column:"size_bytes"`
	Peak int64  `column:"peak_bytes"`
	End  int64  `column:"end_bytes"`
}

// rows reads the columns of a table that T names.
func rows[T any](folder, name string) ([]T, error) {
	path := filepath.Join(folder, name)
	from, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	list, err := table.Rows[T](from)
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
	Time     int64  `column:"time_ps"`
	Node     string `column:"node"`
	Port     int64  `column:"port"`
	Class    int64  `column:"class"`
	Pool     string `column:"pool"`
	Flow     int64  `column:"flow"`
	Event    string `column:"event"`
	Way      string `column:"way"`
	Bytes    int64  `column:"bytes"`
	Rate     int64  `column:"bps"`
	FlowRate int64  `column:"rate_bps"`
	Xoff     int64  `column:"xoff_bytes"`
	Start    int64  `column:"start_ps"`
}

// probeTable is the table of a probe.
type probeTable struct {
	name    string // without prefix probe- and extension
	columns map[string]bool
	ports   map[portKey]portName
	end     units.Time // end of the run
	count   int64
	rows    []sample // nil: too many rows
}

// readProbe reads the file of a probe.
func (r *Run) readProbe(file string) (*probeTable, error) {
	path := filepath.Join(r.Folder, file)
	from, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	t := &probeTable{name: strings.TrimSuffix(strings.TrimPrefix(file, "probe-"), ".parquet"), columns: make(map[string]bool),
		count: from.Rows, ports: r.names, end: r.Summary.End}
	for _, c := range from.Columns {
		t.columns[c.Name] = true
	}
	if r.MaxRows > 0 && t.count > r.MaxRows {
		return t, nil
	}
	if t.rows, err = table.Rows[sample](from); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}
