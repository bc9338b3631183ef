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

// Where nothing deadlocks, Roundabout changes nothing: flows.parquet is the same, byte for
// byte, as without a handler. Its headers take no room on the wire, and it arms nothing.
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

// A loop through two classes, which DSH joins (docs/dsh.md). All but ITSY see it; what
// resolves it is a larger buffer, or loss: a round of Roundabout turns one class, and Loop
// Breaker has no other way to send frames on a ring.
func TestHandlersOnJoinedClasses(t *testing.T) {
	const quick = ", period: 100us, latency: 10us}"
	for _, c := range []struct {
		handler      string
		seen, given  string // events that must be there
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
			t.Errorf("%s: %d flows unfinished, %d deadlocks stand; done: want %t", c.handler, s.Flows.Unfinished, s.Deadlock.Standing, c.done)
		}
		if s.Drops.Handler > 0 != c.losses || s.Drops.Lossless != 0 || s.Invariants.Broken != 0 {
			t.Errorf("%s: %+v, %+v", c.handler, s.Drops, s.Invariants)
		}
		if found := bytes.Contains(events, []byte("detected")); found != (c.seen != "") || !bytes.Contains(events, []byte(c.seen)) {
			t.Errorf("%s: detected %t, want %q among the events", c.handler, found, c.seen)
		}
		if !bytes.Contains(events, []byte(c.given)) {
			t.Errorf("%s: nothing was given up", c.handler)
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
