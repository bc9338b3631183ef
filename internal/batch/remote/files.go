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

// scenarioName is that of a scenario on its way.
const scenarioName = "scenario.yaml"

// pack writes the files of a folder as a tar archive, which says nothing about times
// and owners.
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

// errLong means that there is no room in a message.
var errLong = errors.New("longer than a message")

// packShort packs a folder that has room in a message; else it returns errLong.
func packShort(folder string) ([]byte, error) {
	var b roomy
	err := pack(&b, folder)
	return b.data, err
}

// roomy takes as much as has room in a message.
type roomy struct{ data []byte }

func (b *roomy) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxInline {
		return 0, errLong
	}
	b.data = append(b.data, p...)
	return len(p), nil
}

func packFile(t *tar.Writer, folder, name string) error {
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	s, err := f.Stat()
	if err != nil {
		return err
	}
	if !s.Mode().IsRegular() {
		return fmt.Errorf("%s is no file; results have no folders below", name)
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: s.Size(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// unpack writes the files of an archive into a folder that exists, and nowhere else. It
// trusts nothing that the archive says.
func unpack(r io.Reader, folder string) error {
	t := tar.NewReader(r)
	left := int64(maxResult)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			// Whatever follows, its hash counts.
			_, err := io.Copy(io.Discard, io.LimitReader(r, maxInline))
			return err
		}
		if err != nil {
			return err
		}
		switch {
		case h.Typeflag != tar.TypeReg || !plainName(h.Name):
			return fmt.Errorf("results hold %q; allowed: files without folders", h.Name)
		case n >= maxFiles || h.Size > left:
			return fmt.Errorf("results have more than %d files or %d bytes", maxFiles, int64(maxResult))
		}
		left -= h.Size
		path := filepath.Join(folder, h.Name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("results hold %q twice", h.Name)
		}
		if err := disk.Fill(path, func(w io.Writer) error {
			_, err := io.CopyN(w, t, h.Size)
			return err
		}); err != nil {
			return err
		}
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fetch writes a file that came in a message, or that the object store has, into a
// folder.
func (f *file) fetch(ctx context.Context, objects jetstream.ObjectStore, path string) error {
	if f.Data != nil || f.Size == 0 {
		if int64(len(f.Data)) != f.Size || hashOf(f.Data) != f.Hash {
			return fmt.Errorf("%s is not what its hash says", f.Name)
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
		return fmt.Errorf("%s is not what its hash says", f.Name)
	}
	return nil
}

// read reads an object of so many bytes; its hash is checked when it was read to the end.
// Clients keep what belongs to an object until its time is over, so there is not more
// than it needs on a slow line.
func read(ctx context.Context, objects jetstream.ObjectStore, name string, size int64, take func(io.Reader) error) error {
	ctx, stop := context.WithTimeout(ctx, transferTime(size))
	defer stop()
	object, err := objects.Get(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(take(object), object.Close(), object.Error())
}

// markSubject is where an object store keeps what it knows of an object, by its
// specification (ADR-20).
func markSubject(session, name string) string {
	return "$O." + bucket(session) + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}
