package examples_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/xoff-net/xoff/examples"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// Without a deadlock Roundabout changes nothing: flows.parquet is identical to a run without
// a handler. Its headers take no bytes on the wire, and it sets no timers.
func TestRoundaboutLeavesOthersAlone(t *testing.T) {
	for _, name := range []string{"incast", "hybrid"} {
		var files [2][]byte
		for i, handler := range []string{"none", "roundabout"} {
			e, err := examples.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			sets := []string{"switch.pfc.coalesce=false", "switch.deadlock.name=" + handler}
			cfg, err := scenario.Parse(name+".yaml", []byte(e.Text), sets...)
			if err != nil {
				t.Fatal(err)
			}
			files[i] = flowsOf(t, cfg)
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Errorf("%s: flows differ with Roundabout", name)
		}
	}
}

// DSH couples two classes into one loop (docs/dsh.md). All handlers but ITSY and the printed
// form of Roundabout detect it. Only a larger buffer or drops resolve it: a round of
// Roundabout rotates one class, and Loop Breaker finds no other path on a ring.
func TestHandlersOnJoinedClasses(t *testing.T) {
	const quick = ", period: 100us, latency: 10us}"
	for _, c := range []struct {
		handler      string
		seen, given  string // events that must be reported
		done, losses bool
	}{
		{handler: "{name: roundabout}", seen: "confirmed", given: "given up"},
		{handler: "{name: roundabout, form: printed}"},
		{handler: "{name: itsy}"},
		{handler: "{name: itsy, resolve: buffer}"},
		{handler: "{name: loop-breaker" + quick, seen: "detected", given: "given up"},
		{handler: "{name: deadlock-breaker" + quick, seen: "detected", done: true},
		{handler: "{name: watchdog, polling: 100us, detection: 200us, restoration: 200us}", seen: "detected", done: true, losses: true},
	} {
		e, err := examples.Get("dsh-ring")
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := scenario.Parse("dsh-ring.yaml", []byte(e.Text), "switch.pfc.coalesce=false", "switch.deadlock="+c.handler,
			"output.csv=true", "probes=[{name: events}]")
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "run")
		r, err := run.Scenario(context.Background(), cfg, run.Options{Folder: dir})
		if err != nil {
			t.Fatal(err)
		}
		events, err := os.ReadFile(filepath.Join(dir, "probe-events.csv"))
		if err != nil {
			t.Fatal(err)
		}
		s := r.Summary
		if done := s.Flows.Unfinished == 0; done != c.done || done == (s.Deadlock.Standing != 0) {
			t.Errorf("%s: %d unfinished flows, %d standing deadlocks; want done %t", c.handler, s.Flows.Unfinished, s.Deadlock.Standing, c.done)
		}
		if s.Drops.Handler > 0 != c.losses || s.Drops.Lossless != 0 || s.Invariants.Broken != 0 {
			t.Errorf("%s: %+v, %+v", c.handler, s.Drops, s.Invariants)
		}
		if found := bytes.Contains(events, []byte("detected")); found != (c.seen != "") || !bytes.Contains(events, []byte(c.seen)) {
			t.Errorf("%s: detected %t, want event %q", c.handler, found, c.seen)
		}
		if !bytes.Contains(events, []byte(c.given)) {
			t.Errorf("%s: no event %q", c.handler, c.given)
		}
	}
}

// flowsOf runs a scenario and returns its flows.parquet.
func flowsOf(t *testing.T, cfg *scenario.Config) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	r, err := run.Scenario(context.Background(), cfg, run.Options{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	if r.Summary.Network.Forced != 0 {
		t.Errorf("%d frames were forced", r.Summary.Network.Forced)
	}
	data, err := os.ReadFile(filepath.Join(dir, "flows.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// In the example of all systems DSH stands at the ports to hosts only. At the ports between switches
// its pauses of whole ports join the classes of a loop, which Roundabout cannot turn.
func TestDSHBetweenSwitchesStopsRoundabout(t *testing.T) {
	e, err := examples.Get("lossless")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		sets      []string
		deadlocks int
	}{
		{"PFC between switches", nil, 0},
		{"DSH everywhere", []string{"switch.overrides[0].flow_control={name: dsh}", "switch.overrides[1].flow_control={name: dsh}"}, 1},
	} {
		cfg, err := scenario.Parse("lossless.yaml", []byte(e.Text), append(c.sets, "seed=2", "run.stop.at_most=6ms")...)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Expect = nil
		done, err := run.Scenario(context.Background(), cfg, run.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := done.Summary; s.Deadlock.Standing != c.deadlocks || s.Drops.Lossless != 0 {
			t.Errorf("%s: %d deadlocks (want %d), %d lossless drops", c.name, s.Deadlock.Standing, c.deadlocks, s.Drops.Lossless)
		}
	}
}
