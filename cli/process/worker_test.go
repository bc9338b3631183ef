package process

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/await"
	"github.com/xoff-net/xoff/internal/devtool/script"
)

const interrupted = 130 // the exit code

// A worker removes its temporary folder when it ends, and the folders of killed workers
// when it starts.
func TestWorkerTemporaryFolders(t *testing.T) {
	script.ShareHash(t)
	folder := t.TempDir()
	address := "nats://" + freeAddress() // a worker waits for its server
	list := func() []string {
		found, _ := filepath.Glob(filepath.Join(folder, "*"))
		return found
	}
	// begin starts a worker and waits until its folder is the only one.
	begin := func(old []string) *exec.Cmd {
		cmd := exec.Command("xoff", "worker", address, "--quiet", "-o", folder)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "a worker replaces the folder of the one before", func() bool {
			now := list()
			return len(now) == 1 && !slices.Equal(now, old)
		})
		return cmd
	}
	cmd := begin(nil)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	left := list()
	if len(left) != 1 {
		t.Errorf("a killed worker leaves %q", left)
	}
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) { // as under nohup
			continue
		}
		cmd = begin(left)
		left = nil
		_ = cmd.Process.Signal(s)
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != interrupted {
			t.Errorf("%v: exit code %d, want %d", s, got, interrupted)
		}
		if now := list(); len(now) > 0 {
			t.Errorf("%v leaves %q", s, now)
		}
	}
}

// A token file that other users can read is used, with a warning.
func TestReadableTokenFile(t *testing.T) {
	script.ShareHash(t)
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte("s3cret of sixteen\n"), mode); err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		cmd := exec.Command("xoff", "worker", "nats://127.0.0.1:1", "--idle", "1ms", "--quiet", "--nats-token", path)
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%04o: %v: %s", mode, err, stderr.String())
		}
		if got := strings.Contains(stderr.String(), "xoff: warning: other users can read the token: "+path+" has mode 0644"); got != want {
			t.Errorf("%04o: %s", mode, stderr.String())
		}
	}
}
