package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/sim"
)

// mixed has six hosts on two leaves with two spines; some hosts can be real. Class 1 is lossless,
// class 2 lossy. Frames are marked above 3 KB.
const mixed = `
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 3, host_link: {rate: 100Mbps, delay: 10us}, fabric_link: {rate: 100Mbps, delay: 10us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}, tcp: {ids: [2], kind: lossy}}
switch:
  mtu: 1518B
  buffer: {size: 2MB}
  policy: {name: static, limit: 20KB}
  flow_control: {name: pfc, headroom: 40KB}
  ecn: {kmin: 3KB, kmax: 3KB, pmax: 1}
hosts: {cc: {name: none}, reliability: {timeout: 1s}}
workload:
  - {name: a, generator: incast, senders: 1, size: 10KB, to: host0, from: host1, at: 0s, class: 1}
run: {arrivals: 10ms, stop: {when: time, at_most: 50ms}}
`

// realHost is a host that sends the frames of a test and records the frames that it receives.
type realHost struct {
	clock Clock
	out   []sending
	got   [][]byte
	at    []units.Time
	err   error // of Send
}

type sending struct {
	at units.Time
	b  []byte
}

func (r *realHost) Send(frames [][]byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	for _, b := range frames {
		r.got, r.at = append(r.got, bytes.Clone(b)), append(r.at, r.clock.Now())
	}
	return len(frames), nil
}

func (r *realHost) Poll(most int, take func(b []byte, came int64, unfilled bool)) {
	for ; most > 0 && len(r.out) > 0 && r.out[0].at <= r.clock.Now(); most-- {
		take(r.out[0].b, 0, false)
		r.out = r.out[1:]
	}
}

func (r *realHost) Lost() uint64 { return 0 }
func (r *realHost) Close() error { return nil }

// mac returns the address of a real host.
func mac(host int) frame.MAC { return frame.MAC{0x0a, 0, 0, 0, 0, byte(host)} }

// udpFrame returns a UDP frame between real hosts with a type of service and a payload size.
func udpFrame(t testing.TB, from, to frame.MAC, tos uint8, payload int) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, TOS: tos, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 1, 0, from[5]}, DstIP: []byte{10, 1, 0, to[5]}}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	return serialized(t, &layers.Ethernet{SrcMAC: from[:], DstMAC: to[:], EthernetType: layers.EthernetTypeIPv4}, ip, udp, gopacket.Payload(make([]byte, payload)))
}

func serialized(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// byTraffic maps DSCP 8 and PCP 1 to class 1, and everything else to class 2.
func byTraffic() Classes {
	c := Classes{Other: 2, Many: 2}
	for i := range c.DSCP {
		c.DSCP[i] = 2
	}
	c.DSCP[8] = 1
	for i := range c.PCP {
		c.PCP[i] = 2
	}
	c.PCP[1] = 1
	return c
}

// withReal returns an engine for mixed with some real hosts.
func withReal(t testing.TB, wires func(*sim.Spec) Wires, hosts map[int]*realHost, set ...string) (*Engine, *fabric.Fabric) {
	t.Helper()
	b := built(t, mixed, set...)
	clock := &Manual{}
	o := Options{Clock: clock, Outside: &Outside{Hosts: make(map[int]Interface), Classes: byTraffic()}}
	if wires != nil {
		o.Wires = wires(b.Spec)
	}
	for i, h := range hosts {
		h.clock = clock
		o.Outside.Hosts[i] = h
	}
	e, err := New(b.Spec, o)
	if err != nil {
		t.Fatal(err)
	}
	return e, b
}

var broadcast = frame.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// TestLearning checks that a broadcast reaches every other real host once, on any wires, and that
// the answer and later frames reach only their destination.
func TestLearning(t *testing.T) {
	for name, wires := range map[string]func(*sim.Spec) Wires{
		"memory": nil,
		"frames": func(s *sim.Spec) Wires { return NewFrames(s) },
	} {
		ask := udpFrame(t, mac(2), broadcast, 0, 18)
		answer := udpFrame(t, mac(5), mac(2), 0, 18)
		then := udpFrame(t, mac(2), mac(5), 0, 700)
		hosts := map[int]*realHost{
			2: {out: []sending{{0, ask}, {4 * units.Millisecond, then}}},
			4: {},
			5: {out: []sending{{2 * units.Millisecond, answer}}},
		}
		e, _ := withReal(t, wires, hosts)
		if _, err := e.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for node, want := range map[int][][]byte{2: {answer}, 4: {ask}, 5: {ask, then}} {
			if !slices.EqualFunc(hosts[node].got, want, bytes.Equal) {
				t.Errorf("%s: host%d got %x, want %x", name, node, hosts[node].got, want)
			}
		}
		// 64 B and 20 B between frames at 100 Mbps: 6.72 us, four times, and four cables of
		// 10 us (the manual clock is polled every millisecond or at the next event).
		if len(e.Report().Rejected) > 0 {
			t.Errorf("%s: rejected: %v", name, e.Report().Rejected)
		}
	}
}

// TestTreeFollowsFailures checks that the tree avoids links that are down. It sends a broadcast
// every 2 ms; only the one at 10 ms finds no path between the leaves.
func TestTreeFollowsFailures(t *testing.T) {
	var out []sending
	for at := units.Time(0); at <= 16*units.Millisecond; at += 2 * units.Millisecond {
		out = append(out, sending{at, udpFrame(t, mac(2), broadcast, 0, 18)})
	}
	hosts := map[int]*realHost{2: {out: out}, 0: {}, 5: {}}
	e, _ := withReal(t, nil, hosts, "workload=[{name: a, generator: incast, senders: 1, size: 10KB, to: host3, from: host4, at: 0s, class: 1}]",
		"faults=[{at: 1ms, link: leaf0-spine0, down_for: 4ms}, {at: 6500us, link: leaf1-spine1, down_for: 5ms}, {at: 9ms, link: leaf0-spine0, down_for: 4ms}]")
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(hosts[0].got) != len(out) || len(hosts[2].got) != 0 {
		t.Errorf("host on the same leaf got %d of %d frames, the sender %d", len(hosts[0].got), len(out), len(hosts[2].got))
	}
	var sent []int64
	for _, at := range hosts[5].at {
		sent = append(sent, int64(at/(2*units.Millisecond)*2))
	}
	if want := []int64{0, 2, 4, 6, 8, 12, 14, 16}; !slices.Equal(sent, want) {
		t.Errorf("the other leaf got the frames of %v ms, want %v", sent, want)
	}
}

// TestMarksOfRealFrames checks that only ECN-capable frames are marked, with a correct checksum.
func TestMarksOfRealFrames(t *testing.T) {
	const ect0 = 2
	var out []sending
	for i := range 40 {
		tos := uint8(0)
		if i%2 == 0 {
			tos = ect0
		}
		out = append(out, sending{units.Millisecond, udpFrame(t, mac(2), mac(5), tos, 1000)})
	}
	hosts := map[int]*realHost{2: {out: out}, 5: {out: []sending{{0, udpFrame(t, mac(5), broadcast, 0, 20)}}}}
	// The last link is ten times slower: a queue of about 38 frames builds up.
	e, _ := withReal(t, nil, hosts, "topology.overrides=[{match: leaf1-host5, rate: 10Mbps}]", "switch.policy.limit=60KB", "run.stop.at_most=80ms")
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, b := range hosts[5].got {
		p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
		ip := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		if ip.TOS&3 == 3 {
			marked++
		}
		was := ip.Checksum
		if again := checksum(b[14:34]); was != again {
			t.Fatalf("checksum %#x, want %#x", was, again)
		}
	}
	// 3 KB is less than three frames: about three of 40 frames are not marked. Of the others,
	// the ECN-capable ones are marked.
	if len(hosts[5].got) != 40 || marked < 15 || marked > 19 {
		t.Errorf("%d of %d frames are marked (expected 15 to 19 of 40)", marked, len(hosts[5].got))
	}
	if got := e.Totals().Marks; got != uint64(marked) {
		t.Errorf("Totals counts %d marks, but %d frames are marked", got, marked)
	}
}

// checksum computes the header checksum of RFC 791.
func checksum(header []byte) uint16 {
	s := uint32(0)
	for i := 0; i < len(header); i += 2 {
		if i != 10 {
			s += uint32(binary.BigEndian.Uint16(header[i:]))
		}
	}
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return ^uint16(s)
}

// TestRealHostIsPaused checks that a burst of a real host in a lossless class is paused without a
// loss, and that the host receives the PFC frames.
func TestRealHostIsPaused(t *testing.T) {
	var out []sending
	for range 300 {
		out = append(out, sending{units.Millisecond, udpFrame(t, mac(2), mac(5), 8<<2, 1000)})
	}
	hosts := map[int]*realHost{2: {out: out}, 5: {out: []sending{{0, udpFrame(t, mac(5), broadcast, 0, 20)}}}}
	e, b := withReal(t, nil, hosts, "topology.overrides=[{match: leaf1-host5, rate: 10Mbps}]", "run.stop.at_most=600ms")
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	sound(t, b)
	pauses := 0
	for _, f := range hosts[2].got {
		var h frame.Headers
		if h.Read(f) == nil && h.Control() {
			pauses++
		}
	}
	if len(hosts[5].got) != 300 || pauses < 2 {
		t.Errorf("%d of 300 frames arrived, the host received %d PFC frames (expected at least 2)", len(hosts[5].got), pauses)
	}
	if len(e.Report().Rejected) > 0 {
		t.Errorf("rejected: %v", e.Report().Rejected)
	}
}

// TestRealHostPauses checks that a switch obeys a PAUSE of a real host.
func TestRealHostPauses(t *testing.T) {
	var p packet.Packet
	p.SetPFC(2, 2, 65535) // 65,535 quanta of 512 bits at 100 Mbps: 335.5 ms
	pause := frame.Append(nil, mac(5), frame.MAC{}, &p, nil, nil)
	hosts := map[int]*realHost{
		2: {out: []sending{{5 * units.Millisecond, udpFrame(t, mac(2), mac(5), 8<<2, 100)}}},
		5: {out: []sending{{0, udpFrame(t, mac(5), broadcast, 0, 20)}, {2 * units.Millisecond, pause}}},
	}
	e, _ := withReal(t, nil, hosts, "run.stop.at_most=600ms")
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(hosts[5].got) != 1 || hosts[5].at[0] < 335*units.Millisecond {
		t.Errorf("got %d frames at %v", len(hosts[5].got), hosts[5].at)
	}
}

// TestNotForwarded checks that invalid frames are not forwarded.
func TestNotForwarded(t *testing.T) {
	lldp := udpFrame(t, mac(2), frame.MAC{0x01, 0x80, 0xc2, 0, 0, 0x0e}, 0, 20)
	group := udpFrame(t, broadcast, mac(5), 0, 20)
	long := udpFrame(t, mac(2), mac(5), 0, 2000)
	itself := udpFrame(t, mac(2), mac(2), 0, 20)
	ours := udpFrame(t, mac(2), frame.PortMAC(0, 0), 0, 20)
	hosts := map[int]*realHost{2: {out: []sending{{0, lldp}, {0, group}, {0, long}, {0, itself}, {0, ours}, {0, lldp[:13]}}}, 5: {}}
	e, _ := withReal(t, nil, hosts)
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(hosts[5].got) != 0 {
		t.Errorf("got %x", hosts[5].got)
	}
	for _, why := range []string{"link-local address", "from a group address", "longer than the", "shorter than"} {
		found := uint64(0)
		for what, n := range e.Report().Rejected {
			if strings.Contains(what, why) {
				found += n
			}
		}
		if found != 1 {
			t.Errorf("%s: %d frames (expected 1), of %v", why, found, e.Report().Rejected)
		}
	}
}

// TestAddressTable checks the capacity and the ageing of the table.
func TestAddressTable(t *testing.T) {
	table := addressTable{at: make(map[frame.MAC]seenAt)}
	of := func(i int) frame.MAC { return frame.MAC{0x02, 0, 0, 0, byte(i >> 8), byte(i)} }
	for i := range maxAddresses {
		if !table.learn(units.Time(i), of(i), 1) {
			t.Fatalf("no room for address %d", i)
		}
	}
	if table.learn(2*units.Second, of(5000), 1) {
		t.Error("a full table accepts another address")
	}
	if !table.learn(3*units.Second, of(7), 9) {
		t.Error("a full table does not update a known address")
	}
	if node, ok := table.find(4*units.Second, of(7)); !ok || node != 9 {
		t.Errorf("address 7 is at %d", node)
	}
	late := addressAge + units.Second
	if _, ok := table.find(late, of(8)); ok {
		t.Error("an old address is still known")
	}
	if !table.learn(late+sweepEvery, of(5000), 1) || len(table.at) != 2 {
		t.Errorf("%d addresses are left, want the moved and the new one", len(table.at))
	}
}

// TestNoPlaceForRealHosts checks hosts that cannot be replaced by real ones.
func TestNoPlaceForRealHosts(t *testing.T) {
	for _, c := range []struct {
		name string
		node int
		set  []string
		want string
	}{
		{"a flow ends there", 0, nil, "flow 0 starts or ends at host0"},
		{"credits", 5, []string{"switch.flow_control={name: cbfc, period: 1ms}"}, "expected flow control by PFC"},
		{"stuck", 5, []string{"faults=[{at: 1ms, host: host5, stuck: true, for: 1ms}]"}, "cannot be stuck"},
	} {
		b := built(t, mixed, c.set...)
		_, err := New(b.Spec, Options{Clock: &Manual{}, Outside: &Outside{Hosts: map[int]Interface{c.node: &realHost{}}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// pester lets two real hosts repeat the same two frames, and checks that nothing panics and no
// invariant breaks.
func pester(t *testing.T, one, two []byte) {
	t.Helper()
	hosts := map[int]*realHost{2: {}, 5: {}}
	for i := range 20 {
		at := units.Time(i) * 100 * units.Microsecond
		hosts[2].out = append(hosts[2].out, sending{at, bytes.Clone(one)}, sending{at, bytes.Clone(two)})
		hosts[5].out = append(hosts[5].out, sending{at, bytes.Clone(two)})
	}
	e, b := withReal(t, nil, hosts)
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Checks {
		if c.Broken > 0 {
			t.Fatalf("%s\n%x\n%x", c.First, one, two)
		}
	}
}

// plausible returns frames that a real host might send.
func plausible(t testing.TB) [][]byte {
	t.Helper()
	var p packet.Packet
	p.SetPFC(0xff, 3, 100)
	return [][]byte{
		udpFrame(t, mac(2), mac(5), 8<<2|2, 30), udpFrame(t, mac(2), broadcast, 0, 1400), frame.Append(nil, mac(2), frame.MAC{}, &p, nil, nil), {1, 2, 3},
	}
}

// TestHostileRealHost sends corrupted and truncated frames.
func TestHostileRealHost(t *testing.T) {
	r, seeds := rand.New(rand.NewPCG(1, 2)), plausible(t)
	damaged := func() []byte {
		b := bytes.Clone(seeds[r.IntN(len(seeds))])
		for range r.IntN(5) {
			b[r.IntN(min(40, len(b)))] ^= 1 << r.IntN(8)
		}
		if r.IntN(4) == 0 {
			b = b[:r.IntN(len(b)+1)]
		}
		return b
	}
	for range 200 {
		pester(t, damaged(), damaged())
	}
}

func FuzzRealHost(f *testing.F) {
	s := plausible(f)
	f.Add(s[0], s[2])
	f.Add(s[1], s[3])
	f.Fuzz(pester)
}
