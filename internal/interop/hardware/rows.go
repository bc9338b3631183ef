// Package hardware compares the switch model with measurements of real switches, for xoff
// fidelity sonic. It repeats their tests on simulated switches: frames of one class to a
// blocked port, until the switch pauses and drops.
package hardware

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Row is one measurement and, as far as known, the configuration of the switch. Counts are
// in frames, sizes in bytes; an empty number is nil.
type Row struct {
	ID    string `json:"id"`
	Group string `json:"group"` // rows with the same thresholds
	Chip  string `json:"chip"`
	Key   string `json:"topology"`
	Block string `json:"block,omitempty"`
	SKU   string `json:"sku,omitempty"`
	Match string `json:"match"` // how the profile was found
	line  int

	Speed  int64 `json:"speed_mbps"`
	Cable  int64 `json:"cable_m"`
	Frame  int64 `json:"frame_bytes"`
	Margin int64 `json:"margin"` // allowed by the test, in frames

	PFC     *int64  `json:"-"` // first frame that causes a pause
	Drop    *int64  `json:"-"` // first frame that is dropped
	Dismiss *int64  `json:"-"` // frames that have left when the switch has resumed
	PGs     *int64  `json:"-"` // queues that fill the headroom pool
	Full    *int64  `json:"-"` // frames in headroom of each queue but the last
	Partial *int64  `json:"-"` // frames in headroom of the last queue
	Turns   []int64 `json:"-"` // pause thresholds of queues that fill in turn

	Size      *int64 `json:"-"` // of the profile: minimum and private headroom
	Xon       *int64 `json:"-"`
	Xoff      *int64 `json:"-"`
	XonOffset *int64 `json:"-"`
	Alpha     *int64 `json:"-"` // exponent of two
	Pool      *int64 `json:"-"` // size of the pool, in the chip's dialect
	PoolXoff  *int64 `json:"-"` // headroom pool
	Ports     *int64 `json:"-"` // ports with lossless queues
	Lossy     *int64 `json:"-"` // ports without lossless queues
}

// defaultMargin is the margin of tests without one.
const defaultMargin = 2

// Known reports whether the profile of a row is known well enough to count in shares.
func (r *Row) Known() bool { return slices.Contains([]string{"only", "topo", "fit"}, r.Match) }

//go:embed measurements.csv
var builtin string

// Builtin returns the measurements that are part of xoff.
func Builtin() ([]Row, error) { return Read("measurements.csv", strings.NewReader(builtin)) }

// ReadFile reads the measurements in a file.
func ReadFile(name string) ([]Row, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	rows, err := Read(name, f)
	return rows, errors.Join(err, f.Close())
}

// field is a column of the file.
type field struct {
	name     string
	required bool // the column must exist and have a value in every row
	lo, hi   int64
	text     func(*Row) *string
	number   func(*Row) *int64
	optional func(*Row) **int64
	list     func(*Row) *[]int64
}

const (
	maxFrames = 1 << 24 // per measurement; more would take minutes
	maxPGs    = 512
	maxRows   = 100_000
)

// fields are the known columns; others are ignored.
var fields = []field{
	{name: "id", required: true, text: func(r *Row) *string { return &r.ID }},
	{name: "group", required: true, text: func(r *Row) *string { return &r.Group }},
	{name: "asic", required: true, text: func(r *Row) *string { return &r.Chip }},
	{name: "key", text: func(r *Row) *string { return &r.Key }},
	{name: "block", text: func(r *Row) *string { return &r.Block }},
	{name: "hwsku", text: func(r *Row) *string { return &r.SKU }},
	{name: "match", required: true, text: func(r *Row) *string { return &r.Match }},
	{name: "speed", required: true, lo: 1, hi: 1e8, number: func(r *Row) *int64 { return &r.Speed }},
	{name: "cable_m", required: true, hi: 1e6, number: func(r *Row) *int64 { return &r.Cable }},
	{name: "packet_size", lo: 1, hi: 9216, number: func(r *Row) *int64 { return &r.Frame }},
	{name: "margin", hi: maxFrames, number: func(r *Row) *int64 { return &r.Margin }},
	{name: "pkts_num_trig_pfc", hi: maxFrames, optional: func(r *Row) **int64 { return &r.PFC }},
	{name: "pkts_num_trig_ingr_drp", hi: maxFrames, optional: func(r *Row) **int64 { return &r.Drop }},
	{name: "pkts_num_dismiss_pfc", hi: maxFrames, optional: func(r *Row) **int64 { return &r.Dismiss }},
	{name: "hdrm_pgs", lo: 1, hi: maxPGs, optional: func(r *Row) **int64 { return &r.PGs }},
	{name: "hdrm_full", hi: maxFrames, optional: func(r *Row) **int64 { return &r.Full }},
	{name: "hdrm_partial", hi: maxFrames, optional: func(r *Row) **int64 { return &r.Partial }},
	{name: "pfc_multi", hi: maxFrames, list: func(r *Row) *[]int64 { return &r.Turns }},
	{name: "pg_size", hi: int64(mmu.MaxBuffer), optional: func(r *Row) **int64 { return &r.Size }},
	{name: "pg_xon", hi: int64(mmu.MaxBuffer), optional: func(r *Row) **int64 { return &r.Xon }},
	{name: "pg_xoff", hi: int64(mmu.MaxBuffer), optional: func(r *Row) **int64 { return &r.Xoff }},
	{name: "pg_xon_offset", hi: int64(mmu.MaxBuffer), optional: func(r *Row) **int64 { return &r.XonOffset }},
	{name: "dynamic_th", lo: -8, hi: 7, optional: func(r *Row) **int64 { return &r.Alpha }},
	{name: "pool_size", lo: 1, hi: int64(mmu.MaxDivided / 2), optional: func(r *Row) **int64 { return &r.Pool }},
	{name: "pool_xoff", hi: int64(mmu.MaxDivided / 2), optional: func(r *Row) **int64 { return &r.PoolXoff }},
	{name: "lossless_ports", lo: 1, hi: 512, optional: func(r *Row) **int64 { return &r.Ports }},
	{name: "lossy_only_ports", hi: 512, optional: func(r *Row) **int64 { return &r.Lossy }},
}

// reader reads a CSV file of measurements with a header line.
type reader struct {
	file    string
	csv     *csv.Reader
	fieldOf []int // by column: index in fields; -1: ignored
}

// Read reads measurements; file is the name for error messages.
func Read(file string, from io.Reader) ([]Row, error) {
	r := &reader{file: file, csv: csv.NewReader(from)}
	if err := r.readHeader(); err != nil {
		return nil, err
	}
	var rows []Row
	seen := make(map[string]int)
	for {
		record, err := r.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, r.syntaxError(err)
		}
		row, err := r.row(record)
		if err != nil {
			return nil, err
		}
		if first, twice := seen[row.ID]; twice {
			return nil, r.fieldError(slices.Index(r.fieldOf, 0), "id %q is repeated: it is already on line %d (expected unique ids)", row.ID, first)
		}
		if seen[row.ID] = row.line; len(rows) == maxRows {
			return nil, r.fieldError(0, "more than %d rows", maxRows)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, r.errorAt(1, 1, "there are no measurements (expected at least one line after the header)")
	}
	return rows, nil
}

// readHeader reads the names of columns.
func (r *reader) readHeader() error {
	names, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return r.errorAt(1, 1, "the file is empty (expected a header line and measurements)")
	}
	if err != nil {
		return r.syntaxError(err)
	}
	for i, name := range names {
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == strings.TrimSpace(name) })
		if at >= 0 && slices.Contains(r.fieldOf, at) {
			return r.fieldError(i, "column %s is repeated (expected once)", name)
		}
		r.fieldOf = append(r.fieldOf, at)
	}
	for i, f := range fields {
		if f.required && !slices.Contains(r.fieldOf, i) {
			return r.errorAt(1, 1, "column %s is missing (expected %s)", f.name, requiredNames())
		}
	}
	return nil
}

func requiredNames() string {
	var names []string
	for _, f := range fields {
		if f.required {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

// syntaxError adds the location to an error of the CSV reader.
func (r *reader) syntaxError(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return r.errorAt(p.Line, p.Column, "%w (expected comma-separated values, as many as in the header)", p.Err)
	}
	return fmt.Errorf("%s: %w", r.file, err)
}

// fieldError returns an error at a column of the line that was read last.
func (r *reader) fieldError(column int, format string, args ...any) error {
	line, at := r.csv.FieldPos(column)
	return r.errorAt(line, at, format, args...)
}

// errorAt returns an error at a location of the file.
func (r *reader) errorAt(line, column int, format string, args ...any) error {
	return &yaml.InputError{File: r.file, Line: line, Column: column, Err: fmt.Errorf(format, args...)}
}

func (r *reader) row(record []string) (Row, error) {
	line, _ := r.csv.FieldPos(0)
	row := Row{line: line, Frame: 64, Margin: defaultMargin}
	for i, value := range record {
		if r.fieldOf[i] < 0 {
			continue
		}
		f, value := &fields[r.fieldOf[i]], strings.TrimSpace(value)
		switch {
		case value == "" && f.required:
			return row, r.fieldError(i, "%s is empty (expected a value in every line)", f.name)
		case value == "":
		case f.text != nil:
			*f.text(&row) = strings.TrimPrefix(value, "topo-")
		case f.list != nil:
			for _, word := range strings.Fields(value) {
				n, err := f.parse(word)
				if err != nil {
					return row, r.fieldError(i, "%v", err)
				}
				*f.list(&row) = append(*f.list(&row), n)
			}
			if n := len(row.Turns); n > maxPGs {
				return row, r.fieldError(i, "%s has %d numbers (expected at most %d)", f.name, n, maxPGs)
			}
		default:
			n, err := f.parse(value)
			if err != nil {
				return row, r.fieldError(i, "%v", err)
			}
			if f.number != nil {
				*f.number(&row) = n
			} else {
				*f.optional(&row) = &n
			}
		}
	}
	return row, nil
}

func (f *field) parse(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < f.lo || n > f.hi {
		or := ", or empty"
		if f.required {
			or = ""
		}
		return 0, fmt.Errorf("%s is %q (expected a whole number from %d to %d%s)", f.name, text, f.lo, f.hi, or)
	}
	return n, nil
}

// bytesOr returns n in bytes, or otherwise if n is nil.
func bytesOr(n *int64, otherwise units.Bytes) units.Bytes {
	if n == nil {
		return otherwise
	}
	return units.Bytes(*n)
}
