package scenario

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// leaves returns all paths that take a value, by following completions.
func leaves(t *testing.T, c *Config, text string, seen map[string]bool) []string {
	var list []string
	for _, s := range c.Completions(text) {
		path, _, ok := strings.Cut(s, "\t")
		if !ok || seen[path] || !strings.HasPrefix(path, text) || path == text {
			t.Fatalf("invalid completion of %q: %q", text, s)
		}
		seen[path] = true
		if leaf, ok := strings.CutSuffix(path, "="); ok {
			list = append(list, leaf)
		} else {
			list = append(list, leaves(t, c, path, seen)...)
		}
	}
	return list
}

// TestCompletions checks for some examples that each completed path can be set;
// TestDeepCompletions, for all.
func TestCompletions(t *testing.T) {
	completions(t, "bifrostx-two-dc", "dsh-fig16", "hybrid", "roundabout-torus", "two-jobs")
}

func completions(t *testing.T, examples ...string) {
	t.Helper()
	checked := make(map[string]bool)
	for _, name := range examples {
		file := "../examples/" + name + ".yaml"
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		all := leaves(t, c, "", make(map[string]bool))
		if len(all) < 90 {
			t.Errorf("%s: completion finds only %d paths (expected at least 90)", file, len(all))
		}
		for _, path := range all {
			if checked[path] {
				continue
			}
			checked[path] = true
			_, err := Parse(file, data, path+"=zzz")
			if err == nil {
				continue
			}
			for _, wrong := range []string{"unknown key", "there is no item", "has no keys", "is not a key", "is not a setting", "unknown item"} {
				if strings.Contains(err.Error(), wrong) {
					t.Errorf("%s: completed path cannot be set: %v", path, err)
				}
			}
		}
	}
}

func TestCompletionsLiteral(t *testing.T) {
	c, err := Parse("a.yaml", []byte("workload: [{name: web, generator: poisson, sizes: 1KB, load: {share: 0.5, of: host_links}}]"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"sw":             {"switch."},
		"switch.p":       {"switch.ports=", "switch.policy.", "switch.pfc."},
		"switch.policy.": {"switch.policy.name=", "switch.policy.alpha=", "switch.policy.alpha_lossy="},
		"workload":       {"workload=", "workload[0].", "workload."},
		"workload.":      {"workload.web."},
		"workload.web.l": {"workload.web.load."},
		"hosts.cc.pre":   {"hosts.cc.preset="},
		"classes.":       {"classes.control.", "classes.rdma."},
		"nothing":        nil,
		"seed=":          nil,
	} {
		var got []string
		for _, s := range c.Completions(text) {
			path, _, _ := strings.Cut(s, "\t")
			got = append(got, path)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if i := slices.IndexFunc(c.Completions("run.stop."), func(s string) bool { return strings.HasPrefix(s, "run.stop.when=\tone of measured_flows_done,") }); i < 0 {
		t.Error("the completion of run.stop.when does not list its values")
	}
}
