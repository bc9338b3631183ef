package probe

import (
	"math"

	"github.com/xoff-net/xoff/base/units"
)

// Type is how the words of a column are encoded.
type Type uint8

// Types of columns.
const (
	Int  Type = iota
	Text      // an index into Column.Texts
	Bool
	Float // the bits of a float64
)

// Null is the word for a missing value.
const Null = math.MinInt64

// Column describes one column of a table.
type Column struct {
	Name     string
	Type     Type
	Texts    []string // Text: the values, indexed by word; nil: see Recorder.Word
	Nullable bool     // may be Null
	Doc      string   // one line
}

// Recorder keeps the rows that a probe writes at one node until they are merged with the
// rows of other nodes. A row is its time and one word per further column.
type Recorder struct {
	Width    int // words per row, including the time
	From, To units.Time
	Words    []int64
	texts    []string // values of columns without Texts
}

// Word returns the word for a value of a column without Texts, whose values become known
// only during the run.
func (r *Recorder) Word(text string) int64 {
	for i, t := range r.texts {
		if t == text {
			return int64(i)
		}
	}
	r.texts = append(r.texts, text)
	return int64(len(r.texts) - 1)
}

// Text returns the value of a word that Word returned.
func (r *Recorder) Text(word int64) string { return r.texts[word] }

// Add appends a row. It ignores rows outside the recorder's time span.
func (r *Recorder) Add(now units.Time, words ...int64) {
	if now < r.From || now >= r.To {
		return
	}
	if 1+len(words) != r.Width {
		panic("probe: wrong number of words in a row")
	}
	r.Words = append(append(r.Words, int64(now)), words...)
}

// word encodes a bool.
func word(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// names returns the names of the first n values of a type.
func names[T ~uint8](n T, name func(T) string) []string {
	var list []string
	for i := range n {
		list = append(list, name(i))
	}
	return list
}
