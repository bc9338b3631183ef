package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// A slot is a process that computes one point at a time. If a point kills it, the worker
// survives and reports the death.

// task asks a slot to compute a point: one line of JSON.
type task struct {
	Folder   string         `json:"folder"` // contains the scenario and its input files
	Inputs   []string       `json:"inputs"`
	Results  string         `json:"results"` // exists and is empty
	Cores    int            `json:"cores"`
	Memory   int64          `json:"memory_bytes"` // limit of the process; 0: none
	Key      sweep.Key      `json:"key"`
	Settings sweep.Settings `json:"settings"`
}

// answer is the progress or result of a slot: one line of JSON.
type answer struct {
	Share   float64     `json:"share"`
	Hops    uint64      `json:"hops"`
	Over    bool        `json:"over,omitempty"` // last answer for the task
	Verdict run.Verdict `json:"verdict"`
	Failed  string      `json:"failed,omitempty"`  // why there are no results
	Unable  string      `json:"unable,omitempty"`  // why this machine has none; another one may
	Program string      `json:"program,omitempty"` // hash of the process's executable if it is not the task's
	Exceeds int64       `json:"exceeds,omitempty"` // memory in bytes when the process passed its limit; it ends
	Seconds float64     `json:"seconds,omitempty"` // core seconds
	Peak    int64       `json:"peak,omitempty"`    // peak memory in bytes
}

// ServeSlot reads tasks from in, computes them and writes answers to out. It returns when
// in is closed or the context ends, and with an error when a task exceeds its memory
// limit. The process of a slot calls it and ends with it.
func ServeSlot(ctx context.Context, in io.Reader, out io.Writer) error {
	// Hash the executable now, before its file can be replaced.
	program, err := sweep.Executable()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	tasks := make(chan task)
	go func() { // the end of the worker closes in and stops the point
		defer stop()
		for d := json.NewDecoder(in); ; {
			var t task
			if d.Decode(&t) != nil {
				return
			}
			tasks <- t
		}
	}()
	var lock sync.Mutex
	e := json.NewEncoder(out)
	reply := func(a *answer) {
		lock.Lock()
		defer lock.Unlock()
		_ = e.Encode(a) // a reader that is gone has closed in as well
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-tasks:
			if t.Key.Executable != program {
				reply(&answer{Over: true, Program: program})
				continue
			}
			sweep.ResetPeak()
			computed := make(chan *answer, 1)
			go func() { computed <- t.compute(ctx, reply) }()
			a, err := t.await(computed)
			a.Over, a.Peak = true, sweep.PeakMemory()
			reply(a)
			if err != nil {
				return err
			}
		}
	}
}

// memoryEvery is the interval at which a slot compares its memory with the limit.
const memoryEvery = 20 * time.Millisecond

// await waits for the answer of a task while its process stays within the memory limit.
func (t *task) await(computed <-chan *answer) (*answer, error) {
	if t.Memory == 0 {
		return <-computed, nil
	}
	debug.SetMemoryLimit(t.Memory / 10 * 9) // collect garbage before the process is too large
	check := time.NewTicker(memoryEvery)
	defer check.Stop()
	for {
		select {
		case a := <-computed:
			return a, nil
		case <-check.C:
			if used := usedMemory(); used > t.Memory {
				return &answer{Exceeds: used}, fmt.Errorf("the point takes %d MiB of memory (expected at most %d MiB)", used>>20, t.Memory>>20)
			}
		}
	}
}

// usedMemory returns the memory of this process in bytes.
func usedMemory() int64 {
	if peak := sweep.PeakMemory(); peak > 0 {
		return peak
	}
	var m runtime.MemStats // without a peak of the system, memory of the Go runtime
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

func (t *task) compute(ctx context.Context, reply func(*answer)) *answer {
	a := &answer{Share: 1}
	path := filepath.Join(t.Folder, scenarioName)
	text, err := os.ReadFile(path)
	if err != nil {
		a.Unable = err.Error()
		return a
	}
	cfg, err := scenario.ParseSandboxed(path, text, t.Inputs)
	if err != nil {
		a.Failed = "refused: " + err.Error()
		return a
	}
	began := time.Now()
	job := &sweep.Job{
		Point: &sweep.Point{Config: cfg, Key: t.Key}, Workers: t.Cores, Folder: t.Results, Check: true,
		Report: func(share float64, hops uint64) { a.Hops = hops; reply(&answer{Share: share, Hops: hops}) },
	}
	a.Verdict, err = sweep.Simulate(ctx, job, t.Settings.Options())
	a.Seconds = time.Since(began).Seconds() * float64(t.Cores)
	var write *run.WriteError
	switch {
	case ctx.Err() != nil: // another machine can compute it
		a.Unable = ctx.Err().Error()
	case errors.As(err, &write):
		a.Unable = err.Error()
	case err != nil:
		a.Failed = err.Error()
	}
	return a
}

// slot is the worker's handle of a slot process.
type slot struct {
	command func() (*exec.Cmd, error)

	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	tail    *tail
}

// start starts the process unless it is running.
func (s *slot) start() error {
	if s.cmd != nil {
		return nil
	}
	cmd, err := s.command()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	t := &tail{}
	cmd.Stderr = t
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.in, s.tail, s.answers = cmd, in, t, make(chan answer)
	answers := s.answers
	go func() {
		defer close(answers)
		d := json.NewDecoder(bufio.NewReader(out))
		for {
			var a answer
			if d.Decode(&a) != nil {
				return
			}
			answers <- a
		}
	}()
	return nil
}

// diedError means that the process ended while it computed a point.
type diedError struct {
	why string
	log string
}

func (d *diedError) Error() string { return "the process died: " + d.why }

// compute lets the process compute a point. The end of the context kills the process; the
// error is then its cause.
func (s *slot) compute(ctx context.Context, t *task, report func(share float64, hops uint64)) (answer, error) {
	if err := s.start(); err != nil {
		return answer{}, err
	}
	line, err := json.Marshal(t)
	if err != nil {
		return answer{}, err
	}
	// A failed write shows as the end of the answers.
	_, _ = s.in.Write(append(line, '\n'))
	for {
		select {
		case <-ctx.Done():
			s.end()
			return answer{}, context.Cause(ctx)
		case a, ok := <-s.answers:
			switch {
			case !ok:
				err := s.cmd.Wait()
				d := &diedError{why: "no answer before it ended", log: s.tail.String()}
				if err != nil {
					d.why = err.Error()
				}
				s.cmd = nil
				return answer{}, d
			case a.Program != "" || a.Exceeds > 0:
				s.end()
				return a, nil
			case a.Over:
				return a, nil
			}
			report(a.Share, a.Hops)
		}
	}
}

// end kills the process and waits for it.
func (s *slot) end() {
	if s.cmd == nil {
		return
	}
	_ = s.in.Close()
	_ = s.cmd.Process.Kill()
	for range s.answers { // until the process has ended
	}
	_ = s.cmd.Wait()
	s.cmd = nil
}

// tail keeps the last maxLog bytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - maxLog; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.text, []byte("?")))
}

// tooLittleMemory returns the message of a worker that refuses a point for lack of memory.
func tooLittleMemory(need, have int64) string {
	return fmt.Sprintf("a point takes %d MiB of memory, but this worker has %d MiB per point; fix: raise --memory or lower --workers", need>>20, have>>20)
}
