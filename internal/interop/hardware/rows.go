// Package hardware holds the switch model against measurements of real switches: it
// repeats what their tests do (a destination that does not send, frames of one class,
// counters) on simulated ones, and says how far apart the two are.
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

// Row is one measurement with the configuration that it was made with, as far as that is
// known. Counts are in frames; a blank number is nil.
type Row struct {
	ID    string `json:"id"`
	Group string `json:"group"` // rows that have the same two points
	Chip  string `json:"chip"`
	Key   string `json:"topology"`
	Block string `json:"block,omitempty"`
	SKU   string `json:"sku,omitempty"`
	Match string `json:"match"` // how the profile was found
	line  int

	Speed  int64 `json:"speed_mbps"`
	Cable  int64 `json:"cable_m"`
	Frame  int64 `json:"frame_bytes"`
	Margin int64 `json:"margin"` // of the test, in frames

	PFC     *int64  `json:"-"` // first frame that makes the switch pause
	Drop    *int64  `json:"-"` // first one that it drops
	Dismiss *int64  `json:"-"` // so many gone, and it has resumed
	PGs     *int64  `json:"-"` // queues that fill the pool of headroom
	Full    *int64  `json:"-"` // what all of them but the last hold of it
	Partial *int64  `json:"-"` // and the last
	Turns   []int64 `json:"-"` // PFC points of queues that fill one after the other

	Size      *int64 `json:"-"` // of the profile: minimum, and headroom where that is private
	Xon       *int64 `json:"-"`
	Xoff      *int64 `json:"-"`
	XonOffset *int64 `json:"-"`
	Alpha     *int64 `json:"-"` // exponent of two
	Pool      *int64 `json:"-"` // size of the pool, in the dialect of the chip
	PoolXoff  *int64 `json:"-"` // pool of headroom
	Ports     *int64 `json:"-"` // with lossless queues
	Lossy     *int64 `json:"-"` // without
}

// defaultMargin is that of tests that state none.
const defaultMargin = 2

// Known reports whether the profile of a row is known well enough to count.
func (r *Row) Known() bool { return slices.Contains([]string{"only", "topo", "fit"}, r.Match) }

//go:embed measurements.csv
var builtin string

// Builtin are the measurements that are part of the program.
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
	name   string
	needed bool // the column, and a value in every row
	lo, hi int64
	text   func(*Row) *string
	number func(*Row) *int64
	maybe  func(*Row) **int64
	list   func(*Row) *[]int64
}

const (
	maxFrames = 1 << 24 // of a measurement: more would take minutes
	maxPGs    = 512
	maxRows   = 100_000
)

// fields are the columns that are read; others are ignored.
var fields = []field{
	{name: "id", needed: true, text: func(r *Row) *string { return &r.ID }},
	{name: "group", needed: true, text: func(r *Row) *string { return &r.Group }},
	{name: "asic", needed: true, text: func(r *Row) *string { return &r.Chip }},
	{name: "key", text: func(r *Row) *string { return &r.Key }},
	{name: "block", text: func(r *Row) *string { return &r.Block }},
	{name: "hwsku", text: func(r *Row) *string { return &r.SKU }},
	{name: "match", needed: true, text: func(r *Row) *string { return &r.Match }},
	{name: "speed", needed: true, lo: 1, hi: 1e8, number: func(r *Row) *int64 { return &r.Speed }},
	{name: "cable_m", needed: true, hi: 1e6, number: func(r *Row) *int64 { return &r.Cable }},
	{name: "packet_size", lo: 1, hi: 9216, number: func(r *Row) *int64 { return &r.Frame }},
	{name: "margin", hi: maxFrames, number: func(r *Row) *int64 { return &r.Margin }},
	{name: "pkts_num_trig_pfc", hi: maxFrames, maybe: func(r *Row) **int64 { return &r.PFC }},
	{name: "pkts_num_trig_ingr_drp", hi: maxFrames, maybe: func(r *Row) **int64 { return &r.Drop }},
	{name: "pkts_num_dismiss_pfc", hi: maxFrames, maybe: func(r *Row) **int64 { return &r.Dismiss }},
	{name: "hdrm_pgs", lo: 1, hi: maxPGs, maybe: func(r *Row) **int64 { return &r.PGs }},
	{name: "hdrm_full", hi: maxFrames, maybe: func(r *Row) **int64 { return &r.Full }},
	{name: "hdrm_partial", hi: maxFrames, maybe: func(r *Row) **int64 { return &r.Partial }},
	{name: "pfc_multi", hi: maxFrames, list: func(r *Row) *[]int64 { return &r.Turns }},
	{name: "pg_size", hi: int64(mmu.MaxBuffer), maybe: func(r *Row) **int64 { return &r.Size }},
	{name: "pg_xon", hi: int64(mmu.MaxBuffer), maybe: func(r *Row) **int64 { return &r.Xon }},
	{name: "pg_xoff", hi: int64(mmu.MaxBuffer), maybe: func(r *Row) **int64 { return &r.Xoff }},
	{name: "pg_xon_offset", hi: int64(mmu.MaxBuffer), maybe: func(r *Row) **int64 { return &r.XonOffset }},
	{name: "dynamic_th", lo: -8, hi: 7, maybe: func(r *Row) **int64 { return &r.Alpha }},
	{name: "pool_size", lo: 1, hi: int64(mmu.MaxDivided / 2), maybe: func(r *Row) **int64 { return &r.Pool }},
	{name: "pool_xoff", hi: int64(mmu.MaxDivided / 2), maybe: func(r *Row) **int64 { return &r.PoolXoff }},
	{name: "lossless_ports", lo: 1, hi: 512, maybe: func(r *Row) **int64 { return &r.Ports }},
	{name: "lossy_only_ports", hi: 512, maybe: func(r *Row) **int64 { return &r.Lossy }},
}

// reader reads a file of measurements: comma-separated values under a line of names.
type reader struct {
	file  string
	csv   *csv.Reader
	which []int // by column: its field; -1: none
}

// Read reads measurements.
func Read(file string, from io.Reader) ([]Row, error) {
	r := &reader{file: file, csv: csv.NewReader(from)}
	if err := r.head(); err != nil {
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
			return nil, r.broken(err)
		}
		row, err := r.row(record)
		if err != nil {
			return nil, err
		}
		if first, twice := seen[row.ID]; twice {
			return nil, r.wrong(slices.Index(r.which, 0), "id %q is that of line %d, too; allowed: each once", row.ID, first)
		}
		if seen[row.ID] = row.line; len(rows) == maxRows {
			return nil, r.wrong(0, "there are more rows than %d; allowed: fewer", maxRows)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, r.at(1, 1, "there are no measurements; allowed: at least one line after the names of columns")
	}
	return rows, nil
}

// head reads the names of columns.
func (r *reader) head() error {
	names, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return r.at(1, 1, "the file is empty; allowed: measurements under a line with names of columns")
	}
	if err != nil {
		return r.broken(err)
	}
	for i, name := range names {
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == strings.TrimSpace(name) })
		if at >= 0 && slices.Contains(r.which, at) {
			return r.wrong(i, "column %s is there twice; allowed: once", name)
		}
		r.which = append(r.which, at)
	}
	for i, f := range fields {
		if f.needed && !slices.Contains(r.which, i) {
			return r.at(1, 1, "there is no column %s; needed: %s", f.name, neededNames())
		}
	}
	return nil
}

func neededNames() string {
	var names []string
	for _, f := range fields {
		if f.needed {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}

// broken is what is wrong with the text itself.
func (r *reader) broken(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return r.at(p.Line, p.Column, "%w; allowed: values divided by commas, as many as in the first line", p.Err)
	}
	return fmt.Errorf("%s: %w", r.file, err)
}

// wrong is a mistake in a value of the line that was read last.
func (r *reader) wrong(column int, format string, args ...any) error {
	line, at := r.csv.FieldPos(column)
	return r.at(line, at, format, args...)
}

// at returns an error at a place of the file.
func (r *reader) at(line, column int, format string, args ...any) error {
	return &yaml.InputError{File: r.file, Line: line, Column: column, Err: fmt.Errorf(format, args...)}
}

func (r *reader) row(record []string) (Row, error) {
	line, _ := r.csv.FieldPos(0)
	row := Row{line: line, Frame: 64, Margin: defaultMargin}
	for i, value := range record {
		if r.which[i] < 0 {
			continue
		}
		f, value := &fields[r.which[i]], strings.TrimSpace(value)
		switch {
		case value == "" && f.needed:
			return row, r.wrong(i, "%s is empty; allowed: a value in every line", f.name)
		case value == "":
		case f.text != nil:
			*f.text(&row) = strings.TrimPrefix(value, "topo-")
		case f.list != nil:
			for _, word := range strings.Fields(value) {
				n, err := f.parse(word)
				if err != nil {
					return row, r.wrong(i, "%v", err)
				}
				*f.list(&row) = append(*f.list(&row), n)
			}
			if n := len(row.Turns); n > maxPGs {
				return row, r.wrong(i, "%s has %d numbers; allowed: at most %d", f.name, n, maxPGs)
			}
		default:
			n, err := f.parse(value)
			if err != nil {
				return row, r.wrong(i, "%v", err)
			}
			if f.number != nil {
				*f.number(&row) = n
			} else {
				*f.maybe(&row) = &n
			}
		}
	}
	return row, nil
}

func (f *field) parse(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < f.lo || n > f.hi {
		or := ", or nothing"
		if f.needed {
			or = ""
		}
		return 0, fmt.Errorf("%s cannot be %q; allowed: a whole number from %d to %d%s", f.name, text, f.lo, f.hi, or)
	}
	return n, nil
}

// bytesOr is a number of bytes that may be missing.
func bytesOr(n *int64, otherwise units.Bytes) units.Bytes {
	if n == nil {
		return otherwise
	}
	return units.Bytes(*n)
}
