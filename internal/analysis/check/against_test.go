package check

import (
	"reflect"
	"strings"
	"testing"
)

// changes formats a comparison: + is a new finding, - one that is gone, ~ one that changed.
func changes(list []Change) []string {
	var out []string
	for _, c := range list {
		switch {
		case c.What != "":
			out = append(out, c.What)
		case c.Before == nil:
			out = append(out, "+"+string(c.Now.Level)+" "+string(c.Now.Kind))
		case c.Now == nil:
			out = append(out, "-"+string(c.Before.Level)+" "+string(c.Before.Kind))
		default:
			out = append(out, "~"+string(c.Now.Level)+" "+string(c.Now.Kind))
		}
	}
	return out
}

// The small fabric needs 28,208 B of headroom at hosts and 103,208 B between switches. With
// 20 KB, all three groups of ports are short (leaves to hosts, leaves to the spine, the
// spine); with 30 KB only the latter two, and by less. A leaf has 3 ports and 1 lossless class.
func TestCompare(t *testing.T) {
	with := func(headroom string) string {
		return small + flowsOf + "switch: {buffer: {size: 1MB}, flow_control: {name: pfc, headroom: " + headroom + "}}\nhosts: {cc: {name: none}}\n"
	}
	ring := func(fc string) string { return coupling(t, fc) }
	for _, c := range []struct {
		name, now, before string
		o                 Options
		worse, better     []string
		problems          int
	}{
		{"identical", with("20KB"), with("20KB"), Options{}, nil, nil, 0},
		{"identical on other lines", "\n\n" + damaged, damaged, Options{}, nil, nil, 0},
		{
			"more headroom", with("30KB"), with("20KB"), Options{},
			[]string{"leaf0 and leaf1: shared buffer is 910000 B, was 940000 B", "spine0: shared buffer is 940000 B, was 960000 B"},
			[]string{"~problem headroom", "~problem headroom", "-problem headroom"}, 0,
		},
		{
			"less headroom", with("20KB"), with("30KB"), Options{},
			[]string{"+problem headroom", "~problem headroom", "~problem headroom"},
			[]string{"leaf0 and leaf1: shared buffer is 940000 B, was 910000 B", "spine0: shared buffer is 960000 B, was 940000 B"}, 3,
		},
		{"a second spine", strings.Replace(small, "spines: 1", "spines: 2", 1), small, Options{Failures: 1}, nil, []string{"-note partition"}, 0},
	} {
		got := Compare(runCheck(t, c.now, c.o), runCheck(t, c.before, c.o))
		better := changes(got.Better)
		if c.name == "a second spine" { // ignore the buffer that its ports need
			better = better[:1]
			got.Worse = nil
		}
		if worse := changes(got.Worse); !reflect.DeepEqual(worse, c.worse) || !reflect.DeepEqual(better, c.better) || got.Problems != c.problems {
			t.Errorf("%s: worse %q, better %q, %d problems", c.name, worse, better, got.Problems)
		}
	}
	got := Compare(runCheck(t, ring("{name: dsh}"), Options{Flows: true}), runCheck(t, ring("{name: pfc}"), Options{Flows: true}))
	worse := changes(got.Worse)
	if len(worse) != 2 || worse[0] != "+problem cycles" || got.Problems != 1 ||
		worse[1] != "a stuck host now pauses in the worst case (host0) 15 hosts, 4 ports between switches, 60 flows; before (host4) 8 hosts, 3 ports between switches, 32 flows" {
		t.Errorf("DSH instead of PFC: %q", worse)
	}
}
