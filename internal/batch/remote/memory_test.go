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

	"github.com/nats-io/nats.go/jetstream"

	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// What a point takes is what earlier ones took, when nobody says: a worker that has less
// refuses the second point, and did not refuse the first.
func TestMemoryIsThatOfEarlierPoints(t *testing.T) {
	if sweep.PeakMemory() == 0 {
		t.Skip("nobody says here how much memory a process has")
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
	small, large := b.newWorker("small"), b.newWorker("large")
	small.Memory, large.Memory = 1<<20, 4<<30
	b.start(small)
	// One after the other: the second is sent when it is known what the first took.
	r.Workers, r.Run = 1, c.Run
	r.Progress = func(p sweep.Progress) {
		if p.Done == 1 && c.need() < 4<<20 {
			t.Errorf("after a point that a whole process computed, one takes %d bytes", c.need())
		}
	}
	b.workers.Go(func() {
		b.log.wait(ctx, "small refuses seed=2: it takes ")
		b.start(large)
	})
	if rows, err := r.Sweep(ctx, points); err != nil || !rows[0].Results || !rows[1].Results {
		t.Errorf("%+v, %v", rows, err)
	}
	b.log.has(t, " MiB of memory, and there are 1 MiB for a point here")
}

// Workers that leave hand back what they compute, however many: only those who are not
// heard of again count.
func TestWorkersThatLeaveDoNotCount(t *testing.T) {
	b := newBench(t)
	b.workers.Go(func() {
		for range maxGone + 2 {
			ctx, leave := context.WithCancel(b.ctx)
			w := b.newWorker("guest")
			begun := make(chan struct{})
			w.Slot = func() *exec.Cmd { // it never answers
				close(begun)
				return exec.Command("sleep", "600")
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

// Short results travel in the message, long ones as an object, in few pieces: neither one
// for each file nor one for each of its parts.
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
		out := outcome{Object: fmt.Sprint("of", each)}
		if err := w.attach(s, &out, folder); err != nil {
			t.Fatal(err)
		}
		info, err := c.objects.GetInfo(ctx, out.Object)
		if each == 1000 && (out.Results == nil || !errors.Is(err, jetstream.ErrObjectNotFound)) {
			t.Errorf("short results: %d bytes in the message, object: %v", len(out.Results), err)
		}
		// Three files of 196 blocks of 512 B with a header of one each, and two blocks at the
		// end: 593 * 512 = 303,616 B are three pieces of 131,072 B.
		if each == 100_000 && (out.Results != nil || err != nil || info.Chunks != 3 || uint64(out.Size) != info.Size) {
			t.Errorf("long results: %d bytes in the message, %+v, %v", len(out.Results), info, err)
		}
		got := t.TempDir()
		if err := c.unpack(ctx, &arrival{outcome: out}, got); err != nil {
			t.Fatal(err)
		}
		if want := files(t, folder); !maps.Equal(files(t, got), want) || len(want) != 3 {
			t.Errorf("files of %d bytes do not arrive as they were", each)
		}
		c.drop(ctx, &arrival{outcome: out})
		if _, err := c.objects.GetInfo(ctx, out.Object); !errors.Is(err, jetstream.ErrObjectNotFound) {
			t.Errorf("what has arrived stays on the server: %v", err)
		}
	}
	broken := arrival{outcome: outcome{Object: "x", Results: []byte("no archive")}}
	if err := c.unpack(ctx, &broken, t.TempDir()); err == nil {
		t.Error("what is no archive was read")
	}
}
