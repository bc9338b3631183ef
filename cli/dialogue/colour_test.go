package dialogue

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/xoff-net/xoff/cli"
)

var (
	painted = regexp.MustCompile(`\x1b\[(3[123])(?:;1)?m(.*?)\x1b\[[0-9;]*m`)
	escapes = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	wall    = regexp.MustCompile(`hops, in \S+`)
)

// TestVerdictColours checks which words are green, red and yellow, and that output with and
// without colour differs in escape codes only.
func TestVerdictColours(t *testing.T) {
	files := t.TempDir()
	for _, script := range []string{"check", "deadlock", "lossless", "sonic"} {
		archive, err := txtar.ParseFile("testdata/" + script + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		if err := txtar.Write(archive, filepath.Join(files, script)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(files)
	const red, green, yellow = "31 ", "32 ", "33 "
	const none = "none in lossless classes"
	exact := "--flow-control pfc:headroom=exact --set switch.buffer.size=2MB"
	for _, c := range []struct {
		command string
		want    []string // coloured words on both outputs, in order
	}{
		{"check lossless/tight.yaml " + exact, []string{green + "no problems"}},
		{"check lossless/tight.yaml", []string{red + "1 problem", red + "PROBLEM", yellow + "note"}},
		{"check sonic/sound.json --lookup sonic/rows.ini", []string{green + "lossless"}},
		{"check sonic/long.json --lookup sonic/rows.ini", []string{red + "NOT LOSSLESS", red + "ERROR"}},
		{"run lossless/tight.yaml --report=false --invariants count -o out-exact " + exact, []string{
			green + none, green + "all held",
		}},
		{"run lossless/tight.yaml --report=false -o out-tight", []string{red + "4,134 IN LOSSLESS CLASSES"}},
		{"run deadlock/loop.yaml --report=false -o out-loop", []string{
			red + "3 measured flows did not finish", red + "from 3.51us to the end of the run", green + none,
		}},
		{"run check/damaged.yaml --report=false -o out-damaged", []string{green + none, yellow + "warning"}},
		{"demo --set run.arrivals=20us --report=false", []string{green + none, green + "not one frame was dropped"}},
		{"live lossless/tight.yaml --clock manual --report=false -o out-live " + exact, []string{green + none}},
		{"headroom --flow-control bifrost --rate 400Gbps --cable 600km", []string{green + "yes"}},
	} {
		t.Run(c.command, func(t *testing.T) {
			output := func(no, force string) string {
				t.Setenv("NO_COLOR", no)
				t.Setenv("FORCE_COLOR", force)
				var out, errs bytes.Buffer
				cli.Run(strings.Fields(c.command), &out, &errs)
				return wall.ReplaceAllString(out.String()+errs.String(), "hops")
			}
			plain, coloured := output("", ""), output("", "1")
			if escapes.MatchString(plain) {
				t.Errorf("output to a pipe has colours: %q", plain)
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
