package remote

import (
	"archive/tar"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	if err := unpack(&archive, to); err != nil {
		t.Fatal(err)
	}
	if got := files(t, to); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if err := os.Mkdir(filepath.Join(from, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pack(&archive, from); err == nil {
		t.Error("a folder is packed")
	}
}

// Nothing of an archive is written outside its folder, whatever it says.
func TestHostileArchives(t *testing.T) {
	for _, c := range []struct {
		name string
		list []tar.Header
		want string
	}{
		{"a folder above", []tar.Header{{Name: "../up", Typeflag: tar.TypeReg}}, `hold "../up"`},
		{"the root", []tar.Header{{Name: "/tmp/up", Typeflag: tar.TypeReg}}, `hold "/tmp/up"`},
		{"a folder below", []tar.Header{{Name: "a/b", Typeflag: tar.TypeReg}}, `hold "a/b"`},
		{"this folder", []tar.Header{{Name: "..", Typeflag: tar.TypeReg}}, `hold ".."`},
		{"a link", []tar.Header{{Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}, `hold "link"`},
		{"a device", []tar.Header{{Name: "zero", Typeflag: tar.TypeChar}}, `hold "zero"`},
		{"one twice", []tar.Header{{Name: "a", Typeflag: tar.TypeReg}, {Name: "a", Typeflag: tar.TypeReg}}, `hold "a" twice`},
		{"too much", []tar.Header{{Name: "a", Typeflag: tar.TypeReg, Size: maxResult + 1}}, "more than"},
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
		if err := unpack(&archive, folder); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if entries, err := os.ReadDir(above); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v %v", c.name, entries, err)
		}
	}
}

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{`{"schema":1,"id":"a","inputs":[{"name":"input-x.txt"}]}`, ""},
		{`{"schema":2,"id":"a"}`, "schema 2"},
		{`{"schema":1}`, `a point ""`},
		{`{"schema":1,"id":"a"} {}`, "more than one message"},
		{`{"schema":1,"id":"a","run":"rm"}`, `unknown field "run"`},
		{`{"schema":1,"id":"a","inputs":[{"name":"../x"}]}`, `a file "../x"`},
		{`{"schema":1,"id":"a","inputs":[{"name":".x"}]}`, `a file ".x"`},
		{`{"schema":1,"id":"a","inputs":[{"name":"scenario.yaml"}]}`, `a file "scenario.yaml"`},
		{`{"schema":1,"id":"a","inputs":[{"name":"x"},{"name":"x"}]}`, `a file "x"`},
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
