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

// FlowControl checks a flow-control scheme: two switches with hosts of mixed
// rates, every lossless class, small and full frames, full-rate bursts into a
// slow and into a fully blocked egress, buffers in bytes and in cells. What receivers say
// about shortcuts must be true.
func FlowControl(t testing.TB, e registry.Entry[flowctl.New]) {
	t.Helper()
	w := wants{lossless: e.Promises&registry.Lossless != 0, inOrder: e.Promises&registry.InOrder != 0, finish: true}
	cases := flowCases()
	if w.lossless {
		cases = append(cases, hostCases()...)
	}
	for _, c := range cases {
		name := e.Name + "/" + c.name
		watch := &flowWatch{bounded: e.Promises&registry.Bounded != 0}
		n := c.network()
		if !w.lossless {
			n.Shared = 32 * units.MiB // so much that nothing need be dropped
		}
		scheme, err := e.New(paramsOf(e))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		useScheme(n, watch.wrap(scheme), c.trunkOnly)
		r := same(t, name, n)
		judge(t, name, r, w)
		watch.report(t, name)
		if plain := c.network(); !c.alike {
			plain.Shared = n.Shared
			useScheme(plain, must(e.New(paramsOf(e))), c.trunkOnly)
			shortcuts(t, name, plain)
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
	gauges(t, flowctl.Schemes, e, func(c *scenario.Config, x scenario.Choice) {
		if must(e.New(paramsOf(e))).Properties().Check != nil {
			longTrunk(c, x.Name)
		} else {
			c.Switch.FlowControl = x
		}
	})
}

// longTrunk is a fabric for schemes that do not fit every port: 10 km of cable between
// two switches, whose ports run them.
func longTrunk(c *scenario.Config, name string) {
	linear := must(topo.Topologies.Get("linear"))
	p := linear.Params().(*topo.LinearParams)
	p.Switches, p.HostsPerSwitch, p.FabricLink.Delay = 2, 5, 50*units.Microsecond
	c.Topology.Name, c.Topology.Params = linear.Name, p
	c.Switch.Buffer.Size = 64 * units.MiB
	c.Switch.Overrides = []scenario.Override{{Match: "switch*.to-switch*", Keys: scenario.NewPatch("flow_control", scenario.NewPatch("name", name))}}
}

// needsTimed reports whether a scheme refuses a port for pauses that do not run out.
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

// useScheme puts a scheme on all ports, or on the trunk only.
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

// Hosts of the dumbbell: three senders on one switch, three receivers on the
// other, one of them slow.
const (
	fastReceiver = 3
	slowReceiver = 4
	reverse      = 5 // sends against the others
)

// dumbbell is two switches and a trunk, with ports of 10, 25 and 100 Gbps.
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

// burst is full-rate traffic from all senders to both receivers in all classes,
// full frames and small ones, a stream against it, and a late flow per class that
// must find everything open again.
func burst(packets int, phase units.Time) []dataplane.Flow {
	var flows []dataplane.Flow
	add := func(start units.Time, src, dst int, class uint8, packets int, way uint8) {
		size := units.Bytes(packets) * bigPayload
		if way == 1 {
			size = units.Bytes(packets) * smallPayload
		}
		flows = append(flows, dataplane.Flow{Start: start, Size: size, Src: uint16(src), Dst: uint16(dst), Class: class,
			Transport: way, Hash: uint32(len(flows)) * 2654435761})
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

// single is one class at full rate into an egress that is about to be blocked,
// with full frames in the other direction that delay every control frame.
func single(class, way uint8, phase units.Time) []dataplane.Flow {
	size := 400 * bigPayload
	if way == 1 {
		size = 4000 * smallPayload
	}
	return []dataplane.Flow{
		{Start: 0, Size: size, Src: 0, Dst: fastReceiver, Class: class, Transport: way},
		{Start: 0, Size: size, Src: 1, Dst: fastReceiver, Class: class, Transport: way, Hash: 7},
		{Start: phase, Size: 600 * bigPayload, Src: reverse, Dst: 0, Class: 7},
		{Start: 10 * units.Millisecond, Size: 3000, Src: 0, Dst: fastReceiver, Class: class},
	}
}

type flowCase struct {
	name      string
	trunkOnly bool // other ports run PFC, one receiver is stuck for a while
	alike     bool // another case is alike but for the times of frames
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
		cases[len(cases)-1].alike = phase > 0
	}
	add("blocked egress, one class, small frames in cells", true, func(n *Network) {
		n.Flows, n.Cell = single(5, 1, 0), 254
	})
	return cases
}

// hostCases are receivers that take frames slowly, or not at all for a while:
// the scheme must hold the switch before them.
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

// resets takes the trunk down and up again under load: what the peer said no
// longer holds, what was in flight is lost, and still everything must end.
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
	judge(t, name, n.Run(), wants{lossless: e.Promises&registry.Lossless != 0, finish: true})
	watch.report(t, name)
}
