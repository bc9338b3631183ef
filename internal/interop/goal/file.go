package goal

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/xoff-net/xoff/internal/yaml"
)

// File is an open schedule. Operations are read rank by rank; the file itself keeps about
// 60 bytes per rank. Rank may be called by several goroutines at once.
type File struct {
	CPUs, NICs int   // per rank
	Ops, Edges int64 // of all ranks
	Binary     bool

	name  string
	data  io.ReaderAt
	size  int64
	close func() error
	index []section
}

// section locates the operations of one rank.
type section struct {
	offset, size int64
	labelBytes   int64  // text: length of all labels
	ops, edges   uint32 // number of operations and dependencies
	labels       uint32 // text: number of labels
	line, column int    // text: location of offset
}

// Open opens a schedule and detects whether it is text or binary. It reads a text file once to
// check its syntax, and only the table of ranks of a binary file.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &yaml.InputError{File: path, Err: fmt.Errorf("not a regular file: %s", info.Mode().Type())}
	}
	var file *File
	if err == nil {
		file, err = New(path, f, info.Size())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	file.close = f.Close
	return file, nil
}

// New is like Open, but reads a schedule of the given size from data. Errors contain the name.
func New(name string, data io.ReaderAt, size int64) (*File, error) {
	f := &File{name: name, data: data, size: size}
	var start [8]byte
	n, err := data.ReadAt(start[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if f.Binary = isBinary(start[:n]); f.Binary {
		err = f.indexBinary(binary.LittleEndian.Uint64(start[:]))
	} else {
		err = f.indexText()
	}
	if err != nil {
		return nil, err
	}
	for _, s := range f.index {
		f.Ops += int64(s.ops)
		f.Edges += int64(s.edges)
	}
	return f, nil
}

// isBinary reports whether a file that begins with start is binary: text has no bytes below tab, and
// every binary file has some in its first 8.
func isBinary(start []byte) bool {
	for _, c := range start {
		if c < '\t' && len(start) == 8 {
			return true
		}
	}
	return false
}

// Close closes the file. Graphs that were returned remain valid.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// Name returns the name of the file.
func (f *File) Name() string { return f.name }

// Ranks returns the number of ranks.
func (f *File) Ranks() int { return len(f.index) }

// RankOps returns the number of operations of a rank without reading them.
func (f *File) RankOps(rank int) int { return int(f.index[rank].ops) }

// Memory returns the bytes that the graphs of all ranks take together.
func (f *File) Memory() int64 { return 28*f.Ops + 4*f.Edges }

// Rank reads the graph of a rank and checks it: each index and count, and that dependencies
// have no cycle. The File does not keep the graph.
func (f *File) Rank(rank int) (*Graph, error) {
	if f.Binary {
		return f.rankBinary(rank)
	}
	return f.rankText(rank)
}

// spare is the memory that reading may take beyond twice the size of the file.
const spare = 256 << 20

// errorf returns an error about the whole file.
func (f *File) errorf(format string, args ...any) error {
	return &yaml.InputError{File: f.name, Err: fmt.Errorf(format, args...)}
}

// rankErrorf returns an error about a rank.
func (f *File) rankErrorf(rank int, format string, args ...any) error {
	return f.errorf("rank %d: "+format, append([]any{rank}, args...)...)
}

// checkOp checks the kind, peer and resources of an operation of a binary file.
func (f *File) checkOp(op Op) error {
	ranks := uint32(len(f.index))
	switch {
	case op.Kind < Send || op.Kind > Calc:
		return fmt.Errorf("type %d (allowed: 1 send, 2 recv, 3 calc)", op.Kind)
	case op.Kind == Send && op.Peer >= ranks:
		return fmt.Errorf("send to rank %d (expected 0 to %d)", op.Peer, ranks-1)
	case op.Kind == Recv && op.Peer >= ranks && op.Peer != Any:
		return fmt.Errorf("recv from rank %d (expected 0 to %d, or -1)", op.Peer, ranks-1)
	case int(op.CPU) >= f.CPUs:
		return fmt.Errorf("cpu %d (expected 0 to %d, as in the header)", op.CPU, f.CPUs-1)
	case int(op.NIC) >= f.NICs:
		return fmt.Errorf("nic %d (expected 0 to %d, as in the header)", op.NIC, f.NICs-1)
	}
	return nil
}
