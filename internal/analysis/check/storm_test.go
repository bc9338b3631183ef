package check

import (
	"reflect"
	"strings"
	"testing"
)

// One ring, two classes. Host4 is on switch1 and the only one there to which somebody
// sends: hosts of switch3, in class b. Once it is stuck, frames from switch0 wait at
// switch1 (port 4), so those from switch3 at switch0 (port 5), among which are those of
// switch2 to switch0, so those from switch2 at switch3 (port 4): hosts of switches 2 and
// 3 stand still, with their 32 flows. Class a goes on, unless ports are paused: then
// all 15 others wait, with all flows but the 4 of the stuck host.
func TestStorm(t *testing.T) {
	r := read(t, coupling(t, "{name: pfc}"), Options{Flows: true})
	want := &Storm{
		Host: "host4", Hosts: 15, Ports: []string{"switch1.port4", "switch3.port4", "switch0.port5"}, OfPorts: 8, Flows: 32, OfFlows: 64,
		Paused: []string{"host8", "host9", "host10", "host11", "host12", "host13", "host14", "host15"},
	}
	if !reflect.DeepEqual(r.Storm, want) {
		t.Errorf("PFC: %+v, want %+v", r.Storm, want)
	}
	r = read(t, coupling(t, "{name: dsh}"), Options{Flows: true})
	if s := r.Storm; s.Host != "host0" || len(s.Paused) != 15 || len(s.Ports) != 4 || s.Flows != 60 {
		t.Errorf("DSH: %+v", s)
	}
}

// What the check says about a stuck host is what happens: 32 flows never finish, and the
// 4 of the host itself, which takes no ACK.
func TestStormRuns(t *testing.T) {
	text := coupling(t, "{name: pfc}") + "\nfaults:\n  - {at: 0s, host: host4, stuck: true, for: 100ms}\n"
	if left := unfinished(t, strings.Replace(text, "at_most: 10ms", "at_most: 20ms", 1)); left != 32+4 {
		t.Errorf("%d flows are left, want 36", left)
	}
}

// Everyone may send to everyone: all others stand still, and half of the ports between
// switches, the last hop down and the first hop up, hold frames for a host of leaf0: of
// 2 leaves and 1 spine, leaf0's from the spine and the spine's from leaf1. Where leaf0
// never pauses, nothing spreads beyond it, nor to its hosts.
func TestStormOfEveryone(t *testing.T) {
	s := read(t, small, Options{}).Storm
	if s.Host != "host0" || !reflect.DeepEqual(s.Paused, []string{"host1", "host2", "host3"}) || !reflect.DeepEqual(s.Ports, []string{"leaf0.port2", "spine0.port1"}) || s.OfPorts != 4 || s.OfFlows != 0 {
		t.Errorf("%+v", s)
	}
	if s := read(t, small+"switch: {flow_control: {name: none}}\n", Options{}).Storm; len(s.Paused) != 0 || len(s.Ports) != 0 {
		t.Errorf("without flow control: %+v", s)
	}
	s = read(t, small+"switch: {overrides: [{match: leaf0, flow_control: {name: none}}]}\n", Options{}).Storm
	// A host of leaf1 holds up the others of leaf1, and what comes from the spine.
	if s.Host != "host2" || !reflect.DeepEqual(s.Paused, []string{"host3"}) || !reflect.DeepEqual(s.Ports, []string{"spine0.port0", "leaf1.port2"}) {
		t.Errorf("leaf0 never pauses: %+v", s)
	}
	if r := read(t, strings.Replace(small, "kind: lossless", "kind: lossy", 1), Options{}); r.Storm != nil {
		t.Errorf("a lossy fabric: %+v", r.Storm)
	}
}
