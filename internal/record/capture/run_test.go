package capture_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/record/capture"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// runSet captures up to 4 MB at ports of a scenario with settings. The scenario is a file of
// the examples or a text.
func runSet(t *testing.T, file, text, ports string, set []string) *bytes.Buffer {
	t.Helper()
	if file != "" {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", file))
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	cfg, err := scenario.Parse("a.yaml", []byte(text), append(set, "run.stop.at_most=5ms")...)
	if err != nil {
		t.Fatal(err)
	}
	c := &memCapture{Capture: capture.New(capture.Spec{Ports: ports, To: units.Never, Limit: 4 * units.MB})}
	if _, err := run.Scenario(context.Background(), cfg, run.Options{Watchers: []run.Watcher{c}}); err != nil {
		t.Fatal(err)
	}
	return &c.out
}
