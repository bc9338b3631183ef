package cli

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xoff-net/xoff/internal/batch/peer"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// killing describes which processes of a sweep are killed.
type killing struct {
	args   []string      // arguments of the sweep
	hub    bool          // kill and restart the hub; false: the sweep
	every  time.Duration // time between kills of workers
	points int           // finished points after which the hub or the sweep is killed
}

// killWorkers runs a sweep through xoff-hub and kills workers, and once the hub or the
// sweep. The results folder must equal the folder of a sweep on one machine.
func killWorkers(t *testing.T, k killing) {
	t.Setenv(peer.TokenVariable, "s3cret of sixteen")
	folder := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	_ = l.Close()
	address := "nats://" + host
	sweep := func(name string, more ...string) *exec.Cmd {
		args := append([]string{"sweep", "testdata/busy.yaml", "--quiet", "-o", filepath.Join(folder, name)}, k.args...)
		cmd := exec.Command("xoff", append(args, more...)...)
		cmd.Stderr = os.Stderr
		return cmd
	}
	if err := sweep("whole").Run(); err != nil {
		t.Fatal(err)
	}
	startHub := func() *exec.Cmd {
		cmd := started(t, exec.Command("xoff-hub", "--listen", host, "--dir", filepath.Join(folder, "hub")))
		waitFor(t, host)
		return cmd
	}
	startSweep := func() *exec.Cmd { return started(t, sweep("far", "--nats", address, "--resume")) }
	hub := startHub()
	main := startSweep()
	stop := make(chan struct{})
	var crowd sync.WaitGroup
	kills := 0
	crowd.Go(func() { kills = killCrowd(t, address, folder, k.every, stop) })
	for finishedPoints(filepath.Join(folder, "far")) < k.points {
		time.Sleep(10 * time.Millisecond)
	}
	if k.hub {
		_ = hub.Process.Kill()
		_ = hub.Wait()
		time.Sleep(time.Second)
		hub = startHub()
	} else {
		_ = main.Process.Kill()
		_ = main.Wait()
		main = startSweep()
	}
	if err := main.Wait(); err != nil {
		t.Errorf("the sweep: %v", err)
	}
	close(stop)
	crowd.Wait()
	_ = hub.Process.Signal(syscall.SIGTERM)
	if err := hub.Wait(); err != nil {
		t.Errorf("the hub after SIGTERM: %v", err)
	}
	if kills < 2 {
		t.Errorf("%d workers were killed, want at least 2", kills)
	}
	if diff := differences(tree(t, filepath.Join(folder, "whole")), tree(t, filepath.Join(folder, "far"))); diff != "" {
		t.Errorf("after %d kills these files differ: %s", kills, diff)
	}
	t.Logf("%d workers were killed", kills)
}

// killCrowd runs three workers and regularly kills and restarts one, until stop is closed.
// It returns the number of workers killed before that.
func killCrowd(t *testing.T, address, folder string, every time.Duration, stop <-chan struct{}) int {
	var crowd [3]*exec.Cmd
	start := func(i int) {
		crowd[i] = started(t, exec.Command("xoff", "worker", address, "--workers", "1", "--quiet", "-o", folder))
	}
	for i := range crowd {
		start(i)
	}
	kill := func(i int) {
		_ = crowd[i].Process.Kill()
		_ = crowd[i].Wait()
	}
	for kills := 0; ; kills++ {
		select {
		case <-stop:
			for i := range crowd {
				kill(i)
			}
			return kills
		case <-time.After(every):
		}
		i := rand.N(len(crowd))
		kill(i)
		start(i)
	}
}

func started(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Error(err)
	}
	return cmd
}

// waitFor waits until a process listens at address.
func waitFor(t *testing.T, address string) {
	t.Helper()
	for range 500 {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("no process listens at %s", address)
}

func TestWorkersLine(t *testing.T) {
	for _, c := range []struct {
		workers int
		want    string
	}{
		{0, "30 of 100 points (10 reused), no workers; start xoff worker nats://127.0.0.1:4222"},
		// 20 points in 2 min, a quarter of the work: the rest takes three times as long
		{1, "30 of 100 points (10 reused), 1 worker (8 at a time), 10 points/min, about 6m0s left"},
		{3, "30 of 100 points (10 reused), 3 workers (8 at a time), 10 points/min, about 6m0s left"},
	} {
		p := sweep.Progress{Done: 30, Total: 100, Reused: 10, Share: 0.25}
		if got := workersLine(p, 2*time.Minute, c.workers, 8, "nats://127.0.0.1:4222"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
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
	started(t, cmd)
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
