package goal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/yaml"
)

// memory is a file in memory that can be written and sought.
type memory struct {
	data []byte
	at   int
}

func (m *memory) Write(b []byte) (int, error) {
	if n := m.at + len(b) - len(m.data); n > 0 {
		m.data = append(m.data, make([]byte, n)...)
	}
	copy(m.data[m.at:], b)
	m.at += len(b)
	return len(b), nil
}

func (m *memory) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekCurrent {
		offset += int64(m.at)
	}
	m.at = int(offset)
	return offset, nil
}

func parse(data string) (*File, error) {
	return New("job.goal", strings.NewReader(data), int64(len(data)))
}

func mustParse(t *testing.T, data string) *File {
	t.Helper()
	f, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func asText(t *testing.T, s Source) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteText(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func asBinary(t *testing.T, s Source) string {
	t.Helper()
	var m memory
	if err := WriteBinary(&m, s); err != nil {
		t.Fatal(err)
	}
	if m.at != len(m.data) {
		t.Errorf("position %d after writing %d bytes", m.at, len(m.data))
	}
	return string(m.data)
}

// forms has every form of the grammar.
const forms = "num_ranks 3 // ranks\r\n" + `
/* comment
   calc 7 // */ rank 0 { calc 3
first: send 4096b to 1 tag 7 cpu 1 nic 2
	s2 : send 8 b to 2
c:calc	1000 cpu 3 // comment
s2 irequires first
c requires s2 /* another
*/ c requires first
}
rank 1 {
r: recv 4096b from 0 tag 7
any: recv 8b from -1 tag -1 nic 1
any requires r
any irequires r
loop: send 18446744073709551615b to1tag4294967294cpu255nic255
back: recv 0bfrom1tag-1
back requires any
} rank 2 {}`

func TestForms(t *testing.T) {
	f := mustParse(t, forms)
	if f.Ranks() != 3 || f.CPUs != 256 || f.NICs != 256 || f.Ops != 8 || f.Edges != 6 || f.Binary {
		t.Errorf("%d ranks, %d cpus, %d nics, %d operations, %d edges", f.Ranks(), f.CPUs, f.NICs, f.Ops, f.Edges)
	}
	want := [][]Op{{
		{Kind: Calc, Size: 3},
		{Kind: Send, Size: 4096, Peer: 1, Tag: 7, CPU: 1, NIC: 2},
		{Kind: Send, Size: 8, Peer: 2, Deps: 1},
		{Kind: Calc, Size: 1000, CPU: 3, Deps: 2},
	}, {
		{Kind: Recv, Size: 4096, Tag: 7},
		{Kind: Recv, Size: 8, Peer: Any, Tag: Any, NIC: 1, Deps: 2},
		{Kind: Send, Size: 1<<64 - 1, Peer: 1, Tag: Any - 1, CPU: 255, NIC: 255},
		{Kind: Recv, Peer: 1, Tag: Any, Deps: 1},
	}, {}}
	edges := [][][]Edge{{{}, {3, 2 | atStart}, {3}, {}}, {{1, 1 | atStart}, {3}, {}, {}}, {}}
	for rank := range 3 {
		g, err := f.Rank(rank)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(g.Ops, want[rank]) {
			t.Errorf("rank %d: %+v", rank, g.Ops)
		}
		for k := range g.Ops {
			if !slices.Equal(g.Edges(k), edges[rank][k]) {
				t.Errorf("rank %d: edges of operation %d: %v", rank, k, g.Edges(k))
			}
		}
	}
}

// canonical is what WriteText writes for forms.
const canonical = `num_ranks 3

rank 0 {
l0: calc 3
l1: send 4096b to 1 tag 7 cpu 1 nic 2
l2: send 8b to 2 tag 0
l3: calc 1000 cpu 3
l3 requires l1
l2 irequires l1
l3 requires l2
}

rank 1 {
l0: recv 4096b from 0 tag 7
l1: recv 8b from -1 tag -1 nic 1
l2: send 18446744073709551615b to 1 tag 4294967294 cpu 255 nic 255
l3: recv 0b from 1 tag -1
l1 requires l0
l1 irequires l0
l3 requires l1
}

rank 2 {
}
`

func TestRoundTrips(t *testing.T) {
	text := asText(t, mustParse(t, forms))
	if text != canonical {
		t.Errorf("text:\n%s", text)
	}
	data := asBinary(t, mustParse(t, forms))
	if n := 8 + 6 + 3*16 + 3*8 + 4*(2+2) + 39*8 + 4*6; len(data) != n {
		t.Errorf("binary has %d bytes, want %d", len(data), n)
	}
	if f := mustParse(t, data); !f.Binary || f.CPUs != 256 || f.NICs != 256 || f.Ops != 8 || f.Edges != 6 || f.RankOps(1) != 4 {
		t.Errorf("binary: %+v", f)
	}
	if again := asText(t, mustParse(t, data)); again != text {
		t.Errorf("text, binary, text:\n%s", again)
	}
	if again := asBinary(t, mustParse(t, text)); again != data {
		t.Error("binary, text, binary differs")
	}
	ring := Ring{Size: 100, Compute: 5, NumRanks: 4, Rounds: 50}
	data = asBinary(t, ring)
	if again := asBinary(t, mustParse(t, asText(t, mustParse(t, data)))); again != data {
		t.Error("ring: binary, text, binary differs")
	}
}

// Errors name the file, the line of a text, the rank, and what is expected.
func TestTextErrors(t *testing.T) {
	rank := func(s string) string { return "num_ranks 2\nrank 0 {\n" + s + "\n}\nrank 1 {\n}\n" }
	for _, c := range []struct{ text, want string }{
		{"", `job.goal: the file ends early (expected num_ranks)`},
		{"ranks 3", `job.goal:1:1: found "ranks" (expected num_ranks)`},
		{"num_ranks 0", `job.goal:1:12: 0 ranks (expected 1 to 1048576)`},
		{"num_ranks 9999999", `job.goal:1:11: found "9999999" (expected number of ranks of at most 1048576)`},
		{"num_ranks 1 num_ranks 1", `job.goal:1:13: num_ranks is given twice`},
		{"rank 0 {\n}", `job.goal:1:5: rank before num_ranks (expected num_ranks first)`},
		{"num_ranks 2\ncalc 5\n", `job.goal:2:1: found "calc" (expected rank)`},
		{"num_ranks 2\n}\n", `job.goal:2:1: found "}" (expected rank)`},
		{"num_ranks 2\nrank 0\n{\n}\n", `job.goal:2:7: the line ends early (expected {)`},
		{"num_ranks 2\nrank 1 {\n}\n", `job.goal:2:9: block of rank 1 (expected rank 0: blocks are in ascending order)`},
		{"num_ranks 2\nrank 2 {\n}\n", `job.goal:2:6: found "2" (expected rank of at most 1)`},
		{"num_ranks 2\nrank 0 {\n}\n", `job.goal:3:3: the file ends early (expected a block of rank 1: num_ranks is 2)`},
		{"num_ranks 2\nrank 0 {\n", `job.goal:2:10: rank 0: the file ends early (expected })`},
		{"num_ranks 2\n/* rank 0 {\n", `job.goal:2:13: comment without an end (expected */)`},
		{rank("rank 1 {"), `job.goal:3:1: rank 0: found "rank" (expected a label, send, recv, calc or })`},
		{rank("7: calc 1"), `job.goal:3:1: rank 0: found "7:" (expected a label, send, recv, calc or })`},
		{rank("l1 calc 1"), `job.goal:3:4: rank 0: found "calc" (expected :, requires or irequires)`},
		{rank("l1: wait 1"), `job.goal:3:5: rank 0: found "wait" (expected send, recv or calc)`},
		{rank("send 5 to 1"), `job.goal:3:8: rank 0: found "to" (expected b)`},
		{rank("send 5b from 1"), `job.goal:3:9: rank 0: found "from" (expected to)`},
		{rank("send 5b to -1"), `job.goal:3:12: rank 0: found "-1" (expected rank, a whole number)`},
		{rank("send 5b to 2"), `job.goal:3:12: rank 0: found "2" (expected rank of at most 1)`},
		{rank("send 5b to 1 tag 4294967295"), `job.goal:3:18: rank 0: found "4294967295" (expected tag of at most 4294967294)`},
		{rank("send 5b to 1 nic 1 tag 5"), `job.goal:3:20: rank 0: found "tag" (expected the end of the line, or one of tag, cpu and nic in this order)`},
		{rank("calc 18446744073709551616"), `job.goal:3:6: rank 0: found "18446744073709551616" (expected duration in ns of at most 18446744073709551615)`},
		{rank("calc 5 cpu 256"), `job.goal:3:12: rank 0: found "256" (expected cpu of at most 255)`},
		{rank("calc 5 }"), `job.goal:3:8: rank 0: found "}" (expected the end of the line, or one of tag, cpu and nic in this order)`},
		{rank("a: calc 5\na requires"), `job.goal:4:11: rank 0: the line ends early (expected a label)`},
		{rank("a: calc 5\na requires b"), `job.goal:4:1: rank 0: label "b" is unknown (expected a label of an earlier line)`},
		{rank("b requires a\na: calc 5\nb: calc 5"), `job.goal:3:1: rank 0: label "b" is unknown (expected a label of an earlier line)`},
		{rank("a: calc 5\na: calc 5"), `job.goal:4:1: rank 0: label "a" is defined twice (first for operation 0)`},
		{rank("a: calc 5\na requires a"), `job.goal:2:9: rank 0: operation 0 waits for itself: operations 0 -> 0`},
		{rank("a: calc 5\nb: calc 5\nc: calc 5\nc requires b\nb irequires c\nb requires a"),
			`job.goal:2:9: rank 0: operation 1 waits for itself: operations 1 -> 2 -> 1`},
		{rank("//" + strings.Repeat("x", maxLine)), `job.goal:3:1: rank 0: line is longer than 1048576 bytes`},
	} {
		f, err := parse(c.text)
		if err == nil {
			_, err = f.Rank(0)
		}
		var in *yaml.InputError
		if !errors.As(err, &in) || err.Error() != c.want {
			t.Errorf("%.60q: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// sample returns a file of the folder with samples of other programs, which is beside the
// repository and not part of it.
func sample(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "shared", "ai", "samples", "goal", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no samples of other programs: %v", err)
	}
	return path
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// The sample was converted to binary by the format's own tool.
func TestSample(t *testing.T) {
	text, data := open(t, sample(t, "own-mini.goal")), open(t, sample(t, "own-mini.bin"))
	want, err := os.ReadFile(data.Name())
	if err != nil {
		t.Fatal(err)
	}
	if asBinary(t, text) != string(want) || asBinary(t, data) != string(want) {
		t.Error("binary differs from the sample")
	}
	if asText(t, text) != asText(t, data) {
		t.Error("the text of both samples differs")
	}
	r, err := Check(data)
	if err != nil || len(r.Mismatches) > 0 || r.Ops != [4]int64{0, 3, 3, 3} || r.Wildcards != 1 || r.Bytes != 104104 || r.Compute != 1255 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestSamplesCheck(t *testing.T) {
	for name, want := range map[string]int{"htsim-pingpong-16.goal": 0, "htsim-comp-16.goal": 0} {
		f := open(t, sample(t, name))
		r, err := Check(f)
		if err != nil || len(r.Mismatches) != want || f.Ranks() != 16 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// Ranks that wait for each other through messages are found; a recv that is posted does not
// hold what waits only for its start.
func TestFindCycle(t *testing.T) {
	exchange := func(wait string) string {
		return "num_ranks 3\nrank 0 {\ncalc 1\na: recv 5b from 1 tag 2\nb: send 5b to 1 tag 2\nb " + wait + " a\n}\n" +
			"rank 1 {\na: recv 5b from 0 tag 2\nb: send 5b to 0 tag 2\nb requires a\n}\nrank 2 {\n}\n"
	}
	for _, c := range []struct {
		text, want string
		searched   bool
	}{
		{exchange("requires"), "rank 0, operation 1: recv from rank 1 with tag 2 never completes: it waits for a message that waits for it, through other ranks", true},
		{exchange("irequires"), "", true},
		{"num_ranks 2\nrank 0 {\na: send 5b to 1\nb: recv 5b from 1\nb requires a\n}\nrank 1 {\na: send 5b to 0\nb: recv 5b from 0\nb requires a\n}\n", "", true},
		{"num_ranks 1\nrank 0 {\na: recv 5b from 0\nb: send 5b to 0\nb requires a\n}\n", "rank 0, operation 0: recv from rank 0 with tag 0 never completes: it waits for a message that waits for it, through other ranks", true},
		{"num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 5b from -1\n}\n", "", false},
		{"num_ranks 2\nrank 0 {\nsend 5b to 1 tag -1\n}\nrank 1 {\nrecv 5b from 0 tag 1\n}\n", "", false},
	} {
		f := mustParse(t, c.text)
		r, err := Check(f)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		searched, cycle, err := FindCycle(f, r)
		if cycle != nil {
			got = cycle.Error()
		}
		if err != nil || searched != c.searched || got != c.want {
			t.Errorf("%q: %q, searched %t, %v (expected %q, %t)", c.text, got, searched, err, c.want, c.searched)
		}
	}
	r, err := Check(mustParse(t, "num_ranks 2\nrank 0 {\nsend 5b to 1\nsend 2001b to 1\nsend 0b to 1\n}\nrank 1 {\nrecv 5b from 0\ncalc 7\nrecv 2001b from 0\nrecv 0b from 0\n}\n"))
	if err != nil || r.Frames != 1+3+1 || r.LargestSend != (Place{2001, 0, 1}) || r.LongestCalc != (Place{7, 1, 1}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// As many messages match as can: no matching leaves fewer sends, also where a
// recv with any source and one with any tag compete for sends.
func TestWildcardsMatchMost(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var sends [2][]Op
		var recvs []Op
		for range 1 + rnd.IntN(7) {
			from := rnd.IntN(2)
			sends[from] = append(sends[from], Op{Kind: Send, Size: 5, Peer: 2, Tag: uint32(rnd.IntN(3))})
			r := Op{Kind: Recv, Size: 5, Peer: uint32(rnd.IntN(2)), Tag: uint32(rnd.IntN(3))}
			if rnd.IntN(2) == 0 {
				r.Peer = Any
			}
			if rnd.IntN(2) == 0 {
				r.Tag = Any
			}
			recvs = append(recvs, r)
		}
		var text strings.Builder
		text.WriteString("num_ranks 3\n")
		for rank, ops := range [][]Op{sends[0], sends[1], recvs} {
			fmt.Fprintf(&text, "rank %d {\n", rank)
			for _, op := range ops {
				if op.Kind == Send {
					fmt.Fprintf(&text, "send 5b to 2 tag %d\n", op.Tag)
				} else {
					fmt.Fprintf(&text, "recv 5b from %s tag %s\n", number(op.Peer), number(op.Tag))
				}
			}
			text.WriteString("}\n")
		}
		// Augmenting paths, message by message.
		owner := make([]int, len(recvs))
		var all []key
		for from, list := range sends {
			for _, s := range list {
				all = append(all, key{uint32(from), 2, s.Tag})
			}
		}
		var give func(s int, seen []bool) bool
		give = func(s int, seen []bool) bool {
			for i, r := range recvs {
				if seen[i] || r.Peer != Any && r.Peer != all[s].from || r.Tag != Any && r.Tag != all[s].tag {
					continue
				}
				seen[i] = true
				if owner[i] == 0 || give(owner[i]-1, seen) {
					owner[i] = s + 1
					return true
				}
			}
			return false
		}
		want := 0 // sends without a recv
		for s := range all {
			if !give(s, make([]bool, len(recvs))) {
				want++
			}
		}
		r, err := Check(mustParse(t, text.String()))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, m := range r.Mismatches {
			if m.Kind == Send {
				got += int(m.Count)
			}
		}
		if got != want {
			t.Fatalf("%s%d sends without a recv (expected %d): %v", text.String(), got, want, r.Mismatches)
		}
	}
}
