package workload

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Trace replays the flows of a file, from another run or any other source.
type Trace struct {
	Path       string            `yaml:"path" doc:"path of the file, relative to the scenario"`
	Format     string            `yaml:"format" doc:"format of the file: auto | csv | hpcc"`
	Workloads  []string          `yaml:"workloads,omitempty" doc:"workloads in the file, in the order of summaries; default: as they appear"`
	Transports map[string]string `yaml:"transports,omitempty" doc:"transports by name of the workload in the file"`
	Endless    []string          `yaml:"endless,omitempty" doc:"workloads in the file whose flows are meant to outlast the run"`
}

// Uses implements Generator.
func (g *Trace) Uses() Uses { return Uses{} }

// File implements FileUser.
func (g *Trace) File() *string { return &g.Path }

// Check implements Generator. The file is read when the flows are generated.
func (g *Trace) Check(e *Env) (float64, error) {
	if g.Path == "" {
		return 0, keyf("path", "no file is given (expected the path of a trace)")
	}
	if g.Format != "auto" && g.Format != "csv" && g.Format != "hpcc" {
		return 0, keyf("format", "%q is unknown (allowed: auto, csv, hpcc)", g.Format)
	}
	for i, name := range g.Workloads {
		if name == "" || slices.Contains(g.Workloads[:i], name) {
			return 0, keyf(fmt.Sprintf("workloads[%d]", i), "%q is empty or given twice (expected each name once)", name)
		}
	}
	file, err := e.Open(g.Path)
	if err != nil {
		return 0, &KeyError{"path", err}
	}
	return 0, file.Close()
}

// Generate implements Generator.
func (g *Trace) Generate(e *Env) (*Plan, error) {
	file, err := e.Open(g.Path)
	if err != nil {
		return nil, &KeyError{"path", err}
	}
	defer func() { _ = file.Close() }()
	p, err := ReadTrace(e, g, file)
	if err != nil {
		return nil, &KeyError{"path", err}
	}
	return p, nil
}

// MaxTraceFlows is the largest number of flows in a trace.
const MaxTraceFlows = 50_000_000

// ReadTrace reads the trace g from r.
func ReadTrace(e *Env, g *Trace, r io.Reader) (*Plan, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	t := &traceReader{env: e, name: g.Path, plan: &Plan{Names: slices.Clone(g.Workloads), Transports: g.Transports, Endless: g.Endless},
		fixed: len(g.Workloads) > 0, names: map[string]int32{}, hosts: map[string]int32{}}
	for i, name := range g.Workloads {
		t.names[name] = int32(i)
	}
	for i, name := range e.Fabric.Names {
		t.hosts[name] = int32(i)
	}
	err := plainText(in)
	if err != nil {
		return nil, t.at(1, err)
	}
	if g.Format == "hpcc" || g.Format == "auto" && looksHPCC(in) {
		err = t.hpcc(in)
	} else {
		err = t.csv(in)
	}
	if err != nil {
		return nil, err
	}
	return t.plan, nil
}

// looksHPCC reports whether the first line is from flow.txt: it has only numbers.
func looksHPCC(in *bufio.Reader) bool {
	head, _ := in.Peek(256) // an error only means a short file
	line, _, _ := strings.Cut(strings.TrimLeft(string(head), " \t\r\n"), "\n")
	return line != "" && strings.Trim(line, " \t\r0123456789") == ""
}

// traceReader makes a plan from a file.
type traceReader struct {
	env   *Env
	name  string
	plan  *Plan
	fixed bool // names of workloads are given
	names map[string]int32
	hosts map[string]int32
	row   traceRow
}

// add checks a flow and adds it.
func (t *traceReader) add(f Flow) error {
	e := t.env
	switch {
	case len(t.plan.Flows) >= MaxTraceFlows:
		return fmt.Errorf("there are too many flows (expected at most %d)", MaxTraceFlows)
	case f.Src == f.Dst:
		return fmt.Errorf("%s sends to itself (expected two different hosts)", e.Fabric.Names[f.Src])
	case f.Size < 1 || f.Size > e.MaxSize:
		return fmt.Errorf("a flow has %d bytes (expected 1 to %d)", f.Size, e.MaxSize)
	case f.Start < 0 || f.Start >= e.Stop:
		return fmt.Errorf("a flow starts at %s (expected 0s or more, before run.arrivals, %s)", f.Start, e.Stop)
	case !e.Reachable(f.Src, f.Dst):
		return e.unreachable(f.Src, f.Dst, fmt.Errorf("%s cannot be reached from %s: no path exists, or its links are always down (expected connected hosts)", e.Fabric.Names[f.Dst], e.Fabric.Names[f.Src]))
	}
	t.plan.add(f)
	return nil
}

// at adds file name and line to an error.
func (t *traceReader) at(line int, err error) error {
	return fmt.Errorf("%s:%d: %w", t.name, line, err)
}

// Columns of a trace. start and size with units are alternatives to start_ps and size_bytes.
const (
	colStart = iota
	colSrc
	colDst
	colSize
	colID
	colClass
	colHash
	colGroup
	colWorkload
	colAfter
	colDelay
	colUntil
	colStartText
	colSizeText
	numColumns
)

var columnNames = [numColumns]string{
	"start_ps", "src", "dst", "size_bytes", "id", "class", "hash", "group", "workload", "after", "delay_ps", "until_ps", "start", "size",
}

// traceRow is a row of a CSV trace, indexed by column.
type traceRow [numColumns]string

// csv reads a file with a header.
func (t *traceReader) csv(in *bufio.Reader) error {
	r := csv.NewReader(in)
	r.Comma = separator(in)
	r.ReuseRecord = true
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil {
		return t.csvError(err, "the file is empty")
	}
	columns := make([]int, len(header))
	seen := [numColumns]bool{}
	for i, name := range header {
		c := slices.Index(columnNames[:], strings.TrimSpace(name))
		if c < 0 || seen[c] {
			return t.at(1, fmt.Errorf("column %.40q is unknown or repeated (allowed: %s)", name, strings.Join(columnNames[:], ", ")))
		}
		columns[i], seen[c] = c, true
	}
	if seen[colStart] == seen[colStartText] || seen[colSize] == seen[colSizeText] || !seen[colSrc] || !seen[colDst] {
		return t.at(1, errors.New("columns are missing (expected src, dst, one of start and start_ps, one of size and size_bytes, and others)"))
	}
	for {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return t.csvError(err, "")
		}
		line, _ := r.FieldPos(0)
		for i, text := range record {
			t.row[columns[i]] = text
		}
		if err := t.flow(&seen); err != nil {
			return t.at(line, err)
		}
	}
	err = t.plan.checkWaits(func(i int32) string { return fmt.Sprintf("flow %d", i) })
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}

// separator returns the separator of a CSV file, from its header: spreadsheets of some
// countries use semicolons.
func separator(in *bufio.Reader) rune {
	head, _ := in.Peek(1024) // an error only means a short file
	line, _, _ := strings.Cut(string(head), "\n")
	for _, r := range ";\t" {
		if strings.ContainsRune(line, r) && !strings.Contains(line, ",") {
			return r
		}
	}
	return ','
}

func (t *traceReader) csvError(err error, empty string) error {
	var e *csv.ParseError
	switch {
	case errors.As(err, &e):
		return t.at(e.Line, fmt.Errorf("%w (expected CSV with as many columns as the header)", e.Err))
	case err == io.EOF:
		return t.at(1, fmt.Errorf("%s (expected a trace)", empty))
	}
	return fmt.Errorf("%s: %w", t.name, err)
}

// flow adds the flow of a row.
func (t *traceReader) flow(seen *[numColumns]bool) error {
	f := Flow{Group: -1}
	var err error
	if f.Src, err = t.host(t.row[colSrc]); err != nil {
		return err
	}
	if f.Dst, err = t.host(t.row[colDst]); err != nil {
		return err
	}
	number := func(col int, lo, hi, missing int64) int64 {
		if t.row[col] == "" && missing >= lo || err != nil {
			return missing
		}
		v, wrong := strconv.ParseInt(t.row[col], 10, 64)
		if wrong != nil || v < lo || v > hi {
			err = fmt.Errorf("%s is %.40q (expected %d to %d)", columnNames[col], t.row[col], lo, hi)
		}
		return v
	}
	const none = -1
	if seen[colStart] {
		f.Start = units.Time(number(colStart, 0, int64(units.MaxTime), none))
	} else if f.Start, err = units.ParseTime(t.row[colStartText]); err != nil {
		return err
	}
	if seen[colSize] {
		f.Size = units.Bytes(number(colSize, 1, math.MaxInt64, none))
	} else if f.Size, err = units.ParseBytes(t.row[colSizeText]); err != nil {
		return err
	}
	index := int64(len(t.plan.Flows))
	if id := number(colID, 0, math.MaxInt32, index); err == nil && id != index {
		return fmt.Errorf("id is %d (expected rows in order: this one is %d)", id, index)
	}
	f.Group = int32(number(colGroup, -1, math.MaxInt32, -1))
	delay, until := number(colDelay, 0, int64(t.env.MaxDelay), 0), number(colUntil, 0, int64(units.MaxTime), 0)
	if t.row[colHash] != "" {
		f.Hash = uint32(number(colHash, 0, math.MaxUint32, none))
	} else {
		f.Hash = t.env.hash()
	}
	if err != nil {
		return err
	}
	if t.row[colClass] == "" {
		f.Class = t.env.Classes.Next()
	} else if f.Class, err = t.env.Class(t.row[colClass]); err != nil {
		return fmt.Errorf("class is %.40q: %w", t.row[colClass], err)
	}
	if f.Origin, err = t.origin(t.row[colWorkload]); err != nil {
		return err
	}
	if err := t.add(f); err != nil {
		return err
	}
	return t.after(units.Time(delay), units.Time(until))
}

// after adds the dependencies of the last added flow.
func (t *traceReader) after(delay, until units.Time) error {
	if t.row[colAfter] == "" {
		if delay != 0 || until != 0 {
			return errors.New("delay_ps or until_ps without after (expected both empty)")
		}
		return nil
	}
	words := strings.Fields(t.row[colAfter])
	on := make([]int32, len(words))
	for i, word := range words {
		v, err := strconv.ParseInt(word, 10, 32)
		if err != nil || v < 0 {
			return fmt.Errorf("after has %.40q (expected ids of flows separated by spaces)", word)
		}
		on[i] = int32(v)
	}
	t.plan.wait(delay, until, on...)
	return nil
}

func (t *traceReader) host(name string) (int32, error) {
	if h, ok := t.hosts[name]; ok {
		return h, nil
	}
	return 0, fmt.Errorf("there is no host %.40q (allowed: %s)", name, t.env.hostNames())
}

// maxNames limits the number of workloads in a trace.
const maxNames = 10_000

// origin returns the index of a workload name. Without this column, flows belong to the
// workload that reads the trace.
func (t *traceReader) origin(name string) (int32, error) {
	if name == "" && !t.fixed && len(t.plan.Names) == 0 {
		return 0, nil
	}
	if i, ok := t.names[name]; ok {
		return i, nil
	}
	switch {
	case t.fixed:
		return 0, fmt.Errorf("workload %.40q is not in the list of workloads (allowed: %s)", name, strings.Join(t.plan.Names, ", "))
	case name == "" || len(name) > 200:
		return 0, errors.New("the workload name is empty or too long (expected a name in every row, or in none)")
	case len(t.plan.Names) == 0 && len(t.plan.Flows) > 0:
		return 0, errors.New("earlier rows have no workload name (expected a name in every row, or in none)")
	case len(t.plan.Names) >= maxNames:
		return 0, fmt.Errorf("there are too many workloads (expected at most %d)", maxNames)
	}
	i := int32(len(t.plan.Names))
	t.names[strings.Clone(name)] = i
	t.plan.Names = append(t.plan.Names, strings.Clone(name))
	return i, nil
}

// hpcc reads flow.txt of the HPCC simulator: the number of flows, then one line per flow:
// source, destination, priority, port, bytes, start in seconds.
func (t *traceReader) hpcc(in io.Reader) error {
	lines := bufio.NewScanner(in)
	count, line := -1, 0
	for lines.Scan() {
		line++
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if count < 0 {
			n, err := strconv.Atoi(words[0])
			if err != nil || n < 0 || len(words) != 1 {
				return t.at(line, errors.New("this is not a number of flows (expected flow.txt of the HPCC simulator)"))
			}
			count = n
			continue
		}
		if len(t.plan.Flows) == count {
			return t.at(line, fmt.Errorf("there are more flows than the %d of the first line (expected exactly this number)", count))
		}
		if err := t.hpccFlow(words); err != nil {
			return t.at(line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	if count < 0 || len(t.plan.Flows) < count {
		return t.at(max(1, line), fmt.Errorf("the file ends after %d flows (expected the number in the first line)", len(t.plan.Flows)))
	}
	return nil
}

func (t *traceReader) hpccFlow(words []string) error {
	if len(words) != 6 {
		return fmt.Errorf("there are %d columns (expected 6: source, destination, priority, port, bytes, start in seconds)", len(words))
	}
	hosts := t.env.Fabric.Hosts()
	var ends [2]int32
	for i := range ends {
		h, err := strconv.Atoi(words[i])
		if err != nil || h < 0 || h >= hosts {
			return fmt.Errorf("there is no host %.40q (expected 0 to %d)", words[i], hosts-1)
		}
		ends[i] = int32(h)
	}
	class, err := t.env.Class(words[2])
	if err != nil {
		return fmt.Errorf("priority is %.40q: %w", words[2], err)
	}
	size, err := strconv.ParseInt(words[4], 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%.40s bytes are too many (expected up to %d)", words[4], t.env.MaxSize)
	}
	if err != nil {
		return fmt.Errorf("%.40q is not a number of bytes (expected whole numbers)", words[4])
	}
	start, err := units.ParseTime(words[5] + "s")
	if err != nil {
		return fmt.Errorf("%.40q is not a time (expected seconds)", words[5])
	}
	return t.add(Flow{Start: start, Src: ends[0], Dst: ends[1], Size: units.Bytes(size), Class: class, Group: -1, Hash: t.env.hash()})
}

// TraceWriter writes flows as a CSV trace.
type TraceWriter struct {
	out  *csv.Writer
	rows int
}

// writtenColumns are the columns of a trace that xoff writes.
var writtenColumns = []int{colID, colStart, colSrc, colDst, colSize, colClass, colHash, colGroup, colWorkload, colAfter, colDelay, colUntil}

// NewTraceWriter returns a writer after writing the header.
func NewTraceWriter(w io.Writer) (*TraceWriter, error) {
	t := &TraceWriter{out: csv.NewWriter(w)}
	var header []string
	for _, c := range writtenColumns {
		header = append(header, columnNames[c])
	}
	return t, t.out.Write(header)
}

// Write writes the next flow. wait is nil for a flow without dependencies.
func (t *TraceWriter) Write(f *Flow, src, dst, workload string, wait *Wait) error {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	row := []string{n(int64(t.rows)), n(int64(f.Start)), src, dst, n(int64(f.Size)), n(int64(f.Class)), n(int64(f.Hash)),
		n(int64(f.Group)), workload, "", "", ""}
	t.rows++
	if wait != nil {
		var on []string
		for _, i := range wait.On {
			on = append(on, n(int64(i)))
		}
		row[9], row[10], row[11] = strings.Join(on, " "), n(int64(wait.Delay)), n(int64(wait.Until))
	}
	return t.out.Write(row)
}

// Close flushes the trace. It does not close the underlying writer.
func (t *TraceWriter) Close() error {
	t.out.Flush()
	return t.out.Error()
}
