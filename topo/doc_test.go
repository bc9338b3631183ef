package topo

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// docs/topologies.md lists every topology with all its parameters and no others.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/topologies.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for _, line := range strings.Split(string(page), "\n") {
		if cells := strings.Split(line, " | "); len(cells) > 1 {
			rows[strings.Trim(cells[0], "| `")] = cells[1]
		}
	}
	for _, e := range Topologies.All() {
		row, ok := rows[e.Name]
		if !ok {
			t.Errorf("%s is not in docs/topologies.md", e.Name)
			continue
		}
		p := reflect.TypeOf(e.Params()).Elem()
		known := make(map[string]bool)
		for i := range p.NumField() {
			key, _, _ := strings.Cut(p.Field(i).Tag.Get("yaml"), ",")
			known[key] = true
			if !strings.Contains(row, "`"+key+"`") {
				t.Errorf("%s: %s is not in docs/topologies.md", e.Name, key)
			}
		}
		for i, word := range strings.Split(row, "`") {
			if i%2 == 1 && !known[word] {
				t.Errorf("%s: %s is in docs/topologies.md only", e.Name, word)
			}
		}
	}
}
