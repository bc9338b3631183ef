package check

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
)

func surveyOf(t *testing.T, text string) *Survey {
	t.Helper()
	c, err := scenario.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSurvey(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const surveyed = `
name: a
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [2, 3], kind: lossless}
  tcp:     {ids: [5], kind: lossy}
switch:
  ports: 8
  buffer: {size: 100KB, private_per_queue: 1KB}
  flow_control: {name: pfc, headroom: 50KB}
  ecn: {classes: [tcp]}
  overrides:
    - {match: "spine1", flow_control: {name: none}, ecn: {name: none}, mtu: 9000B}
routing:
  pinned: [{from: leaf0, to: host3, via: [leaf0, spine1, leaf1]}]
hosts:
  transports: {tcp: {reliability: {name: sack}, cc: {name: cubic}, ack: {class: tcp}}}
  receive: {rate: 50Gbps, buffer: 300KB, xoff: 50KB, hosts: [host1]}
workload:
  - {name: list, generator: flows, class: rdma, flows: [{from: host0, to: host3, size: 1KB, start: 0s}, {from: host2, to: host3, size: 1KB, start: 0s, class: 3}]}
  - {name: cross, generator: flows, class: tcp, transport: tcp, flows: [{from: host1, to: host2, size: 1KB, start: 0s}]}
faults:
  - {at: 1ms, link: leaf0-spine0, down_for: 2ms}
  - {at: 2ms, link: leaf1-spine1, down_for: 2ms, times: 2, every: 5ms}
`

// A survey describes the fabric as it would be built, even if its buffers are overcommitted.
func TestSurvey(t *testing.T) {
	s := surveyOf(t, surveyed)
	if s.Fits() == nil {
		t.Fatal("the buffer is large enough: the test proves nothing")
	}
	if len(s.Switches) != 4 || len(s.Switches[0].Ports) != 4 {
		t.Fatalf("%d switches", len(s.Switches))
	}
	// Four ports of the chip are not cabled: 2 x 50,000 + 3 x 1000 B each.
	leaf := &s.Switches[0]
	if leaf.Spare != 412000 || leaf.Chip != 8 || leaf.Deadlock != "none" {
		t.Errorf("spare %d, chip %d, %s", leaf.Spare, leaf.Chip, leaf.Deadlock)
	}
	up := &leaf.Ports[3]
	spine := &s.Switches[3].Ports[0]
	if up.Peer != s.Switches[3].Node || up.PeerPort != 0 || spine.Peer != leaf.Node || spine.PeerPort != 3 {
		t.Errorf("cable %+v %+v", up, spine)
	}
	if up.FlowControl != "pfc" || up.Promises&registry.Lossless == 0 || up.ECN != 1<<5 || up.MTU != 0 {
		t.Errorf("leaf0.port3: %+v", up)
	}
	if spine.FlowControl != "none" || spine.Promises&registry.Lossless != 0 || spine.ECN != 0 || spine.MTU != 9000 {
		t.Errorf("spine1.port0: %+v", spine)
	}
	if h := up.Scheme.Properties().Sizing.Queue(&up.Spec); h != 50000 {
		t.Errorf("headroom %d", h)
	}
	if len(s.Slow) != 1 || s.Slow[0].Node != 1 || !s.Slow[0].Spec.Host {
		t.Errorf("slow hosts %+v", s.Slow)
	}
	if p := s.Pins[0]; !reflect.DeepEqual(p.Src, []int{0, 1}) || !reflect.DeepEqual(p.Dst, []int{3}) {
		t.Errorf("pin %+v", p)
	}
	want := []use{
		{"list", 1<<2 | 1<<3, 1 << 0, []string{"go-back-n"}, []string{"dcqcn"}, []string{"dcqcn"}, false},
		{"cross", 1 << 5, 1 << 5, []string{"sack"}, []string{"cubic"}, nil, false},
	}
	want[0].CC = []string{s.Config.Hosts.CC.Name}
	if !reflect.DeepEqual(s.Uses, want) {
		t.Errorf("uses %+v, want %+v", s.Uses, want)
	}
	flows, err := s.Flows()
	if err != nil || len(flows) != 3 {
		t.Errorf("%d flows, %v", len(flows), err)
	}
}

// The faults cause three sets of down links: one link, both, and the other alone.
func TestOutages(t *testing.T) {
	s := surveyOf(t, surveyed)
	a, _ := s.Graph.LinkNamed("leaf0-spine0")
	b, _ := s.Graph.LinkNamed("leaf1-spine1")
	want := []outage{{units.Millisecond, []int{a}}, {2 * units.Millisecond, []int{a, b}}, {3 * units.Millisecond, []int{b}}}
	if !reflect.DeepEqual(s.Outages, want) {
		t.Errorf("%v, want %v", s.Outages, want)
	}
}
