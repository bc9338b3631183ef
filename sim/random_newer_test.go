package sim_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// newerSchemes draws buffer policies, flow control of long links, routers and deadlock
// handlers for a case. It has its own random stream. Names follow from the index, so that
// a few neighbours cover all of them.
type newerSchemes struct {
	*drawer
	long    bool
	policy  string
	flow    string // of long links
	handler string
	ports   string // flow control of all other ports; empty: drawn
}

// Names that cases take in turns.
var (
	newerPolicies = []string{"sonic", "abm", "l2bm", "reverie", "occamy", "chip"}
	newerFlows    = []string{"bifrost", "bifrostx", "cbfc", "swing"}
	newerRouters  = []string{"flowlet", "adaptive"}
	newerHandlers = []string{"roundabout", "watchdog", "itsy", "loop-breaker", "deadlock-breaker"}
)

// forwards is why lossless frames may be dropped if a watchdog forwards frames.
const forwards = "the watchdog forwards frames in spite of pauses"

// newerBase is the index of the first case of drawCase that the newer schemes use.
const newerBase = 20_000

// drawNewer returns a case with newer schemes: an ordinary fabric if the index is even, a
// fabric with a long link, or a ring with flows around it.
func drawNewer(index, packets int) *randomCase {
	turn := index / 4
	n := &newerSchemes{
		drawer: &drawer{Rand: rand.New(rand.NewPCG(20260214, uint64(index)))}, long: index%4 == 1,
		policy: newerPolicies[index/2%len(newerPolicies)], flow: newerFlows[turn%len(newerFlows)], handler: newerHandlers[turn%len(newerHandlers)],
	}
	if index%4 == 3 {
		n.policy = newerPolicies[turn%len(newerPolicies)]
		return n.loop(index)
	}
	c := draw(newerBase+index, packets, n)
	c.index = index
	return c
}

// choice returns a scheme with its default parameters.
func choice(kind, name string) scenario.Choice {
	c, err := scenario.Choose(kind, name)
	if err != nil {
		panic(err)
	}
	return c
}

// topology replaces the fabric by one with a long link, or stretches the fabric links of a
// case.
func (n *newerSchemes) topology(d *drawer) {
	t := &d.tree
	d.mix = 0.6
	if !n.long {
		if d.flood = d.flood || !d.longLink && n.chance(0.35); d.flood {
			d.packets *= 2
		}
		if d.leaves && !d.flood && n.chance(0.4) {
			t.FabricLink.Delay = units.Time(n.between(8, 20)) * units.Microsecond
		}
		return
	}
	d.flood, d.leaves, d.longLink = false, true, true
	t.HostLink = topo.Cable{Rate: pick[units.Rate](n.drawer, 10, 25, 40) * units.Gbps, Delay: pick[units.Time](n.drawer, 100, 1000) * units.Nanosecond}
	t.FabricLink = topo.Cable{Rate: pick[units.Rate](n.drawer, 25, 40, 100) * units.Gbps, Delay: units.Time(n.between(10, 25)) * units.Microsecond}
	d.packets *= 2
	d.hosts, t.HostsPerLeaf = 8, 4
	if n.flow == "swing" || n.chance(0.5) {
		p := &topo.TwoDCParams{K: 2, HostsPerEdge: 2, HostLink: t.HostLink, FabricLink: t.HostLink, DCILink: t.HostLink, LongLink: t.FabricLink}
		d.apart = []string{"dci"}
		if n.flow == "swing" {
			p.RelayLink = topo.Cable{Rate: t.FabricLink.Rate, Delay: t.HostLink.Delay}
			d.apart = append(d.apart, "relay")
		}
		d.fabric = scenario.Fabric("two-dc", p)
	} else {
		d.fabric = scenario.Fabric("dumbbell", &topo.DumbbellParams{Left: 4, Right: 4, HostLink: t.HostLink, Trunk: t.FabricLink, Trunks: n.between(1, 2)})
	}
	e, err := topo.Topologies.Get(d.fabric.Name)
	if err != nil {
		panic(err)
	}
	g, err := e.New(d.fabric.Params)
	if err != nil {
		panic(err)
	}
	for i, l := range g.Links {
		name := g.Names[l.A] + "-" + g.Names[l.B]
		if p, ok := d.fabric.Params.(*topo.DumbbellParams); ok && l.A >= g.Hosts && p.Trunks > 1 {
			name = fmt.Sprintf("%s#%d", name, i-g.Hosts)
		}
		d.links = append(d.links, name)
	}
}

// choose replaces the schemes of a case.
func (n *newerSchemes) choose(d *drawer) {
	s := &d.cfg.Switch
	for i := range d.cfg.Workload { // cross the long link
		w := &d.cfg.Workload[i]
		if d.fabric.Name == "" || w.Pairs != "other_rack" && n.chance(0.3) {
			continue
		}
		if p, ok := w.Params.(*workload.Incast); ok {
			p.Senders, w.Pairs = min(p.Senders, 4), "other_group"
		} else if w.Pairs != "" {
			w.Pairs = "other_group"
		}
	}
	for range n.IntN(4) { // the drain of a long link stops and resumes
		if n.long {
			trip := 2 * d.tree.FabricLink.Delay
			d.cfg.Faults = append(d.cfg.Faults, scenario.Fault{
				Host: fmt.Sprintf("host%d", n.IntN(d.hosts)), Stuck: true, At: units.Time(n.Int64N(int64(d.cfg.Run.Arrivals + 2*trip))), For: units.Time(n.Int64N(int64(4*trip))) + 1,
			})
		}
	}
	if n.chance(0.5) { // more pressure
		d.cfg.Hosts.CC = scenario.Choice{Name: "none"}
	}
	s.Policy = n.bufferPolicy(d.flood, ratio(1, 16), ratio(1, 8), ratio(1, 1), ratio(4, 1))
	n.flowControl(d)
	if d.leaves && d.fabric.Name == "" && len(s.Overrides)+len(d.cfg.Faults) == 0 && n.chance(0.5) { // paths differ
		d.cfg.Topology.Overrides = []scenario.LinkOverride{{
			Match: "leaf*-spine0", Rate: pick[units.Rate](n.drawer, 10, 25, 100) * units.Gbps, Delay: d.tree.FabricLink.Delay * units.Time(n.between(1, 10)) / 10,
		}}
	}
	if n.chance(0.6) {
		r := choice("routing", pick(n.drawer, newerRouters...))
		p := r.Params.(*route.FlowletParams)
		p.Gap, p.Entries = pick[units.Time](n.drawer, 1, 10, 50, 200)*units.Microsecond, pick(n.drawer, 1, 16, 4096)
		d.cfg.Routing.Choice = r
	}
	s.Deadlock = scenario.Choice{Name: "none"}
	if d.pfc && (n.chance(0.6) || n.ports != "") {
		s.Deadlock = n.deadlockHandler(d.cfg)
		if p, ok := s.Deadlock.Params.(*deadlock.WatchdogParams); ok && p.Action != "alert" {
			d.reorders = true
			if p.Action == "forward" {
				d.loses, d.drains = forwards, true
			}
		}
	}
	n.chipBuffer(d)
}

// patient decides whether all flows of a case must finish. It gives them time for few
// credits, low rates, and retransmissions after reordering. Without congestion control,
// lossy flows may drop nearly everything that go-back-N retransmits. With a static limit below
// a frame, they drop everything.
func (n *newerSchemes) patient(d *drawer, c *randomCase) {
	stop, cc := &d.cfg.Run.Stop, d.cfg.Hosts.CC.Name
	livelock := d.lossy && (cc == "none" || cc == "fixed") || d.cfg.Routing.Name == "spray" && d.leaves
	p, static := d.cfg.Switch.Policy.Params.(*buffer.StaticParams)
	starved := d.lossy && static && p.Limit < d.cfg.Hosts.Payload+d.cfg.Hosts.Header+d.cfg.Switch.Buffer.Cell
	c.ends = stop.When == "all_flows_done" && c.loses == "" && !c.faults && !livelock && !starved && !drops(d.cfg.Switch.Deadlock)
	if c.ends {
		stop.AtMost += 100 * units.Millisecond
	}
}

func ratio(num, den int64) units.Ratio { return units.Ratio{Num: num, Den: den} }

// bufferPolicy draws the parameters of the policy, with one of the alphas for lossless
// queues. In a flood the alphas are large enough to fill the buffer.
func (n *newerSchemes) bufferPolicy(flood bool, alphas ...units.Ratio) scenario.Choice {
	c := choice("policy", n.policy)
	alpha, lossy := pick(n.drawer, alphas...), pick(n.drawer, ratio(1, 4), ratio(1, 1), ratio(8, 1))
	pool := pick(n.drawer, ratio(1, 2), ratio(4, 5), ratio(1, 1))
	if flood {
		alpha, lossy, pool = ratio(1024, 1), ratio(64, 1), ratio(1, 1)
	}
	some := n.chance(0.5)
	switch p := c.Params.(type) {
	case *buffer.DTParams:
		p.Alpha, p.AlphaLossy = alpha, lossy
	case *buffer.StaticParams:
		p.Limit = pick[units.Bytes](n.drawer, 3, 20, 100) * units.KB
	case *buffer.SONiCParams:
		p.Alpha, p.AlphaLossy, p.LossyPool = alpha, lossy, pool
		if some && !flood {
			p.LosslessPool, p.AlphaLossyIngress = ratio(3, 4), ratio(1, 2)
		}
	case *buffer.ABMParams:
		p.Alpha, p.AlphaLossy, p.LossyPool = alpha, lossy, pool
		p.Where, p.Window = pick(n.drawer, "both", "egress"), pick[units.Time](n.drawer, 5, 20, 100)*units.Microsecond
		if some {
			p.UnscheduledAlpha = ratio(1024, 1)
		}
	case *buffer.L2BMParams:
		p.Alpha, p.AlphaLossy, p.LossyPool = alpha, lossy, pool
		p.PausedTime = pick(n.drawer, "ignore", "freeze")
		if p.PausedTime == "ignore" && some {
			p.Algorithm = "printed"
		}
		p.C = pick(n.drawer, buffer.Norm{Rule: "sum"}, buffer.Norm{Rule: "mean"}, buffer.Norm{Time: 20 * units.Microsecond})
	case *buffer.ReverieParams:
		p.Alpha, p.AlphaLossy, p.Filter = alpha, lossy, pick(n.drawer, "plain", "departure")
		p.Gamma = pick(n.drawer, 0.5, 0.9, 0.999)
		if some {
			p.UnscheduledAlpha = ratio(1024, 1)
		}
	case *buffer.OccamyParams:
		p.Alpha, p.AlphaLossy, p.MemorySpeedup = alpha, lossy, ratio(int64(n.between(1, 2)), 1)
		p.Bucket = pick[units.Bytes](n.drawer, 1, 1600, 40_000)
	case *buffer.ChipParams:
		p.Alpha, p.AlphaLossy = alpha, lossy
		if some && !flood {
			p.PortAlpha = pick(n.drawer, ratio(1, 2), ratio(4, 1))
			p.EgressMinimum, p.EgressLossy = 1664, pick[units.Bytes](n.drawer, 0, 100_000)
		}
	}
	return c
}

// chipBuffer divides the buffer of a chip, charges frames more than their bytes, and adds
// pools that can run dry.
func (n *newerSchemes) chipBuffer(d *drawer) {
	s := &d.cfg.Switch
	p, ok := s.Policy.Params.(*buffer.ChipParams)
	if !ok || d.flood {
		return
	}
	s.Buffer.PerPacket = pick[units.Bytes](n.drawer, 0, 48)
	if n.chance(0.15) {
		p.EgressLossless, d.loses, d.drains = 300*units.KB, "the egress pool may run dry", true
	}
	q, ok := s.FlowControl.Params.(*flowctl.SONiCParams)
	if !ok || len(s.Overrides) > 0 { // parts and pools need flow control sonic at every port
		return
	}
	if s.Deadlock.Name == "none" || s.Deadlock.Name == "watchdog" {
		s.Buffer.Partitions = n.between(1, 2)
	}
	if n.chance(0.2) {
		s.Buffer.HeadroomPool, d.loses, d.drains = 100*units.KB, "the headroom pool may run dry", true
		q.Borrow = n.chance(0.5)
	}
}

// flowControl draws the flow control of all ports, and of long links.
func (n *newerSchemes) flowControl(d *drawer) {
	s := &d.cfg.Switch
	d.pfc = true
	names := []string{"sonic", "pfc", "dsh", "adaptive", "cbfc"}
	if n.long || d.flood {
		names = names[:4] // pauses
	}
	if n.ports != "" {
		names = []string{n.ports}
	}
	s.FlowControl = choice("flow_control", pick(n.drawer, names...))
	switch p := s.FlowControl.Params.(type) {
	case *flowctl.SONiCParams:
		p.Xon, p.Offset = pick[units.Bytes](n.drawer, 0, 1248, 10_000), pick[units.Bytes](n.drawer, 0, 2496, 10_000)
		p.Minimum = pick[units.Bytes](n.drawer, 0, 3000)
	case *flowctl.SIHParams:
		p.Delta = pick[units.Bytes](n.drawer, 0, 3000)
	case *flowctl.CBFCParams:
		*p = *n.credits(d, max(d.tree.HostLink.Rate, d.tree.FabricLink.Rate), max(d.tree.HostLink.Delay, d.tree.FabricLink.Delay))
		d.pfc = false
		return
	}
	if n.long || n.flow != "" && d.leaves && d.tree.FabricLink.Delay >= 8*units.Microsecond && n.chance(0.8) {
		n.longLinks(d)
	}
}

// credits draws the parameters of CBFC for a link.
func (n *newerSchemes) credits(d *drawer, rate units.Rate, delay units.Time) *flowctl.CBFCParams {
	p := choice("flow_control", "cbfc").Params.(*flowctl.CBFCParams)
	frame := d.cfg.Hosts.Payload + 200
	p.Form, p.Period = pick(n.drawer, "ib", "uec"), units.Time(n.between(3, 40))*units.Microsecond
	p.After = pick[units.Bytes](n.drawer, 0, 4000, 40_000)
	p.Buffer = pick(n.drawer, 0, 16*frame, 40*frame)
	if p.Form == "ib" && rate.In(2*delay+2*units.Microsecond)+6*frame < 131_072 {
		p.Field = pick(n.drawer, "ideal", "12bit")
	}
	return p
}

// longLinks gives the long links of a case their own flow control.
func (n *newerSchemes) longLinks(d *drawer) {
	s, far := &d.cfg.Switch, d.tree.FabricLink
	add := func(match, keys string) { s.Overrides = append(s.Overrides, patch(match, keys)) }
	ends := []string{"leaf*.to-spine*", "spine*"}
	switch d.fabric.Name {
	case "two-dc":
		ends = []string{"dci*.to-dci*"}
	case "dumbbell":
		ends = []string{"switch*.to-switch*"}
	}
	flow := n.flow
	if !n.long && flow == "swing" {
		flow = "bifrost" // a leaf is no relay
	}
	frame := d.cfg.Hosts.Payload + 200
	least := max(1100*units.Nanosecond, far.Rate.TxTime(2*frame))
	slot := least + units.Time(n.Int64N(int64(min(far.Delay, 4*least)-least)))
	keys := ""
	switch flow {
	case "bifrost":
		s.PFC.Hold = "timed" // pauses must expire
		form, slots := "window", n.between(1, 4)
		d.idlePauses = slots < 3 // H does not cover the grants of an idle link
		if n.chance(0.1) {
			form, d.loses = pick(n.drawer, "printed", "clamped"), "Algorithm 1 of Bifrost may drop frames"
		}
		keys = fmt.Sprintf("flow_control: {name: bifrost, form: %s, slot: %dps, buffer: bdp+%d}", form, int64(slot), slots)
	case "bifrostx":
		keys = fmt.Sprintf("{flow_control: {name: bifrostx, slot: %dps, buffer: bdp+%d}, scheduler: {strict: [control, rdma]}}", int64(slot), n.between(1, 4))
		if d.lossy {
			keys = fmt.Sprintf("{flow_control: {name: bifrostx, slot: %dps, buffer: bdp+%d}, scheduler: {strict: [control, rdma, tcp]}}", int64(slot), n.between(1, 4))
		}
	case "cbfc":
		p := n.credits(d, far.Rate, far.Delay)
		keys = fmt.Sprintf("flow_control: {name: cbfc, form: %s, field: %s, period: %dps, after: %dB, buffer: %dB}", p.Form, p.Field, int64(p.Period), int64(p.After), int64(p.Buffer))
	case "swing":
		add("relay*", fmt.Sprintf("flow_control: {name: swing, xoff: %dKB}", n.between(50, 300)))
		// A BDP up to the switch behind the other relay, and a little more.
		reach := 2*(far.Delay+d.tree.HostLink.Delay+s.Latency) + 2*s.PFC.Processing + 2*s.Latency
		buffer := units.Bytes(0)
		if s.Buffer.Cell == 1 {
			buffer = (far.Rate.In(reach) + 8*frame) * 5 / 4
		}
		add("relay*.to-relay*", fmt.Sprintf("flow_control: {side: long, buffer: %dB}", int64(buffer)))
		return
	}
	d.pfc = flow == "bifrost"
	for _, match := range ends {
		add(match, keys)
	}
}

// deadlockHandler draws the parameters of the handler, with times of a short run.
func (n *newerSchemes) deadlockHandler(cfg *scenario.Config) scenario.Choice {
	us := units.Microsecond
	c := choice("deadlock", n.handler)
	switch p := c.Params.(type) {
	case *deadlock.RoundaboutParams:
		cfg.Switch.PFC.Coalesce = false
		// Two frames in cells, or up to 2 BDP of 100 Gbps and 1 us.
		p.Redundant = pick(n.drawer, 2*(cfg.Hosts.Payload+500), 12_500, 25_000, 50_000)
		if n.chance(0.15) {
			p.Form = "printed"
		}
	case *deadlock.WatchdogParams:
		p.Action = pick(n.drawer, "drop", "drop", "forward", "alert")
		p.Polling = pick[units.Time](n.drawer, 20, 50) * us
		p.Detection, p.Restoration = p.Polling*units.Time(n.between(1, 4)), p.Polling*units.Time(n.between(1, 4))
	case *deadlock.ITSYParams:
		p.Resolve, p.Retry = pick(n.drawer, "drop", "buffer", "nothing"), pick[units.Time](n.drawer, 20, 100)*us
	case *deadlock.BreakerParams:
		p.Period, p.Latency = pick[units.Time](n.drawer, 50, 100, 300)*us, pick[units.Time](n.drawer, 1, 10)*us
	}
	return c
}

// loop draws a ring with a deadlock handler.
func (n *newerSchemes) loop(index int) *randomCase {
	cfg, err := scenario.Parse("loop.yaml", []byte(drawLoop(newerBase+index)), "output.deadlocks=true")
	if err != nil {
		panic(err)
	}
	for _, w := range cfg.Workload { // more of them deadlock
		for i := range w.Params.(*workload.List).Flows {
			w.Params.(*workload.List).Flows[i].Size *= 2
		}
	}
	c := &randomCase{index: index, cfg: cfg, grace: units.Millisecond}
	s := &cfg.Switch
	if n.chance(0.7) {
		s.Policy = n.bufferPolicy(false, ratio(1, 256), ratio(1, 128), ratio(1, 32))
	}
	s.Deadlock = n.deadlockHandler(cfg)
	joined := false // loops may run through several classes
	switch kind := n.IntN(8); {
	case n.ports != "":
		s.FlowControl, joined = choice("flow_control", n.ports), n.ports == "dsh" && index%2 == 0
		if n.ports == "dsh" && !joined {
			for i := range cfg.Workload {
				cfg.Workload[i].Class = scenario.ClassChoice{Fixed: "3"}
			}
		}
	case kind == 0:
		s.FlowControl, joined = choice("flow_control", "dsh"), true
	case kind == 1: // handlers need PFC
		s.FlowControl, s.Deadlock = choice("flow_control", "cbfc"), scenario.Choice{Name: "none"}
		p := s.FlowControl.Params.(*flowctl.CBFCParams)
		p.Form, p.Buffer, p.Period = pick(n.drawer, "ib", "uec"), units.Bytes(n.between(16, 60))*units.KB, units.Time(n.between(3, 20))*units.Microsecond
	}
	cfg.Run.Stop.AtMost = 20 * units.Millisecond
	switch p := s.Deadlock.Params.(type) {
	case *deadlock.RoundaboutParams:
		if c.ends = p.Form == "mended" && !joined; c.ends {
			cfg.Run.Stop.AtMost = 200 * units.Millisecond
		}
	case *deadlock.WatchdogParams:
		if p.Action == "forward" {
			c.loses, c.drains = forwards, true
		}
	}
	if drops(s.Deadlock) {
		r := &cfg.Hosts.Reliability
		r.Timeout, r.MaxTimeout = units.Millisecond, 4*units.Millisecond
	}
	return c
}

// drops reports whether a handler drops frames or changes their order, so that flows depend
// on retransmissions.
func drops(c scenario.Choice) bool {
	switch p := c.Params.(type) {
	case *deadlock.WatchdogParams:
		return p.Action != "alert"
	case *deadlock.ITSYParams:
		return p.Resolve == "drop"
	}
	return c.Name == "loop-breaker"
}
