//go:build deep

package goal

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A schedule of 10^7 operations is loaded with all ranks at once, from binary and from text,
// in at most 40 bytes per operation.
func TestDeepTenMillion(t *testing.T) {
	ring := Ring{Size: 1 << 20, Compute: 1000, NumRanks: 1024, Rounds: 3256}
	for name, write := range map[string]func(*os.File) error{
		"binary": func(w *os.File) error { return WriteBinary(w, ring) },
		"text":   func(w *os.File) error { return WriteText(io.Writer(w), ring) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			w, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := write(w); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			before := heap()
			f := open(t, path)
			graphs := make([]*Graph, f.Ranks())
			for rank := range graphs {
				if graphs[rank], err = f.Rank(rank); err != nil {
					t.Fatal(err)
				}
			}
			took := heap() - before
			runtime.KeepAlive(graphs)
			perOp := float64(took) / float64(f.Ops)
			t.Logf("%d operations and %d edges in a file of %d bytes: %d bytes, %.1f per operation", f.Ops, f.Edges, f.size, took, perOp)
			if f.Ops < 10_000_000 || perOp > 40 {
				t.Errorf("%d operations take %.1f bytes each (expected at most 40)", f.Ops, perOp)
			}
			if r, err := Check(f); err != nil || len(r.Mismatches) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// dense is a text of one rank with the shortest operations, in no memory.
type dense int64

const (
	denseHead = "num_ranks 1\nrank 0{\n"
	denseLine = "calc 1\n"
)

func (d dense) size() int64 { return int64(len(denseHead)) + int64(d)*int64(len(denseLine)) + 1 }

func (d dense) ReadAt(b []byte, at int64) (int, error) {
	for i := range b {
		switch j := at + int64(i); {
		case j >= d.size():
			return i, io.EOF
		case j == d.size()-1:
			b[i] = '}'
		case j < int64(len(denseHead)):
			b[i] = denseHead[j]
		default:
			b[i] = denseLine[(j-int64(len(denseHead)))%int64(len(denseLine))]
		}
	}
	return len(b), nil
}

// A text whose graph would take more than twice the file and 256 MiB is rejected before
// memory is allocated.
func TestDeepDense(t *testing.T) {
	d := dense(11_000_000)
	before := heap()
	f, err := New("dense", d, d.size())
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Rank(0)
	if err == nil || !strings.Contains(err.Error(), "rank 0: 11000000 operations need 440000000 bytes of memory (expected at most 422435498") {
		t.Errorf("%v", err)
	}
	if took := heap() - before; took > 10<<20 {
		t.Errorf("%d bytes", took)
	}
}
