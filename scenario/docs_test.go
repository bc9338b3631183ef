package scenario

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/yaml"
)

var rewrite = flag.Bool("rewrite", false, "write the pages of docs/reference")

// longest is the limit of a doc tag: it must fit into a table cell.
const longest = 120

// undocumented lists the keys without a doc tag, or with one that is too long, as paths.
func undocumented(path string, keys []Key) []string {
	var list []string
	for _, k := range keys {
		at := yaml.Join(path, k.Name)
		if k.Doc == "" || len(k.Doc) > longest {
			list = append(list, at)
		}
		list = append(list, undocumented(at, k.Keys)...)
	}
	return list
}

// TestDocsOfKeys checks that every key has a doc tag of limited length.
func TestDocsOfKeys(t *testing.T) {
	for _, at := range undocumented("", Describe()) {
		t.Errorf("%s: doc tag is missing or longer than %d characters", at, longest)
	}
	for _, k := range Kinds() {
		for _, s := range k.Schemes {
			if strings.HasPrefix(s.Name, "test-") {
				continue // registered by another test
			}
			if s.Doc == "" {
				t.Errorf("%s %s has no doc", k.Name, s.Name)
			}
			for _, at := range undocumented(k.Name+" "+s.Name, s.Describe()) {
				t.Errorf("%s: doc tag is missing or longer than %d characters", at, longest)
			}
		}
	}
}

// reference lists the pages of docs/reference besides the index: one per top-level
// key, and one for each kind with too many schemes for the page of its key.
var reference = []struct {
	page  string   // without .md
	key   string   // top-level key
	kinds []string // kinds whose schemes are on the page
	guide string   // link to a page about it, relative to docs/reference
}{
	{"topology", "topology", []string{"topology"}, "[Topologies](../topologies.md)"},
	{"nodes", "nodes", nil, "[Training fabrics](../training.md)"},
	{"classes", "classes", nil, "[Scenario files](../scenario.md#traffic-classes)"},
	{"switch", "switch", nil, "[Scenario files](../scenario.md#overrides)"},
	{"policy", "", []string{"policy"}, ""},
	{"flow_control", "", []string{"flow_control"}, "[DSH](../dsh.md), [between data centres](../interdc.md)"},
	{"deadlock", "", []string{"deadlock"}, "[Deadlocks](../deadlock.md)"},
	{"scheduler", "", []string{"scheduler"}, ""},
	{"ecn", "", []string{"ecn"}, ""},
	{"routing", "routing", []string{"routing"}, "[Scenario files](../scenario.md#overrides)"},
	{"hosts", "hosts", nil, "[Scenario files](../scenario.md#overrides)"},
	{"cc", "", []string{"cc"}, "[Congestion control](../cc/README.md)"},
	{"workload", "workload", []string{"generator", "sizes"}, "[Workloads](../workloads.md)"},
	{"faults", "faults", nil, ""},
	{"run", "run", nil, ""},
	{"compat", "compat", nil, "[Agreement with the public simulator](../fidelity.md)"},
	{"probes", "probes", []string{"probe"}, "[Results](../results.md)"},
	{"output", "output", nil, "[Results](../results.md)"},
	{"expect", "expect", nil, "[Expectations](../expect.md)"},
}

// kindTitles has a heading for each kind, and the key that selects one of its schemes.
var kindTitles = map[string]struct{ title, key string }{
	"topology":     {"Topologies", "topology.name"},
	"policy":       {"Buffer policies", "switch.policy.name"},
	"flow_control": {"Flow control", "switch.flow_control.name"},
	"deadlock":     {"Deadlock handlers", "switch.deadlock.name"},
	"scheduler":    {"Schedulers", "switch.scheduler.name"},
	"ecn":          {"ECN markers", "switch.ecn.name"},
	"routing":      {"Routers", "routing.name"},
	"cc":           {"Congestion control", "hosts.cc.name"},
	"generator":    {"Generators", "workload[].generator"},
	"sizes":        {"Tables of flow sizes", "workload[].sizes"},
	"probe":        {"Probes", "probes[].name"},
}

// TestDocsReference compares the pages of docs/reference with the keys and schemes that
// scenarios have. `make docs` writes the pages.
func TestDocsReference(t *testing.T) {
	keys, kinds := make(map[string]Key), make(map[string]Kind)
	for _, k := range Describe() {
		keys[k.Name] = k
	}
	for _, k := range Kinds() {
		k.Schemes = slices.DeleteFunc(k.Schemes, func(s Scheme) bool { return strings.HasPrefix(s.Name, "test-") })
		kinds[k.Name] = k
	}
	pages := map[string]string{"README.md": indexPage(keys, kinds)}
	for _, r := range reference {
		var out strings.Builder
		if k, ok := keys[r.key]; ok {
			heading(&out, r.key)
			fmt.Fprintf(&out, "%s.\n", capital(k.Doc))
			if k.Default != "" {
				fmt.Fprintf(&out, "\nDefault: `%s`.\n", k.Default)
			}
			seeAlso(&out, r.guide)
			writeTable(&out, k.Keys)
		}
		for _, name := range r.kinds {
			title, level := kindTitles[name], "##"
			if r.key == "" {
				heading(&out, title.title)
			} else {
				fmt.Fprintf(&out, "\n## %s\n\n", title.title)
				level = "###"
			}
			fmt.Fprintf(&out, "Values of `%s`.\n", title.key)
			if r.key == "" {
				seeAlso(&out, r.guide)
			}
			for _, s := range kinds[name].Schemes {
				writeScheme(&out, level, &s)
			}
			delete(kinds, name)
		}
		delete(keys, r.key)
		pages[r.page+".md"] = out.String()
	}
	delete(keys, "name") // on the index
	delete(keys, "seed")
	for name := range keys {
		t.Errorf("key %s has no page in docs/reference", name)
	}
	for name := range kinds {
		t.Errorf("kind %s has no page in docs/reference", name)
	}
	comparePages(t, "../docs/reference", pages)
}

// comparePages compares the files of a folder with pages, or writes them with -rewrite.
func comparePages(t *testing.T, folder string, pages map[string]string) {
	t.Helper()
	stale := func(what string) { t.Errorf("%s: %s; run `make docs`", folder, what) }
	present, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range present {
		if _, wanted := pages[filepath.Base(path)]; wanted {
			continue
		}
		if !*rewrite {
			stale("unknown page " + filepath.Base(path))
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range pages {
		path := filepath.Join(folder, name)
		if data, err := os.ReadFile(path); err == nil && string(data) == text {
			continue
		}
		if !*rewrite {
			stale("stale page " + name)
		} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const generated = "<!-- Generated by `make docs` from the source; do not edit. -->\n\n"

func heading(out *strings.Builder, title string) { fmt.Fprintf(out, "# %s\n\n%s", title, generated) }

func seeAlso(out *strings.Builder, guide string) {
	if guide != "" {
		fmt.Fprintf(out, "\nSee also: %s.\n", guide)
	}
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// indexPage lists the pages, their schemes, and the keys that have no page.
func indexPage(keys map[string]Key, kinds map[string]Kind) string {
	var out strings.Builder
	heading(&out, "Reference of scenario keys")
	out.WriteString("Every key of a scenario file and every scheme it can name. [Scenario files](../scenario.md) explains the format. " +
		"`xoff list KIND NAME` prints a scheme in the terminal.\n\n## Keys\n")
	var top []Key
	for _, name := range []string{"name", "seed"} {
		top = append(top, keys[name])
	}
	for _, r := range reference {
		if k, ok := keys[r.key]; ok {
			top = append(top, Key{Name: k.Name, Type: fmt.Sprintf("see [%s](%s.md)", r.page, r.page), Doc: k.Doc})
		}
	}
	writeTable(&out, top)
	out.WriteString("\n## Schemes\n\nA scheme is an implementation that a scenario selects by name. " +
		"Its promises are properties that the conformance tests check.\n\n")
	for _, r := range reference {
		for _, name := range r.kinds {
			anchors := make([]string, 0, len(kinds[name].Schemes))
			for _, s := range kinds[name].Schemes {
				anchors = append(anchors, fmt.Sprintf("[%s](%s.md#%s)", s.Name, r.page, s.Name))
			}
			fmt.Fprintf(&out, "- %s (`%s`): %s\n", kindTitles[name].title, kindTitles[name].key, strings.Join(anchors, ", "))
		}
	}
	return out.String()
}

func writeScheme(out *strings.Builder, level string, s *Scheme) {
	fmt.Fprintf(out, "\n%s %s\n\n%s.", level, s.Name, capital(s.Doc))
	if s.Paper != "" {
		fmt.Fprintf(out, " Source: %s.", s.Paper)
	}
	if s.Promises != 0 {
		fmt.Fprintf(out, " Promises: %s.", s.Promises)
	}
	for _, n := range s.Needs {
		fmt.Fprintf(out, " Needs `%s: %s`, which is the default with it.", n.Key, n.Value)
	}
	out.WriteString("\n")
	if s.Params != nil {
		writeTable(out, s.Describe())
	}
	writeShown(out, "gauge", s.Gauges)
	writeShown(out, "event", s.Events)
}

// writeShown writes the table of a scheme's gauges or events.
func writeShown(out *strings.Builder, what string, list []registry.Export) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(out, "\n| %s | meaning |\n| --- | --- |\n", what)
	for _, x := range list {
		fmt.Fprintf(out, "| `%s` | %s |\n", x.Name, x.Doc)
	}
}

func writeTable(out *strings.Builder, keys []Key) {
	out.WriteString("\n| key | type | default | meaning |\n| --- | --- | --- | --- |\n")
	writeRows(out, "", keys)
}

func writeRows(out *strings.Builder, path string, keys []Key) {
	for _, k := range keys {
		at := yaml.Join(path, k.Name)
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
	if len(k.Allowed) > 0 {
		return "`" + strings.Join(k.Allowed, "`, `") + "`"
	}
	for _, r := range reference {
		if slices.Contains(r.kinds, k.Kind) {
			page := r.page + ".md"
			if r.key != "" {
				page += "#" + strings.ToLower(kindTitles[k.Kind].title)
			}
			return fmt.Sprintf("[%s](%s) scheme", k.Kind, page)
		}
	}
	return k.Type
}

// TestDocsGuide checks that docs/scenario.md is short and that its first YAML block is a
// complete scenario.
func TestDocsGuide(t *testing.T) {
	data, err := os.ReadFile("../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(data))); words > 1500 {
		t.Errorf("docs/scenario.md has %d words (expected at most 1500)", words)
	}
	_, rest, _ := strings.Cut(string(data), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```\n")
	c, err := Parse("example.yaml", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Workload) == 0 {
		t.Error("the first YAML block of docs/scenario.md has no workload")
	}
}
