package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/run"
)

// Without a setting, the memory of a point is the maximum of earlier ones: a worker with
// less refuses the second point before it starts.
func TestMemoryFromEarlierPoints(t *testing.T) {
	if sweep.PeakMemory() == 0 {
		t.Skip("the peak memory of a process is unknown here")
	}
	b := newBench(t)
	r, points, o := b.prepare("grown", 2, scenarioText)
	ctx, c, err := Coordinate(b.ctx, b.address, Access{Token: token}, Sweep{
		Name: "grown", Program: b.program, Settings: sweep.SettingsOf(&o), Log: b.log.add,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first, small, large := b.newWorker("first"), b.newWorker("small"), b.newWorker("large")
	small.Memory, large.Memory = 1<<20, 4<<30
	small.Slot = func() (*exec.Cmd, error) {
		t.Error("the small worker starts a point")
		return slotCommand(os.Args[0]), nil
	}
	// One at a time, so that the memory of the first is known when the second is sent.
	r.Workers, r.Run = 1, c.Run
	firstCtx, leave := context.WithCancel(ctx)
	b.workers.Go(func() {
		_, _ = first.Run(firstCtx, b.address, Access{Token: token})
		b.start(small)
		b.log.wait(ctx, "small refuses seed=2: a point takes ")
		b.start(large)
	})
	r.Run = func(ctx context.Context, job *sweep.Job) (run.Verdict, error) {
		if job.Point.Seed == 2 {
			leave()
			if c.need() < 4<<20 {
				t.Errorf("memory of a point is %d bytes, less than any process needs", c.need())
			}
		}
		return c.Run(ctx, job)
	}
	if rows, err := r.Sweep(ctx, points); err != nil || !rows[0].Results || !rows[1].Results {
		t.Errorf("%+v, %v", rows, err)
	}
	b.log.has(t, " MiB of memory, but this worker has 1 MiB per point")
}

// heavyText takes some 90 MiB: it has 500 * 499 flows, of which few begin.
const heavyText = `
topology: {name: one-switch, hosts: 500, host_link: {rate: 100Gbps, delay: 1us}}
switch: {buffer: {size: 512MB}}
workload: [{name: all, generator: all_to_all, size: 900KB, class: rdma}]
run: {arrivals: 1us, stop: {when: time, at_most: 2us}}
`

// A point that takes more memory than a slot may have is stopped and goes to a worker with
// more. The slot serves other points afterwards.
func TestMemoryLimitOfSlots(t *testing.T) {
	if sweep.PeakMemory() == 0 {
		t.Skip("the peak memory of a process is unknown here")
	}
	b := newBench(t)
	small, large := b.newWorker("small"), b.newWorker("large")
	small.Memory, large.Memory = 64<<20, 4<<30
	b.start(small)
	b.workers.Go(func() {
		b.log.wait(b.ctx, "small refuses seed=1: a point takes ")
		b.start(large)
	})
	if rows := b.sweep("heavy", 1, heavyText, nil); !rows[0].Results {
		t.Errorf("%+v", rows[0].Verdict)
	}
	b.log.has(t, " MiB of memory, but this worker has 64 MiB per point; fix: raise --memory or lower --workers")
	if rows := b.sweep("light", 2, scenarioText, nil); !rows[1].Results {
		t.Errorf("%+v", rows[1].Verdict)
	}
}

// A point that takes longer than the limit of the sweep fails; one that takes longer than
// the limit of a worker goes to another one.
func TestPointLimit(t *testing.T) {
	b := newBench(t)
	hasty, patient := b.newWorker("hasty"), b.newWorker("patient")
	hasty.Limit, patient.Limit = time.Nanosecond, time.Hour
	b.start(hasty)
	b.workers.Go(func() {
		b.log.wait(b.ctx, "time limit of this worker: stopped after 1ns; fix: raise --point-limit")
		hasty.leave(nil)
		b.start(patient)
	})
	if rows := b.sweep("worker", 1, scenarioText, nil); !rows[0].Results {
		t.Errorf("%+v", rows[0].Verdict)
	}
	rows := b.sweep("sweep", 1, scenarioText, func(s *Sweep) { s.Limit = time.Nanosecond })
	if m := rows[0].Verdict.Message; rows[0].Results || m != "the point takes longer than the time limit of the sweep: stopped after 1ns; fix: raise --point-limit" {
		t.Errorf("%+v", rows[0].Verdict)
	}
	if rows := b.sweep("next", 1, scenarioText, nil); !rows[0].Results { // the slot is usable again
		t.Errorf("%+v", rows[0].Verdict)
	}
}

// Any number of workers may leave and hand their points back: only workers that disappear
// count towards maxGone.
func TestWorkersThatLeaveDoNotCount(t *testing.T) {
	b := newBench(t)
	b.workers.Go(func() {
		for range maxGone + 2 {
			ctx, leave := context.WithCancel(b.ctx)
			w := b.newWorker("guest")
			begun := make(chan struct{})
			w.Slot = func() (*exec.Cmd, error) { // a process that never answers
				close(begun)
				return exec.Command("sleep", "600"), nil
			}
			ended := make(chan struct{})
			b.workers.Go(func() {
				defer close(ended)
				_, _ = w.Run(ctx, b.address, Access{Token: token})
			})
			select {
			case <-begun:
			case <-ctx.Done():
			}
			leave()
			<-ended
		}
		b.start(b.newWorker("anne"))
	})
	if rows := b.sweep("left", 1, scenarioText, nil); !rows[0].Results {
		t.Errorf("%+v", rows[0].Verdict)
	}
}

// Short results are sent in the message, long ones as an object with few chunks: not one
// per file or per block.
func TestShortAndLongResults(t *testing.T) {
	b := newBench(t)
	ctx, c, err := Coordinate(b.ctx, b.address, Access{Token: token}, Sweep{Name: "sent", Program: b.program, Log: b.log.add})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w, s := &Worker{Log: b.log.add}, &served{ctx: ctx, objects: c.objects}
	for _, each := range []int{1000, 100_000} { // bytes of each of three files
		folder := t.TempDir()
		for i := range 3 {
			data := bytes.Repeat([]byte{byte(i)}, each)
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.txt", i)), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out := outcome{Object: fmt.Sprint("files-of-", each)}
		if err := w.attach(s, &out, folder); err != nil {
			t.Fatal(err)
		}
		info, err := c.objects.GetInfo(ctx, out.Object)
		if each == 1000 && (out.Results == nil || !errors.Is(err, jetstream.ErrObjectNotFound)) {
			t.Errorf("short results: %d bytes in the message, object: %v", len(out.Results), err)
		}
		// Three files of 196 blocks of 512 B, each with a header of one block, and two blocks
		// at the end: 593 * 512 = 303,616 B fill three chunks of 131,072 B.
		if each == 100_000 && (out.Results != nil || err != nil || info.Chunks != 3 || uint64(out.Size) != info.Size) {
			t.Errorf("long results: %d bytes in the message, %+v, %v", len(out.Results), info, err)
		}
		got := t.TempDir()
		if err := c.unpack(ctx, &arrival{outcome: out}, got); err != nil {
			t.Fatal(err)
		}
		if want := files(t, folder); !maps.Equal(files(t, got), want) || len(want) != 3 {
			t.Errorf("files of %d bytes changed in transit", each)
		}
		c.discard(ctx, &arrival{outcome: out})
		if _, err := c.objects.GetInfo(ctx, out.Object); !errors.Is(err, jetstream.ErrObjectNotFound) {
			t.Errorf("discarded results stay on the server: %v", err)
		}
	}
	broken := arrival{outcome: outcome{Object: "x", Results: []byte("not an archive")}}
	if err := c.unpack(ctx, &broken, t.TempDir()); err == nil {
		t.Error("no error for bytes that are not an archive")
	}
}
