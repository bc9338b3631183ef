package yaml

import (
	"fmt"
	"strings"
	"testing"
)

// The guard against deep nesting counts brackets that are open, outside strings and comments.
func TestDepth(t *testing.T) {
	flows := make([]string, 60)
	for i := range flows {
		flows[i] = fmt.Sprintf(`{"src": "h%d", "dst": "h0", "size": [1]}`, i)
	}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, text := range map[string]string{
		"many flows on a line": `{"workload": [{"flows": [` + strings.Join(flows, ", ") + `]}]}`,
		"64 levels":            "a: " + deep(64),
		"strings":              `a: ["` + strings.Repeat("[", 100) + `", '` + strings.Repeat("{", 100) + `']`,
		"comment":              "a: 1 # " + strings.Repeat("[", 100),
		"plain text":           "a: x " + strings.Repeat("[", 100),
		"block":                "a: |\n  " + strings.Repeat("[", 100),
	} {
		if _, err := Parse(NewSource("x.yaml", []byte(text)), []byte(text), "file"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"65 levels":            "a: " + deep(65),
		"brackets in comments": "a:\n" + strings.Repeat(" [ # ]\n", 20000),
		"brackets in strings":  "a: " + strings.Repeat(`["]", `, 70),
		"single quotes":        "a: " + strings.Repeat(`[']', `, 70),
		"quote in plain text":  "b: it's\na: " + deep(65),
		"tag before a string":  `a: [!t "x # ", ` + deep(65) + "]",
		"braces":               "a: " + strings.Repeat("{a: ", 65),
		"dashes":               strings.Repeat("- ", 70) + "a",
		"deep indentation":     strings.Repeat(" ", 600) + "a: 1",
	} {
		if _, err := Parse(NewSource("x.yaml", []byte(text)), []byte(text), "file"); err == nil || !strings.Contains(err.Error(), "nested too deeply (expected at most 64 levels)") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	if _, err := ParseSetting(Setting("a=b"), deep(65)); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
		t.Error(err)
	}
}
