package explain_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// watcher records a run as --explain does.
type watcher struct{ *explain.Recorder }

// Bind implements run.Watcher.
func (w watcher) Bind(b *fabric.Fabric) error {
	w.Recorder.Bind(b.Graph, b.Spec)
	return nil
}

// play runs a scenario and returns the folder of its results.
func play(t *testing.T, text string, o run.Options, set ...string) (string, *run.Result) {
	t.Helper()
	cfg, err := scenario.Parse("a.yaml", []byte(text), set...)
	if err != nil {
		t.Fatal(err)
	}
	o.Folder = filepath.Join(t.TempDir(), "run")
	done, err := run.Scenario(context.Background(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	if done.Unwritten != nil {
		t.Fatal(done.Unwritten)
	}
	return o.Folder, done
}

// recorded runs a scenario with a recorder and opens the record.
func recorded(t *testing.T, text string, set ...string) (*explain.Run, *run.Result) {
	t.Helper()
	folder, done := play(t, text, run.Options{Watchers: []run.Watcher{watcher{explain.New()}}}, set...)
	r, err := explain.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return r, done
}

// example returns the text of an example.
func example(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// same checks that every file of folder a, except one, has the same bytes in folder b.
func same(t *testing.T, a, b, but string) {
	t.Helper()
	list, err := os.ReadDir(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() == but || e.Name()[0] == '.' {
			continue
		}
		x, err := os.ReadFile(filepath.Join(a, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, e.Name()))
		if err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs: %v", e.Name(), err)
		}
	}
}
