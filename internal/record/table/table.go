// Package table writes and reads the tables of results: Parquet files that DuckDB, pandas and
// others read.
//
// A table has a flat list of columns. A value is a word: a whole number, the bits of a floating
// point number, 0 or 1, or the index of a text. A row group has one page of values per column, and
// a page of texts before it where they are needed. Whole numbers are stored as differences, texts
// as indices. Nothing is compressed: compressors choose their code by CPU, and the bytes of a
// result must not depend on it.
//
// Encodings and the description of a file come from parquet-go. Its main package is left out: its
// codecs and schemas take a fifth of the time of building xoff.
package table

import (
	"math"
	"slices"
)

// Null is the word for a missing value.
const Null = math.MinInt64

// Type is the type of a column's values.
type Type uint8

// Types.
const (
	Int Type = iota
	Float
	Bool
	Text
)

// Column describes a column.
type Column struct {
	Name     string
	Type     Type
	Unsigned bool     // Int: the words are unsigned
	Nullable bool     // words may be Null
	Texts    []string // Text: the values, indexed by word
}

// Word returns the word for a text, which it appends to the texts of the column if it is new.
func (c *Column) Word(text string) int64 {
	i := slices.Index(c.Texts, text)
	if i < 0 {
		i = len(c.Texts)
		c.Texts = append(c.Texts, text)
	}
	return int64(i)
}

const magic = "PAR1"
