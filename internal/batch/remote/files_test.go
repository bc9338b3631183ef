package remote

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

func TestPackAndUnpack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	want := map[string]string{"a.txt": "one", ".hidden": "", "b": strings.Repeat("x", 3000)}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var archive bytes.Buffer
	if err := pack(&archive, from); err != nil {
		t.Fatal(err)
	}
	if err := unpack(bytes.NewReader(archive.Bytes()), int64(archive.Len())-1, t.TempDir()); err == nil {
		t.Error("results longer than announced are accepted")
	}
	if err := unpack(&archive, int64(archive.Len()), to); err != nil {
		t.Fatal(err)
	}
	if got := files(t, to); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if err := os.Mkdir(filepath.Join(from, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pack(&archive, from); err == nil {
		t.Error("a subfolder is packed")
	}
}

// No archive can write outside its folder.
func TestHostileArchives(t *testing.T) {
	for _, c := range []struct {
		name string
		list []tar.Header
		want string
	}{
		{"file in the parent folder", []tar.Header{{Name: "../up", Typeflag: tar.TypeReg}}, `contain "../up"`},
		{"absolute path", []tar.Header{{Name: "/tmp/up", Typeflag: tar.TypeReg}}, `contain "/tmp/up"`},
		{"file in a subfolder", []tar.Header{{Name: "a/b", Typeflag: tar.TypeReg}}, `contain "a/b"`},
		{"parent folder", []tar.Header{{Name: "..", Typeflag: tar.TypeReg}}, `contain ".."`},
		{"link", []tar.Header{{Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}, `contain "link"`},
		{"device", []tar.Header{{Name: "zero", Typeflag: tar.TypeChar}}, `contain "zero"`},
		{"duplicate", []tar.Header{{Name: "a", Typeflag: tar.TypeReg}, {Name: "a", Typeflag: tar.TypeReg}}, `contain "a" twice`},
		{"larger than received", []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: maxResult + 1}}, "unexpected EOF"},
	} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		for _, h := range c.list {
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
		}
		_ = w.Flush()
		above := t.TempDir()
		folder := filepath.Join(above, "results")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unpack(&archive, int64(archive.Len()), folder); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if entries, err := os.ReadDir(above); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v %v", c.name, entries, err)
		}
	}
}

// An archive that is longer than announced is not read further, and so fills no disk.
func TestUnpackStopsAtTheSize(t *testing.T) {
	const announced = 1 << 20
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	folder, all := t.TempDir(), &endless{&archive, 0}
	if err := unpack(all, announced, folder); err == nil || !strings.Contains(err.Error(), "longer than announced") {
		t.Error(err)
	}
	if all.read > announced+1<<16 { // one buffer of io.Copy more
		t.Errorf("%d bytes read of %d", all.read, announced)
	}
	for name, text := range files(t, folder) {
		if len(text) > announced {
			t.Errorf("%s has %d bytes", name, len(text))
		}
	}
}

// endless appends zeros to an archive and counts what is read.
type endless struct {
	archive *bytes.Buffer
	read    int64
}

func (e *endless) Read(p []byte) (int, error) {
	n, _ := e.archive.Read(p)
	if n == 0 {
		clear(p)
		n = len(p)
	}
	e.read += int64(n)
	return n, nil
}

// A sparse member of a few blocks would expand to a file of any size.
func TestSparseArchives(t *testing.T) {
	const expanded = 64 << 20
	record := func(key, value string) string { // as in POSIX: its length includes its digits
		text := fmt.Sprintf(" %s=%s\n", key, value)
		return fmt.Sprint(len(text)+2) + text
	}
	number := fmt.Sprint(expanded)
	// One byte of data, at offset 0, as version 1.0 of GNU tar writes it.
	data := make([]byte, 513)
	copy(data, "1\n0\n1\n")
	for name, extension := range map[string]string{
		"1.0": record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.name", "a") + record("GNU.sparse.realsize", number),
		"0.1": record("GNU.sparse.map", "0,513") + record("GNU.sparse.numblocks", "1") + record("GNU.sparse.size", number),
	} {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		// The writer of the library refuses such records, so this is the extension of the next header, by hand.
		err := errors.Join(
			w.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: int64(len(extension)), Format: tar.FormatUSTAR}),
			ignore(w.Write([]byte(extension))),
			w.WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: int64(len(data)), Format: tar.FormatUSTAR}),
			ignore(w.Write(data)),
			w.Close(),
		)
		if err != nil {
			t.Fatal(err)
		}
		bytes := archive.Bytes()
		setType(bytes[:512], tar.TypeXHeader)
		folder := t.TempDir()
		err = unpack(&archive, int64(archive.Len()), folder)
		if err == nil || !strings.Contains(err.Error(), `contain "a" with extensions`) {
			t.Errorf("%s: %v", name, err)
		}
		for file, text := range files(t, folder) {
			t.Errorf("%s: %s has %d bytes", name, file, len(text))
		}
	}
}

func ignore(_ int, err error) error { return err }

// setType changes the type of a header and its checksum, the sum of all bytes with spaces
// in place of the checksum.
func setType(header []byte, flag byte) {
	header[156] = flag
	copy(header[148:156], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// A worker that controls the terminal or floods tables is harmless: its texts are cleaned.
func TestHostileTexts(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;owned\a\r\nxoff: all points done\u202e"
	long := strings.Repeat("x", 1<<20)
	o := outcome{Schema: schema, Worker: evil + long, Message: evil + long, Log: evil + "\n" + long}
	o.Verdict.Message = evil + long
	if err := o.clean(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		most int
		kept string
	}{{o.Worker, maxWorker, ""}, {o.Message, maxMessage, ""}, {o.Verdict.Message, maxMessage, ""}, {o.Log, maxLog, "\n"}} {
		if len(c.text) > c.most || !strings.Contains(c.text, "xoff: all points done") {
			t.Errorf("%d bytes (expected at most %d): %.50q", len(c.text), c.most, c.text)
		}
		for _, r := range c.text {
			if !unicode.IsPrint(r) && !strings.ContainsRune(c.kept, r) {
				t.Errorf("%q in %.50q", r, c.text)
			}
		}
	}
	o.Verdict.Code = 77
	if o.clean() == nil {
		t.Error("code 77 is accepted")
	}

	b := newBench(t)
	ctx, c, err := Coordinate(b.ctx, b.address, Access{Token: token}, Sweep{Name: "hostile", Program: b.program, Log: b.log.add})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := &waiter{outcomes: make(chan arrival, 1)}
	c.mu.Lock()
	c.waiting["x"] = w
	c.mu.Unlock()
	text := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if _, err := c.js.Publish(ctx, doneSubject(c.session), text(&outcome{Schema: schema, ID: "x", Kind: failed, Message: evil})); err != nil {
		t.Fatal(err)
	}
	if a := <-w.outcomes; strings.ContainsRune(a.Message, '\x1b') {
		t.Errorf("%q", a.Message)
	}
	c.handleNews(text(&news{Schema: schema, Worker: evil, Refused: evil}))
	b.log.has(t, " [2J ]0;owned")
	for _, line := range b.log.text {
		if strings.ContainsRune(line, '\x1b') {
			t.Errorf("%q", line)
		}
	}
}

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{`{"schema":1,"id":"a","inputs":[{"name":"input-x.txt"}]}`, ""},
		{`{"schema":2,"id":"a"}`, "schema 2"},
		{`{"schema":1}`, `point "" has`},
		{`{"schema":1,"id":"a"} {}`, "more than one JSON value"},
		{`{"schema":1,"id":"a","run":"rm"}`, `unknown field "run"`},
		{`{"schema":1,"id":"a","inputs":[{"name":"../x"}]}`, `name "../x"`},
		{`{"schema":1,"id":"a","inputs":[{"name":".x"}]}`, `name ".x"`},
		{`{"schema":1,"id":"a","inputs":[{"name":"scenario.yaml"}]}`, `name "scenario.yaml"`},
		{`{"schema":1,"id":"a","inputs":[{"name":"x"},{"name":"x"}]}`, `name "x"`},
		{`{"schema":1,"id":"a","inputs":[{"name":"x","size":99999999999}]}`, "99999999999 bytes"},
	} {
		var o order
		err := decode([]byte(c.text), &o)
		if err == nil {
			err = o.check()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
