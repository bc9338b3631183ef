package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"time"
)

// file is a file in an archive.
type file struct {
	name    string
	data    []byte
	program bool // executable
}

// fileTime is the modification time of every file: a constant, so that archives are reproducible.
var fileTime = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// archive packs files below the folder top, sorted by name: the same files give the same bytes.
func archive(w io.Writer, top string, files []file) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(packed)
	for _, f := range files {
		mode := int64(0o644)
		if f.program {
			mode = 0o755
		}
		head := &tar.Header{Name: top + "/" + f.name, Size: int64(len(f.data)), Mode: mode, ModTime: fileTime, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		if _, err := out.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), packed.Close())
}
