package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
)

// TestSonicTables compares the tables of docs/sonic.md with the code, or writes them
// with -rewrite.
func TestSonicTables(t *testing.T) {
	page := filepath.Join(root, "docs/sonic.md")
	data := readText(t, page)
	text := data
	for name, table := range map[string]string{"rules": ruleTable(), "chips": chipTable()} {
		begin, end := "<!-- "+name+": from here on `make docs` writes. -->\n", "<!-- "+name+": up to here. -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no markers for the table %s", page, name)
		}
		text = before + begin + table + end + after
	}
	switch {
	case text == data:
	case *rewrite:
		writeText(t, page, text)
	default:
		t.Errorf("%s differs from the code; run make docs", page)
	}
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | worst | what is reported | why it matters | seen |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range rules.All() {
		fmt.Fprintf(&b, "| %d %s | %s | %s | %s | %s |\n", r.Number, r.Name, r.Worst, r.About, r.Why, r.Case)
	}
	return b.String()
}

func chipTable() string {
	fact := func(f chips.Fact, unit string) string {
		if !f.Known() {
			return "unknown"
		}
		return fmt.Sprintf("%d%s, %s", f.N, unit, f.Trust)
	}
	var b strings.Builder
	b.WriteString("| chip | cell | frame of 64 B costs | size of pools | parts | memory | headroom |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range chips.Modelled() {
		memory := fact(c.Memory, " B")
		if !c.Memory.Known() && c.Buffer > 0 {
			memory = fmt.Sprintf("about %d MiB, published", int64(c.Buffer/units.MiB))
		}
		how := "lookup"
		if c.Formula != nil {
			how = "lookup or formula"
		}
		if c.PortHeadroom {
			how += ", of the whole port"
		}
		name := c.Name
		if c.Short != "" {
			name += " (" + c.Short + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s, %s | %s | %s | %s |\n", name, fact(c.Cell, " B"), fact(c.Packet, " B"), c.Dialect, c.Dialect.Trust, fact(c.Partitions, ""), memory, how)
	}
	return b.String()
}
