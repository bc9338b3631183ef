package script

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/xoff-net/xoff/cli"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

const (
	// knownHash has the hash of the test binary, which acts as xoff. Hashing its 40 MB takes
	// longer than most commands.
	knownHash = "XOFF_TEST_EXECUTABLE_SHA256"
	// pointVariable has the signal and the point of a process, see At.
	pointVariable = "XOFF_TEST_POINT"
)

// Main runs the tests of a package. Its test binary acts as xoff, and as other programs, for
// the processes that tests start.
func Main(m *testing.M, others map[string]func()) {
	programs := map[string]func(){"xoff": func() {
		if hash := os.Getenv(knownHash); hash != "" {
			sweep.Executable = func() (string, error) { return hash, nil }
		}
		if text := os.Getenv(pointVariable); text != "" {
			watch(text)
		}
		os.Exit(cli.Main(os.Args[1:]))
	}}
	for name, run := range others {
		programs[name] = run
	}
	if run := programs[filepath.Base(os.Args[0])]; run != nil {
		run()
		os.Exit(0)
	}
	os.Exit(withPrograms(m, programs))
}

// withPrograms runs tests with links to this executable, one per program, in the PATH.
func withPrograms(m *testing.M, programs map[string]func()) int {
	bin, err := os.MkdirTemp("", "xoff-test-bin")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(bin) }()
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	for name := range programs {
		// A symbolic link would not do: processes that start themselves again follow it.
		if err := link(self, filepath.Join(bin, name)); err != nil {
			panic(err)
		}
	}
	if err := os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	return m.Run()
}

// link makes a hard link, or a copy where that is impossible.
func link(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// ShareHash passes the hash of this executable to the processes that a test starts.
func ShareHash(t *testing.T) string {
	t.Helper()
	hash, err := sweep.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(knownHash, hash)
	return hash
}

// At makes a process of xoff send itself a signal, KILL or INT, at a point: before an
// operation of package disk, such as
//
//	create:flows.parquet:1   the first time it creates a file of that name
//	rename:points/*:3        the third time it moves a point into place
//	*:*:40                   the 40th operation
//
// So the moment depends on the progress of the process, not on the clock. With TELL instead of
// a signal, it writes a byte to file descriptor 3 each time the operation occurs.
func At(cmd *exec.Cmd, signal, point string) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, pointVariable+"="+signal+":"+point)
}

// watch applies the text that At made.
func watch(text string) {
	fields := strings.SplitN(text, ":", 4)
	if len(fields) < 3 {
		panic(fmt.Sprintf("%s is %q (expected SIGNAL:OPERATION:PATTERN:NUMBER)", pointVariable, text))
	}
	action, op, pattern, number := fields[0], fields[1], fields[2], int64(1)
	if action != "TELL" {
		n, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			panic(err)
		}
		number = n
	}
	var seen atomic.Int64
	parent := os.NewFile(3, "parent")
	disk.Before = func(operation, path string) {
		if op != "*" && op != operation || !matches(pattern, path) {
			return
		}
		switch n := seen.Add(1); {
		case action == "TELL":
			_, _ = parent.Write([]byte{1})
		case n == number:
			send(action)
		}
	}
}

// matches compares the end of a path with a pattern. Temporary names match like final ones.
func matches(pattern, path string) bool {
	names := strings.Split(filepath.ToSlash(path), "/")
	n := min(len(names), strings.Count(pattern, "/")+1)
	names = names[len(names)-n:]
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], disk.TempPrefix)
	}
	ok, err := filepath.Match(pattern, strings.Join(names, "/"))
	if err != nil {
		panic(err)
	}
	return ok
}

// send sends a signal to this process and returns when it was delivered.
func send(name string) {
	number := map[string]syscall.Signal{"INT": syscall.SIGINT, "KILL": syscall.SIGKILL}[name]
	delivered := make(chan os.Signal, 1)
	signal.Notify(delivered, number)
	if err := syscall.Kill(os.Getpid(), number); err != nil {
		panic(err)
	}
	<-delivered // never, if it was SIGKILL
}
