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
