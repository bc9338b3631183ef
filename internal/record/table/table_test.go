package table

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// row has every type of column, for parquet-go. It writes 0 as a missing value of maybe.
type row struct {
	N     int64    `parquet:"n,delta" column:"n"`
	Maybe int64    `parquet:"maybe,optional,delta" column:"maybe"`
	Word  string   `parquet:"word,dict" column:"word"`
	Said  *string  `parquet:"said,optional,dict"`
	Truth bool     `parquet:"truth" column:"truth"`
	Real  float64  `parquet:"real" column:"real"`
	Share *float64 `parquet:"share,optional"`
}

func columns() []Column {
	return []Column{
		{Name: "n"}, {Name: "maybe", Nullable: true}, {Name: "word", Type: Text}, {Name: "said", Type: Text, Nullable: true},
		{Name: "truth", Type: Bool}, {Name: "real", Type: Float}, {Name: "share", Type: Float, Nullable: true},
	}
}

// words returns the words of a row, and adds its texts to columns.
func (r *row) words(list []Column) []int64 {
	w := []int64{r.N, Null, list[2].Word(r.Word), Null, 0, int64(math.Float64bits(r.Real)), Null}
	if r.Maybe != 0 {
		w[1] = r.Maybe
	}
	if r.Said != nil {
		w[3] = list[3].Word(*r.Said)
	}
	if r.Truth {
		w[4] = 1
	}
	if r.Share != nil {
		w[6] = int64(math.Float64bits(*r.Share))
	}
	return w
}

// draw returns rows of random values, with runs and extremes.
func draw(r *rand.Rand, n int) []row {
	list := make([]row, n)
	last := row{N: r.Int64()}
	for i := range list {
		if r.IntN(4) > 0 {
			last.N += r.Int64N(1000) - 300
			last.Word = fmt.Sprint("w", r.IntN(1+r.IntN(400)))
			last.Maybe, last.Said, last.Share = 0, nil, nil
			if r.IntN(2) == 0 {
				last.Maybe = []int64{1, math.MaxInt64, math.MinInt64 + 1, r.Int64()}[r.IntN(4)]
			}
			if r.IntN(3) == 0 {
				last.Said = &[]string{"", "é\x00", "long text of several words"}[r.IntN(3)]
			}
			if r.IntN(3) == 0 {
				last.Share = &[]float64{0, math.Inf(1), 0.1}[r.IntN(3)]
			}
			last.Truth, last.Real = r.IntN(2) == 0, r.NormFloat64()
		}
		list[i] = last
	}
	return list
}

// write writes rows in groups of a size.
func write(t testing.TB, list []row, group int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf, "a test", columns())
	for part := range slices.Chunk(list, group) {
		words := make([][]int64, len(w.Columns))
		for i := range part {
			for k, v := range part[i].words(w.Columns) {
				words[k] = append(words[k], v)
			}
		}
		if err := w.Group(words); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// read reads the rows of a file with these bytes.
func read(data []byte) ([]row, error) {
	f := &File{r: bytes.NewReader(data), size: int64(len(data))}
	if err := f.describe(); err != nil {
		return nil, err
	}
	list, err := Rows[row](f)
	if err != nil {
		return nil, err
	}
	for name, use := range map[string]func(i int, w int64){
		"said":  func(i int, w int64) { list[i].Said = &f.Columns[3].Texts[w] },
		"share": func(i int, w int64) { x := math.Float64frombits(uint64(w)); list[i].Share = &x },
	} {
		i := 0
		if err := f.Each(f.Find(name), func(words []int64) {
			for _, w := range words {
				if w != Null {
					use(i, w)
				}
				i++
			}
		}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func equal(t *testing.T, name string, got, want []row) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", name, len(got), len(want))
	}
	text := func(r row) string {
		s := fmt.Sprintf("%d %d %q %t %v", r.N, r.Maybe, r.Word, r.Truth, r.Real)
		if r.Said != nil {
			s += fmt.Sprintf(" said %q", *r.Said)
		}
		if r.Share != nil {
			s += fmt.Sprint(" share ", *r.Share)
		}
		return s
	}
	for i := range got {
		if a, b := text(got[i]), text(want[i]); a != b {
			t.Fatalf("%s: row %d is %s, want %s", name, i, a, b)
		}
	}
}

// parquet-go reads what this package writes, and this package reads what parquet-go writes with
// the settings of earlier versions of xoff.
func TestAgreesWithParquetGo(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(51, seed))
		want := draw(r, []int{0, 1, 2, 7, 8, 9, r.IntN(3000)}[r.IntN(7)])
		data := write(t, want, 1+r.IntN(1500))
		theirs, err := parquet.Read[row](bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "parquet-go reads xoff", theirs, want)
		ours, err := read(data)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "xoff reads xoff", ours, want)
		for _, version := range []int{1, 2} {
			var buf bytes.Buffer
			w := parquet.NewGenericWriter[row](&buf, parquet.DataPageVersion(version))
			for part := range slices.Chunk(want, 1+r.IntN(1000)) {
				if _, err := w.Write(part); err != nil {
					t.Fatal(err)
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if ours, err = read(buf.Bytes()); err != nil {
				t.Fatal(err)
			}
			equal(t, fmt.Sprintf("xoff reads pages of version %d", version), ours, want)
		}
	}
}

// Unsigned numbers are read as such by parquet-go.
func TestUnsigned(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf, "a test", []Column{{Name: "seed", Unsigned: true}})
	large := uint64(1<<64 - 1)
	if err := errors.Join(w.Group([][]int64{{int64(large), 5}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[struct {
		Seed uint64 `parquet:"seed"`
	}](bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil || len(rows) != 2 || rows[0].Seed != large || rows[1].Seed != 5 {
		t.Errorf("%v, %v", rows, err)
	}
}

// A damaged file gives an error or other rows, but no panic.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 0))
	whole := write(t, draw(r, 300), 100)
	failed := 0
	for range 2000 {
		data := slices.Clone(whole)
		switch r.IntN(4) {
		case 0:
			data = data[:r.IntN(len(data))]
		case 1:
			data = slices.Delete(data, len(data)/2, len(data)/2+1+r.IntN(9))
		default:
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		if _, err := read(data); err != nil {
			failed++
		}
	}
	if failed < 1000 {
		t.Errorf("%d of 2000 damaged files give an error", failed)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(write(f, draw(rand.New(rand.NewPCG(1, 2)), 20), 9))
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = read(data) })
}
