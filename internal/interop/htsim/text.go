// Package htsim reads and writes the input files of the htsim simulator: traffic (.cm and
// .tm) with triggers and failures, and fat-tree topologies (.topo).
package htsim

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
)

// maxLine is the length of the longest accepted line, in bytes.
const maxLine = 1 << 16

// lines reads a file as lines of words. # begins a comment.
type lines struct {
	file  string
	in    *bufio.Scanner
	line  int
	words []string
}

func newLines(file string, r io.Reader) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	return &lines{file: file, in: s}
}

// next moves to the next line with words. It returns false at the end of the file.
func (l *lines) next() (bool, error) {
	for l.in.Scan() {
		l.line++
		text, _, _ := strings.Cut(l.in.Text(), "#")
		if l.words = strings.Fields(text); len(l.words) > 0 {
			return true, nil
		}
	}
	if err := l.in.Err(); err == bufio.ErrTooLong {
		l.line++
		return false, l.errorf("line is longer than %d bytes", maxLine)
	} else if err != nil {
		return false, err
	}
	return false, nil
}

// errorf returns an error at the current line.
func (l *lines) errorf(format string, args ...any) error { return l.at(l.line, format, args...) }

func (l *lines) at(line int, format string, args ...any) error {
	return &yaml.InputError{File: l.file, Line: line, Column: min(line, 1), Err: fmt.Errorf(format, args...)}
}

// take removes the first word of the line; "" if there is none.
func (l *lines) take() string {
	if len(l.words) == 0 {
		return ""
	}
	w := l.words[0]
	l.words = l.words[1:]
	return w
}

// number takes a whole number from low to high.
func (l *lines) number(what string, low, high int64) (int64, error) {
	return l.parse(what, l.take(), low, high)
}

func (l *lines) parse(what, word string, low, high int64) (int64, error) {
	v, err := strconv.ParseInt(word, 10, 64)
	if err != nil || v < low || v > high {
		return 0, l.errorf("%s is %.40q (expected a whole number from %d to %d)", what, word, low, high)
	}
	return v, nil
}

// end checks that no word of the line is left.
func (l *lines) end() error {
	if len(l.words) > 0 {
		return l.errorf("unexpected %.40q (expected the end of the line)", l.words[0])
	}
	return nil
}
