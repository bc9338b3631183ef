package cli

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"xoff":     func() { useKnownHash(); os.Exit(Main(os.Args[1:])) },
		"xoff-hub": func() { os.Exit(hub.Main(os.Args[1:])) },
	})
}

// knownHash is the environment variable with the hash of the test binary, which acts as xoff.
// Hashing its 40 MB takes longer than most commands.
const knownHash = "XOFF_TEST_EXECUTABLE_SHA256"

// useKnownHash makes xoff use the hash in the environment instead of hashing itself.
func useKnownHash() {
	if hash := os.Getenv(knownHash); hash != "" {
		sweep.Executable = func() (string, error) { return hash, nil }
	}
}

// shareHash passes the hash of this program to the commands that a test starts.
func shareHash(t *testing.T) {
	t.Helper()
	hash, err := sweep.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(knownHash, hash)
}

// concurrent are the scripts with workers, other processes and wires, for the race detector.
// The other scripts run simulations one by one.
var concurrent = []string{"interrupt", "live", "nats", "sweep"}

// TestScripts runs the scripts in testdata/script.
func TestScripts(t *testing.T) {
	dir, files := "testdata/script", []string(nil)
	if testing.Short() { // the race detector's run
		for _, name := range concurrent {
			files = append(files, filepath.Join(dir, name+".txtar"))
		}
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await":     await,
			"exits":     exits,
			"interrupt": interrupt,
			"glob":      globbed,
			"json":      oneDocument,
			"same":      same,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			hash, err := sweep.Executable()
			if err != nil {
				return err
			}
			env.Setenv(knownHash, hash)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Setenv("PORT", strconv.Itoa(l.Addr().(*net.TCPAddr).Port)) // a free port
			if err := l.Close(); err != nil {
				return err
			}
			data, err := os.ReadFile("testdata/busy.yaml")
			if err != nil {
				return err
			}
			if err := os.CopyFS(env.WorkDir+"/experiments", os.DirFS(toyExperiments)); err != nil {
				return err
			}
			return os.WriteFile(env.WorkDir+"/busy.yaml", data, 0o644)
		},
	})
}

// exits CODE COMMAND... runs a command and checks its exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// await ADDRESS waits until a process listens there.
func await(ts *testscript.TestScript, _ bool, args []string) {
	for range 1000 {
		if c, err := net.Dial("tcp", args[0]); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("no process listens at %s", args[0])
}

// interrupt CODE FILE COMMAND... starts a command, sends SIGINT as soon as a file matches
// the pattern FILE, and checks the exit code.
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	ts.Check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for sent := false; ; {
		select {
		case <-done:
			if got := cmd.ProcessState.ExitCode(); got != want {
				ts.Fatalf("exit code %d, want %d", got, want)
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
		if found, err := filepath.Glob(ts.MkAbs(args[1])); err == nil && len(found) > 0 && !sent {
			sent = true
			ts.Check(cmd.Process.Signal(os.Interrupt))
		}
	}
}

// globbed PATTERN NAME copies the only file that matches the pattern.
func globbed(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%d files match %s, want 1", len(found), args[0])
	}
	data, err := os.ReadFile(found[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
}

// oneDocument checks that the last command printed exactly one JSON document.
func oneDocument(ts *testscript.TestScript, _ bool, _ []string) {
	if out := ts.ReadFile("stdout"); !json.Valid([]byte(out)) {
		ts.Fatalf("not one JSON document: %.200s", out)
	}
}

// same FOLDER FOLDER compares all files of two folders.
func same(ts *testscript.TestScript, _ bool, args []string) {
	a, b := tree(ts, ts.MkAbs(args[0])), tree(ts, ts.MkAbs(args[1]))
	if diff := differences(a, b); diff != "" {
		ts.Fatalf("%s and %s differ: %s", args[0], args[1], diff)
	}
}
