//go:build deep

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeepOwnScheme builds the separate module examples/own-scheme and checks that every command
// knows its schemes.
func TestDeepOwnScheme(t *testing.T) {
	t.Parallel()
	module := filepath.Join(root, "examples/own-scheme")
	work := t.TempDir()
	xoff := filepath.Join(work, "own-scheme")
	run := func(folder, name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=-mod=readonly", "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(folder, name string, args ...string) string {
		t.Helper()
		out, err := run(folder, name, args...)
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return out
	}
	must(module, "go", "test", ".")                                // conformance of every scheme
	must(module, "go", "build", "-ldflags=-s -w", "-o", xoff, ".") // links faster without debug information

	file := func(name string) string { return filepath.Join(module, name) }
	for _, c := range []struct{ args, want string }{
		{"list policy fair", "spare shares, kept free for queues that become active next"},
		{"list flow_control early", "fraction of the policy's threshold above which a queue is paused"},
		{"list topology star-of-stars", "stars around the middle switch"},
		{"list deadlock alarm", "a port has been paused for long"},
		{"list probe fill", "samples: fraction of the buffer in use"},
		{"schema", `"const": "star-of-stars"`},
		{"check " + file("mine.yaml"), "headroom"},
		{"run " + file("mine.yaml") + " -o run --invariants strict --csv", "flow control early, buffer policy fair, congestion control aimd, ECN coin"},
		{"run " + file("mine.yaml") + " -o other --policy fair:spare=4 --scheduler dwrr --routing flowlet:gap=20us", "buffer policy fair"},
		{"sweep " + file("compare.yaml") + " --vary switch.policy.spare=1,3 --seeds 2 -o sweep", "4 points"},
		{"compare " + file("compare.yaml") + " --vary switch.policy.name=dt,fair --seeds 2 -o compare", "pauses.pauses"},
		{"report run -o report", "report.html"},
		{"reproduce --from " + file("experiments") + " --list", "fair/1"},
		{"reproduce --from " + file("experiments") + " -o reproduced", "F-1"},
	} {
		if out := must(work, xoff, strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("%s: no %q in\n%s", c.args, c.want, out)
		}
	}
	// An error in a parameter has its location.
	out, err := run(work, xoff, "run", file("mine.yaml"), "--set", "switch.policy.spare=0")
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 2 || !strings.Contains(out, "switch.policy.spare: spare is 0 (expected 1 or more)") {
		t.Errorf("%v: %s", err, out)
	}
	for _, table := range []string{"probe-fill.csv", "probe-gauges.csv"} {
		if data, err := os.ReadFile(filepath.Join(work, "run", table)); err != nil || strings.Count(string(data), "\n") < 10 {
			t.Errorf("%s: %v, %d bytes", table, err, len(data))
		}
	}
}
