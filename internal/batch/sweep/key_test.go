package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// An executable that is replaced while it runs keeps its hash: its points must not count as
// points of the new one.
func TestReplacedProgram(t *testing.T) {
	const replace = "XOFF_TEST_REPLACE"
	if path := os.Getenv(replace); path != "" {
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
		hash, err := Executable()
		fmt.Println("hash", hash, err)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux identifies the running file")
	}
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	for name, text := range map[string][]byte{path: data, path + ".new": []byte("another executable")} {
		if err := os.WriteFile(name, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, "-test.run=^TestReplacedProgram$")
	cmd.Env = append(os.Environ(), replace+"="+path)
	out, err := cmd.CombinedOutput()
	sum := sha256.Sum256(data)
	if want := "hash " + hex.EncodeToString(sum[:]) + " <nil>"; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v\n%s\nwant %s", err, out, want)
	}
}
