package goal

import (
	"bufio"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"math/bits"

	"github.com/xoff-net/xoff/internal/yaml"
)

func (f *File) parser(from, to int64) *parser {
	size := int(min(maxLine, max(16, to-from+1)))
	return &parser{name: f.name, in: bufio.NewReaderSize(io.NewSectionReader(f.data, from, to-from), size), rank: -1}
}

// indexText checks the syntax of a text file and finds the block of each rank.
func (f *File) indexText() error {
	p := f.parser(0, f.size)
	var cur section
	err := p.parse(events{
		open: func(offset int64) error {
			if p.rank != len(f.index) {
				rank := p.rank
				p.rank = -1
				return p.errorf("block of rank %d (expected rank %d: blocks are in ascending order)", rank, len(f.index))
			}
			cur = section{offset: offset, line: p.line, column: p.column + p.i}
			return nil
		},
		statement: func(s *statement) error {
			if s.on != nil {
				if cur.edges == maxEdges {
					return p.errorf("too many dependencies (expected at most %d)", uint32(maxEdges))
				}
				cur.edges++
				return nil
			}
			if cur.ops == MaxOps {
				return p.errorf("too many operations (expected at most %d)", MaxOps)
			}
			cur.ops++
			if s.label != nil {
				cur.labels++
				cur.labelBytes += int64(len(s.label))
			}
			f.CPUs, f.NICs = max(f.CPUs, int(s.op.CPU)+1), max(f.NICs, int(s.op.NIC)+1)
			return nil
		},
		close: func(offset int64) error {
			cur.size = offset - cur.offset
			f.index = append(f.index, cur)
			return nil
		},
	})
	f.CPUs, f.NICs = max(f.CPUs, 1), max(f.NICs, 1)
	switch {
	case err != nil:
		return err
	case p.ranks == 0:
		return p.errorf("the file ends early (expected num_ranks)")
	case p.rank >= 0:
		return p.errorf("the file ends early (expected })")
	case len(f.index) < int(p.ranks):
		return p.errorf("the file ends early (expected a block of rank %d: num_ranks is %d)", len(f.index), p.ranks)
	}
	return nil
}

// rankText reads the block of a rank and resolves its labels.
func (f *File) rankText(rank int) (*Graph, error) {
	s := f.index[rank]
	// Memory for the graph, for building it and for the search for cycles.
	need := int64(s.ops)*(28+12) + int64(s.edges)*(4+8) + s.labelBytes + int64(s.labels)*(labelCost+1)
	if limit := 2*f.size + spare; need > limit {
		return nil, f.rankErrorf(rank, "%d operations need %d bytes of memory (expected at most %d, twice the file and 256 MiB); "+
			"fix: convert the file to binary", s.ops, need, limit)
	}
	var b Builder
	b.Grow(int(s.ops), int(s.edges))
	labels := newLabels(int(s.labels), s.labelBytes)
	p := f.parser(s.offset, s.offset+s.size)
	p.ranks, p.rank = int64(len(f.index)), rank
	p.line, p.column = s.line-1, s.column
	if err := p.next(); err == nil {
		p.column = s.column // the block begins in the middle of a line
	} else if err != io.EOF {
		return nil, err
	}
	err := p.parse(events{statement: func(s *statement) error {
		if s.on == nil {
			k := b.Add(s.op)
			if s.label != nil {
				if old, ok := labels.add(s.label, k); !ok {
					p.i = 0
					return p.errorf("label %q is defined twice (first for operation %d)", s.label, old)
				}
			}
			return nil
		}
		k, ok := labels.find(s.label)
		on, known := labels.find(s.on)
		switch {
		case !ok:
			p.i = 0
			return p.errorf("label %q is unknown (expected a label of an earlier line)", s.label)
		case !known:
			p.i = 0
			return p.errorf("label %q is unknown (expected a label of an earlier line)", s.on)
		case s.atStart:
			b.IRequire(k, on)
		default:
			b.Require(k, on)
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	if len(b.ops) != int(s.ops) || len(b.pairs) != int(s.edges) {
		return nil, f.rankErrorf(rank, "the file changed while it was read")
	}
	g, err := b.Graph()
	if err != nil {
		return nil, &yaml.InputError{File: f.name, Line: s.line, Column: s.column, Err: fmt.Errorf("rank %d: %w", rank, err)}
	}
	return g, nil
}

// labels maps the labels of a rank to operations. It stores the text of labels once and
// takes labelCost more bytes per label. Its capacity is fixed.
type labels struct {
	seed  maphash.Seed
	slots []uint32 // index of a label + 1, by hash with linear probing
	text  []byte
	ends  []uint32 // end of each label in text
	ops   []uint32
}

const labelCost = 4*4/3 + 4 + 4

func newLabels(n int, bytes int64) *labels {
	if n == 0 {
		return &labels{}
	}
	return &labels{maphash.MakeSeed(), make([]uint32, n+n/3+1), make([]byte, 0, bytes), make([]uint32, 0, n), make([]uint32, 0, n)}
}

// slot returns the slot of a label, or the free slot where it belongs.
func (l *labels) slot(label []byte) int {
	h, _ := bits.Mul64(maphash.Bytes(l.seed, label), uint64(len(l.slots)))
	for i := int(h); ; {
		if k := l.slots[i]; k == 0 || string(l.label(int(k)-1)) == string(label) {
			return i
		}
		if i++; i == len(l.slots) {
			i = 0
		}
	}
}

func (l *labels) label(k int) []byte {
	from := uint32(0)
	if k > 0 {
		from = l.ends[k-1]
	}
	return l.text[from:l.ends[k]]
}

func (l *labels) find(label []byte) (op int, ok bool) {
	if len(l.slots) == 0 {
		return 0, false
	}
	k := l.slots[l.slot(label)]
	if k == 0 {
		return 0, false
	}
	return int(l.ops[k-1]), true
}

// add adds a label. If the label exists, add returns its operation and false.
func (l *labels) add(label []byte, op int) (int, bool) {
	if len(l.ops) == cap(l.ops) || len(l.text)+len(label) > math.MaxUint32 {
		return 0, false
	}
	i := l.slot(label)
	if k := l.slots[i]; k != 0 {
		return int(l.ops[k-1]), false
	}
	l.text = append(l.text, label...)
	l.ends, l.ops = append(l.ends, uint32(len(l.text))), append(l.ops, uint32(op))
	l.slots[i] = uint32(len(l.ops))
	return op, true
}
