package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xoff-net/xoff/internal/batch/peer"
	"github.com/xoff-net/xoff/internal/devtool/script"
)

// killing describes which processes of a sweep are killed.
type killing struct {
	args    []string // arguments of the sweep
	workers int      // a worker is killed each time that this number of points is finished
	points  int      // finished points after which the hub or the sweep is killed
	hub     bool     // the hub; false: the sweep
}

// background is a process that runs beside the test.
type background struct {
	*exec.Cmd
	ended chan error
}

func started(t *testing.T, cmd *exec.Cmd) *background {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &background{cmd, make(chan error, 1)}
	go func() { b.ended <- cmd.Wait() }()
	return b
}

func (b *background) kill() {
	_ = b.Process.Kill()
	<-b.ended
}

// startHub starts xoff-hub and returns when it listens.
func startHub(t *testing.T, address, folder string) *background {
	t.Helper()
	cmd := exec.Command("xoff-hub", "--listen", address, "--dir", folder)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, os.Stderr
	hub := started(t, cmd)
	_ = in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening on ") {
		t.Fatalf("the hub: %q, %v", line, err)
	}
	return hub
}

// freeAddress returns an address at which no process listens.
func freeAddress() string { return fmt.Sprint("127.0.0.1:", script.FreePorts()) }

// killWorkers runs a sweep through xoff-hub and kills workers, and once the hub or the
// sweep. The results folder must equal the folder of a sweep on one machine.
func killWorkers(t *testing.T, k killing) {
	t.Setenv(peer.TokenVariable, "s3cret of sixteen")
	script.ShareHash(t)
	folder, address := t.TempDir(), freeAddress()
	at := func(name string) string { return filepath.Join(folder, name) }
	sweep := func(to string, more ...string) *exec.Cmd {
		return program(append(more, k.args...), "sweep", busy, "--quiet", "-o", at(to))
	}
	must(t, sweep("whole"))

	hub := startHub(t, address, at("hub"))
	read, write, err := os.Pipe() // the sweep writes a byte for each finished point
	if err != nil {
		t.Fatal(err)
	}
	finished := make(chan int)
	go func() {
		b := make([]byte, 1)
		for n := 1; ; n++ {
			if _, err := read.Read(b); err != nil {
				return
			}
			finished <- n
		}
	}()
	startSweep := func() *background {
		cmd := sweep("far", "--nats", "nats://"+address, "--resume")
		cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{write}
		script.At(cmd, "TELL", "rename:points/*")
		return started(t, cmd)
	}
	main := startSweep()
	var crowd [3]*background
	for i := range crowd {
		crowd[i] = started(t, program(nil, "worker", address, "--workers", "1", "--quiet", "-o", folder))
	}
	kills := 0
	for over := false; !over; {
		select {
		case err := <-main.ended:
			if over = true; err != nil {
				t.Errorf("the sweep: %v", err)
			}
		case n := <-finished:
			if n%k.workers == 0 {
				i := kills % len(crowd)
				crowd[i].kill()
				crowd[i] = started(t, program(nil, "worker", address, "--workers", "1", "--quiet", "-o", folder))
				kills++
			}
			if n == k.points && k.hub {
				hub.kill()
				hub = startHub(t, address, at("hub"))
			} else if n == k.points {
				main.kill()
				main = startSweep()
			}
		}
	}
	for _, worker := range crowd {
		worker.kill()
	}
	_ = hub.Process.Signal(syscall.SIGTERM)
	if err := <-hub.ended; err != nil {
		t.Errorf("the hub after SIGTERM: %v", err)
	}
	if kills < 2 {
		t.Errorf("%d workers were killed, want at least 2", kills)
	}
	equal(t, at("whole"), at("far"))
	t.Logf("%d workers were killed", kills)
}

// Ctrl-C reaches all processes of a terminal. A slot ignores it: its worker decides about
// the point and ends the slot.
func TestSlotLeavesSignalsToItsWorker(t *testing.T) {
	cmd := exec.Command("xoff", "worker", "--slot")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	for range 3 { // at the first signal it may not have started
		if _, err := fmt.Fprintln(in, "{}"); err != nil || !answers.Scan() || !strings.Contains(answers.Text(), `"over":true`) {
			t.Fatalf("%v: %s", err, answers.Text())
		}
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			if err := cmd.Process.Signal(s); err != nil {
				t.Error(err)
			}
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
