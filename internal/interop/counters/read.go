package counters

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxFile is the size of the largest file.
const maxFile = 1 << 30

// Read reads files of either format into one set.
func Read(files []string) (*Set, error) {
	s := &Set{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = s.parse(name, io.LimitReader(f, maxFile))
		_ = f.Close()
		if err != nil {
			return nil, err
		}
	}
	return s, s.finish()
}

// Parse reads one file of either format.
func Parse(name string, r io.Reader) (*Set, error) {
	s := &Set{}
	if err := s.parse(name, r); err != nil {
		return nil, err
	}
	return s, s.finish()
}

// source is a file while it is read.
type source struct {
	name  string
	line  int
	lines *bufio.Scanner
	set   *Set
}

func (f *source) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", f.name, f.line, fmt.Errorf(format, args...))
}

// next returns the next line.
func (f *source) next() (string, bool) {
	if !f.lines.Scan() {
		return "", false
	}
	f.line++
	return strings.TrimRight(f.lines.Text(), "\r"), true
}

func (s *Set) parse(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<16)
	head, _ := in.Peek(1 << 12) // an error only means a short file
	f := &source{name: name, lines: bufio.NewScanner(in), set: s}
	read := f.text
	first, _, _ := bytes.Cut(bytes.TrimLeft(head, "\ufeff \t\r\n"), []byte("\n"))
	if bytes.Contains(first, []byte("counter")) && bytes.ContainsAny(first, ",;\t") {
		read = f.csv
	}
	before := len(s.Series)
	err := read()
	switch {
	case err != nil:
		return err
	case f.lines.Err() != nil:
		f.line++
		return f.errorf("%w", f.lines.Err())
	case len(s.Series) == before && before == 0:
		f.line = max(1, f.line)
		return f.errorf("no counters (expected CSV with the columns %s, or the output of show pfc counters or show queue counters)", strings.Join(columns[:], ", "))
	}
	return nil
}

// columns of the CSV form, in the order of Write. The last one may be missing in a file with
// counters of ports only.
var columns = [...]string{"time", "switch", "port", "queue", "counter", "value"}

// csv reads the CSV form: one row for each sample.
func (f *source) csv() error {
	head := ""
	for head == "" {
		line, ok := f.next()
		if !ok {
			return nil
		}
		head = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	}
	separator := string(head[strings.IndexAny(head, ",;\t")])
	at, width := map[string]int{}, 0
	for i, c := range strings.Split(head, separator) {
		c = strings.ToLower(strings.TrimSpace(c))
		if c == "priority" {
			c = "queue"
		}
		if _, twice := at[c]; twice {
			return f.errorf("column %q appears twice (expected each column once)", c)
		}
		at[c], width = i, i+1
	}
	for _, c := range columns {
		if _, ok := at[c]; !ok && c != "queue" {
			return f.errorf("there is no column %q (expected the columns %s)", c, strings.Join(columns[:], ", "))
		}
	}
	for {
		line, ok := f.next()
		if !ok {
			return nil
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		cells := strings.Split(line, separator)
		if len(cells) != width {
			return f.errorf("the row has %d columns (expected %d, as the header)", len(cells), width)
		}
		get := func(c string) string {
			i, ok := at[c]
			if !ok {
				return ""
			}
			return strings.Trim(strings.TrimSpace(cells[i]), `"`)
		}
		if err := f.row(get); err != nil {
			return err
		}
	}
}

// row adds the sample of a CSV row.
func (f *source) row(get func(column string) string) error {
	time, err := parseTime(get("time"))
	if err != nil {
		return f.errorf("time: %w", err)
	}
	name := get("counter")
	kind, class, used, known := parseName(name)
	if !known {
		return f.errorf("counter %q is unknown (expected a SAI name such as %s or %s)", name, kinds[QueueBytes], Key{Kind: PFCReceived, Class: 3}.Name())
	}
	if !used {
		return nil
	}
	if kind >= QueueBytes {
		class, err = strconv.Atoi(get("queue"))
		if err != nil || class < 0 || class >= Classes {
			return f.errorf("queue of %s is %q (expected 0 to %d)", name, get("queue"), Classes-1)
		}
	}
	value, err := strconv.ParseUint(get("value"), 10, 64)
	if err != nil {
		return f.errorf("value of %s is %q (expected a whole number from 0 to 2^64-1)", name, get("value"))
	}
	return f.add(Key{get("switch"), get("port"), kind, class}, time, value)
}

// names matches the names of switches and ports; a switch may be left out.
var names = regexp.MustCompile(`^[A-Za-z0-9._/|:-]{1,100}$`)

// add adds a sample if its names are valid.
func (f *source) add(k Key, at int64, value uint64) error {
	switch {
	case !names.MatchString(k.Port):
		return f.errorf("port is %q (expected a name such as Ethernet0)", shorten(k.Port))
	case k.Switch != "" && !names.MatchString(k.Switch):
		return f.errorf("switch is %q (expected a name such as leaf1)", shorten(k.Switch))
	}
	f.set.add(k, Sample{at, value, f.name, f.line})
	return nil
}

// prompt matches the prompt of a shell on a switch: user, switch, folder.
var prompt = regexp.MustCompile(`^\S+@([^\s:@]+):[^$#]*[$#](\s|$)`)

// headings are the columns of show queue counters with their kinds; the others are left out.
var headings = map[string]Kind{
	"Counter/pkts": QueuePackets, "Counter/bytes": QueueBytes, "Drop/pkts": QueueDrops, "EcnMarked/pkts": Marks,
	"Drop/bytes": NumKinds, "EcnMarked/bytes": NumKinds, "WredDrp/pkts": NumKinds, "WredDrp/bytes": NumKinds,
	"Trim/pkts": NumKinds, "TrimSent/pkts": NumKinds, "TrimDrop/pkts": NumKinds,
}

// table is a table of show pfc counters or show queue counters.
type table struct {
	pfc   Kind   // of all columns; NumKinds: a table of queues
	kinds []Kind // by column after port and queue
}

// text reads captures of show commands. A line `# SWITCH TIME` begins a capture; a shell prompt
// sets the switch, and a line with only a time sets the time.
func (f *source) text() error {
	device, at, timed := "", int64(0), false
	var in *table
	for {
		line, ok := f.next()
		if !ok {
			return nil
		}
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.Trim(line, "- ") == "" || strings.HasPrefix(line, "For namespace") || strings.Contains(line, "Last cached time"):
		case words[0] == "#":
			var err error
			if at, err = parseTime(words[len(words)-1]); err != nil || len(words) > 3 {
				return f.errorf("%q is not the start of a capture (expected # SWITCH TIME, such as # leaf1 2026-01-31T12:00:00Z)", shorten(line))
			}
			timed, in, device = true, nil, ""
			if len(words) == 3 {
				device = words[1]
			}
		case prompt.MatchString(line):
			device, in = prompt.FindStringSubmatch(line)[1], nil
		case words[0] == "Port":
			var err error
			if in, err = f.heading(words[1:]); err != nil {
				return err
			}
		case in != nil:
			if !timed {
				return f.errorf("counters without a time (expected a line # SWITCH TIME before each capture)")
			}
			if err := f.values(in, words, device, at); err != nil {
				return err
			}
		default:
			t, err := parseTime(line)
			if err != nil {
				return f.errorf("%q is not part of show pfc counters or show queue counters (expected their tables, after a line # SWITCH TIME)", shorten(line))
			}
			at, timed = t, true
		}
	}
}

// heading returns the table of a header line, without its first word.
func (f *source) heading(words []string) (*table, error) {
	if len(words) == 1+Classes && (words[0] == "Rx" || words[0] == "Tx") {
		t := &table{pfc: PFCReceived}
		if words[0] == "Tx" {
			t.pfc = PFCSent
		}
		for i, w := range words[1:] {
			if w != fmt.Sprintf("PFC%d", i) {
				return nil, f.errorf("column %q is unknown (expected PFC%d)", w, i)
			}
		}
		return t, nil
	}
	if len(words) < 2 || words[0] != "TxQ" {
		return nil, f.errorf("a table of unknown columns (expected the columns of show pfc counters or show queue counters)")
	}
	t := &table{pfc: NumKinds}
	for _, w := range words[1:] {
		k, ok := headings[w]
		if !ok {
			return nil, f.errorf("column %q is unknown (expected a column of show queue counters, such as Counter/bytes)", w)
		}
		t.kinds = append(t.kinds, k)
	}
	return t, nil
}

// values adds the samples in a line of a table.
func (f *source) values(t *table, words []string, device string, at int64) error {
	if t.pfc < NumKinds {
		if len(words) != 1+Classes {
			return f.errorf("the row has %d columns (expected %d, as the header)", len(words), 1+Classes)
		}
		for class, w := range words[1:] {
			if err := f.cell(Key{device, words[0], t.pfc, class}, at, w); err != nil {
				return err
			}
		}
		return nil
	}
	if len(words) != 2+len(t.kinds) {
		return f.errorf("the row has %d columns (expected %d, as the header)", len(words), 2+len(t.kinds))
	}
	queue := strings.TrimLeft(words[1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	class, err := strconv.Atoi(queue)
	if err != nil || class < 0 {
		return f.errorf("queue is %q (expected a name such as UC3)", words[1])
	}
	if class >= Classes || strings.HasPrefix(words[1], "MC") {
		return nil // multicast, or of the processor
	}
	for i, w := range words[2:] {
		if t.kinds[i] == NumKinds {
			continue
		}
		if err := f.cell(Key{device, words[0], t.kinds[i], class}, at, w); err != nil {
			return err
		}
	}
	return nil
}

// cell adds a number with commas; N/A is no sample.
func (f *source) cell(k Key, at int64, text string) error {
	if text == "N/A" {
		return nil
	}
	value, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil {
		return f.errorf("value of %s is %q (expected a whole number)", k, shorten(text))
	}
	return f.add(k, at, value)
}

func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// layouts are the formats of dates, as `date` prints them.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"}

// parseTime parses seconds, or a date. It returns nanoseconds.
func parseTime(s string) (int64, error) {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		if !(math.Abs(x) < 9e9) {
			return 0, fmt.Errorf("%q is out of range (expected seconds below 9e9)", shorten(s))
		}
		whole, part, _ := strings.Cut(s, ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || strings.Trim(part, "0123456789") != "" || n < 0 {
			return int64(math.Round(x * 1e9)), nil
		}
		nanos, _ := strconv.ParseInt((part + "000000000")[:9], 10, 64) // digits only
		return n*1e9 + nanos, nil
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, strings.ReplaceAll(s, ",", ".")); err == nil {
			return t.UnixNano(), nil
		}
	}
	return 0, fmt.Errorf("%q is not a time (expected seconds, or a date such as 2026-01-31T12:00:00Z)", shorten(s))
}

// FormatTime formats nanoseconds as parseTime reads them.
func FormatTime(at int64) string {
	if at > 1e17 { // after 1973: not the time of a simulation
		return time.Unix(0, at).UTC().Format(time.RFC3339Nano)
	}
	s := fmt.Sprintf("%d.%09d", at/1e9, max(at, -at)%1e9)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
