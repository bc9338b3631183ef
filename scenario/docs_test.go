package scenario

import (
	"bytes"
	"flag"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/strict"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/scenario.md anew")

// undocumented lists the keys without a doc tag, as paths.
func undocumented(path string, keys []Key) []string {
	var list []string
	for _, k := range keys {
		at := strict.Join(path, k.Name)
		if k.Doc == "" {
			list = append(list, at)
		}
		list = append(list, undocumented(at, k.Keys)...)
	}
	return list
}

// Every key has a doc tag, which is what users get to read.
func TestDocsOfKeys(t *testing.T) {
	for _, at := range undocumented("", Describe()) {
		t.Errorf("%s has no doc tag", at)
	}
	for _, k := range Kinds() {
		for _, s := range k.Schemes {
			if strings.HasPrefix(s.Name, "test-") {
				continue // of another test
			}
			if s.Doc == "" {
				t.Errorf("%s %s has no doc", k.Name, s.Name)
			}
			for _, at := range undocumented(k.Name+" "+s.Name, s.Describe()) {
				t.Errorf("%s has no doc tag", at)
			}
		}
	}
}

// TestDocsReference keeps the tables of docs/scenario.md. `make docs` writes them
// anew; the text above them is written by hand.
func TestDocsReference(t *testing.T) {
	const file, mark = "../docs/scenario.md", "<!-- From here on `make docs` writes. -->\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	head, _, ok := strings.Cut(text, mark)
	if !ok {
		t.Fatalf("%s has no line %q", file, mark)
	}
	var out bytes.Buffer
	out.WriteString(head + mark + "\n## Keys\n")
	for _, k := range Describe() {
		fmt.Fprintf(&out, "\n### %s\n\n%s.\n", k.Name, strings.ToUpper(k.Doc[:1])+k.Doc[1:])
		if k.Default != "" {
			fmt.Fprintf(&out, "\nDefault: `%s`.\n", k.Default)
		}
		if len(k.Keys) == 0 {
			fmt.Fprintf(&out, "\n%s\n", describeType(&k))
			continue
		}
		writeTable(&out, k.Keys)
	}
	out.WriteString("\n## Schemes\n\nWhat `xoff list` shows, with parameters.\n")
	for _, kind := range Kinds() {
		fmt.Fprintf(&out, "\n### Kind %s\n", kind.Name)
		for _, s := range kind.Schemes {
			if strings.HasPrefix(s.Name, "test-") {
				continue
			}
			fmt.Fprintf(&out, "\n**%s**: %s.", s.Name, s.Doc)
			if s.Paper != "" {
				fmt.Fprintf(&out, " Source: %s.", s.Paper)
			}
			if s.Promises != 0 {
				fmt.Fprintf(&out, " Promises: %s.", s.Promises)
			}
			out.WriteString("\n")
			if s.Params != nil {
				writeTable(&out, s.Describe())
			}
			for what, list := range shownLists(&s) {
				if len(list) > 0 {
					fmt.Fprintf(&out, "\n| %s | meaning |\n| --- | --- |\n", what)
				}
				for _, x := range list {
					fmt.Fprintf(&out, "| `%s` | %s |\n", x.Name, x.Doc)
				}
			}
		}
	}
	if out.String() == text {
		return
	}
	if !*rewrite {
		t.Fatalf("%s is stale: run `make docs`", file)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shownLists are what a scheme shows of itself, gauges first.
func shownLists(s *Scheme) iter.Seq2[string, []registry.Shown] {
	return func(yield func(string, []registry.Shown) bool) {
		if yield("gauge", s.Gauges) {
			yield("event", s.Events)
		}
	}
}

func writeTable(out *bytes.Buffer, keys []Key) {
	out.WriteString("\n| key | what stands there | default | meaning |\n| --- | --- | --- | --- |\n")
	writeRows(out, "", keys)
}

func writeRows(out *bytes.Buffer, path string, keys []Key) {
	for _, k := range keys {
		at := strict.Join(path, k.Name)
		def := ""
		switch {
		case k.Follows != "":
			def = k.Follows
		case k.Default != "":
			def = "`" + k.Default + "`"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", at, describeType(&k), def, strings.ReplaceAll(k.Doc, "|", "\\|"))
		writeRows(out, at, k.Keys)
	}
}

func describeType(k *Key) string {
	switch {
	case len(k.Allowed) > 0:
		return "`" + strings.Join(k.Allowed, "`, `") + "`"
	case k.Kind != "":
		return fmt.Sprintf("a scheme, see [%s](#kind-%s)", k.Kind, k.Kind)
	}
	return k.Type
}
