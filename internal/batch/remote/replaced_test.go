package remote

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// workerProcess is a worker that starts its slots as xoff does. It logs to standard output.
func workerProcess(address string) int {
	program, err := sweep.Executable()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	w := &Worker{
		Name: "process", Program: program, Slots: 1, Cores: 1, Folder: os.Getenv("XOFF_TEST_FOLDER"), Log: func(s string) { fmt.Println(s) },
		Slot: func() (*exec.Cmd, error) { return SlotCommand(1) },
	}
	if _, err := w.Run(context.Background(), address, Access{Token: token}); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// copyExecutable copies the executable of this test, with more bytes at its end.
func copyExecutable(t *testing.T, path, more string) {
	t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(path, append(data, more...), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A worker whose executable is replaced before its first point computes the point with the
// image that it announced.
func TestExecutableReplacedInPlace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can start the running image")
	}
	b := newBench(t)
	path := filepath.Join(b.folder, "xoff")
	copyExecutable(t, path, "")
	cmd := exec.CommandContext(b.ctx, path)
	cmd.Env = append(os.Environ(), "XOFF_TEST_WORKER="+b.address, "XOFF_TEST_FOLDER="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.workers.Go(func() { // ends with the bench
		for lines := bufio.NewScanner(out); lines.Scan(); {
			b.log.add(lines.Text())
		}
		_ = cmd.Wait()
	})
	b.log.wait(b.ctx, "process serves ")
	upgrade := filepath.Join(b.folder, "upgrade")
	if err := os.WriteFile(upgrade, []byte("#!/bin/sh\nread task\necho '{\"over\":true,\"failed\":\"another program\"}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(upgrade, path); err != nil {
		t.Fatal(err)
	}
	for _, row := range b.sweep("replaced", 2, scenarioText, nil) {
		if !row.Results {
			t.Errorf("%+v", row.Verdict)
		}
	}
}

// A slot with another executable than its worker computes nothing: the worker leaves, and
// another one gets the point.
func TestSlotChecksItsExecutable(t *testing.T) {
	b := newBench(t)
	path := filepath.Join(b.folder, "xoff")
	copyExecutable(t, path, "more")
	outdated := b.newWorker("outdated")
	outdated.Slot = func() (*exec.Cmd, error) { return slotCommand(path), nil }
	ended := make(chan error, 1)
	b.workers.Go(func() {
		_, err := outdated.Run(b.ctx, b.address, Access{Token: token})
		ended <- err
		b.start(b.newWorker("fresh"))
	})
	if rows := b.sweep("checked", 1, scenarioText, nil); !rows[0].Results {
		t.Errorf("%+v", rows[0].Verdict)
	}
	if err := <-ended; !IsRefused(err) || !strings.Contains(err.Error(), "(expected "+b.program+"); fix: restart the worker") {
		t.Errorf("%v", err)
	}
}
