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
	"github.com/xoff-net/xoff/scenario/build"
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
			cfg, err := build.Parse(name+".yaml", []byte(e.Text), sets...)
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
