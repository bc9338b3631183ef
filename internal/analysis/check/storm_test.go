package check

import (
	"reflect"
	"strings"
	"testing"
)

// A ring with two classes. Host4, on switch1, is the only host there that receives: from hosts
// of switch3, in class b. When it is stuck, frames from switch0 wait at switch1 (port 4), and
// so frames from switch3 wait at switch0 (port 5). These share the queue with frames from
// switch2 to switch0, so frames from switch2 wait at switch3 (port 4). The hosts of switches 2
// and 3 are paused, with their 32 flows. Class a continues, unless whole ports are paused:
// then all 15 other hosts wait, with all flows but the 4 of the stuck host.
func TestStorm(t *testing.T) {
	r := runCheck(t, coupling(t, "{name: pfc}"), Options{Flows: true})
	want := &Storm{
		Host: "host4", Hosts: 15, Ports: []string{"switch1.port4", "switch3.port4", "switch0.port5"}, OfPorts: 8, Flows: 32, OfFlows: 64,
		Paused: []string{"host8", "host9", "host10", "host11", "host12", "host13", "host14", "host15"},
	}
	if !reflect.DeepEqual(r.Storm, want) {
		t.Errorf("PFC: %+v, want %+v", r.Storm, want)
	}
	r = runCheck(t, coupling(t, "{name: dsh}"), Options{Flows: true})
	if s := r.Storm; s.Host != "host0" || len(s.Paused) != 15 || len(s.Ports) != 4 || s.Flows != 60 {
		t.Errorf("DSH: %+v", s)
	}
}

// A run confirms the storm: the 32 flows never finish, nor do the 4 of the stuck host itself,
// which accepts no ACK.
func TestStormRuns(t *testing.T) {
	text := coupling(t, "{name: pfc}") + "\nfaults:\n  - {at: 0s, host: host4, stuck: true, for: 100ms}\n"
	if left := unfinished(t, strings.Replace(text, "at_most: 10ms", "at_most: 20ms", 1)); left != 32+4 {
		t.Errorf("%d flows do not finish, want 36", left)
	}
}

// Everyone may send to everyone. If a host of leaf0 is stuck, all other hosts are paused, and
// half of the ports between switches store frames for it: leaf0's port to the spine and the
// spine's port to leaf1. If leaf0 never pauses, its stuck hosts affect nobody.
func TestStormOfEveryone(t *testing.T) {
	s := runCheck(t, small, Options{}).Storm
	if s.Host != "host0" || !reflect.DeepEqual(s.Paused, []string{"host1", "host2", "host3"}) || !reflect.DeepEqual(s.Ports, []string{"leaf0.port2", "spine0.port1"}) || s.OfPorts != 4 || s.OfFlows != 0 {
		t.Errorf("%+v", s)
	}
	if s := runCheck(t, small+"switch: {flow_control: {name: none}}\n", Options{}).Storm; len(s.Paused) != 0 || len(s.Ports) != 0 {
		t.Errorf("without flow control: %+v", s)
	}
	s = runCheck(t, small+"switch: {overrides: [{match: leaf0, flow_control: {name: none}}]}\n", Options{}).Storm
	// A stuck host of leaf1 blocks the other host of leaf1 and frames from the spine.
	if s.Host != "host2" || !reflect.DeepEqual(s.Paused, []string{"host3"}) || !reflect.DeepEqual(s.Ports, []string{"spine0.port0", "leaf1.port2"}) {
		t.Errorf("leaf0 never pauses: %+v", s)
	}
	if r := runCheck(t, strings.Replace(small, "kind: lossless", "kind: lossy", 1), Options{}); r.Storm != nil {
		t.Errorf("a lossy fabric: %+v", r.Storm)
	}
}
