package peer

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPrintable(t *testing.T) {
	if got := Printable("µs \x1b[2Jand\nxoff: more\a"); got != "µs  [2Jand xoff: more " {
		t.Errorf("%q", got)
	}
}

func TestShortened(t *testing.T) {
	const text = "\x1b]0;x\a µµ\n\tµ\xff\u202e"
	for most, want := range map[int]string{100: " ]0;x  µµ  µ? ", 13: " ]0;x  µ ..."} {
		if got := Line(text, most); got != want {
			t.Errorf("%d bytes: %q, want %q", most, got, want)
		}
	}
	if got, want := Lines(text, 100), " ]0;x  µµ\n\tµ? "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestReadTLSRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no.pem")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cert, key, ca string }{{file, "", ""}, {"", file, file}, {file, file, file}, {"none", "none", "none"}} {
		if _, err := ReadTLS(c.cert, c.key, c.ca); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if c, err := ReadTLS("", "", ""); c != nil || err != nil {
		t.Errorf("no files: %v %v", c, err)
	}
}
