// Package script runs dialogues with xoff: files of commands with the output they must print.
// $PORT and $PORT1 to $PORT4 are free. The files are testscript archives (*.txtar) with these
// commands in addition:
//
//	exits CODE PROGRAM ARGS...        run a program and check its exit code
//	interrupt CODE POINT PROGRAM ...  run a program that gets SIGINT at a point (see At)
//	await ADDRESS                     wait until a process listens there
//	glob PATTERN NAME                 copy the only file that matches the pattern
//	json                              check that the last command printed one JSON document
//	same FOLDER FOLDER                compare all files of two folders
package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Run runs the scripts of a folder. Every script starts in a folder with the files of common.
func Run(t *testing.T, dir string, common ...string) {
	t.Helper()
	hash := ShareHash(t)
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await":     await,
			"glob":      globbed,
			"exits":     exits,
			"interrupt": interrupt,
			"json":      oneDocument,
			"same":      same,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv(knownHash, hash)
			env.Setenv("GOGC", "400") // processes are short; collecting garbage is a quarter of their time
			port := FreePorts()
			env.Setenv("PORT", strconv.Itoa(port))
			for i := range 4 {
				env.Setenv(fmt.Sprint("PORT", i+1), strconv.Itoa(port+i+1))
			}
			return copyInto(env.WorkDir, common)
		},
	})
}

// copyInto copies files and folders into a folder.
func copyInto(folder string, paths []string) error {
	for _, path := range paths {
		to := filepath.Join(folder, filepath.Base(path))
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(to, data, 0o644)
		} else if info, failed := os.Stat(path); failed == nil && info.IsDir() {
			err = os.CopyFS(to, os.DirFS(path))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exits CODE PROGRAM ARGS...
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

// await waits until a process listens at an address.
func await(ts *testscript.TestScript, _ bool, args []string) {
	for {
		c, err := net.Dial("tcp", args[0])
		if err == nil {
			_ = c.Close()
			return
		}
		if slices.ContainsFunc(ts.BackgroundCmds(), func(cmd *exec.Cmd) bool { return cmd.ProcessState != nil }) {
			ts.Fatalf("a background command has ended; nobody listens at %s", args[0])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// interrupt CODE POINT PROGRAM...
func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	At(cmd, "INT", args[1])
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d: %v\n%s", got, want, err, out)
	}
}

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

func oneDocument(ts *testscript.TestScript, _ bool, _ []string) {
	if out := ts.ReadFile("stdout"); !json.Valid([]byte(out)) {
		ts.Fatalf("not one JSON document: %.200s", out)
	}
}

func same(ts *testscript.TestScript, _ bool, args []string) {
	if diff := Differences(ts, ts.MkAbs(args[0]), ts.MkAbs(args[1])); diff != "" {
		ts.Fatalf("%s and %s differ: %s", args[0], args[1], diff)
	}
}
