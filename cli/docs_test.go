package cli

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what commands print into the documentation")

// TestDocsOutputs runs the commands that pages show and compares what they print,
// or writes it there with -rewrite. Such a block begins with ```console and a line
// `$ xoff ...`.
func TestDocsOutputs(t *testing.T) {
	t.Chdir("..")
	t.Setenv("NO_COLOR", "1")
	for _, page := range []string{"docs/check.md", "docs/headroom.md"} {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		rest, blocks := string(data), 0
		for {
			const begin, end = "```console\n$ xoff ", "```\n"
			before, after, found := strings.Cut(rest, begin)
			out.WriteString(before)
			if !found {
				break
			}
			blocks++
			block, tail, closed := strings.Cut(after, end)
			if !closed {
				t.Fatalf("%s: a block has no end", page)
			}
			command, _, _ := strings.Cut(block, "\n")
			var printed bytes.Buffer
			Run(strings.Fields(command), &printed, &printed)
			out.WriteString(begin + command + "\n" + printed.String() + end)
			rest = tail
		}
		if blocks == 0 {
			t.Errorf("%s shows no command", page)
		}
		if out.String() == string(data) {
			continue
		}
		if !*rewrite {
			t.Errorf("%s is not what commands print; run make docs", page)
			continue
		}
		if err := os.WriteFile(page, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
