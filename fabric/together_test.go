package fabric

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

var rewriteMatrix = flag.Bool("rewrite-matrix", false, "write the tables of docs/together.md")

// Schemes of the program, listed before other tests register more.
var handlers, flows = deadlock.Handlers.Names(), flowctl.Schemes.Names()

// refusals are the reasons for which combinations are refused: a part of the message, and the
// half sentence in docs/together.md.
var refusals = []struct{ message, reason string }{
	{"works only between switches", "refused: only for a long cable between switches"},
	{"a relay works between switches", "refused: only for relays of a long cable"},
	{"a relay has two ports", "refused: only for relays of a long cable"},
	{"uses no pause frames", "refused: nothing is paused, so no loop can form"},
	{"needs PFC, but flow control", "refused: handlers need pauses with PFC frames"},
}

// accepts returns "works" or why the program refuses a scenario.
func accepts(t *testing.T, text string) string {
	t.Helper()
	cfg, err := scenario.Parse("together.yaml", []byte(text))
	if err == nil {
		_, err = NewPlan(cfg)
	}
	if err == nil {
		return "works"
	}
	for _, r := range refusals {
		if strings.Contains(err.Error(), r.message) {
			return r.reason
		}
	}
	t.Errorf("a reason that docs/together.md does not have: %v\n%s", err, text)
	return "?"
}

// same adds a verdict to a list without repetition.
func same(list []string, verdict string) []string {
	for _, v := range list {
		if v == verdict {
			return list
		}
	}
	return append(list, verdict)
}

// The tables of docs/together.md say what the program accepts: every policy with every flow
// control, every handler, and every flow control of a long link.
func TestTogetherMatrix(t *testing.T) {
	const small = "topology: {name: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 2}\nswitch: {buffer: {size: 64MB}, policy: {name: %s}, flow_control: {name: %s}, deadlock: {name: %s}}"
	var out strings.Builder
	fmt.Fprintf(&out, "\n| flow control of all ports | with every policy, no handler | with every policy and every handler |\n| --- | --- | --- |\n")
	for _, flow := range flows {
		var plain, handled []string
		for _, policy := range buffer.Policies.Names() {
			for _, handler := range handlers {
				verdict := accepts(t, fmt.Sprintf(small, policy, flow, handler))
				if handler == "none" {
					plain = same(plain, verdict)
				} else {
					handled = same(handled, verdict)
				}
			}
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", flow, strings.Join(plain, "; "), strings.Join(handled, "; "))
	}
	const long = `topology: {name: two-dc, k: 2, long_link: {rate: 100Gbps, delay: 100us}%s}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
switch:
  buffer: {size: 64MB}
  policy: {name: reverie}
  flow_control: {name: dsh}
  deadlock: {name: roundabout}
  overrides: [%s%s]`
	fmt.Fprintf(&out, "\n| flow control of the long link | Roundabout at its switches | Roundabout at all others |\n| --- | --- | --- |\n")
	for _, c := range []struct{ flow, relays, overrides, ends string }{
		{"pfc", "", `{match: "dci*.to-dci*", flow_control: {name: pfc}}`, "dci*"},
		{"dsh", "", `{match: "dci*.to-dci*", flow_control: {name: dsh}}`, "dci*"},
		{"bifrost", "", `{match: "dci*.to-dci*", flow_control: {name: bifrost}}`, "dci*"},
		{"bifrostx", "", `{match: "dci*.to-dci*", flow_control: {name: bifrostx}}`, "dci*"},
		{"cbfc", "", `{match: "dci*.to-dci*", flow_control: {name: cbfc}}`, "dci*"},
		{"swing", ", relay_link: {rate: 100Gbps, delay: 1us}", `{match: "relay*", flow_control: {name: swing}}, {match: "relay*.to-relay*", flow_control: {side: long}}`, "relay*"},
		{"none", "", `{match: "dci*.to-dci*", flow_control: {name: none}}`, "dci*"},
	} {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", c.flow, accepts(t, fmt.Sprintf(long, c.relays, c.overrides, "")),
			accepts(t, fmt.Sprintf(long, c.relays, c.overrides, fmt.Sprintf(", {match: %q, deadlock: {name: none}}", c.ends))))
	}
	const page, begin, end = "../docs/together.md", "<!-- matrix: go test ./fabric -run TogetherMatrix -rewrite-matrix -->\n", "<!-- end of matrix -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	old, after, closed := strings.Cut(rest, end)
	if want := out.String() + "\n"; !found || !closed {
		t.Fatal("docs/together.md has no place for the matrix")
	} else if *rewriteMatrix {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != want {
		t.Errorf("docs/together.md has another matrix (run with -rewrite-matrix):\n%s", want)
	}
}
