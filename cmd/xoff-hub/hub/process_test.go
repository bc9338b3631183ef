package hub

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestMain also serves as the process of a hub.
func TestMain(m *testing.M) {
	if os.Getenv("XOFF_TEST_HUB") == "" {
		os.Exit(m.Run())
	}
	os.Exit(Main(os.Args[1:]))
}

// Signals remove the temporary folder, and the next start removes the folder of a hub that
// was killed.
func TestTemporaryFolders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	temp := t.TempDir()
	list := func() []string {
		found, err := filepath.Glob(filepath.Join(temp, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, c := range []struct {
		signal os.Signal
		left   int
	}{{syscall.SIGHUP, 0}, {syscall.SIGKILL, 1}, {syscall.SIGTERM, 0}} {
		if signal.Ignored(c.signal) { // as under nohup
			continue
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "--listen", "0")
		cmd.Env = append(os.Environ(), "XOFF_TEST_HUB=1", "XOFF_NATS_TOKEN=", "TMPDIR="+temp)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
			t.Errorf("%v: %q %v", c.signal, line, err)
		}
		if now := list(); len(now) != 1 {
			t.Errorf("%v: a running hub and %q", c.signal, now)
		}
		_ = cmd.Process.Signal(c.signal)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		if left := list(); len(left) != c.left {
			t.Errorf("%v leaves %q", c.signal, left)
		}
	}
}

// A hub that cannot start writes no token: it would never be shown.
func TestNoTokenWithoutServer(t *testing.T) {
	t.Setenv("XOFF_NATS_TOKEN", "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	o := &options{listen: strconv.Itoa(l.Addr().(*net.TCPAddr).Port), folder: t.TempDir()}
	if err := o.serve(t.Context(), &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
		t.Error("two servers at one port")
	}
	if _, err := os.Stat(filepath.Join(o.folder, "token")); err == nil {
		t.Error("a token is left")
	}
}
