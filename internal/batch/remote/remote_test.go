package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/devtool/await"
	"github.com/xoff-net/xoff/run"
)

// deadly marks scenarios that kill the process of their slot.
const deadly = "name: deadly"

// TestMain also serves as the process of a slot and of a worker.
func TestMain(m *testing.M) {
	isSlot := os.Getenv("XOFF_TEST_SLOT") != "" || slices.Equal(os.Args[1:], []string{"worker", "--slot"})
	switch address := os.Getenv("XOFF_TEST_WORKER"); {
	case !isSlot && address != "":
		os.Exit(workerProcess(address))
	case !isSlot:
		os.Exit(m.Run())
	}
	in, tasks := io.Pipe()
	go func() {
		defer func() { _ = tasks.Close() }()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			var t task
			_ = json.Unmarshal(lines.Bytes(), &t)
			if text, _ := os.ReadFile(filepath.Join(t.Folder, scenarioName)); strings.Contains(string(text), deadly) {
				fmt.Fprintln(os.Stderr, "no memory left")
				os.Exit(9)
			}
			_, _ = tasks.Write(append(lines.Bytes(), '\n'))
		}
	}()
	if err := ServeSlot(context.Background(), in, os.Stdout); err != nil {
		os.Exit(1)
	}
}

const token = "s3cret"

const scenarioText = `
workload: [{name: web, generator: poisson, sizes: own.txt, load: {share: 0.5, of: host_links}, pairs: any, class: rdma}]
run: {arrivals: 20us, stop: {when: time, at_most: 40us}}
`

// logs collects lines from several goroutines.
type logs struct {
	mu   sync.Mutex
	text []string
}

func (l *logs) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line)
}

func (l *logs) has(t *testing.T, want string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.text, func(s string) bool { return strings.Contains(s, want) }) {
		t.Errorf("%q is not in the log:\n%s", want, strings.Join(l.text, "\n"))
	}
}

// wait waits until a line contains want.
func (l *logs) wait(ctx context.Context, want string) {
	for sleep(ctx, 10*time.Millisecond) {
		l.mu.Lock()
		found := slices.ContainsFunc(l.text, func(s string) bool { return strings.Contains(s, want) })
		l.mu.Unlock()
		if found {
			return
		}
	}
}

// bench is a server with a folder for sweeps and their workers.
type bench struct {
	t       *testing.T
	ctx     context.Context
	server  *hub.Server
	address string
	folder  string
	log     logs
	program string
	workers sync.WaitGroup
}

func newBench(t *testing.T) *bench {
	ctx, stop := context.WithCancel(await.Context(t))
	b := &bench{t: t, ctx: ctx, folder: t.TempDir()}
	var err error
	if b.program, err = sweep.Executable(); err != nil {
		t.Fatal(err)
	}
	if b.server, err = hub.Start(ctx, hub.Config{Host: "127.0.0.1", Token: token, Folder: filepath.Join(b.folder, "nats"), Log: b.log.add}); err != nil {
		t.Fatal(err)
	}
	b.address = "nats://" + b.server.Address()
	// Flow sizes, in a file that must be sent to workers.
	if err := os.WriteFile(filepath.Join(b.folder, "own.txt"), []byte("0 0\n5000 50\n20000 100\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		b.workers.Wait()
		b.server.Stop()
	})
	return b
}

// prepare plans a sweep over seeds and opens its store.
func (b *bench) prepare(name string, seeds int, scenario string) (*sweep.Runner, []*sweep.Point, run.Options) {
	b.t.Helper()
	o := run.Options{Engine: run.Fast, Invariants: run.Off, WindowDivisor: 1, CSV: true}
	g := &sweep.Grid{Name: filepath.Join(b.folder, "mine.yaml"), Data: []byte(scenario)}
	for i := range seeds {
		g.Seeds = append(g.Seeds, uint64(i+1))
	}
	r := &sweep.Runner{Store: sweep.Store{Folder: filepath.Join(b.folder, name)}, Workers: 2}
	r.Simulate(o)
	points, err := r.Prepare(b.ctx, g, sweep.OptionsKey(&o), nil)
	if err == nil {
		err = r.Store.Open(g, points, sweep.Opening{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(r.Store.Close)
	return r, points, o
}

// sweep lets workers compute a sweep and returns its rows.
func (b *bench) sweep(name string, seeds int, scenario string, change func(*Sweep)) []sweep.Row {
	b.t.Helper()
	r, points, o := b.prepare(name, seeds, scenario)
	s := Sweep{Name: name, Folder: r.Store.Folder, Program: b.program, Settings: sweep.SettingsOf(&o), Log: b.log.add}
	if change != nil {
		change(&s)
	}
	ctx, c, err := Coordinate(b.ctx, b.address, Access{Token: token}, s)
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	r.Run, r.Workers = c.Run, InFlight
	rows, err := r.Sweep(ctx, points)
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

func (b *bench) newWorker(name string) *Worker {
	folder := b.t.TempDir()
	return &Worker{
		Name: name, Program: b.program, Slots: 1, Cores: 1, Folder: folder, Log: func(s string) { b.log.add(name + ": " + s) },
		Slot: func() (*exec.Cmd, error) { return slotCommand(os.Args[0]), nil },
	}
}

// slotCommand returns the process of a slot for an executable of this test.
func slotCommand(path string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "XOFF_TEST_SLOT=1")
	return cmd
}

func (b *bench) start(w *Worker) {
	b.workers.Go(func() {
		if _, err := w.Run(b.ctx, b.address, Access{Token: token}); err != nil {
			b.log.add(w.Name + " ended: " + err.Error())
		}
	})
}

// files returns the contents of all files below a folder, by path.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, path))
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A sweep computed by workers leaves the same bytes as a local one, including files that
// the scenario names. Unauthorised clients are rejected meanwhile.
func TestSameBytesAsOnOneMachine(t *testing.T) {
	b := newBench(t)
	r, points, _ := b.prepare("local", 12, scenarioText)
	if _, err := r.Sweep(b.ctx, points); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"anne", "bert", "carl"} {
		b.start(b.newWorker(name))
	}
	b.strangers()
	rows := b.sweep("far", 12, scenarioText, nil)
	for _, row := range rows {
		if !row.Results || row.Verdict.Code != 0 {
			t.Errorf("%s: %+v", row.Point.Label, row.Verdict)
		}
	}
	local, far := files(t, filepath.Join(b.folder, "local")), files(t, filepath.Join(b.folder, "far"))
	if len(local) < 12*5 {
		t.Errorf("got %d files, want at least 60: the comparison would be empty", len(local))
	}
	for name, data := range local {
		if far[name] != data {
			t.Errorf("%s differs: %d bytes and %d", name, len(data), len(far[name]))
		}
	}
	if len(far) != len(local) {
		t.Errorf("%d files, want %d", len(far), len(local))
	}
	b.log.has(t, "joined sweep far")
	b.empty()
}

// strangers checks that clients with a wrong token or too long messages are rejected.
func (b *bench) strangers() {
	b.t.Helper()
	w := b.newWorker("stranger")
	if _, err := w.Run(b.ctx, b.address, Access{Token: "guessed"}); !IsRefused(err) || !strings.Contains(err.Error(), "rejects this client") {
		b.t.Errorf("wrong token: %v", err)
	}
	b.log.has(b.t, "authentication error")
	for _, c := range []struct {
		bytes       int
		answer, log string
	}{{1 << 30, "", "Bad or Missing Size"}, {hub.MaxMessage + 1, "Maximum Payload Violation", "maximum payload exceeded"}} {
		answer := b.say(fmt.Sprintf("CONNECT {\"auth_token\":%q,\"verbose\":false}\r\nPUB xoff.x.points %d\r\n", token, c.bytes))
		if !strings.Contains(answer, c.answer) {
			b.t.Errorf("a message of %d bytes: %s", c.bytes, answer)
		}
		b.log.has(b.t, c.log)
	}
}

// say sends bytes to the server and returns its answer up to the end of the connection.
func (b *bench) say(text string) string {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.server.Address())
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := b.ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	_, _ = io.WriteString(conn, text)
	answer, err := io.ReadAll(conn)
	if err != nil {
		b.t.Errorf("the server keeps the connection open: %v", err)
	}
	return string(answer)
}

// empty checks that the server has no streams left.
func (b *bench) empty() {
	b.t.Helper()
	conn, err := nats.Connect(b.address, nats.Token(token))
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		b.t.Fatal(err)
	}
	list := js.StreamNames(b.ctx)
	for name := range list.Name() {
		b.t.Errorf("%s is left on the server", name)
	}
}

// A point that killed three slots is set aside with its log, and the sweep continues.
func TestDeadlyPointIsSetAside(t *testing.T) {
	b := newBench(t)
	b.start(b.newWorker("anne"))
	b.start(b.newWorker("bert"))
	var log string
	rows := b.sweep("deadly", 1, deadly+scenarioText, func(s *Sweep) {
		s.SetAside = func(_ *sweep.Point, text string) (string, error) {
			log = text
			return "the.log", nil
		}
	})
	if m := rows[0].Verdict.Message; rows[0].Results || rows[0].Verdict.Code != run.Failure ||
		m != "set aside after 3 attempts without results; last error: the process died: exit status 9; log: the.log" {
		t.Errorf("%+v", rows[0].Verdict)
	}
	if n := strings.Count(log, "no memory left"); n != 3 {
		t.Errorf("got %d deaths in the log, want 3: %s", n, log)
	}
	if rows := b.sweep("other", 3, scenarioText, nil); !rows[2].Results {
		t.Errorf("%+v", rows[2].Verdict)
	}
}

// Workers with another executable or too little memory are refused by name.
func TestUnfitWorkersAreRefused(t *testing.T) {
	b := newBench(t)
	small, large, other := b.newWorker("small"), b.newWorker("large"), b.newWorker("other")
	small.Memory, large.Memory, other.Program = 64<<20, 4<<30, strings.Repeat("0", 64)
	b.start(small)
	ended := make(chan error, 1)
	b.workers.Go(func() {
		_, err := other.Run(b.ctx, b.address, Access{Token: token})
		ended <- err
		b.start(large)
	})
	if rows := b.sweep("heavy", 2, scenarioText, func(s *Sweep) { s.Memory = 1 << 30 }); !rows[0].Results || !rows[1].Results {
		t.Errorf("%+v", rows)
	}
	if err := <-ended; !IsRefused(err) || !strings.Contains(err.Error(), other.Program) || !strings.Contains(err.Error(), b.program) {
		t.Errorf("another executable: %v", err)
	}
	b.log.has(t, "other: refused: this xoff executable has hash 0000")
	b.log.has(t, "small refuses seed=")
	b.log.has(t, ": a point takes 1024 MiB of memory, but this worker has 64 MiB per point")
}

// Scenarios that read files of the worker and malformed messages are rejected and logged;
// valid points are still computed.
func TestForgedMessages(t *testing.T) {
	b := newBench(t)
	secret := filepath.Join(b.folder, "own.txt") // readable, but not part of the scenario
	_, points, o := b.prepare("forged", 2, scenarioText)
	ctx, c, err := Coordinate(b.ctx, b.address, Access{Token: token}, Sweep{
		Name: "forged", Program: b.program, Settings: sweep.SettingsOf(&o), Log: b.log.add,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, text := range []string{"{", `{"schema":1}`, `{"schema":1,"id":"x","execute":"rm"}`} {
		if _, err := c.js.Publish(ctx, pointsSubject(c.session), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	b.start(b.newWorker("anne"))
	request := func(id string, change func(*order)) outcome {
		t.Helper()
		w := &waiter{outcomes: make(chan arrival, 1)}
		c.mu.Lock()
		c.waiting[id] = w
		c.mu.Unlock()
		o, err := c.order(ctx, points[0])
		if err != nil {
			t.Fatal(err)
		}
		o.ID = id
		change(o)
		if err := c.send(ctx, o); err != nil {
			t.Fatal(err)
		}
		select {
		case a := <-w.outcomes:
			c.discard(ctx, &a)
			return a.outcome
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
		return outcome{}
	}
	rewritten := func(from, to string) func(*order) {
		return func(o *order) {
			text := strings.ReplaceAll(string(o.Scenario.Data), from, to)
			o.Scenario = file{Name: scenarioName, Size: int64(len(text)), Hash: hashOf([]byte(text)), Data: []byte(text)}
		}
	}
	for _, f := range []struct {
		name, kind, want string
		change           func(*order)
	}{
		{"file of the worker", failed, `own.txt" on this one (allowed: files sent with it: input-own.txt)`, rewritten("input-own.txt", secret)},
		{"path to the parent folder", failed, `a scenario from another machine cannot read "../results/../../../own.txt" on this one`, rewritten("input-own.txt", "../results/../../../own.txt")},
		{"changed scenario", failed, "as planned)", rewritten("20us", "21us")},
		{"unknown key", failed, "unknown", rewritten("arrivals:", "execute: x\n  arrivals:")},
		{"scenario too long", failed, "has 2147483648 bytes (expected at most 8388608)", func(o *order) { o.Scenario.Size = 1 << 31 }},
		{"wrong hash", refused, "does not match its hash", func(o *order) { o.Inputs[0].Hash = o.Scenario.Hash }},
		{"missing file", refused, "object not found", func(o *order) { o.Inputs[0].Data = nil }},
		{"another executable", refused, "(expected 00)", func(o *order) { o.Key.Executable = "00" }},
		{"unchanged", done, "", func(*order) {}},
	} {
		if out := request(f.name, f.change); out.Kind != f.kind || !strings.Contains(out.Message, f.want) {
			t.Errorf("%s: %s %q, want %s %q", f.name, out.Kind, out.Message, f.kind, f.want)
		}
	}
	b.log.has(t, "anne: rejected a message of 1 bytes")
	b.log.has(t, `anne: rejected a message of 36 bytes: json: unknown field "execute"`)
}

// Coordinators and workers handle a missing server, and CheckURL rejects bad addresses.
func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "nats://" + l.Addr().String()
	_ = l.Close()
	if _, _, err := Coordinate(context.Background(), address, Access{}, Sweep{Log: func(string) {}}); !IsRefused(err) || !errors.Is(err, nats.ErrNoServers) {
		t.Errorf("%v", err)
	}
	w := &Worker{Name: "early", Idle: time.Millisecond, Log: func(string) {}}
	if n, err := w.Run(context.Background(), address, Access{}); n != 0 || err != nil {
		t.Errorf("worker without a server: %d %v", n, err)
	}
	// A server that hangs up may still be starting.
	if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			_ = conn.Close()
		}
	}()
	if n, err := w.Run(context.Background(), "nats://"+l.Addr().String(), Access{}); n != 0 || err != nil {
		t.Errorf("worker whose server hangs up: %d %v", n, err)
	}
	timeout := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for err, want := range map[error]bool{
		nats.ErrNoServers: true, nats.ErrTimeout: true, timeout: true, io.EOF: true,
		nats.ErrAuthorization: false, nats.ErrSecureConnWanted: false, &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}: false,
	} {
		if transient(err) != want {
			t.Errorf("transient(%v) is %t, want %t", err, !want, want)
		}
	}
	for _, c := range []struct{ url, want string }{
		{"nats://host:4222", ""}, {"host:4222", ""}, {"host", ""}, {"tls://host", ""},
		{"http://host", "is not a server address"}, {"", "is not a server address"}, {"nats://host/x", "is not a server address"},
		{"nats://token@host", "token in a command line"},
	} {
		if err := CheckURL(c.url); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.url, err, c.want)
		}
	}
}
