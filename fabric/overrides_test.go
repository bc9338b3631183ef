package fabric

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/route"
)

// small22 has two leaves with two hosts each and two spines. Ports 0 and 1 of a leaf lead
// to hosts, ports 2 and 3 to spines; ports of a spine lead to leaves.
const small22 = `
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 2, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 400Gbps, delay: 2us}}
`

const (
	leaf0  = 0
	leaf1  = 1
	spine0 = 2
	spine1 = 3
)

func TestSwitchOverrides(t *testing.T) {
	b := build(t, small22+`
switch:
  buffer: {size: 16MiB, cell: 1B}
  overrides:
    - {match: "leaf*", buffer: {size: 32MiB}, policy: {alpha: 1/4}}
    - {match: "leaf1", buffer: {private_per_queue: 3KB}, deadlock: {name: none}, latency: 500ns}
    - {match: "spine[1-9]", policy: {name: static, limit: 40KB}, ecn: {at: enqueue, classes: []}}
    - {match: "leaf*.port2", pfc: {hold: indefinite, quanta: 100}, ecn: {name: none}}
    - {match: "spine0.to-leaf1", flow_control: {headroom: 70000B}, pfc: {processing: 600ns}}
    - {match: "*.to-host0", flow_control: {name: none}, scheduler: {strict: [control, rdma]}}
`)
	s := b.Spec.Switches
	for i, want := range []units.Bytes{32 * units.MiB, 32 * units.MiB, 16 * units.MiB, 16 * units.MiB} {
		if got := s[i].Buffer.Size; got != want {
			t.Errorf("%s has %s of buffer, want %s", s[i].Name, got, want)
		}
	}
	if s[leaf0].Buffer.Private != 0 || s[leaf1].Buffer.Private != 3*units.KB {
		t.Errorf("private segments are %s and %s", s[leaf0].Buffer.Private, s[leaf1].Buffer.Private)
	}
	if s[spine0].AtEnqueue || !s[spine1].AtEnqueue {
		t.Error("want marking at enqueue only at spine1")
	}

	// The pauses that leaf0 sends to spine0 by port 2 are indefinite, and spine0 must know
	// it. The pauses that spine0 sends are timed.
	pfc := link.PFC{Quanta: 65535}
	indefinite := link.PFC{Quanta: 100, Indefinite: true}
	for _, c := range []struct {
		sw, port  int
		own, peer link.PFC
	}{
		{leaf0, 2, indefinite, pfc}, {spine0, 0, pfc, indefinite}, {leaf0, 3, pfc, pfc}, {spine1, 0, pfc, pfc},
		{spine0, 1, link.PFC{Quanta: 65535, Processing: 600 * units.Nanosecond}, indefinite},
	} {
		p := s[c.sw].Ports[c.port]
		if p.PFC != c.own || p.Peer == nil || *p.Peer != c.peer {
			t.Errorf("port %d of %s has %+v and peer %+v", c.port, s[c.sw].Name, p.PFC, p.Peer)
		}
	}
	if p := s[leaf0].Ports[0]; p.Peer != nil {
		t.Error("a host must use the settings of its switch port")
	}

	// Exact headroom. host1 to leaf0: a round trip of 2 us at 100 Gbps is 25,000 B, plus
	// three frames of 1048 B and a PAUSE of 64 B. leaf1 from spine0: 2 us forward and
	// 2 us + 500 ns of pipeline back, and spine0 takes 600 ns of processing, at 50 B/ns.
	exact := link.Headroom{Rule: link.RuleExact}
	if got := exact.Of(&s[leaf0].Ports[1]); got != 25000+3*1048+64 {
		t.Errorf("headroom of leaf0.port1 is %d", got)
	}
	if got := exact.Of(&s[leaf1].Ports[2]); got != (2000+2500+600)*50+3*1048+64 {
		t.Errorf("headroom of leaf1.port2 is %d", got)
	}
	// spine0 to leaf1: no processing time, seven classes at 70,000 B.
	if got := s[spine0].Flow[1].Reserve(&s[spine0].Ports[1]); got != 7*70000 {
		t.Errorf("spine0.port1 reserves %d", got)
	}
	// Flow control none reserves nothing at either end of the cable.
	if s[leaf0].Flow[0].Reserve(&s[leaf0].Ports[0]) != 0 || b.Spec.Hosts[0].Flow.Reserve(&b.Spec.Hosts[0].Port) != 0 || b.Spec.Hosts[1].Flow.Reserve(&b.Spec.Hosts[1].Port) == 0 {
		t.Error("want no flow control only at leaf0.port0 and host0")
	}
	// Strict priority at leaf0.port0 and at host0: always the lower class first.
	strict, err := s[leaf0].Scheduler(0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if c := strict.Pick(0b1010); c != 1 {
			t.Errorf("strict priority picks class %d", c)
		}
		strict.Sent(1, 1000, false)
	}
	// No marks at leaf*.port2: the floor of the marker is beyond any queue length.
	for port, off := range []bool{false, false, true, false} {
		m, err := s[leaf1].Marker(port)
		if err != nil || (m.Floor() > units.GiB) != off {
			t.Errorf("leaf1.port%d marks above %s, %v", port, m.Floor(), err)
		}
	}
	if s[spine1].ECN[0] != 0xfe || s[leaf0].ECN[0] != 0xfe {
		t.Errorf("marked classes are %x and %x", s[spine1].ECN, s[leaf0].ECN)
	}
	// Overrides do not change the common setting.
	if dt, err := scenario.Choose("policy", "dt"); err != nil || !reflect.DeepEqual(b.Config.Switch.Policy, dt) {
		t.Errorf("an override changed switch.policy: %+v", b.Config.Switch.Policy.Params)
	}
}

// Later overrides win, whether they match switches or ports.
func TestOverrideOrder(t *testing.T) {
	const head = small22 + "switch:\n  overrides:\n"
	const byPort = `    - {match: "leaf0.port1", pfc: {quanta: 70}}` + "\n"
	const bySwitch = `    - {match: "leaf0", pfc: {quanta: 90, processing: 1ns}}` + "\n"
	for text, want := range map[string]uint16{head + byPort + bySwitch: 90, head + bySwitch + byPort: 70} {
		p := build(t, text).Spec.Switches[leaf0].Ports
		if p[1].PFC.Quanta != want || p[0].PFC.Quanta != 90 || p[1].PFC.Processing != units.Nanosecond {
			t.Errorf("got %+v and %+v, want %d quanta at port 1", p[0].PFC, p[1].PFC, want)
		}
	}
}

func TestChipOverride(t *testing.T) {
	b := build(t, small22+"switch:\n  overrides: [{match: \"leaf0\", ports: 6}]\n")
	// Two ports are not cabled. Each reserves as much as the most demanding port: 4 us at
	// 50 B/ns, 3 x 1048 + 64 B, in seven classes.
	if got := b.Spec.Switches[leaf0].Spare; got != 2*7*(200000+3*1048+64) {
		t.Errorf("leaf0 reserves %d bytes for ports that are not cabled", got)
	}
	if got := b.Spec.Switches[leaf1].Spare; got != 0 {
		t.Errorf("leaf1 reserves %d, want 0", got)
	}
	b = build(t, small22+"switch:\n  buffer: {reserve_for: cabled}\n  overrides: [{match: \"leaf0\", ports: 6}]\n")
	if got := b.Spec.Switches[leaf0].Spare; got != 0 {
		t.Errorf("reserve_for cabled: leaf0 reserves %d, want 0", got)
	}
}

// The largest frame of a port depends on the nodes that send to it.
func TestFrameSizes(t *testing.T) {
	b := build(t, small22+`
switch:
  overrides: [{match: "spine0", mtu: 9216B}]
hosts:
  overrides: [{match: "host3", payload: 4096B, header: 62B, ack: {size: 84B}}]
`)
	for _, c := range []struct {
		sw, port int
		in, out  units.Bytes
	}{
		{leaf0, 0, 1048, 4158}, {leaf0, 2, 4158, 4158}, {leaf1, 0, 1048, 4158}, {leaf1, 1, 4158, 4158}, {spine0, 0, 9216, 9216}, {spine1, 0, 4158, 4158},
	} {
		p := b.Spec.Switches[c.sw].Ports[c.port]
		if p.MTU != c.in || p.MTUOut != c.out {
			t.Errorf("port %d of switch %d receives %d and sends %d, want %d and %d", c.port, c.sw, p.MTU, p.MTUOut, c.in, c.out)
		}
	}
	for host, want := range []units.Bytes{1048, 1048, 1048, 4158} {
		if p := b.Spec.Hosts[host].Port; p.MTU != 4158 || p.MTUOut != want {
			t.Errorf("host%d receives %d and sends %d", host, p.MTU, p.MTUOut)
		}
	}
	// leaf0.port0: two frames of 1048 B are in flight, and the PAUSE waits for one of
	// 4158 B.
	if got := link.Exact(&b.Spec.Switches[leaf0].Ports[0]); got != 25000+2*1048+4158+64 {
		t.Errorf("headroom of leaf0.port0 is %d", got)
	}
}

// The sender's settings apply to packets, the receiver's to ACKs and other replies.
func TestHostOverrides(t *testing.T) {
	b := build(t, small22+`
hosts:
  receive: {rate: 50Gbps, buffer: 4MB, hosts: [host2]}
  overrides:
    - {match: "host[01]", payload: 4096B, cc: {name: fixed, rate: 10Gbps}, reliability: {timeout: 100ms, nack_interval: 3us}}
    - {match: "host1", ack: {every: 4, size: 100B}, receive: {rate: 20Gbps}, cnp: {interval: 7us}}
workload:
  - name: w
    generator: flows
    flows: [{from: host0, to: host2, size: 1MB, start: 0}, {from: host2, to: host1, size: 1MB, start: 0}, {from: host3, to: host0, size: 8KB, start: 0}]
`)
	h := b.Spec.Hosts
	by := map[int]uint8{} // transport of the flows of a host
	for _, f := range b.Flows.Flow {
		by[int(f.Src)] = f.Transport
	}
	if by[2] != by[3] || by[0] == by[2] {
		t.Fatalf("transports are %v", by)
	}
	// host0 to host2: packets of 4096 B at both ends, an ACK for each.
	for _, node := range []int{0, 2} {
		if tr := h[node].Transports[by[0]]; tr.Payload != 4096 || tr.AckEvery != 1 || tr.AckSize != 64 || tr.Timeout != 100*units.Millisecond || tr.MaxTimeout != 100*units.Millisecond {
			t.Errorf("host%d: transport of flows from host0 is %+v", node, tr)
		}
	}
	// host2 to host1: packets of 1000 B; host1 acknowledges every fourth.
	tr := h[1].Transports[by[2]]
	if tr.Payload != 1000 || tr.AckEvery != 4 || tr.AckSize != 100 || tr.NackEvery != 3*units.Microsecond || tr.CNPEvery != 7*units.Microsecond {
		t.Errorf("host1: transport of flows from host2 is %+v", tr)
	}
	for node, want := range []units.Rate{0, 20 * units.Gbps, 50 * units.Gbps, 0} {
		if got := h[node].Receive.Rate; got != want {
			t.Errorf("host%d receives at %s, want %s", node, got, want)
		}
	}
	// 8 KB in eight packets of 1000 B: 1048 B take 83.84 ns at 100 Gbps and 20.96 ns
	// at 400 Gbps. From host3 to host0: 1 us, 2 us, 2 us, 1 us. Seven frames before it,
	// then four hops; the ACK of 64 B takes 5.12 ns or 1.28 ns per hop.
	want := units.Time(7*83840+2*(83840+20960)+6_000_000) + 2*(5120+1280) + 6_000_000
	for i, f := range b.Flows.Flow {
		if f.Src == 3 && b.Ideal[i] != want {
			t.Errorf("ideal FCT of host3 is %d ps, want %d", b.Ideal[i], want)
		}
	}
}

// Overrides survive writing and reading, and --set can change them.
func TestOverridesMarshal(t *testing.T) {
	c := parse(t, small22+`
switch:
  overrides:
    - match: "leaf*"
      ports: 8
      scheduler: {strict: [control], dwrr: [rdma], quanta: {1: 3KB, 2: "700B"}}
    - {match: "leaf0.port1", pfc: {coalesce: false, quanta: 120}, ecn: {pmax: 0.5, classes: [rdma]}}
hosts:
  overrides: [{match: "host1", payload: "512B"}]
workload: [{name: w, generator: flows, flows: [{from: host0, to: host1, size: 1KB, start: 0}]}]
`, "switch.overrides[1].pfc.quanta=130", "switch.overrides[0].buffer={size: 20MiB}", "hosts.overrides[0].cc.name=none")
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back := parse(t, string(text))
	if !sameConfig(back, c) {
		t.Errorf("got %+v\nwant %+v", back, c)
	}
	for _, want := range []string{"quanta: 130", "size: 20MiB", "reserve_for: chip", "coalesce: false", "payload: 512B"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	b, err := New(back, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := b.Spec.Switches[leaf0].Ports[1].PFC; p.Quanta != 130 || !p.Ordered {
		t.Errorf("leaf0.port1 has %+v", p)
	}
	_, err = Parse("a.yaml", []byte(small22+"switch:\n  overrides: [{match: \"leaf0\", ports: 8}]\n"), "switch.overrides[0].buffer.size=1KB")
	if err == nil || !strings.HasPrefix(err.Error(), "--set switch.overrides[0].buffer.size=1KB: switch.overrides[0].buffer.size: private segments and headroom of leaf0") {
		t.Errorf("got %v", err)
	}
}

// A switch may have a different router, or the same router with other parameters. --set can
// change it, and it survives writing and reading.
func TestRoutingOverrides(t *testing.T) {
	const text = small22 + `
routing:
  name: flowlet
  gap: 20us
  reroute_after: 7us
  overrides:
    - {match: leaf0, name: ecmp}
    - {match: "spine*", gap: 5us}
    - {match: spine1, name: adaptive, gap: 50us}
`
	gap := func(s *scenario.Routing) string {
		if p, ok := s.Params.(*route.FlowletParams); ok {
			return p.Gap.String()
		}
		return "none"
	}
	check := func(c *scenario.Config, want map[string]string) {
		t.Helper()
		l, err := lay(c)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range want {
			here := l.RoutingAt(slices.Index(l.Graph.Names, name))
			if got := here.Name + " " + gap(&here.Routing); got != want {
				t.Errorf("%s routes by %s, want %s", name, got, want)
			}
		}
	}
	want := map[string]string{"leaf0": "ecmp none", "leaf1": "flowlet 20us", "spine0": "flowlet 5us", "spine1": "adaptive 50us"}
	c := parse(t, text)
	check(c, want)
	resolved, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	check(parse(t, string(resolved)), want)
	want["leaf0"] = "spray none"
	check(parse(t, text, "routing.overrides[0].name=spray"), want)
	build(t, text)
}

// An override of a port may change the limit of policy static, for frames that arrive there, and
// nothing else of a policy.
func TestPortLimit(t *testing.T) {
	const head = small22 + "switch:\n  policy: {name: static, limit: 40KB}\n  overrides:\n"
	b := build(t, head+`    - {match: "leaf0.to-spine*", policy: {limit: 60KB}}
    - {match: "leaf1", policy: {limit: 70KB}}
    - {match: "leaf1.port1", policy: {limit: 20KB}}
`)
	for sw, want := range [][]units.Bytes{{40_000, 40_000, 60_000, 60_000}, {70_000, 20_000, 70_000, 70_000}, {40_000, 40_000}, {40_000, 40_000}} {
		view := mmu.NewLedger(mmu.Spec{Ports: len(want), Size: units.MB, Shared: units.MB}).View()
		p, err := b.Spec.Switches[sw].Policy(buffer.Env{View: view})
		if err != nil {
			t.Fatal(err)
		}
		for port, limit := range want {
			if _, got := p.Level(0, view, port, 1); got != limit {
				t.Errorf("switch %d: limit of port %d is %s, want %s", sw, port, got, limit)
			}
		}
	}
	const dt = small22 + "switch:\n  overrides:\n"
	for text, want := range map[string]string{
		head + `    - {match: "leaf0.port1", policy: {name: dt}}`:                 `switch.overrides[0].policy.name: a switch has one policy (allowed for a single port: limit)`,
		head + `    - {match: "leaf0.port1", policy: {name: static, limit: 1KB}}`: `switch.overrides[0].policy.name: a switch has one policy (allowed for a single port: limit)`,
		head + `    - {match: "leaf0.port1", policy: {alpha: 1}}`:                 `switch.overrides[0].policy: unknown key "alpha"`,
		head + `    - {match: "leaf0.port1", policy: {limit: 0B}}`:                `switch.overrides[0].policy.limit: limit is 0B (expected more than 0B and at most`,
		dt + `    - {match: "leaf0.port1", policy: {alpha: 1/4}}`:                 `switch.overrides[0].policy: policy dt cannot be set for a single port (allowed: limit of policy static)`,
		dt + `    - {match: "leaf0.port1", policy: {limit: 1KB}}`:                 `switch.overrides[0].policy: policy dt cannot be set for a single port (allowed: limit of policy static)`,
	} {
		_, err := Parse("a.yaml", []byte(text+"\nworkload: [{name: w, generator: flows, flows: [{from: host0, to: host3, size: 1KB, start: 0s}]}]\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}
