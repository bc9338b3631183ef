package peer

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
)

// TestMain also serves as a process that takes long to end after a signal.
func TestMain(m *testing.M) {
	if os.Getenv("XOFF_TEST_SIGNALS") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := UntilSignal(context.Background(), func() { fmt.Println("cleaned") })
	defer stop()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("ends")
	select {}
}

// The first signal ends the context, the second cleans up and ends the process.
func TestUntilSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	for _, first := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(first) { // as under nohup
			continue
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "XOFF_TEST_SIGNALS=1")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for _, step := range []struct {
			line string
			send os.Signal
		}{{"ready", first}, {"ends", syscall.SIGTERM}, {"cleaned", nil}} {
			if !lines.Scan() || lines.Text() != step.line {
				t.Errorf("%v: got %q, want %q", first, lines.Text(), step.line)
			}
			if step.send != nil {
				_ = cmd.Process.Signal(step.send)
			}
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 130 {
			t.Errorf("%v: exit code %d, want 130", first, got)
		}
	}
}
