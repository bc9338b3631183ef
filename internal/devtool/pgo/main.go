// Command pgo removes from a CPU profile what identifies the machine that recorded it: file
// names and build IDs. Function names and lines, which the compiler reads, stay. It filters
// standard input to standard output; `make profile` uses it.
package main

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := strip(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pgo:", err)
		os.Exit(1)
	}
}

// Fields of profile.proto that contain strings or refer to them.
const (
	profileMapping  = 3
	profileFunction = 5
	profileString   = 6

	mappingFile    = 5
	mappingBuild   = 6
	functionSource = 4
)

// strip copies a profile and clears the strings that name a file or a build.
func strip(from io.Reader, to io.Writer) error {
	z, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	private := map[uint64]bool{} // indexes in the string table
	err = walk(data, func(f field) error {
		if f.number != profileMapping && f.number != profileFunction {
			return nil
		}
		return walk(f.body, func(g field) error {
			switch {
			case f.number == profileMapping && (g.number == mappingFile || g.number == mappingBuild),
				f.number == profileFunction && g.number == functionSource:
				private[g.value] = true
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	var out []byte
	index := uint64(0)
	err = walk(data, func(f field) error {
		if f.number == profileString {
			if private[index] {
				f.whole = []byte{profileString<<3 | wireBytes, 0}
			}
			index++
		}
		out = append(out, f.whole...)
		return nil
	})
	if err != nil {
		return err
	}
	w := gzip.NewWriter(to)
	if _, err := w.Write(out); err != nil {
		return err
	}
	return w.Close()
}

// field is one field of an encoded protocol buffer message.
type field struct {
	number uint64
	value  uint64 // of a varint
	body   []byte // of a string or message
	whole  []byte // encoded field, with its key
}

// Wire types that profiles use.
const (
	wireVarint = 0
	wireBytes  = 2
)

var errTruncated = errors.New("not a profile: a field is truncated")

// walk calls visit for every field of a message.
func walk(data []byte, visit func(field) error) error {
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		value, m := uint64(0), 0
		if n > 0 {
			value, m = binary.Uvarint(data[n:])
		}
		if n <= 0 || m <= 0 {
			return errTruncated
		}
		f, size := field{number: key >> 3}, n+m
		switch key & 7 {
		case wireVarint:
			f.value = value
		case wireBytes:
			if value > uint64(len(data)-size) {
				return errTruncated
			}
			f.body = data[size : size+int(value)]
			size += int(value)
		default:
			return fmt.Errorf("not a profile: field %d has wire type %d (expected 0 or 2)", key>>3, key&7)
		}
		f.whole = data[:size]
		if err := visit(f); err != nil {
			return err
		}
		data = data[size:]
	}
	return nil
}
