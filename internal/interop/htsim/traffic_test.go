package htsim

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/yaml"
)

// matrix has every key. Its lines are in the order of WriteTraffic.
const matrix = `Nodes 8
Connections 6
Triggers 3
Failures 2
0->1 id 1 start 40 size 2000000 send_done_trigger 1
1->2 id 2 trigger 1 size 1 recv_done_trigger 2 prio 7
2->3 id 3 trigger 1 size 1 send_done_trigger 2 recv_done_trigger 3
3->4 id 4 trigger 2 size 2147483647 msg
3->4 id 4 trigger 3 size 5 msg 9
7->0 start 9000000000 size 0
trigger id 1 oneshot
trigger id 2 barrier count 2
trigger id 3 multishot
failure switch_type TOR switch_id 1 link_id 0
failure switch_type CORE switch_id 0 link_id 3
`

func read(text string) (*Traffic, error) { return ReadTraffic("a.cm", strings.NewReader(text)) }

func write(t *testing.T, traffic *Traffic) string {
	t.Helper()
	var b strings.Builder
	if err := WriteTraffic(&b, traffic); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTraffic(t *testing.T) {
	got, err := read(matrix)
	if err != nil {
		t.Fatal(err)
	}
	want := &Traffic{Nodes: 8,
		Connections: []Connection{
			{Src: 0, Dst: 1, ID: 1, Start: 40, Size: 2000000, SendDone: 1, Prio: DefaultPrio, Line: 5},
			{Src: 1, Dst: 2, ID: 2, Trigger: 1, Size: 1, RecvDone: 2, Prio: 7, Line: 6},
			{Src: 2, Dst: 3, ID: 3, Trigger: 1, Size: 1, SendDone: 2, RecvDone: 3, Prio: DefaultPrio, Line: 7},
			{Src: 3, Dst: 4, ID: 4, Trigger: 2, Size: 1<<31 - 1, Message: true, Prio: DefaultPrio, Line: 8},
			{Src: 3, Dst: 4, ID: 4, Trigger: 3, Size: 5, Message: true, Msg: 9, Prio: DefaultPrio, Line: 9},
			{Src: 7, Dst: 0, Start: 9_000_000_000, Prio: DefaultPrio, Line: 10},
		},
		Triggers: []Trigger{{ID: 1, Kind: OneShot, Line: 11}, {ID: 2, Kind: Barrier, Count: 2, Line: 12}, {ID: 3, Kind: MultiShot, Line: 13}},
		Failures: []Failure{{Layer: ToR, Switch: 1, Link: 0, Line: 14}, {Layer: Core, Switch: 0, Link: 3, Line: 15}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if again := write(t, got); again != matrix {
		t.Errorf("written:\n%s", again)
	}
	loose, err := read("# comment\r\nNodes\t8 \r\n\r\nConnections 1\n0->1 size 5 start 1.5e3 # end\n")
	if err != nil || loose.Connections[0].Start != 1500 {
		t.Errorf("%+v, %v", loose, err)
	}
}

// Errors name the file, the line, and what is expected.
func TestTrafficErrors(t *testing.T) {
	one := func(s string) string { return "Nodes 4\nConnections 1\n" + s }
	dag := func(triggers string, connections ...string) string {
		n := strings.Count(triggers, "trigger id")
		return "Nodes 4\nConnections " + string(rune('0'+len(connections))) + "\nTriggers " + string(rune('0'+n)) + "\n" +
			strings.Join(connections, "\n") + "\n" + triggers
	}
	for _, c := range []struct{ text, want string }{
		{"", "a.cm: the file ends early (expected Nodes)"},
		{"Connections 1\n0->1 start 0 size 1", `a.cm:2:1: unexpected "0->1" (expected Nodes first)`},
		{"Nodes 0", `a.cm:1:1: Nodes is "0" (expected a whole number from 1 to 1048576)`},
		{"Nodes", `a.cm:1:1: Nodes is "" (expected a whole number from 1 to 1048576)`},
		{"Nodes 4\nNodes 4", "a.cm:2:1: Nodes is given twice"},
		{"Nodes 4 5", `a.cm:1:1: unexpected "5" (expected the end of the line)`},
		{"Nodes 4\nConnections 2147483648", `a.cm:2:1: Connections is "2147483648" (expected a whole number from 0 to 1048576)`},
		{one("flow"), `a.cm:3:1: unexpected "flow" (allowed: Nodes, Connections, Triggers, Failures, SRC->DST, trigger, failure)`},
		{one(""), "a.cm:2:1: 0 connections (expected 1, as in the header)"},
		{one("0->4 start 0 size 1"), `a.cm:3:1: destination is "4" (expected a whole number from 0 to 3)`},
		{one("a->1 start 0 size 1"), `a.cm:3:1: source is "a" (expected a whole number from 0 to 3)`},
		{one("1->1 start 0 size 1"), "a.cm:3:1: connection from node 1 to itself"},
		{one("0->1 start 0"), "a.cm:3:1: connection without size"},
		{one("0->1 size 5"), "a.cm:3:1: connection without start and without trigger (expected one of them)"},
		{one("0->1 id 1 start 5 trigger 1 size 5"), "a.cm:3:1: connection with start and with trigger (expected one of them)"},
		{one("0->1 trigger 1 size 5"), "a.cm:3:1: connection with a trigger but without id"},
		{one("0->1 start 0 msg size 5"), "a.cm:3:1: connection with msg but without id"},
		{one("0->1 start 0 size 5 size 6"), "a.cm:3:1: size is given twice"},
		{one("0->1 start 0 size 2147483648"), `a.cm:3:1: size is "2147483648" (expected a whole number from 0 to 2147483647)`},
		{one("0->1 start -1 size 5"), `a.cm:3:1: start is "-1" (expected a time in ps, from 0)`},
		{one("0->1 start NaN size 5"), `a.cm:3:1: start is "NaN" (expected a time in ps, from 0)`},
		{one("0->1 id 0 start 0 size 5"), `a.cm:3:1: id is "0" (expected a whole number from 1 to 2147483647)`},
		{one("0->1 speed 5"), `a.cm:3:1: unexpected "speed" (allowed: start, trigger, size, id, send_done_trigger, recv_done_trigger, prio, msg)`},
		{one("trigger id 1"), "a.cm:3:1: trigger 1 has no type (allowed: oneshot, multishot, barrier)"},
		{one("trigger oneshot"), "a.cm:3:1: trigger without id"},
		{one("trigger id 1 oneshot barrier"), "a.cm:3:1: trigger with two types: oneshot and barrier"},
		{one("trigger id 1 barrier"), "a.cm:3:1: barrier 1 has no count"},
		{one("failure switch_type SPINE"), `a.cm:3:1: switch_type is "SPINE" (allowed: TOR, AGG, CORE)`},
		{one("failure switch_type TOR switch_id 1"), "a.cm:3:1: incomplete failure (expected switch_type, switch_id and link_id)"},
		{one("# " + strings.Repeat("x", maxLine)), "a.cm:3:1: line is longer than 65536 bytes"},
		{"Nodes 4\nConnections 2\n0->1 id 1 start 0 size 1\n1->2 id 1 start 0 size 1",
			"a.cm:4:1: id 1 is used twice (first in line 3); fix: add msg if both are messages of one flow"},
		{"Nodes 4\nConnections 2\n0->1 id 1 start 0 size 1 msg\n1->2 id 1 start 0 size 1 msg",
			"a.cm:4:1: messages of flow 1 have different ends: 1->2, 0->1 in line 3"},
		{dag("", "0->1 start 0 size 1 send_done_trigger 4"), "a.cm:4:1: trigger 4 is unknown (expected a line: trigger id 4 ...)"},
		{dag("trigger id 1 oneshot\ntrigger id 1 oneshot", "0->1 start 0 size 1"), "a.cm:6:1: trigger 1 is defined twice (first in line 5)"},
		{dag("trigger id 1 oneshot", "0->1 start 0 size 1 send_done_trigger 1"), "a.cm:5:1: trigger 1 starts no connection"},
		{dag("trigger id 1 oneshot", "0->1 start 0 size 1 send_done_trigger 1 recv_done_trigger 1", "1->2 id 2 trigger 1 size 1"),
			"a.cm:6:1: oneshot trigger 1 fires 2 times (expected once); fix: use a barrier"},
		{dag("trigger id 1 barrier count 1", "0->1 start 0 size 1 send_done_trigger 1 recv_done_trigger 1", "1->2 id 2 trigger 1 size 1"),
			"a.cm:6:1: barrier 1 fires 2 times (expected its count, 1)"},
		{dag("trigger id 1 oneshot", "1->2 id 2 trigger 1 size 1"), "a.cm:4:1: connection never starts: oneshot trigger 1 fires 0 times (expected 1)"},
		{dag("trigger id 1 barrier count 2", "0->1 start 0 size 1 send_done_trigger 1", "1->2 id 2 trigger 1 size 1"),
			"a.cm:5:1: connection never starts: barrier trigger 1 fires 1 times (expected 2)"},
		{dag("trigger id 1 multishot", "0->1 start 0 size 1 send_done_trigger 1", "1->2 id 2 trigger 1 size 1", "1->3 id 3 trigger 1 size 1"),
			"a.cm:6:1: connection never starts: multishot trigger 1 fires 1 times (expected 2)"},
		{dag("trigger id 1 oneshot", "1->2 id 2 trigger 1 size 1 send_done_trigger 1"),
			"a.cm:4:1: connection never starts: trigger 1 waits for itself: triggers 1 -> 1"},
		{dag("trigger id 1 oneshot\ntrigger id 2 oneshot\ntrigger id 3 oneshot", "0->1 id 1 trigger 3 size 1",
			"0->1 id 2 trigger 1 size 1 recv_done_trigger 2", "0->1 id 3 trigger 2 size 1 send_done_trigger 1 recv_done_trigger 3"),
			"a.cm:4:1: connection never starts: trigger 2 waits for itself: triggers 1 -> 2 -> 1"},
	} {
		_, err := read(c.text)
		var in *yaml.InputError
		if !errors.As(err, &in) || err.Error() != c.want {
			t.Errorf("%.80q: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// samples returns files of other programs from the folder beside the repository, which is
// not part of it.
func samples(t *testing.T, patterns ...string) []string {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "..", "shared", "ai", "samples", "htsim")
	var files []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(folder, p))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skipf("no samples of other programs in %s", folder)
	}
	return files
}

// Samples are read, and written as they are, except for comments and the order of entries.
func TestTrafficSamples(t *testing.T) {
	for _, path := range samples(t, "*.cm", "*.tm") {
		traffic, err := OpenTraffic(path)
		if err != nil {
			t.Error(err)
			continue
		}
		text := write(t, traffic)
		again, err := read(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if write(t, again) != text {
			t.Errorf("%s: two round trips differ", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(traffic.Triggers) == 0 && strings.TrimSpace(string(data)) != strings.TrimSpace(text) {
			t.Errorf("%s: written as\n%.200s", path, text)
		}
	}
}
