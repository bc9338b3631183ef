// Package publicsim reads and writes the files of HPCC's public ns-3 simulator and its
// descendants, for xoff run --hpcc and xoff fidelity. It converts configuration, topology
// and flows to scenarios, and compares results with the simulator's.
package publicsim

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// inputError returns an error at a location of a file.
func inputError(file string, line, column int, err error) error {
	return &yaml.InputError{File: file, Line: line, Column: column, Err: err}
}

// word is a word of a line, with its location.
type word struct {
	text         string
	line, column int
}

// text is a file as lines of words, without empty lines and comments.
type text struct {
	file  string
	lines [][]word
	end   int // number of the last line
}

// open reads a file.
func open(path string) (*text, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return split(path, data)
}

// maxLine is the longest accepted line, in bytes.
const maxLine = 1 << 20

func split(file string, data []byte) (*text, error) {
	t := &text{file: file}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, maxLine)
	for s.Scan() {
		t.end++
		if words := wordsOf(s.Text(), t.end); len(words) > 0 {
			t.lines = append(t.lines, words)
		}
	}
	if err := s.Err(); err != nil {
		return nil, inputError(file, t.end+1, 1, err)
	}
	return t, nil
}

// wordsOf splits a line at blanks; # begins a comment.
func wordsOf(line string, number int) []word {
	if i := strings.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	var words []word
	for i := 0; i < len(line); {
		if strings.ContainsRune(" \t\r", rune(line[i])) {
			i++
			continue
		}
		from := i
		for i < len(line) && !strings.ContainsRune(" \t\r", rune(line[i])) {
			i++
		}
		words = append(words, word{line[from:i], number, from + 1})
	}
	return words
}

// fail returns an error at a word.
func (t *text) fail(w word, format string, args ...any) error {
	return inputError(t.file, w.line, w.column, fmt.Errorf(format, args...))
}

// failEnd returns an error for a file that ends too early.
func (t *text) failEnd(want string) error {
	return inputError(t.file, t.end+1, 1, fmt.Errorf("the file ends early (expected %s)", want))
}

// number parses an integer between bounds.
func (t *text) number(w word, what string, low, high int64) (int64, error) {
	v, err := strconv.ParseInt(w.text, 10, 64)
	if err != nil || v < low || v > high {
		return 0, t.fail(w, "%s is %q (expected a whole number from %d to %d)", what, w.text, low, high)
	}
	return v, nil
}

// share parses a probability.
func (t *text) share(w word, what string) (float64, error) {
	v, err := strconv.ParseFloat(w.text, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, t.fail(w, "%s is %q (expected a number from 0 to 1)", what, w.text)
	}
	return v, nil
}

// rate parses bits per second, as a plain number or as 100Gb/s or 100Gbps.
func (t *text) rate(w word, what string) (units.Rate, error) {
	if v, err := strconv.ParseFloat(w.text, 64); err == nil && v >= 1 && v <= 1e14 {
		return units.Rate(v), nil
	}
	r, err := units.ParseRate(strings.Replace(w.text, "b/s", "bps", 1))
	if err != nil || r <= 0 {
		return 0, t.fail(w, "%s is %q (expected bits per second, such as 100000000000, 100Gbps or 100Gb/s)", what, w.text)
	}
	return r, nil
}

// delay parses a time with a unit, or plain seconds.
func (t *text) delay(w word, what string) (units.Time, error) {
	if v, err := seconds(w.text); err == nil {
		return v, nil
	}
	d, err := units.ParseTime(w.text)
	if err != nil || d < 0 {
		return 0, t.fail(w, "%s is %q (expected a time such as 1us or 0.001ms, or seconds)", what, w.text)
	}
	return d, nil
}

// seconds parses a decimal number of seconds. It avoids floating point, which cannot
// represent a time such as 0.000105553 exactly.
func seconds(s string) (units.Time, error) {
	if strings.ContainsAny(s, "eE") {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0, err
		}
		s = strconv.FormatFloat(v, 'f', 12, 64)
	}
	integer, fraction, _ := strings.Cut(s, ".")
	if len(fraction) > 12 {
		fraction = fraction[:12]
	}
	if integer+fraction == "" {
		return 0, fmt.Errorf("%q is not a number of seconds", s)
	}
	digits := integer + fraction + strings.Repeat("0", 12-len(fraction))
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is not a number of seconds", s)
		}
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || units.Time(v) > units.MaxTime {
		return 0, fmt.Errorf("%q is not a number of seconds", s)
	}
	return units.Time(v), nil
}
