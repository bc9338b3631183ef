package goal

import (
	"bufio"
	"encoding/binary"
	"io"
)

// A binary file has the cookie (8 bytes), then what its authors call the mapping: number of
// ranks, largest cpu and nic, a table with start and end of each rank's section, and the
// sections. Offsets count from the end of the cookie. All numbers are little endian.
const (
	cookie        = 4223
	cookieInvalid = 2342 // left by a simulator that wrote its state into the file
	cookieBytes   = 8
	headerBytes   = 4 + 1 + 1
	tableBytes    = 8 + 8        // of one rank
	sectionBytes  = 4 + 4        // number of nodes, number of roots
	nodeBytes     = 39           // of one operation
	wordBytes     = 4            // of a root, and of an edge
	bufferBytes   = 1 << 16      // of each reader
	minSection    = sectionBytes // of a rank without operations
	minFile       = cookieBytes + headerBytes
)

// indexBinary reads the header and the table of ranks.
func (f *File) indexBinary(start uint64) error {
	switch {
	case start == cookieInvalid:
		return f.errorf("binary GOAL that was invalidated: cookie %d (expected %d); "+
			"fix: convert the text again, a simulation with --save-mem overwrote it", start, cookie)
	case start != cookie:
		return f.errorf("not a GOAL schedule: cookie %d (expected text that begins with num_ranks, or the cookie %d)", start, cookie)
	case f.size < minFile:
		return f.errorf("truncated: %d bytes (expected at least %d)", f.size, minFile)
	}
	r := f.reader(cookieBytes, f.size)
	var b [tableBytes]byte
	if _, err := io.ReadFull(r, b[:headerBytes]); err != nil {
		return f.readError(err)
	}
	ranks := int64(binary.LittleEndian.Uint32(b[:]))
	f.CPUs, f.NICs = int(b[4])+1, int(b[5])+1
	first := headerBytes + tableBytes*ranks // start of the first section
	switch {
	case ranks < 1 || ranks > MaxRanks:
		return f.errorf("%d ranks (expected 1 to %d)", ranks, MaxRanks)
	case cookieBytes+first+minSection*ranks > f.size:
		return f.errorf("truncated: %d bytes (expected at least %d for %d ranks)", f.size, cookieBytes+first+minSection*ranks, ranks)
	}
	f.index = make([]section, ranks)
	begin := uint64(first)
	for rank := range f.index {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return f.readError(err)
		}
		from, to := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
		switch {
		case from != begin:
			return f.rankErrorf(rank, "section begins at %d (expected %d, the end of the one before)", from, begin)
		case to > uint64(f.size-cookieBytes) || to < from+minSection:
			return f.rankErrorf(rank, "section ends at %d (expected %d to %d)", to, from+minSection, f.size-cookieBytes)
		}
		f.index[rank] = section{offset: cookieBytes + int64(from), size: int64(to - from)}
		begin = to
	}
	if begin != uint64(f.size-cookieBytes) {
		return f.errorf("%d bytes after the last rank (expected none)", uint64(f.size-cookieBytes)-begin)
	}
	for rank := range f.index {
		s, _, err := f.sizes(rank)
		if err != nil {
			return err
		}
		f.index[rank] = s
	}
	return nil
}

// sizes reads the head of a section. It returns the section with the number of operations
// and edges, and the number of roots.
func (f *File) sizes(rank int) (s section, roots uint32, err error) {
	s = f.index[rank]
	var b [sectionBytes]byte
	if _, err := f.data.ReadAt(b[:], s.offset); err != nil {
		return s, 0, f.readError(err)
	}
	nodes, roots := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:])
	rest := s.size - sectionBytes - wordBytes*int64(roots) - nodeBytes*int64(nodes)
	switch {
	case nodes > MaxOps:
		return s, 0, f.rankErrorf(rank, "%d operations (expected at most %d)", nodes, MaxOps)
	case roots > nodes:
		return s, 0, f.rankErrorf(rank, "%d roots (expected at most one for each of %d operations)", roots, nodes)
	case rest < 0 || rest%wordBytes != 0:
		return s, 0, f.rankErrorf(rank, "section has %d bytes (expected %d for %d operations and %d roots, and 4 for each dependency)",
			s.size, s.size-rest, nodes, roots)
	case rest/wordBytes > maxEdges:
		return s, 0, f.rankErrorf(rank, "%d dependencies (expected at most %d)", rest/wordBytes, maxEdges)
	}
	s.ops, s.edges = nodes, uint32(rest/wordBytes)
	return s, roots, nil
}

func (f *File) reader(from, to int64) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(f.data, from, to-from), int(min(bufferBytes, max(16, to-from))))
}

// readError describes a file that is shorter than it was when it was opened, or an error of
// the system.
func (f *File) readError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return f.errorf("truncated while it was read (expected %d bytes)", f.size)
	}
	return err
}

// rankBinary reads a section: roots, operations and edges side by side, so it needs no memory
// beside the graph and one word per operation.
func (f *File) rankBinary(rank int) (*Graph, error) {
	s, roots, err := f.sizes(rank)
	if err != nil {
		return nil, err
	}
	atRoots := s.offset + sectionBytes
	atNodes := atRoots + wordBytes*int64(roots)
	atEdges := atNodes + nodeBytes*int64(s.ops)
	var (
		rootReader = f.reader(atRoots, atNodes)
		nodeReader = f.reader(atNodes, atEdges)
		edgeReader = f.reader(atEdges, s.offset+s.size)
		g          = &Graph{Ops: make([]Op, s.ops), first: make([]uint32, s.ops+1), edges: make([]Edge, 0, s.edges)}
		deps       = make([]uint32, s.ops) // edges that end at each operation
		b          [nodeBytes]byte
	)
	word := func(r *bufio.Reader) (uint32, error) {
		if _, err := io.ReadFull(r, b[:wordBytes]); err != nil {
			return 0, f.readError(err)
		}
		return binary.LittleEndian.Uint32(b[:]), nil
	}
	for k := range g.Ops {
		fail := func(format string, args ...any) error {
			return f.rankErrorf(rank, "operation %d: "+format, append([]any{k}, args...)...)
		}
		if _, err := io.ReadFull(nodeReader, b[:]); err != nil {
			return nil, f.readError(err)
		}
		le := binary.LittleEndian
		op := Op{Deps: le.Uint32(b[0:]), Kind: Kind(b[4]), Peer: le.Uint32(b[5:]), Size: le.Uint64(b[9:]), Tag: le.Uint32(b[17:]),
			CPU: b[21], NIC: b[22]}
		lists := [2]struct{ count, first uint32 }{{le.Uint32(b[23:]), le.Uint32(b[27:])}, {le.Uint32(b[31:]), le.Uint32(b[35:])}}
		if err := f.checkOp(op); err != nil {
			return nil, fail("%w", err)
		}
		g.Ops[k] = op
		if op.Deps == 0 {
			if roots == 0 {
				return nil, fail("has no dependencies but is not listed as a root")
			}
			roots--
			root, err := word(rootReader)
			if err != nil {
				return nil, err
			}
			if root != uint32(k) {
				return nil, fail("has no dependencies, but the next root is %d (expected roots in ascending order)", root)
			}
		}
		for i, list := range lists {
			at := len(g.edges)
			switch {
			case list.count == 0: // writers differ in what they store as first
				continue
			case int64(list.count) > int64(s.edges)-int64(at):
				return nil, fail("%d operations wait for it (expected at most %d, the rest of the section)", list.count, int(s.edges)-at)
			case list.first != uint32(at):
				return nil, fail("list of waiting operations begins at %d (expected %d, the end of the one before)", list.first, at)
			}
			for range list.count {
				to, err := word(edgeReader)
				if err != nil {
					return nil, err
				}
				if to >= s.ops {
					return nil, fail("operation %d waits for it (expected 0 to %d)", to, s.ops-1)
				}
				deps[to]++
				e := Edge(to)
				if i == 1 {
					e |= atStart
				}
				g.edges = append(g.edges, e)
			}
		}
		g.first[k+1] = uint32(len(g.edges))
	}
	if roots > 0 {
		return nil, f.rankErrorf(rank, "%d more roots than operations without dependencies", roots)
	}
	if n := int(s.edges) - len(g.edges); n > 0 {
		return nil, f.rankErrorf(rank, "%d dependencies that belong to no operation", n)
	}
	for k, n := range deps {
		if n != g.Ops[k].Deps {
			return nil, f.rankErrorf(rank, "operation %d: has %d dependencies (expected %d, which name it)", k, g.Ops[k].Deps, n)
		}
	}
	if err := g.acyclic(); err != nil {
		return nil, f.rankErrorf(rank, "%w", err)
	}
	return g, nil
}
