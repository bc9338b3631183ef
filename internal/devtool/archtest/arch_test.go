// Package archtest checks which package may import which.
package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/xoff-net/xoff/"

// layers lists the packages by layer, lowest first, as docs/architecture.md explains.
// A package imports only packages of lower layers.
var layers = [][]string{
	{"base/units", "internal/sys/prefetch"},
	{"base/packet", "base/registry", "job"},
	{"base/mmu", "base/telemetry", "internal/yaml"},
	{"base/link", "base/probe", "base/frame"},
	{"scheme/buffer", "scheme/cc", "scheme/deadlock", "scheme/flowctl", "scheme/mark", "scheme/route", "scheme/sched"},
	{"dataplane", "internal/analysis/chips"},
	{"internal/interop/goal", "internal/interop/htsim", "internal/record/table"},
	{"metrics", "sim", "topo", "workload", "internal/devtool/browser", "internal/devtool/await", "internal/devtool/trials", "internal/sys/disk", "internal/sys/hugepage", "internal/live/netns", "internal/batch/peer", "internal/batch/optimise", "internal/render/plot"},
	{"scenario", "internal/devtool/mutant", "internal/record/capture", "internal/batch/cluster", "internal/analysis/headroom", "cmd/xoff-hub/hub", "internal/record/openmetrics", "internal/record/perfetto", "internal/render/report", "internal/interop/sonic", "internal/interop/counters", "internal/record/trace"},
	{"examples", "experiments", "internal/render/colours", "internal/analysis/explain", "internal/model/layout", "internal/interop/sonic/rules"},
	{"internal/model/ideal", "internal/render/runreport", "internal/interop/sonic/convert", "internal/model/validate"},
	{"fabric"},
	{"internal/analysis/check", "internal/interop/hardware", "internal/live/engine"},
	{"run", "conformance", "internal/devtool/bench", "internal/render/checkreport"},
	{"internal/interop/publicsim", "internal/batch/sweep", "internal/analysis/calibrate"},
	{"internal/batch/remote", "internal/batch/reproduce", "internal/batch/sweepreport"},
	{"internal/batch/chart"},
	{"internal/batch/tune"},
	{"cli"},
	{"cmd/xoff", "cmd/xoff-hub", "cli/dialogue", "cli/process", "docs/tests", "internal/devtool/archtest", "internal/devtool/docfig", "internal/devtool/pgo", "internal/devtool/release", "internal/devtool/script"},
}

// layerOf maps each package to the index of its layer.
var layerOf = func() map[string]int {
	index := make(map[string]int)
	for i, packages := range layers {
		for _, p := range packages {
			index[p] = i
		}
	}
	return index
}()

// lastPure is the highest layer that may not use the clock or the operating system:
// a live switch drives the same code with the real clock.
const lastPure = 5

// impure lists the packages that pure layers may not import.
var impure = []string{"time", "os", "net", "sync", "log", "runtime", "syscall"}

// siblings lists the imports within a layer that are allowed, and why.
var siblings = map[string]string{
	"scheme/flowctl -> scheme/buffer": "a receiver asks the buffer policy for its threshold",
	"metrics -> sim":                  "summaries read the totals of an engine",
}

// verdict returns why an import is not allowed, or "" if it is.
func verdict(from, to string) string {
	here, known := layerOf[from]
	if !known {
		return fmt.Sprintf("package %s is in no layer; fix: add it to the tables in internal/devtool/archtest and docs/architecture.md", from)
	}
	name, inside := strings.CutPrefix(to, module)
	if !inside {
		for _, bad := range impure {
			if here <= lastPure && (to == bad || strings.HasPrefix(to, bad+"/")) {
				return fmt.Sprintf("%s (layer %d) imports %s: layers 0 to %d are pure and get time and frames as arguments", from, here, to, lastPure)
			}
		}
		return ""
	}
	there, known := layerOf[name]
	switch {
	case !known:
		return "" // reported once, for the package itself
	case there < here:
		return ""
	case there > here:
		return fmt.Sprintf("%s (layer %d) imports %s (layer %d): imports go downward only; fix: pass the value in, or move the code", from, here, name, there)
	}
	if siblings[from+" -> "+name] != "" {
		return ""
	}
	return fmt.Sprintf("%s imports its sibling %s (layer %d): packages of one layer do not import each other; fix: declare a small interface in a lower layer", from, name, here)
}

func TestImportDirection(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		from := strings.TrimPrefix(p.ImportPath, module)
		if why := verdict(from, ""); why != "" {
			t.Error(why)
			continue
		}
		for _, to := range p.Imports {
			if why := verdict(from, to); why != "" {
				t.Error(why)
			}
		}
	}
	if seen < len(layerOf)/2 {
		t.Errorf("go list shows only %d packages (expected the whole module)", seen)
	}
}

// The NATS server is larger than the simulator, so only xoff-hub links it.
func TestNoServerInXoff(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"cmd/xoff").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if !strings.Contains(string(out), module+"cli\n") || strings.Contains(string(out), "nats-server") {
		t.Error("cmd/xoff depends on nats-server, or go list shows the wrong packages")
	}
}

// A program that imports run does not link plots, reports or explanations. A program that
// wants them sets run.Options.Report.
func TestRunIsLean(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"run").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if !strings.Contains(string(out), module+"run\n") {
		t.Errorf("go list does not show package run")
	}
	for _, p := range strings.Fields(string(out)) {
		name, inside := strings.CutPrefix(p, module)
		for _, word := range []string{"plot", "report", "explain"} {
			if inside && strings.Contains(name, word) {
				t.Errorf("run depends on %s", name)
			}
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"dataplane", module + "base/mmu", ""},
		{"scheme/flowctl", module + "scheme/buffer", ""},
		{"base/units", "math/big", ""},
		{"sim", "sync", ""},
		{"scheme/buffer", module + "scheme/flowctl", "sibling"},
		{"scheme/cc", module + "scheme/mark", "sibling"},
		{"base/mmu", module + "dataplane", "downward only"},
		{"sim", module + "scenario", "downward only"},
		{"dataplane", "time", "pure"},
		{"base/mmu", "sync/atomic", "pure"},
		{"base/units", "os", "pure"},
		{"novelty", "fmt", "in no layer"},
	} {
		got := verdict(c.from, c.to)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s -> %s: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
