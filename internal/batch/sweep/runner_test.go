package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

const tiny = `name: tiny
workload:
  - {name: a, generator: flows, class: rdma, flows: [{from: host0, to: host1, size: 1KB, start: 0s}]}
`

func buildPoint(p fabric.Plan) (*fabric.Fabric, error) {
	return p.Build(fabric.Options{})
}

func tinyGrid(seeds ...uint64) *Grid {
	return &Grid{Name: "tiny.yaml", Data: []byte(tiny), Axes: []Axis{{"switch.policy.alpha", []string{"1/8", "1/4"}}}, Seeds: seeds}
}

// fake replaces the simulator and records the points that it was asked to run.
type fake struct {
	mu      sync.Mutex
	ran     []string
	workers []int
	fail    map[string]error // by label
	verdict map[string]run.Verdict
	before  func(p *Point)
}

func (f *fake) run(ctx context.Context, job *Job) (run.Verdict, error) {
	p := job.Point
	if f.before != nil {
		f.before(p)
	}
	f.mu.Lock()
	f.ran = append(f.ran, p.Label)
	f.workers = append(f.workers, job.Workers)
	f.mu.Unlock()
	if err := f.fail[p.Label]; err != nil {
		return run.Verdict{}, err
	}
	if ctx.Err() != nil {
		return run.Verdict{}, ctx.Err()
	}
	file, err := os.Create(filepath.Join(job.Folder, summaryFile))
	if err != nil {
		return run.Verdict{}, &run.WriteError{Err: err}
	}
	s := &metrics.Summary{Schema: metrics.SchemaVersion, Seed: p.Seed}
	s.Pauses.Pauses = 10 * p.Seed
	job.Report(1, 100)
	return f.verdict[p.Label], errors.Join(s.Write(file), file.Close())
}

func sweepOnce(t *testing.T, ctx context.Context, folder string, g *Grid, f *fake, workers int, options string) ([]Row, error) {
	t.Helper()
	r := &Runner{Store: Store{Folder: folder}, Workers: workers, Build: buildPoint, Run: f.run}
	points, err := r.Prepare(ctx, g, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Store.Open(g, points, Opening{Resume: true}); err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	return r.Sweep(ctx, points)
}

// Points with a higher cost are a larger share of the work; reused points do not count.
func TestShareOfWork(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, c := range []struct {
		folder string
		points int
		want   string // shares: at the start, then at the last report and at the end of each point
	}{
		{one, 1, "[0 1 1]"},
		{one, 2, "[0 1 1]"}, // the first point is reused
		{two, 2, "[0 0.25 0.25 1 1]"},
	} {
		var got []float64
		r := &Runner{Store: Store{Folder: c.folder}, Workers: 1, Build: buildPoint, Run: (&fake{}).run}
		points, err := r.Prepare(context.Background(), tinyGrid(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		points[1].Cost = 3
		if err := r.Store.Open(tinyGrid(), points, Opening{Resume: true}); err != nil {
			t.Fatal(err)
		}
		r.Progress = func(p Progress) { got = append(got, p.Share) }
		if _, err := r.Sweep(context.Background(), points[:c.points]); err != nil {
			t.Fatal(err)
		}
		r.Store.Close()
		if fmt.Sprint(got) != c.want {
			t.Errorf("%d points: %v, want %s", c.points, got, c.want)
		}
	}
}

func TestPoints(t *testing.T) {
	g := tinyGrid(5, 6)
	g.Axes = append(g.Axes, Axis{"hosts.payload", []string{"1000B", "500B"}})
	points, err := g.Points()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range points {
		got = append(got, fmt.Sprint(p.Values, p.Seed, p.Config.Hosts.Payload, p.Config.Seed))
	}
	want := "[1/8 1000B] 5 1KB 5;[1/8 1000B] 6 1KB 6;[1/8 500B] 5 500B 5;[1/8 500B] 6 500B 6;" +
		"[1/4 1000B] 5 1KB 5;[1/4 1000B] 6 1KB 6;[1/4 500B] 5 500B 5;[1/4 500B] 6 500B 6"
	if s := strings.Join(got, ";"); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestPrepareRejectsBadValues(t *testing.T) {
	for _, c := range []struct {
		axes []Axis
		want string
	}{
		{[]Axis{{"switch.policy.alpha", []string{"1/8", "fast"}}}, "--vary switch.policy.alpha=fast: "},
		{[]Axis{{"switch.policy.colour", []string{"1"}}}, "--vary switch.policy.colour=1: "},
		{[]Axis{{"switch.buffer.size", []string{"16MiB", "10KB"}}}, "switch.buffer"},
		{[]Axis{{"topology.leaves", []string{"4", "0"}}}, "topology.leaves"},
		{[]Axis{{"hosts.payload", []string{"1KB"}}, {"hosts.payload", []string{"2KB"}}}, "varied twice"},
	} {
		f := &fake{}
		r := &Runner{Store: Store{Folder: t.TempDir()}, Workers: 2, Build: buildPoint, Run: f.run}
		g := &Grid{Name: "tiny.yaml", Data: []byte(tiny), Axes: c.axes}
		if _, err := r.Prepare(context.Background(), g, "", nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.axes, err, c.want)
		}
	}
	r := &Runner{Workers: 1, Build: buildPoint}
	if _, err := r.Prepare(context.Background(), tinyGrid(), "", []string{"fct.p98"}); err == nil || !strings.Contains(err.Error(), `unknown metric "fct.p98"`) {
		t.Errorf("metric: %v", err)
	}
}

// Finished points are reused only if scenario, executable and options are equal.
func TestResume(t *testing.T) {
	folder := t.TempDir()
	ctx := context.Background()
	count := func(g *Grid, options string) int {
		f := &fake{}
		rows, err := sweepOnce(t, ctx, folder, g, f, 3, options)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			if r.Point.Index != i || !r.Results {
				t.Errorf("row %d: %+v", i, r)
			}
		}
		return len(f.ran)
	}
	if n := count(tinyGrid(1, 2), "x"); n != 4 {
		t.Errorf("first: %d points ran, want 4", n)
	}
	if n := count(tinyGrid(1, 2), "x"); n != 0 {
		t.Errorf("again: %d points ran, want 0", n)
	}
	if n := count(tinyGrid(1, 2, 3), "x"); n != 2 {
		t.Errorf("one more seed: %d points ran, want 2", n)
	}
	if n := count(tinyGrid(1, 2, 3), "y"); n != 6 {
		t.Errorf("other options: %d points ran, want 6", n)
	}
	g := tinyGrid(1, 2, 3)
	g.Set = []string{"hosts.payload=500B"}
	if n := count(g, "y"); n != 6 {
		t.Errorf("other scenario: %d points ran, want 6", n)
	}
	// Another executable.
	points, err := filepath.Glob(filepath.Join(folder+"*", pointsFolder, "*", pointFile)) // the other scenario has its own folder
	if err != nil || len(points) != 12 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	for _, path := range points {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		exe, err := Executable()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), exe, strings.Repeat("0", 64), 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(g, "y"); n != 6 {
		t.Errorf("other executable: %d points ran, want 6", n)
	}
	// Unreadable results.
	summaries, err := filepath.Glob(filepath.Join(folder+"*", pointsFolder, "*", summaryFile))
	if err != nil || len(summaries) != 12 {
		t.Fatalf("%d summaries, %v", len(summaries), err)
	}
	for _, path := range summaries {
		if err := os.Truncate(path, 10); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(g, "y"); n != 6 {
		t.Errorf("unreadable results: %d points ran, want 6", n)
	}
}

func TestFailingPointsDoNotStopOthers(t *testing.T) {
	f := &fake{
		fail:    map[string]error{"switch.policy.alpha=1/8, seed=2": errors.New("no way")},
		verdict: map[string]run.Verdict{"switch.policy.alpha=1/4, seed=1": {Code: 3, Message: "dropped"}},
	}
	folder := t.TempDir()
	rows, err := sweepOnce(t, context.Background(), folder, tinyGrid(1, 2), f, 2, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r.Results, r.Verdict.Code, r.Verdict.Message))
	}
	if s, want := strings.Join(got, " "), "true 0 false 1no way true 3dropped true 0"; s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	table, err := NewTable(tinyGrid(1, 2), rows, &Store{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	if table.Code() != 3 {
		t.Errorf("exit code %d, want 3", table.Code())
	}
	if lines := table.Cells([]string{"pauses.pauses"}).Trouble; len(lines) != 2 || lines[0][1] != "seed 2: no way" || lines[1][1] != "seed 1: dropped" {
		t.Errorf("trouble %q, want seed 2: no way, seed 1: dropped", lines)
	}
}

func TestFullDeviceStopsTheSweep(t *testing.T) {
	full := &run.WriteError{Err: errors.New("no space left on device")}
	f := &fake{fail: map[string]error{"switch.policy.alpha=1/8, seed=2": full}}
	folder := t.TempDir()
	rows, err := sweepOnce(t, context.Background(), folder, tinyGrid(1, 2, 3, 4), f, 1, "")
	if !errors.Is(err, full) || len(f.ran) != 2 || !rows[0].Results || rows[2].Results {
		t.Errorf("error %v after %q", err, f.ran)
	}
	again := &fake{}
	if _, err := sweepOnce(t, context.Background(), folder, tinyGrid(1, 2, 3, 4), again, 1, ""); err != nil || len(again.ran) != 7 {
		t.Errorf("error %v after %q", err, again.ran)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{before: func(p *Point) {
		if p.Index == 2 {
			cancel()
		}
	}}
	folder := t.TempDir()
	if _, err := sweepOnce(t, ctx, folder, tinyGrid(1, 2), f, 1, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(folder, pointsFolder))
	if err != nil || len(entries) != 2 {
		t.Errorf("%d points are left, want 2 (%v)", len(entries), err)
	}
}

// Few points share all workers; with many, each takes one. No worker is idle while there is
// work.
func TestWorkersAreShared(t *testing.T) {
	var begun sync.WaitGroup
	begun.Add(2)
	f := &fake{before: func(*Point) { // each waits for the other
		begun.Done()
		begun.Wait()
	}}
	if _, err := sweepOnce(t, context.Background(), t.TempDir(), tinyGrid(1), f, 9, ""); err != nil {
		t.Fatal(err)
	}
	// 9 / 2 = 4, then 5 / 1 = 5.
	if len(f.workers) != 2 || f.workers[0]+f.workers[1] != 9 {
		t.Errorf("workers %v, want 4 and 5", f.workers)
	}
	f = &fake{}
	if _, err := sweepOnce(t, context.Background(), t.TempDir(), tinyGrid(1, 2, 3, 4), f, 2, ""); err != nil {
		t.Fatal(err)
	}
	for _, w := range f.workers[:6] {
		if w != 1 {
			t.Errorf("workers %v, want 1 each while there are many", f.workers)
		}
	}
}

func TestOpenRefusesExistingSweep(t *testing.T) {
	s := Store{Folder: t.TempDir()}
	g := tinyGrid(1)
	if err := s.Open(g, nil, Opening{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(g, nil, Opening{}); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want %v", err, ErrExists)
	}
	other := Store{Folder: s.Folder}
	if err := other.Open(g, nil, Opening{Resume: true}); runtime.GOOS != "windows" && !errors.Is(err, disk.ErrBusy) {
		t.Errorf("second process: got %v", err)
	}
	s.Close()
	if err := other.Open(g, nil, Opening{Resume: true}); err != nil {
		t.Error(err)
	}
	other.Close()
}

// A folder is reopened for the same scenario, whatever is varied. Another scenario gets the next
// free folder.
func TestOpenMoves(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, "s")
	other := tinyGrid(1)
	other.Set = []string{"hosts.payload=500B"}
	wider := tinyGrid(1, 2)
	wider.Axes = nil
	if err := os.WriteFile(filepath.Join(root, summaryFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	resume := Opening{Resume: true}
	for i, c := range []struct {
		g            *Grid
		folder, want string
		o            Opening
		err          error
	}{
		{tinyGrid(1), name, name, Opening{}, nil},
		{other, name, name + "-2", Opening{}, nil},
		{wider, name, name, Opening{}, ErrExists},
		{wider, name, name, resume, nil},
		{other, name, name + "-2", Opening{}, ErrExists},
		{other, name, name + "-2", resume, nil},
		{other, name, name, Opening{Force: true}, nil},
		{tinyGrid(1), name, name + "-3", resume, nil},
		{tinyGrid(1), root, root + "-2", resume, nil}, // root contains a run
	} {
		s := Store{Folder: c.folder}
		err := s.Open(c.g, nil, c.o)
		s.Close()
		if !errors.Is(err, c.err) || s.Folder != c.want {
			t.Errorf("%d: got %s, %v; want %s, %v", i, s.Folder, err, c.want, c.err)
		}
	}
}

// Older manifests have no base hash: they belong to the scenario if they share a point.
func TestOlderManifests(t *testing.T) {
	s := Store{Folder: t.TempDir()}
	points := func(hashes ...string) *Manifest {
		m := &Manifest{Schema: SchemaVersion}
		for _, h := range hashes {
			m.Points = append(m.Points, ManifestPoint{Scenario: h})
		}
		return m
	}
	if err := s.json(manifestFile, points("a", "b")); err != nil {
		t.Fatal(err)
	}
	if _, foreign := s.contents(points("b", "c"), false); foreign {
		t.Error("a sweep with a common point is foreign")
	}
	if _, foreign := s.contents(points("c"), false); !foreign {
		t.Error("a sweep without a common point is not foreign")
	}
}

// A change in a file that the scenario names makes results outdated.
func TestReferencedFileInvalidatesResults(t *testing.T) {
	folder := t.TempDir()
	net := func(text string) {
		if err := os.WriteFile(filepath.Join(folder, "net.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ran := func() int {
		g := &Grid{Name: filepath.Join(folder, "a.yaml"), Seeds: []uint64{1, 2}, Data: []byte(
			"topology: {name: custom, path: net.yaml}\nworkload: [{name: w, generator: flows, flows: [{from: a, to: b, size: 9KB}]}]\n")}
		f := &fake{}
		if _, err := sweepOnce(t, context.Background(), filepath.Join(folder, "out"), g, f, 1, ""); err != nil {
			t.Fatal(err)
		}
		return len(f.ran)
	}
	net("hosts: [a, b]\nswitches: [s]\nlinks: [{ends: [a, s]}, {ends: [b, s]}]\n")
	if first, again := ran(), ran(); first != 2 || again != 0 {
		t.Errorf("%d, then %d points ran, want 2, 0", first, again)
	}
	net("hosts: [a, b]\nswitches: [s]\nlinks: [{ends: [a, s]}, {ends: [b, s], delay: 2us}]\n")
	if n := ran(); n != 2 {
		t.Errorf("after a change %d points ran, want 2", n)
	}
}

// A point of a small sweep is laid out once: its run uses the plan from the check.
func TestPointIsLaidOutOnce(t *testing.T) {
	points, err := tinyGrid(1).Points()
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Workers: 1, Store: Store{Folder: t.TempDir()}}
	r.Simulate(run.Options{Engine: run.Fast, WindowDivisor: 1})
	if _, err := r.Ready(t.Context(), points[:1], ""); err != nil {
		t.Fatal(err)
	}
	checked, err := points[0].layOut()
	if err != nil {
		t.Fatal(err)
	}
	again, err := points[0].layOut()
	if err != nil {
		t.Fatal(err)
	}
	if checked.Layout != again.Layout {
		t.Error("the point is laid out twice")
	}
}

// A point that takes longer than the limit fails without results; the sweep continues, and
// a later one computes the point.
func TestPointLimit(t *testing.T) {
	f := &fake{}
	r := &Runner{Store: Store{Folder: t.TempDir()}, Workers: 1, Build: buildPoint, Limit: time.Millisecond}
	r.Run = func(ctx context.Context, job *Job) (run.Verdict, error) {
		if r.Limit > 0 {
			<-ctx.Done() // a run ends early, with partial results
		}
		return f.run(context.Background(), job)
	}
	points, err := r.Prepare(t.Context(), tinyGrid(), "", nil)
	if err == nil {
		err = r.Store.Open(tinyGrid(), points, Opening{})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Store.Close()
	rows, err := r.Sweep(t.Context(), points)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if m := row.Verdict.Message; row.Results || row.Verdict.Code != run.Failure ||
			m != "the point takes longer than the time limit of the sweep: stopped after 1ms; fix: raise --point-limit" {
			t.Errorf("%+v", row)
		}
	}
	r.Limit = 0
	if rows, err := r.Sweep(t.Context(), points); err != nil || !rows[0].Results || !rows[1].Results {
		t.Errorf("%+v %v", rows, err)
	}
}
