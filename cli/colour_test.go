package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	painted = regexp.MustCompile(`\x1b\[(3[123])(?:;1)?m(.*?)\x1b\[[0-9;]*m`)
	escapes = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	wall    = regexp.MustCompile(`hops, in \S+`)
)

// TestVerdictColours checks what is green, red and yellow, and that nothing but colour is
// different from output without.
func TestVerdictColours(t *testing.T) {
	fabric, err := filepath.Abs("../docs/sonic")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	const base = "name: a\ntopology: {name: star, hosts: 5}\n" +
		"workload: [{generator: incast, senders: 4, size: 100KB, to: host0, at: 1us}]\nrun: {arrivals: 10us}\n" +
		"expect: {drops.lossless: 0}\n"
	if err := os.WriteFile("a.yaml", []byte(base), 0o644); err != nil {
		t.Fatal(err)
	}
	short := []string{"--set", "run.arrivals=20us", "--report=false", "-o", "results"}
	const red, green, yellow = "31 ", "32 ", "33 "
	for _, c := range []struct {
		name string
		args []string
		want []string // on both outputs, in order
	}{
		{"check", []string{"check", "a.yaml", "--failures", "0"}, []string{green + "no problems"}},
		{"check problem", []string{"check", "a.yaml", "--flow-control", "pfc:headroom=1KB", "--failures", "0"}, []string{red + "1 problem", red + "PROBLEM"}},
		{"check switch", []string{"check", filepath.Join(fabric, "leaf.json")}, []string{red + "NOT LOSSLESS"}},
		{"run", []string{"run", "a.yaml", "--invariants", "count", "--report=false", "-o", "results"},
			[]string{green + "none of lossless classes", green + "all held", green + "1 of 1 hold"}},
		{"run drops", []string{"run", "a.yaml", "--flow-control", "pfc:headroom=1KB", "--report=false", "-o", "results2"},
			[]string{red + "OF LOSSLESS CLASSES", yellow + "warning"}},
		{"demo", append([]string{"demo"}, short...), []string{green + "none of lossless classes", green + "not one frame was dropped"}},
		{"live", []string{"live", "a.yaml", "--clock", "manual", "--report=false", "-o", "live"}, []string{green + "none of lossless classes", green + "1 of 1 hold"}},
		{"headroom", []string{"headroom", "--flow-control", "bifrost", "--rate", "400Gbps", "--cable", "600km"}, []string{green + "yes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			output := func(no, force string) string {
				t.Setenv("NO_COLOR", no)
				t.Setenv("FORCE_COLOR", force)
				var out, errs bytes.Buffer
				Run(c.args, &out, &errs)
				return wall.ReplaceAllString(out.String()+errs.String(), "hops")
			}
			plain, coloured := output("", ""), output("", "1")
			if escapes.MatchString(plain) {
				t.Errorf("colour in a pipe: %q", plain)
			}
			if without := escapes.ReplaceAllString(coloured, ""); without != plain {
				t.Errorf("with colour\n%s\nwithout\n%s", without, plain)
			}
			if output("1", "1") != plain {
				t.Error("NO_COLOR changes more than colour")
			}
			var got []string
			for _, m := range painted.FindAllStringSubmatch(coloured, -1) {
				got = append(got, m[1]+" "+m[2])
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
