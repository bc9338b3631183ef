package run

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/xoff-net/xoff/scenario"
)

const lone = `name: lone
topology: {name: one-switch, hosts: 2}
workload:
  - {name: a, generator: flows, class: rdma, flows: [{from: host0, to: host1, size: 1KB, start: 0s}]}
`

// Results of another scenario or seed are overwritten only with Force.
func TestFoldersOfOtherScenarios(t *testing.T) {
	root := t.TempDir()
	touch := func(folder, name string) {
		path := filepath.Join(root, folder)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	touch("notes", "notes.txt")
	touch("swept", SweepFile)
	touch("foreign", SummaryFile) // of an unknown scenario
	touch("foreign-2", SweepFile)
	for _, c := range []struct {
		set, folder string
		force       bool
		want        string
	}{
		{"seed=1", "out", false, "out"},
		{"seed=1", "out", false, "out"},
		{"seed=2", "out", false, "out-2"},
		{"hosts.payload=500B", "out", false, "out-3"},
		{"seed=2", "out", false, "out-2"},
		{"seed=2", "out", true, "out"},
		{"seed=2", "out", false, "out"},
		{"seed=1", "notes", false, "notes"},
		{"seed=1", "swept", false, "swept-2"},
		{"seed=1", "foreign", false, "foreign-3"},
	} {
		cfg, err := scenario.Parse("lone.yaml", []byte(lone), c.set)
		if err != nil {
			t.Fatal(err)
		}
		done, err := Scenario(context.Background(), cfg, Options{Folder: filepath.Join(root, c.folder), Force: c.force})
		if err != nil || done.Unwritten != nil {
			t.Fatal(err, done.Unwritten)
		}
		if want := filepath.Join(root, c.want); done.Folder != want {
			t.Errorf("%s into %s, force %t: got %s, want %s", c.set, c.folder, c.force, done.Folder, want)
		}
		if !exists(done.Folder, SummaryFile) {
			t.Errorf("%s: no results", done.Folder)
		}
	}
}
