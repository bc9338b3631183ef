package goal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/xoff-net/xoff/internal/yaml"
)

// roundTrips reads a file. Errors are InputErrors; a file without errors becomes the same
// text and the same binary by every way.
func roundTrips(t *testing.T, data []byte) {
	f, err := New("f", bytes.NewReader(data), int64(len(data)))
	for rank := 0; err == nil && rank < f.Ranks(); rank++ {
		var g *Graph
		if g, err = f.Rank(rank); err == nil && len(g.Ops) != f.RankOps(rank) {
			t.Fatalf("rank %d has %d operations, the index says %d", rank, len(g.Ops), f.RankOps(rank))
		}
	}
	if err != nil {
		if in := (*yaml.InputError)(nil); !errors.As(err, &in) {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	if _, err := Check(f); err != nil {
		t.Fatal(err)
	}
	text := asText(t, f)
	binary := asBinary(t, mustParse(t, text))
	if again := asText(t, mustParse(t, binary)); again != text {
		t.Fatalf("text:\n%s\ntext, binary, text:\n%s", text, again)
	}
	if again := asBinary(t, mustParse(t, asText(t, mustParse(t, binary)))); again != binary {
		t.Fatal("binary, text, binary differs")
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(forms))
	f.Add([]byte(canonical))
	f.Add([]byte(small))
	f.Add([]byte("num_ranks 1 rank 0 {\na:calc 1\na requires a\n}"))
	f.Fuzz(roundTrips)
}

func FuzzBinary(f *testing.F) {
	for _, text := range []string{forms, small, "num_ranks 1 rank 0 {}"} {
		file, err := parse(text)
		if err != nil {
			f.Fatal(err)
		}
		var m memory
		if err := WriteBinary(&m, file); err != nil {
			f.Fatal(err)
		}
		f.Add(m.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 8 { // without the cookie the file is text
			copy(data, "\x7f\x10\x00\x00\x00\x00\x00\x00")
		}
		roundTrips(t, data)
	})
}
