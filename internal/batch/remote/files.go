package remote

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/xoff-net/xoff/internal/sys/disk"
)

// scenarioName is the file name of a scenario in the folder of a task.
const scenarioName = "scenario.yaml"

// pack writes the files of a folder as a tar archive without times and owners.
func pack(w io.Writer, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	for _, e := range entries {
		if err := packFile(t, folder, e.Name()); err != nil {
			return err
		}
	}
	return t.Close()
}

// errTooLong means that results do not fit into a message.
var errTooLong = errors.New("longer than a message")

// packInline packs a folder for a message. It returns errTooLong if it does not fit.
func packInline(folder string) ([]byte, error) {
	var b inlineBuffer
	err := pack(&b, folder)
	return b.data, err
}

// inlineBuffer accepts up to maxInline bytes.
type inlineBuffer struct{ data []byte }

func (b *inlineBuffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxInline {
		return 0, errTooLong
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

func packFile(t *tar.Writer, folder, name string) error {
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	s, err := f.Stat()
	if err != nil {
		return err
	}
	if !s.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file (expected results without subfolders)", name)
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: s.Size(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// received passes on up to left bytes and fails if there are more.
type received struct {
	r    io.Reader
	left int64
}

func (r *received) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, errors.New("results are longer than announced or permitted")
	}
	return n, err
}

// unpack writes the files of an untrusted archive into an existing folder, and nowhere
// else. It reads at most size bytes and writes no more than it reads: members that expand
// are refused.
func unpack(in io.Reader, size int64, folder string) error {
	r := &received{in, min(size, maxResult)}
	t := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			// Read the padding as well: the object's hash covers it.
			_, err := io.Copy(io.Discard, io.LimitReader(r, maxInline))
			return err
		}
		if err != nil {
			return err
		}
		switch {
		case h.Typeflag != tar.TypeReg || !plainName(h.Name):
			return fmt.Errorf("results contain %q (expected files without folders)", h.Name)
		case !plainRecords(h):
			return fmt.Errorf("results contain %q with extensions, such as holes (expected plain files)", h.Name)
		case n >= maxFiles:
			return fmt.Errorf("results have more than %d files", maxFiles)
		}
		path := filepath.Join(folder, h.Name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("results contain %q twice", h.Name)
		}
		if err := disk.Fill(path, func(w io.Writer) error {
			_, err := io.CopyN(w, t, h.Size)
			return err
		}); err != nil {
			return err
		}
	}
}

// plainRecords reports whether a header has only extensions that pack writes: long names
// and sizes. Sparse files have others, and expand when they are read.
func plainRecords(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if key != "path" && key != "size" {
			return false
		}
	}
	return true
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fetch writes a file from its message or the object store to path, and checks its hash.
func (f *file) fetch(ctx context.Context, objects jetstream.ObjectStore, path string) error {
	if f.Data != nil || f.Size == 0 {
		if int64(len(f.Data)) != f.Size || hashOf(f.Data) != f.Hash {
			return fmt.Errorf("%s does not match its hash", f.Name)
		}
		return os.WriteFile(path, f.Data, 0o600)
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	n := int64(0)
	err = read(ctx, objects, f.Hash, f.Size, func(r io.Reader) (err error) {
		n, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(r, f.Size+1))
		return err
	})
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	if n != f.Size || hex.EncodeToString(h.Sum(nil)) != f.Hash {
		return fmt.Errorf("%s does not match its hash", f.Name)
	}
	return nil
}

// read passes an object of size bytes to take. Its hash is checked at the end. The timeout
// depends on the size, because a client keeps its buffers for an object until the timeout.
func read(ctx context.Context, objects jetstream.ObjectStore, name string, size int64, take func(io.Reader) error) error {
	ctx, stop := context.WithTimeout(ctx, transferTime(size))
	defer stop()
	object, err := objects.Get(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(take(object), object.Close(), object.Error())
}

// markSubject returns the subject of an object's metadata in an object store, as specified
// in ADR-20.
func markSubject(session, name string) string {
	return "$O." + bucket(session) + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}
