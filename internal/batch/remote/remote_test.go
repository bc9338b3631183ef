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
	"github.com/xoff-net/xoff/run"
)

// deadly is in scenarios that kill the process of their slot.
const deadly = "name: deadly"

// The test binary is the process of a slot, too.
func TestMain(m *testing.M) {
	if os.Getenv("XOFF_TEST_SLOT") == "" {
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

// logs collects lines of several goroutines.
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

// wait waits until a line is there.
func (l *logs) wait(ctx context.Context, want string) {
	for pause(ctx, 10*time.Millisecond) {
		l.mu.Lock()
		there := slices.ContainsFunc(l.text, func(s string) bool { return strings.Contains(s, want) })
		l.mu.Unlock()
		if there {
			return
		}
	}
}

// bench is a server, and a sweep of so many seeds.
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
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	b := &bench{t: t, ctx: ctx, folder: t.TempDir()}
	var err error
	if b.program, err = sweep.Executable(); err != nil {
		t.Fatal(err)
	}
	if b.server, err = hub.Start(ctx, hub.Config{Host: "127.0.0.1", Token: token, Folder: filepath.Join(b.folder, "nats"), Log: b.log.add}); err != nil {
		t.Fatal(err)
	}
	b.address = "nats://" + b.server.Address()
	// The size that each flow has: a file, which has to travel.
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

// prepare makes the points of a sweep.
func (b *bench) prepare(name string, seeds int, scenario string) (*sweep.Runner, []*sweep.Point, run.Options) {
	b.t.Helper()
	o := run.Options{Engine: run.Fast, Invariants: run.Off, WindowDivisor: 1, CSV: true}
	g := &sweep.Grid{Name: filepath.Join(b.folder, "mine.yaml"), Data: []byte(scenario)}
	for i := range seeds {
		g.Seeds = append(g.Seeds, uint64(i+1))
	}
	r := &sweep.Runner{Store: sweep.Store{Folder: filepath.Join(b.folder, name)}, Workers: 2}
	r.Simulate(o)
	points, err := r.Prepare(b.ctx, g, sweep.Shown(&o), nil)
	if err == nil {
		err = r.Store.Open(g, points, sweep.Opening{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(r.Store.Close)
	return r, points, o
}

// sweep has points computed by workers.
func (b *bench) sweep(name string, seeds int, scenario string, change func(*Sweep)) []sweep.Row {
	b.t.Helper()
	r, points, o := b.prepare(name, seeds, scenario)
	s := Sweep{Name: name, Folder: r.Store.Folder, Program: b.program, Settings: sweep.SettingsOf(&o), AckWait: 2 * time.Second, Log: b.log.add}
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
		Slot: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "XOFF_TEST_SLOT=1")
			return cmd
		},
	}
}

func (b *bench) start(w *Worker) {
	b.workers.Go(func() {
		if _, err := w.Run(b.ctx, b.address, Access{Token: token}); err != nil {
			b.log.add(w.Name + " ended: " + err.Error())
		}
	})
}

// files reads a folder.
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

// Points that workers compute leave the bytes of a sweep on one machine, files that the
// scenario names included. Those who do not belong here are refused meanwhile.
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
		t.Errorf("%d files: this test compares nothing", len(local))
	}
	for name, data := range local {
		if far[name] != data {
			t.Errorf("%s differs: %d bytes and %d", name, len(data), len(far[name]))
		}
	}
	if len(far) != len(local) {
		t.Errorf("%d files, want %d", len(far), len(local))
	}
	b.log.has(t, "takes part in the sweep far")
	b.empty()
}

// strangers are those who are refused: with another token, and with a message of 1 GB.
func (b *bench) strangers() {
	b.t.Helper()
	w := b.newWorker("stranger")
	if _, err := w.Run(b.ctx, b.address, Access{Token: "guessed"}); !IsRefused(err) || !strings.Contains(err.Error(), "does not let this xoff in") {
		b.t.Errorf("another token: %v", err)
	}
	b.log.has(b.t, "authentication error")
	for _, c := range []struct {
		bytes        int
		answer, told string
	}{{1 << 30, "", "Bad or Missing Size"}, {hub.MaxMessage + 1, "Maximum Payload Violation", "maximum payload exceeded"}} {
		answer := b.say(fmt.Sprintf("CONNECT {\"auth_token\":%q,\"verbose\":false}\r\nPUB xoff.x.points %d\r\n", token, c.bytes))
		if !strings.Contains(answer, c.answer) {
			b.t.Errorf("a message of %d bytes: %s", c.bytes, answer)
		}
		b.log.has(b.t, c.told)
	}
}

// say sends bytes to the server and returns what it answers until it closes the
// connection.
func (b *bench) say(text string) string {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.server.Address())
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, text)
	answer, err := io.ReadAll(conn)
	if err != nil {
		b.t.Errorf("the server keeps the connection: %v", err)
	}
	return string(answer)
}

// empty checks that nothing of a sweep is left on the server.
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

// What a point kills is a slot; after three it is set aside with its log, and the others
// go on.
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
		m != "set aside, after 3 times that nobody came back with results; the last: the process died: exit status 9; log: the.log" {
		t.Errorf("%+v", rows[0].Verdict)
	}
	if n := strings.Count(log, "no memory left"); n != 3 {
		t.Errorf("%d of 3 deaths are in the log: %s", n, log)
	}
	if rows := b.sweep("other", 3, scenarioText, nil); !rows[2].Results {
		t.Errorf("%+v", rows[2].Verdict)
	}
}

// Workers of another program, or with too little memory, are refused by name.
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
		t.Errorf("another program: %v", err)
	}
	b.log.has(t, "other: refused: this xoff has the hash 0000")
	b.log.has(t, "small refuses seed=")
	b.log.has(t, ": it takes 1024 MiB of memory, and there are 64 MiB for a point here")
}

// A scenario that asks for a file of the worker, and messages that are none, are refused
// and logged; the others go on.
func TestForgedMessages(t *testing.T) {
	b := newBench(t)
	secret := filepath.Join(b.folder, "own.txt") // readable, and not of the scenario
	_, points, o := b.prepare("forged", 2, scenarioText)
	ctx, c, err := Coordinate(b.ctx, b.address, Access{Token: token}, Sweep{
		Name: "forged", Program: b.program, Settings: sweep.SettingsOf(&o), AckWait: 2 * time.Second, Log: b.log.add,
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
	ask := func(id string, change func(*order)) outcome {
		t.Helper()
		w := &waiter{outcomes: make(chan arrival, 1)}
		c.mu.Lock()
		c.waiting[id] = w
		c.mu.Unlock()
		q, err := c.order(ctx, points[0])
		if err != nil {
			t.Fatal(err)
		}
		q.ID = id
		change(q)
		if err := c.send(ctx, q); err != nil {
			t.Fatal(err)
		}
		select {
		case a := <-w.outcomes:
			c.drop(ctx, &a)
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
		{"a file of the worker", failed, "is a file of this machine, and the scenario is not", rewritten("input-own.txt", secret)},
		{"a link to the folder above", failed, "is a file of this machine", rewritten("input-own.txt", "../results/../../../own.txt")},
		{"another scenario", failed, "where it was planned", rewritten("20us", "21us")},
		{"an unknown key", failed, "unknown", rewritten("arrivals:", "execute: x\n  arrivals:")},
		{"a scenario that is too long", failed, "has 2147483648 bytes; allowed: at most 8388608", func(o *order) { o.Scenario.Size = 1 << 31 }},
		{"another hash", refused, "not what its hash says", func(o *order) { o.Inputs[0].Hash = o.Scenario.Hash }},
		{"a file that is not there", refused, "object not found", func(o *order) { o.Inputs[0].Data = nil }},
		{"another program", refused, "it is of the program 00", func(o *order) { o.Key.Executable = "00" }},
		{"the truth", done, "", func(*order) {}},
	} {
		if out := ask(f.name, f.change); out.Kind != f.kind || !strings.Contains(out.Message, f.want) {
			t.Errorf("%s: %s %q, want %s %q", f.name, out.Kind, out.Message, f.kind, f.want)
		}
	}
	b.log.has(t, "anne: a message of 1 bytes is refused")
	b.log.has(t, `anne: a message of 36 bytes is refused: json: unknown field "execute"`)
}

// A server of which nobody knows, and addresses that are none.
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
		t.Errorf("a worker that leaves when there is nothing to do: %d %v", n, err)
	}
	// One that hangs up on everybody may have just begun.
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
		t.Errorf("a worker whose server hangs up: %d %v", n, err)
	}
	late := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for err, want := range map[error]bool{
		nats.ErrNoServers: true, nats.ErrTimeout: true, late: true, io.EOF: true,
		nats.ErrAuthorization: false, nats.ErrSecureConnWanted: false, &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}: false,
	} {
		if passes(err) != want {
			t.Errorf("%v passes: %t", err, !want)
		}
	}
	for _, c := range []struct{ url, want string }{
		{"nats://host:4222", ""}, {"host:4222", ""}, {"host", ""}, {"tls://host", ""},
		{"http://host", "is no server"}, {"", "is no server"}, {"nats://host/x", "is no server"},
		{"nats://token@host", "can be read by all users"},
	} {
		if err := CheckURL(c.url); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.url, err, c.want)
		}
	}
}
