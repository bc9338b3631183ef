package probe

import (
	"math"

	"github.com/xoff-net/xoff/base/units"
)

// Type says how the words of a column are read.
type Type uint8

// Types of columns.
const (
	Int  Type = iota
	Text      // an index into Column.Texts
	Bool
	Float // the bits of a float64
)

// Null is the word for "no value".
const Null = math.MinInt64

// Column describes one column of a table.
type Column struct {
	Name  string
	Type  Type
	Texts []string // Text: what the words stand for; nil: see Recorder.Word
	May   bool     // may be Null
	Doc   string   // one line
}

// Recorder keeps the rows that a probe writes at one node until they are merged
// with those of the other nodes. A row is the time at which it was written and
// one word per further column.
type Recorder struct {
	Width    int // words per row, the time included
	From, To units.Time
	Words    []int64
	texts    []string // of columns without Texts
}

// Word returns the word for a text of a column without Texts: whoever writes it finds
// out while the run goes what there is.
func (r *Recorder) Word(text string) int64 {
	for i, t := range r.texts {
		if t == text {
			return int64(i)
		}
	}
	r.texts = append(r.texts, text)
	return int64(len(r.texts) - 1)
}

// Text returns what such a word stands for.
func (r *Recorder) Text(word int64) string { return r.texts[word] }

// Add writes a row. Rows outside of the recorder's span are ignored.
func (r *Recorder) Add(now units.Time, words ...int64) {
	if now < r.From || now >= r.To {
		return
	}
	if 1+len(words) != r.Width {
		panic("probe: a row does not fit its table")
	}
	r.Words = append(append(r.Words, int64(now)), words...)
}

// word is a bool as a word of a row.
func word(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// names lists the names of a type of n values.
func names[T ~uint8](n T, name func(T) string) []string {
	var list []string
	for i := range n {
		list = append(list, name(i))
	}
	return list
}
