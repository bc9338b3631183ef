package conformance

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/topo"
)

// FlowControl checks a flow control. The network has two switches with hosts of different rates,
// traffic in every lossless class, and small and full frames. Bursts at full rate go into a slow
// and into a blocked egress, with buffers in bytes and in cells. Results must not depend on the
// shortcuts that receivers allow.
func FlowControl(t testing.TB, e registry.Entry[flowctl.New]) {
	t.Helper()
	w := requirements{lossless: e.Promises&registry.Lossless != 0, inOrder: e.Promises&registry.InOrder != 0, finish: true}
	cases := flowCases()
	if w.lossless {
		cases = append(cases, hostCases()...)
	}
	for _, c := range cases {
		name := e.Name + "/" + c.name
		watch := &flowWatch{bounded: e.Promises&registry.Bounded != 0}
		n := c.network()
		if !w.lossless {
			n.Shared = 32 * units.MiB // enough that nothing needs to be dropped
		}
		scheme, err := e.New(paramsOf(e))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		useScheme(n, watch.wrap(scheme), c.trunkOnly)
		r := runTwice(t, name, n)
		judge(t, name, r, w)
		watch.report(t, name)
		if plain := c.network(); !c.variant {
			plain.Shared = n.Shared
			useScheme(plain, must(e.New(paramsOf(e))), c.trunkOnly)
			checkShortcuts(t, name, plain)
		}
	}
	resets(t, e)
	noAllocs(t, e.Name+"/allocations", func(packets int) *Network {
		n := NewNetwork(dumbbell())
		n.Flows = burst(packets, 0)
		if !w.lossless {
			n.Shared = 32 * units.MiB
		}
		scheme := must(e.New(paramsOf(e)))
		n.Flow = func(int, int) flowctl.Scheme { return scheme }
		return n
	})
	checkGauges(t, flowctl.Schemes, e, func(c *scenario.Config, x scenario.Choice) {
		if must(e.New(paramsOf(e))).Properties().Check != nil {
			longTrunk(c, x.Name)
		} else {
			c.Switch.FlowControl = x
		}
	})
}

// longTrunk sets up a fabric for schemes that do not work on every port: 10 km of cable between two
// switches, with the scheme on both of its ports.
func longTrunk(c *scenario.Config, name string) {
	linear := must(topo.Topologies.Get("linear"))
	p := linear.Params().(*topo.LinearParams)
	p.Switches, p.HostsPerSwitch, p.FabricLink.Delay = 2, 5, 50*units.Microsecond
	c.Topology.Name, c.Topology.Params = linear.Name, p
	c.Switch.Buffer.Size = 64 * units.MiB
	c.Switch.Overrides = []scenario.Override{{Match: "switch*.to-switch*", Keys: scenario.NewPatch("flow_control", scenario.NewPatch("name", name))}}
}

// needsTimed reports whether a scheme rejects ports with pauses that never expire.
func needsTimed(e registry.Entry[flowctl.New]) bool {
	scheme, err := e.New(paramsOf(e))
	if err != nil {
		return false
	}
	check := scheme.Properties().Check
	if check == nil {
		return false
	}
	n := NewNetwork(dumbbell())
	l := n.Graph.Links[trunk]
	l.Delay = 50 * units.Microsecond
	p := n.portSpec(l, n.Graph.Hosts)
	if check(&p) != nil {
		return false
	}
	p.PFC.Indefinite = true
	return check(&p) != nil
}

// useScheme uses a scheme on all ports, or only on the trunk.
func useScheme(n *Network, scheme flowctl.Scheme, trunkOnly bool) {
	pfc := n.Flow
	n.Flow = func(node, port int) flowctl.Scheme {
		if trunkOnly && !onTrunk(n.Graph, node, port) {
			return pfc(node, port)
		}
		return scheme
	}
}

// onTrunk reports whether a port belongs to a link between switches.
func onTrunk(g *topo.Graph, node, port int) bool {
	for _, l := range g.Links {
		if l.A >= g.Hosts && l.B >= g.Hosts && (l.A == node && l.PortA == port || l.B == node && l.PortB == port) {
			return true
		}
	}
	return false
}

// Hosts of the dumbbell: hosts 0 to 2 on one switch send, these are on the other.
const (
	fastReceiver = 3
	slowReceiver = 4
	reverse      = 5 // sends in the opposite direction
)

// dumbbell returns two switches and a trunk, with ports of 10, 25 and 100 Gbps.
func dumbbell() *topo.Graph {
	g := &topo.Graph{Hosts: 6, Rack: []int{0, 0, 0, 1, 1, 1}}
	for i := range g.Hosts {
		g.Names = append(g.Names, fmt.Sprintf("host%d", i))
	}
	g.Names = append(g.Names, "left", "right")
	rates := []units.Rate{100 * units.Gbps, 100 * units.Gbps, 25 * units.Gbps, 100 * units.Gbps, 10 * units.Gbps, 100 * units.Gbps}
	for h, rate := range rates {
		g.Links = append(g.Links, topo.Link{A: h, B: 6 + h/3, PortB: h % 3, Rate: rate, Delay: units.Microsecond})
	}
	g.Links = append(g.Links, topo.Link{A: 6, PortA: 3, B: 7, PortB: 3, Rate: 100 * units.Gbps, Delay: 2 * units.Microsecond})
	return g
}

// trunk is the index of the link between the switches in dumbbell.
const trunk = 6

// burst returns full-rate traffic from all senders to both receivers in all classes, with full and
// small frames. Other flows go in the opposite direction, and a late flow per class must find
// everything open again.
func burst(packets int, phase units.Time) []dataplane.Flow {
	var flows []dataplane.Flow
	add := func(start units.Time, src, dst int, class uint8, packets int, transport uint8) {
		size := units.Bytes(packets) * bigPayload
		if transport == 1 {
			size = units.Bytes(packets) * smallPayload
		}
		flows = append(flows, dataplane.Flow{Start: start, Size: size, Src: uint32(src), Dst: uint32(dst), Class: class,
			Transport: transport, Hash: uint32(len(flows)) * 2654435761})
	}
	for class := uint8(1); class < 8; class++ {
		add(phase, reverse, int(class)%3, class, packets, 0)
	}
	for src := range 3 {
		for class := uint8(1); class < 8; class++ {
			dst := fastReceiver + int(class+uint8(src))%2
			add(0, src, dst, class, packets, class&1)
		}
	}
	for class := uint8(1); class < 8; class++ {
		add(10*units.Millisecond, int(class)%3, fastReceiver, class, 3, 0)
	}
	return flows
}

// single returns one class at full rate into an egress that is about to be blocked. Full frames in
// the opposite direction delay every control frame.
func single(class, transport uint8, phase units.Time) []dataplane.Flow {
	size := 400 * bigPayload
	if transport == 1 {
		size = 4000 * smallPayload
	}
	return []dataplane.Flow{
		{Start: 0, Size: size, Src: 0, Dst: fastReceiver, Class: class, Transport: transport},
		{Start: 0, Size: size, Src: 1, Dst: fastReceiver, Class: class, Transport: transport, Hash: 7},
		{Start: phase, Size: 600 * bigPayload, Src: reverse, Dst: 0, Class: 7},
		{Start: 10 * units.Millisecond, Size: 3000, Src: 0, Dst: fastReceiver, Class: class},
	}
}

type flowCase struct {
	name      string
	trunkOnly bool // other ports use PFC, and one receiver is stuck for a while
	variant   bool // differs from another case only in the timing of frames
	network   func() *Network
}

func flowCases() []flowCase {
	var cases []flowCase
	add := func(name string, trunkOnly bool, change func(*Network)) {
		cases = append(cases, flowCase{name: name, trunkOnly: trunkOnly, network: func() *Network {
			n := NewNetwork(dumbbell())
			if trunkOnly {
				n.Receive = func(node int) dataplane.ReceiveSpec {
					if node != fastReceiver {
						return dataplane.ReceiveSpec{}
					}
					return dataplane.ReceiveSpec{Stuck: []units.Interval{{From: 5 * units.Microsecond, To: 400 * units.Microsecond}}}
				}
			}
			change(n)
			return n
		}})
	}
	add("slow egress", false, func(n *Network) { n.Flows = burst(40, 0) })
	add("slow egress, cells and overhead", false, func(n *Network) {
		n.Flows, n.Cell, n.Overhead, n.Private = burst(40, 300*units.Nanosecond), 254, 20, 0
	})
	add("slow egress, slow reaction", false, func(n *Network) {
		n.Flows, n.PFC.Processing, n.PFC.Ordered = burst(40, 0), 500*units.Nanosecond, true
	})
	add("blocked egress, all classes", true, func(n *Network) { n.Flows = burst(40, 0) })
	for phase := units.Time(0); phase < 4; phase++ {
		add(fmt.Sprintf("blocked egress, one class, phase %d", phase), true, func(n *Network) {
			n.Flows = single(3, 0, phase*23*units.Nanosecond)
		})
		cases[len(cases)-1].variant = phase > 0
	}
	add("blocked egress, one class, small frames in cells", true, func(n *Network) {
		n.Flows, n.Cell = single(5, 1, 0), 254
	})
	return cases
}

// hostCases have receivers that process frames slowly, or not at all for a while. The scheme must
// stop the switch in time.
func hostCases() []flowCase {
	receiver := func(r dataplane.ReceiveSpec) func() *Network {
		return func() *Network {
			n := NewNetwork(dumbbell())
			n.Flows = burst(40, 0)
			n.Receive = func(node int) dataplane.ReceiveSpec {
				if node == fastReceiver {
					return r
				}
				return dataplane.ReceiveSpec{}
			}
			return n
		}
	}
	return []flowCase{
		{name: "slow host", network: receiver(dataplane.ReceiveSpec{Rate: 20 * units.Gbps, Buffer: 2 * units.MiB, Xoff: 30 * units.KB})},
		{name: "stuck host", network: receiver(dataplane.ReceiveSpec{Stuck: []units.Interval{
			{From: 5 * units.Microsecond, To: 300 * units.Microsecond},
		}})},
	}
}

// resets takes the trunk down and up again under load. Both ends lose their flow control state and
// frames in flight are lost, but all flows must finish.
func resets(t testing.TB, e registry.Entry[flowctl.New]) {
	t.Helper()
	name := e.Name + "/link down and up"
	watch := &flowWatch{}
	n := NewNetwork(dumbbell())
	n.Flows, n.Until = burst(40, 0), 200*units.Millisecond
	n.PFC.Indefinite = !needsTimed(e)
	n.Down = map[int][]units.Interval{trunk: {{From: 40 * units.Microsecond, To: units.Millisecond}}}
	if e.Promises&registry.Lossless == 0 {
		n.Shared = 32 * units.MiB
	}
	scheme, err := e.New(paramsOf(e))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	useScheme(n, watch.wrap(scheme), false)
	judge(t, name, n.Run(), requirements{lossless: e.Promises&registry.Lossless != 0, finish: true})
	watch.report(t, name)
}
