package goal

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/yaml"
)

// small has two ranks. In binary its sections begin at 46 and 140: rank 0 has two operations,
// one root and one edge.
const small = "num_ranks 2\nrank 0 {\na: calc 5\nb: send 9b to 1 tag 3\nb requires a\n}\nrank 1 {\nrecv 9b from 0 tag 3\n}\n"

const (
	smallSection0 = 8 + 6 + 2*16
	smallNode0    = smallSection0 + 8 + 4
	smallNode1    = smallNode0 + nodeBytes
	smallEdge     = smallNode1 + nodeBytes
	smallSection1 = smallEdge + 4
	smallNode     = smallSection1 + 8 + 4
	smallSize     = smallNode + nodeBytes
)

// Every number of a binary file is checked. Errors name the file, the rank and the operation.
func TestBinaryErrors(t *testing.T) {
	good := asBinary(t, mustParse(t, small))
	if len(good) != smallSize {
		t.Fatalf("%d bytes, want %d", len(good), smallSize)
	}
	u8 := func(at int, v byte) func(b []byte) []byte { return func(b []byte) []byte { b[at] = v; return b } }
	u32 := func(at int, v uint32) func(b []byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	u64 := func(at int, v uint64) func(b []byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[at:], v); return b }
	}
	both := func(x, y func(b []byte) []byte) func(b []byte) []byte {
		return func(b []byte) []byte { return y(x(b)) }
	}
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		want   string
	}{
		{"cookie", u64(0, 4224), "not a GOAL schedule: cookie 4224 (expected text that begins with num_ranks, or the cookie 4223)"},
		{"invalidated", u64(0, 2342), "binary GOAL that was invalidated: cookie 2342 (expected 4223); fix: convert the text again, a simulation with --save-mem overwrote it"},
		{"short", func(b []byte) []byte { return b[:12] }, "truncated: 12 bytes (expected at least 14)"},
		{"no ranks", u32(8, 0), "0 ranks (expected 1 to 1048576)"},
		{"many ranks", u32(8, 1<<32-1), "4294967295 ranks (expected 1 to 1048576)"},
		{"more ranks", u32(8, 1000), "truncated: 191 bytes (expected at least 24014 for 1000 ranks)"},
		{"start", u64(14, 39), "rank 0: section begins at 39 (expected 38, the end of the one before)"},
		{"gap", u64(30, 148), "rank 1: section begins at 148 (expected 132, the end of the one before)"},
		{"end", u64(38, 1<<63), "rank 1: section ends at 9223372036854775808 (expected 140 to 183)"},
		{"negative size", u64(22, 40), "rank 0: section ends at 40 (expected 46 to 183)"},
		{"more bytes", func(b []byte) []byte { return append(b, 0) }, "1 bytes after the last rank (expected none)"},
		{"truncated", func(b []byte) []byte { return b[:150] }, "rank 1: section ends at 183 (expected 140 to 142)"},
		{"nodes", u32(smallSection0, 3), "rank 0: section has 94 bytes (expected 129 for 3 operations and 1 roots, and 4 for each dependency)"},
		{"many nodes", u32(smallSection0, 1<<32-1), "rank 0: 4294967295 operations (expected at most 2147483647)"},
		{"roots", u32(smallSection0+4, 3), "rank 0: 3 roots (expected at most one for each of 2 operations)"},
		{"type", u8(smallNode0+4, 4), "rank 0: operation 0: type 4 (allowed: 1 send, 2 recv, 3 calc)"},
		{"peer", u32(smallNode1+5, 2), "rank 0: operation 1: send to rank 2 (expected 0 to 1)"},
		{"any peer of a send", u32(smallNode1+5, Any), "rank 0: operation 1: send to rank 4294967295 (expected 0 to 1)"},
		{"source", u32(smallNode+5, 7), "rank 1: operation 0: recv from rank 7 (expected 0 to 1, or -1)"},
		{"cpu", u8(smallNode0+21, 1), "rank 0: operation 0: cpu 1 (expected 0 to 0, as in the header)"},
		{"nic", u8(smallNode0+22, 1), "rank 0: operation 0: nic 1 (expected 0 to 0, as in the header)"},
		{"root", u32(smallSection0+8, 1), "rank 0: operation 0: has no dependencies, but the next root is 1 (expected roots in ascending order)"},
		{"no root", u32(smallNode1, 0), "rank 0: operation 1: has no dependencies but is not listed as a root"},
		{"root with a dependency", u32(smallNode0, 1), "rank 0: 1 more roots than operations without dependencies"},
		{"number of edges", u32(smallNode0+23, 2), "rank 0: operation 0: 2 operations wait for it (expected at most 1, the rest of the section)"},
		{"hostile number of edges", u32(smallNode1+31, 1<<32-1), "rank 0: operation 1: 4294967295 operations wait for it (expected at most 0, the rest of the section)"},
		{"first edge", u32(smallNode0+27, 1), "rank 0: operation 0: list of waiting operations begins at 1 (expected 0, the end of the one before)"},
		{"edge of nobody", u32(smallNode0+23, 0), "rank 0: 1 dependencies that belong to no operation"},
		{"edge", u32(smallEdge, 2), "rank 0: operation 0: operation 2 waits for it (expected 0 to 1)"},
		{"dependencies", u32(smallNode1, 2), "rank 0: operation 1: has 2 dependencies (expected 1, which name it)"},
		{"other dependency", u32(smallEdge, 0), "rank 0: operation 0: has 0 dependencies (expected 1, which name it)"},
		{"any source", both(u32(smallNode+5, Any), u32(smallNode0+35, 999)), ""},
	} {
		f, err := parse(string(c.change([]byte(good))))
		for rank := 0; err == nil && rank < f.Ranks(); rank++ {
			_, err = f.Rank(rank)
		}
		var in *yaml.InputError
		switch {
		case c.want == "" && err == nil:
		case !errors.As(err, &in) || err.Error() != "job.goal: "+c.want:
			t.Errorf("%s: %v\nwant job.goal: %s", c.name, err, c.want)
		}
	}
}

func TestBinaryCycle(t *testing.T) {
	g := &Graph{Ops: []Op{{Kind: Calc}, {Kind: Calc, Deps: 2}, {Kind: Calc, Deps: 1}, {Kind: Calc, Deps: 1}},
		first: []uint32{0, 1, 2, 3, 4}, edges: []Edge{1, 2, 3 | atStart, 1}}
	f := mustParse(t, asBinary(t, list{g}))
	_, err := f.Rank(0)
	var cycle *CycleError
	if !errors.As(err, &cycle) || !strings.HasSuffix(err.Error(), "job.goal: rank 0: operation 1 waits for itself: operations 1 -> 2 -> 3 -> 1") {
		t.Error(err)
	}
}

// list is a schedule in memory.
type list []*Graph

func (l list) Ranks() int                    { return len(l) }
func (l list) Rank(rank int) (*Graph, error) { return l[rank], nil }

// A random graph is acyclic if and only if a search from every operation finds no way back.
func TestRandomGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cycles := 0
	for range 3000 {
		var b Builder
		n := 1 + r.IntN(8)
		for range n {
			b.Add(Op{Kind: Calc})
		}
		reach := make([][]bool, n)
		for k := range reach {
			reach[k] = make([]bool, n)
		}
		for range r.IntN(10) {
			from, to := r.IntN(n), r.IntN(n)
			if r.IntN(2) == 0 {
				b.Require(to, from)
			} else {
				b.IRequire(to, from)
			}
			reach[from][to] = true
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		want := false
		for k := range n {
			want = want || reach[k][k]
		}
		g, err := b.Graph()
		var cycle *CycleError
		if errors.As(err, &cycle) != want {
			t.Fatalf("cycle is %v, but the graph says %v", want, err)
		}
		if want {
			cycles++
			for i, k := range cycle.Ops {
				if !reach[k][cycle.Ops[(i+1)%len(cycle.Ops)]] {
					t.Fatalf("%v is not a cycle", cycle.Ops)
				}
			}
			continue
		}
		data := asBinary(t, list{g})
		if again := asBinary(t, mustParse(t, asText(t, mustParse(t, data)))); again != data {
			t.Fatal("binary, text, binary differs")
		}
	}
	if cycles < 500 || cycles > 2500 {
		t.Errorf("%d of 3000 graphs have a cycle", cycles)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("folder: %v", err)
	}
	path := filepath.Join(t.TempDir(), "job.bin")
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteBinary(out, mustParse(t, small)); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	if f.Memory() != 28*3+4 {
		t.Errorf("%d bytes", f.Memory())
	}
	if err := out.Truncate(100); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Rank(0); err == nil || !strings.Contains(err.Error(), "truncated while it was read (expected 191 bytes)") {
		t.Errorf("truncated: %v", err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, rank0, rank1 string
		want               string
	}{
		{"matched", "send 5b to 1 tag 3\nsend 6b to 1 tag 3", "recv 5b from 0 tag 3\nrecv 6b from 0 tag 3", ""},
		{"send", "send 5b to 1 tag 3\nsend 5b to 1 tag 3", "recv 5b from 0 tag 3", "rank 0, operation 1: send to rank 1 with tag 3 has no recv"},
		{"recv", "send 5b to 1", "calc 1\nrecv 5b from 0\nrecv 5b from 0\nrecv 5b from 0",
			"rank 1, operation 3: recv from rank 0 with tag 0: 2 have no send"},
		{"tags", "send 5b to 1 tag 1", "recv 5b from 0 tag 2",
			"rank 0, operation 0: send to rank 1 with tag 1 has no recv; rank 1, operation 0: recv from rank 0 with tag 2 has no send"},
		{"size", "send 5b to 1 tag 3", "recv 6b from 0 tag 3", "rank 0, operation 0: send to rank 1 with tag 3: size differs from its recv"},
		{"self", "send 5b to 0\nrecv 5b from 0", "", ""},
		{"any source", "send 5b to 1 tag 3", "recv 5b from -1 tag 3", ""},
		{"any tag", "send 5b to 1 tag 3", "recv 5b from 0 tag -1", ""},
		{"any tag of a send", "send 5b to 1 tag -1\nsend 5b to 1 tag -1", "recv 5b from 0 tag 2\nrecv 5b from 0 tag -1", ""},
		{"exact first", "send 5b to 1 tag 3\nsend 5b to 1 tag 4", "recv 5b from -1 tag -1\nrecv 5b from 0 tag 3", ""},
		{"too many any", "send 5b to 1 tag 3", "recv 5b from -1 tag -1\nrecv 5b from -1 tag -1",
			"rank 1, operation 1: recv from rank -1 with tag -1 has no send"},
	} {
		r, err := Check(mustParse(t, "num_ranks 2\nrank 0 {\n"+c.rank0+"\n}\nrank 1 {\n"+c.rank1+"\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range r.Mismatches {
			got = append(got, m.String())
		}
		if s := strings.Join(got, "; "); s != c.want || r.Partial {
			t.Errorf("%s: %s\nwant %s", c.name, s, c.want)
		}
	}
	r, err := Check(Ring{Size: 1 << 63, Compute: 10, NumRanks: 5, Rounds: 7})
	if err != nil || len(r.Mismatches) > 0 || r.Ops != [4]int64{0, 35, 35, 35} || r.MostOps != 21 || r.Edges != 5*(7+7+6) ||
		r.Bytes != 1<<64-1 || r.Compute != 350 {
		t.Errorf("ring: %+v, %v", r, err)
	}
}
