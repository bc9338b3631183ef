package goal

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
)

// WriteText writes a schedule as text, rank by rank. Operation k has the label lk, so the
// dependencies of a block follow its operations. WriteText of what it wrote gives the same
// bytes.
func WriteText(w io.Writer, s Source) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	fmt.Fprintf(out, "num_ranks %d\n", s.Ranks())
	for rank := range s.Ranks() {
		g, err := s.Rank(rank)
		if err != nil {
			return err
		}
		var b []byte
		fmt.Fprintf(out, "\nrank %d {\n", rank)
		for k, op := range g.Ops {
			b = strconv.AppendInt(append(b[:0], 'l'), int64(k), 10)
			b = append(appendOp(append(b, ": "...), op), '\n')
			_, _ = out.Write(b)
		}
		for k := range g.Ops {
			for _, e := range g.Edges(k) {
				b = strconv.AppendInt(append(b[:0], 'l'), int64(e.Op()), 10)
				if e.AtStart() {
					b = append(b, " irequires l"...)
				} else {
					b = append(b, " requires l"...)
				}
				b = append(strconv.AppendInt(b, int64(k), 10), '\n')
				_, _ = out.Write(b)
			}
		}
		if _, err := out.WriteString("}\n"); err != nil {
			return err
		}
	}
	return out.Flush()
}

// appendOp appends an operation as text, without what is at its default.
func appendOp(b []byte, op Op) []byte {
	b = append(append(b, op.Kind.String()...), ' ')
	b = strconv.AppendUint(b, op.Size, 10)
	field := func(name string, v uint32) {
		b = append(append(b, name...), ' ')
		if v == Any {
			b = append(b, "-1"...)
		} else {
			b = strconv.AppendUint(b, uint64(v), 10)
		}
	}
	switch op.Kind {
	case Send:
		field("b to", op.Peer)
	case Recv:
		field("b from", op.Peer)
	}
	if op.Kind != Calc {
		field(" tag", op.Tag)
	}
	if op.CPU != 0 {
		field(" cpu", uint32(op.CPU))
	}
	if op.NIC != 0 && op.Kind != Calc {
		field(" nic", uint32(op.NIC))
	}
	return b
}

// WriteBinary writes a schedule in binary, rank by rank. The header is written last, so w
// must be able to seek; it is written from its current position.
func WriteBinary(w io.WriteSeeker, s Source) error {
	base, err := w.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	ranks := s.Ranks()
	if ranks < 1 || ranks > MaxRanks {
		return fmt.Errorf("%d ranks (expected 1 to %d)", ranks, MaxRanks)
	}
	le := binary.LittleEndian
	head := le.AppendUint64(make([]byte, 0, cookieBytes+headerBytes+tableBytes*ranks), cookie)
	head = append(le.AppendUint32(head, uint32(ranks)), 0, 0)
	if _, err := w.Seek(base+int64(cap(head)), io.SeekStart); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, bufferBytes)
	at := uint64(headerBytes + tableBytes*ranks)
	for rank := range ranks {
		g, err := s.Rank(rank)
		if err != nil {
			return err
		}
		size, err := writeSection(out, g)
		if err != nil {
			return err
		}
		head = le.AppendUint64(le.AppendUint64(head, at), at+size)
		at += size
		for _, op := range g.Ops {
			head[12], head[13] = max(head[12], op.CPU), max(head[13], op.NIC)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if _, err := w.Seek(base, io.SeekStart); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = w.Seek(base+cookieBytes+int64(at), io.SeekStart)
	return err
}

// writeSection writes the section of a rank and returns its size in bytes.
func writeSection(out *bufio.Writer, g *Graph) (uint64, error) {
	le := binary.LittleEndian
	roots := 0
	for _, op := range g.Ops {
		if op.Deps == 0 {
			roots++
		}
	}
	b := make([]byte, 0, nodeBytes)
	_, _ = out.Write(le.AppendUint32(le.AppendUint32(b, uint32(len(g.Ops))), uint32(roots)))
	for k, op := range g.Ops {
		if op.Deps == 0 {
			_, _ = out.Write(le.AppendUint32(b, uint32(k)))
		}
	}
	for k, op := range g.Ops {
		n := append(le.AppendUint32(b, op.Deps), byte(op.Kind))
		n = le.AppendUint32(le.AppendUint64(le.AppendUint32(n, op.Peer), op.Size), op.Tag)
		n = append(n, op.CPU, op.NIC)
		edges, ends := g.Edges(k), uint32(0)
		for _, e := range edges {
			if !e.AtStart() {
				ends++
			}
		}
		n = le.AppendUint32(le.AppendUint32(n, ends), g.first[k])
		n = le.AppendUint32(le.AppendUint32(n, uint32(len(edges))-ends), g.first[k]+ends)
		_, _ = out.Write(n)
	}
	for _, e := range g.edges {
		if _, err := out.Write(le.AppendUint32(b, uint32(e.Op()))); err != nil {
			return 0, err
		}
	}
	return uint64(sectionBytes + wordBytes*roots + nodeBytes*len(g.Ops) + wordBytes*len(g.edges)), nil
}
