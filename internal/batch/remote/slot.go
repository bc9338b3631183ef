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
	"sync"
	"time"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// A slot is a process that computes one point at a time: when a point kills it, its
// worker is there to tell.

// task is what a worker asks a slot for, one line of JSON.
type task struct {
	Folder   string         `json:"folder"` // has the scenario and what came with it
	Inputs   []string       `json:"inputs"`
	Results  string         `json:"results"` // exists and is empty
	Cores    int            `json:"cores"`
	Key      sweep.Key      `json:"key"`
	Settings sweep.Settings `json:"settings"`
}

// answer is what a slot tells, one line of JSON each.
type answer struct {
	Share   float64     `json:"share"`
	Hops    uint64      `json:"hops"`
	Over    bool        `json:"over,omitempty"` // the last one
	Verdict run.Verdict `json:"verdict"`
	Failed  string      `json:"failed,omitempty"`  // why there are no results
	Unable  string      `json:"unable,omitempty"`  // why this machine has none
	Seconds float64     `json:"seconds,omitempty"` // of one core
	Peak    int64       `json:"peak,omitempty"`
}

// ServeSlot computes the points that come in until there is no more. It is what the
// process of a slot does.
func ServeSlot(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	tasks := make(chan task)
	go func() { // a worker that is gone ends the point, too
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
	say := func(a *answer) {
		lock.Lock()
		defer lock.Unlock()
		_ = e.Encode(a) // who does not listen any more closes the input, too
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-tasks:
			sweep.ForgetPeak()
			a := t.compute(ctx, say)
			a.Over, a.Peak = true, sweep.PeakMemory()
			say(a)
		}
	}
}

func (t *task) compute(ctx context.Context, say func(*answer)) *answer {
	a := &answer{Share: 1}
	path := filepath.Join(t.Folder, scenarioName)
	text, err := os.ReadFile(path)
	if err != nil {
		a.Unable = err.Error()
		return a
	}
	cfg, err := scenario.ParseApart(path, text, t.Inputs)
	if err != nil {
		a.Failed = "refused: " + err.Error()
		return a
	}
	began := time.Now()
	job := &sweep.Job{
		Point: &sweep.Point{Config: cfg, Key: t.Key}, Workers: t.Cores, Folder: t.Results, Check: true,
		Report: func(share float64, hops uint64) { a.Hops = hops; say(&answer{Share: share, Hops: hops}) },
	}
	a.Verdict, err = sweep.Simulate(ctx, job, t.Settings.Options())
	a.Seconds = time.Since(began).Seconds() * float64(t.Cores)
	var write *run.WriteError
	switch {
	case ctx.Err() != nil: // elsewhere it has results
		a.Unable = ctx.Err().Error()
	case errors.As(err, &write):
		a.Unable = err.Error()
	case err != nil:
		a.Failed = err.Error()
	}
	return a
}

// slot is the worker's end of such a process.
type slot struct {
	command func() *exec.Cmd

	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	tail    *tail
}

// start starts the process, if there is none.
func (s *slot) start() error {
	if s.cmd != nil {
		return nil
	}
	cmd := s.command()
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

// diedError means that a point took its process with it.
type diedError struct {
	why string
	log string
}

func (d *diedError) Error() string { return "the process died: " + d.why }

// compute has a point computed. When the context ends the process does, too.
func (s *slot) compute(ctx context.Context, t *task, report func(share float64, hops uint64)) (answer, error) {
	if err := s.start(); err != nil {
		return answer{}, err
	}
	line, err := json.Marshal(t)
	if err != nil {
		return answer{}, err
	}
	// What cannot be written shows in what is read.
	_, _ = s.in.Write(append(line, '\n'))
	for {
		select {
		case <-ctx.Done():
			s.end()
			return answer{}, ctx.Err()
		case a, ok := <-s.answers:
			switch {
			case !ok:
				err := s.cmd.Wait()
				d := &diedError{why: "it ended without a word", log: s.tail.String()}
				if err != nil {
					d.why = err.Error()
				}
				s.cmd = nil
				return answer{}, d
			case a.Over:
				return a, nil
			}
			report(a.Share, a.Hops)
		}
	}
}

// end ends the process.
func (s *slot) end() {
	if s.cmd == nil {
		return
	}
	_ = s.in.Close()
	_ = s.cmd.Process.Kill()
	for range s.answers { // until it is gone
	}
	_ = s.cmd.Wait()
	s.cmd = nil
}

// tail keeps the last that was written.
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

// describe is what a refusal says about a lack of memory.
func describe(need, have int64) string {
	return fmt.Sprintf("it takes %d MiB of memory, and there are %d MiB for a point here; allowed: more --memory, or fewer --workers at a time", need>>20, have>>20)
}
