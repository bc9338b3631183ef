package sim_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
	"github.com/xoff-net/xoff/scheme/sched"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// randomCase is a scenario drawn from an index, and the losses and delays it permits.
type randomCase struct {
	index  int
	cfg    *scenario.Config
	loses  string // why lossless frames may be dropped; empty if they must not be
	faults bool
	ends   bool       // every flow must finish
	grace  units.Time // simulated after the last flow, so that all pauses end

	idlePauses bool // links pause without traffic
	drains     bool // pools may run dry, or handlers ignore pauses: any switch may drop lossless frames
}

func (c *randomCase) String() string {
	text, err := json.Marshal(c.cfg)
	if err != nil {
		return fmt.Sprintf("case %d: %v", c.index, err)
	}
	return fmt.Sprintf("case %d: %s", c.index, text)
}

// drawer draws the parts of a scenario.
type drawer struct {
	*rand.Rand
	cfg        *scenario.Config
	tree       topo.LeafSpineParams // also used for the cables of a star
	packets    int                  // limit of the traffic
	mix        float64              // share of cases with lossy classes
	hosts      int
	leaves     bool
	longLink   bool
	lossy      bool
	flood      bool        // fill the buffer completely
	bytes      units.Bytes // sum over all flows
	steps      int         // longest chain of dependent flows
	span       units.Time  // time in which flows start
	over       overridden
	fabric     scenario.Topology // instead of leaf-spine and one-switch, unless it has no name
	links      []string          // names of its cables
	apart      []string          // prefixes of switches with a buffer of their own size
	loses      string            // why the newer schemes may drop lossless frames
	reorders   bool              // routers or handlers may reorder frames
	idlePauses bool              // links pause without traffic
	drains     bool              // see randomCase
	pfc        bool              // all ports pause with PFC, so that deadlock handlers can be used
}

// drawCase returns the scenario of an index, which is always the same.
func drawCase(index, packets int) *randomCase { return draw(index, packets, nil) }

// draw is drawCase; newer replaces topology and schemes, unless it is nil.
func draw(index, packets int, newer *newerSchemes) *randomCase {
	d := &drawer{Rand: rand.New(rand.NewPCG(20240607, uint64(index))), cfg: scenario.Default(), packets: packets, mix: 0.45}
	d.cfg.Name = fmt.Sprintf("case %d", index)
	d.cfg.Seed = d.Uint64() >> 1
	d.flood = d.chance(0.3)
	d.topology()
	if newer != nil {
		newer.topology(d)
	}
	d.classes()
	d.hostSide()
	d.switchSide()
	d.workload()
	if d.flood {
		d.flooding()
	}
	d.lay()
	c := &randomCase{index: index, cfg: d.cfg}
	if d.chance(0.3) {
		d.faults()
		c.faults = true
	}
	if d.chance(0.12) {
		d.slowReceivers()
	}
	if newer == nil {
		d.overrides(index)
	}
	d.transports(index)
	if newer == nil {
		d.headroomSchemes(index)
	} else {
		newer.choose(d)
	}
	d.reorders = d.reorders || d.cfg.Routing.Name == "spray"
	d.bufferSize()
	if newer == nil {
		d.enlarge(index)
	}
	c.loses, c.idlePauses, c.drains = d.mayLose(), d.idlePauses, d.drains
	// Flows may not finish in time with slow hosts, low rates or small windows, or if
	// packets are repeatedly lost or reordered.
	c.ends = c.loses == "" && !c.faults && !d.lossy && d.cfg.Hosts.CC.Name == "none" && d.cfg.Hosts.Receive.Rate == 0 && d.over.slow == 0 && !d.over.controlled && !d.reorders
	d.stop(c.ends)
	if newer != nil {
		newer.patient(d, c)
	}
	drain := d.tree.HostLink.Rate
	if d.cfg.Hosts.Receive.Rate > 0 {
		drain = d.cfg.Hosts.Receive.Rate
	}
	if d.over.slow > 0 {
		drain = min(drain, d.over.slow)
	}
	// Duplicates may still fill buffers when the last flow is done.
	c.grace = 10*(d.tree.HostLink.Delay+d.tree.FabricLink.Delay) + 200*units.Microsecond + drain.TxTime(4*max(d.over.buffer, d.cfg.Switch.Buffer.Size))
	return c
}

func (d *drawer) chance(p float64) bool { return d.Float64() < p }

func pick[T any](d *drawer, list ...T) T { return list[d.IntN(len(list))] }

func (d *drawer) between(lo, hi int) int { return lo + d.IntN(hi-lo+1) }

// topology prefers round delays: they make events of different ports coincide, and only
// then can their order differ.
func (d *drawer) topology() {
	t := &d.tree
	rates := []units.Rate{10 * units.Gbps, 25 * units.Gbps, 40 * units.Gbps, 100 * units.Gbps, 200 * units.Gbps, 30 * units.Gbps}
	t.HostLink = topo.Cable{Rate: pick(d, rates...), Delay: d.delay()}
	t.FabricLink = t.HostLink
	if d.chance(0.4) {
		t.FabricLink.Rate = pick(d, rates...)
	}
	if d.chance(0.4) {
		t.FabricLink.Delay = d.delay()
	}
	d.leaves = d.chance(0.65)
	if !d.leaves {
		d.hosts = d.between(3, 7)
		return
	}
	t.Leaves, t.Spines, t.HostsPerLeaf = d.between(2, 3), d.between(1, 2), d.between(2, 4)
	d.hosts = t.Leaves * t.HostsPerLeaf
	if !d.flood && d.chance(0.08) {
		d.longLink = true
		t.HostLink.Rate, t.FabricLink.Rate = 10*units.Gbps, 25*units.Gbps
		t.FabricLink.Delay = units.Time(d.between(100, 1000)) * units.Microsecond
	}
}

// lay sets the topology that was drawn.
func (d *drawer) lay() {
	d.cfg.Topology = scenario.Fabric("leaf-spine", &d.tree)
	if d.fabric.Name != "" {
		d.cfg.Topology = d.fabric
		return
	}
	if !d.leaves {
		d.cfg.Topology = scenario.Fabric("one-switch", &topo.OneSwitchParams{Hosts: d.hosts, HostLink: d.tree.HostLink})
	}
}

func (d *drawer) delay() units.Time {
	if d.chance(0.25) {
		return units.Time(d.between(20_000, 2_000_000))
	}
	return pick[units.Time](d, 20, 50, 100, 500, 1000, 2000) * units.Nanosecond
}

// classes draws the control class, 1 to 3 lossless classes and up to 2 lossy ones.
func (d *drawer) classes() {
	lossless, lossy := d.between(1, 3), 0
	if d.chance(d.mix) {
		lossy = d.between(1, 2)
	}
	if d.flood {
		lossless, lossy = 1, min(lossy, 1)
	}
	d.lossy = lossy > 0
	d.cfg.Classes = map[string]scenario.Class{"control": {IDs: []int{0}, Kind: "control"}}
	var rdma, tcp []int
	for i := range lossless {
		rdma = append(rdma, 1+i)
	}
	for i := range lossy {
		tcp = append(tcp, 5+i)
	}
	d.cfg.Classes["rdma"] = scenario.Class{IDs: rdma, Kind: "lossless"}
	groups := []string{"rdma"}
	if d.lossy {
		d.cfg.Classes["tcp"] = scenario.Class{IDs: tcp, Kind: "lossy"}
		groups = append(groups, "tcp")
	}
	s := &d.cfg.Switch.Scheduler
	params := &sched.DWRRParams{Quantum: 1600}
	*s = scenario.Scheduler{Choice: scenario.Choice{Name: "dwrr", Params: params}, Strict: []string{"control"}, Groups: groups}
	switch d.IntN(4) {
	case 0:
		s.Choice = scenario.Choice{Name: "rr"}
	case 1:
		s.Strict, s.Groups = append(s.Strict, groups...), nil
	default:
		if d.chance(0.5) {
			params.Quanta = map[int]units.Bytes{1: units.Bytes(d.between(100, 6000))}
			if d.lossy {
				params.Quanta[5] = units.Bytes(d.between(100, 6000))
			}
		}
	}
}

func (d *drawer) hostSide() {
	h := &d.cfg.Hosts
	h.Payload = pick[units.Bytes](d, 1000, 1000, 1000, 256, 1452, 4000)
	h.Ack = scenario.Ack{Every: pick(d, 1, 1, 1, 2, 4, 16), Class: "control", Size: pick[units.Bytes](d, 60, 64)}
	h.CNP.Mode = pick(d, "interval", "ack")
	h.CNP.Interval = pick[units.Time](d, 1, 4, 50) * units.Microsecond
	r := &h.Reliability
	r.Timeout = pick[units.Time](d, 200, 500, 1000) * units.Microsecond
	if d.longLink {
		r.Timeout += 5 * d.tree.FabricLink.Delay
	}
	r.MaxTimeout = 8 * r.Timeout
	r.NackInterval = pick[units.Time](d, 0, 10, 500) * units.Microsecond
	switch d.IntN(5) {
	case 0, 1:
		h.CC = scenario.Choice{Name: "none"}
	case 2:
		// A share of the line rate, sometimes with a window of a few packets.
		p := &cc.FixedParams{Rate: d.tree.HostLink.Rate * units.Rate(d.between(20, 100)) / 100}
		if d.chance(0.5) {
			p.Window = h.Payload * units.Bytes(d.between(1, 40))
		}
		h.CC = scenario.Choice{Name: "fixed", Params: p}
	default:
		p := &cc.DCQCNParams{}
		if err := p.ApplyPreset(pick(d, "hpcc-sim", "paper")); err != nil {
			panic(err)
		}
		h.CC = scenario.Choice{Name: "dcqcn", Params: p}
	}
}

func (d *drawer) switchSide() {
	s := &d.cfg.Switch
	mtu := d.cfg.Hosts.Payload + d.cfg.Hosts.Header
	s.Buffer.PrivatePerQueue = pick[units.Bytes](d, 0, 1000, 3000, 5000)
	s.Buffer.Cell = pick[units.Bytes](d, 1, 1, 1, 80, 254)
	ratio := func(list ...units.Ratio) units.Ratio { return pick(d, list...) }
	s.Policy = scenario.Choice{Name: "dt", Params: &buffer.DTParams{
		Alpha:      ratio(units.Ratio{Num: 1, Den: 16}, units.Ratio{Num: 1, Den: 8}, units.Ratio{Num: 1, Den: 3}, units.Ratio{Num: 1, Den: 1}, units.Ratio{Num: 8, Den: 1}),
		AlphaLossy: ratio(units.Ratio{Num: 1, Den: 4}, units.Ratio{Num: 1, Den: 1}, units.Ratio{Num: 64, Den: 1}, units.Ratio{Num: 64, Den: 1}),
	}}
	if d.chance(0.2) {
		s.Policy = scenario.Choice{Name: "static", Params: &buffer.StaticParams{Limit: mtu * units.Bytes(d.between(2, 60))}}
	}
	fc := &flowctl.SIHParams{Headroom: link.Headroom{Rule: link.RuleExact}}
	switch {
	case d.chance(0.1):
		fc.Headroom.Rule = link.RuleEq1
	case d.chance(0.1):
		fc.Headroom = link.Headroom{Rule: link.RuleBytes, Bytes: mtu * units.Bytes(d.between(1, 10))}
	}
	if d.chance(0.4) {
		fc.Delta = 2 * mtu
	}
	s.FlowControl = scenario.Choice{Name: "pfc", Params: fc}
	if d.chance(0.1) {
		s.FlowControl = scenario.Choice{Name: "none"}
	}
	s.PFC = scenario.PFC{Hold: "timed", Quanta: pick(d, 65535, 1000, 300, 0, 0), Coalesce: d.chance(0.85)}
	if d.chance(0.3) {
		s.PFC.Hold = "indefinite"
	}
	if d.chance(0.3) {
		s.PFC.Processing = units.Time(d.between(1, 300_000))
	}
	if d.chance(0.3) {
		s.WireOverhead = 20
	}
	if s.PFC.Quanta == 0 {
		s.PFC.Quanta = minQuanta(d.cfg)
	}
	if d.chance(0.3) {
		s.Latency = pick[units.Time](d, 300, 800) * units.Nanosecond
	}
	s.ECN.At = pick(d, "dequeue", "enqueue")
	switch d.IntN(4) {
	case 0:
		s.ECN.Choice = scenario.Choice{Name: "none"}
	case 1:
		s.ECN.Choice = scenario.Choice{Name: "step", Params: &mark.StepParams{K: mtu * units.Bytes(d.between(1, 40))}}
	default:
		kmin := mtu * units.Bytes(d.between(1, 20))
		s.ECN.Choice = scenario.Choice{Name: "red", Params: &mark.REDParams{KMin: kmin, KMax: kmin * units.Bytes(d.between(1, 5)), PMax: 0.05 + 0.95*d.Float64()}}
	}
	d.cfg.Routing.Name = pick(d, "ecmp", "ecmp", "ecmp", "spray", "static")
	d.cfg.Routing.RerouteAfter = pick[units.Time](d, 0, 1, 30) * units.Microsecond
}

// minQuanta returns the shortest permitted pause: half of it, at 32 B per quantum, must be
// enough for the longest frame and a refresh.
func minQuanta(cfg *scenario.Config) int {
	longest := max(cfg.Hosts.Payload+cfg.Hosts.Header, cfg.Hosts.Ack.Size, 64)
	return int((longest + 64 + 2*cfg.Switch.WireOverhead + 31) / 32)
}

// workload divides the packets among bursts, a Poisson load and single flows.
func (d *drawer) workload() {
	cfg := d.cfg
	h := &cfg.Hosts
	line := d.tree.HostLink.Rate
	total := h.Payload * units.Bytes(d.packets)
	share := 0.2 + 0.6*d.Float64()
	d.span = line.TxTime(total/2) / units.Time(float64(d.hosts)*share+1)
	cfg.Run.Arrivals = max(d.span, 10*units.Microsecond)
	pairs, peers := "any", d.hosts-1
	if d.leaves && !d.flood && d.chance(0.5) {
		pairs, peers = "other_rack", d.hosts-d.tree.HostsPerLeaf
	}
	class := func() scenario.ClassChoice {
		if d.lossy && d.chance(0.6) {
			return scenario.ClassChoice{Random: "tcp"}
		}
		return scenario.ClassChoice{Random: "rdma"}
	}
	cfg.Workload = []scenario.Workload{{
		Name: "background", Generator: "poisson", Params: &workload.Poisson{Sizes: pick(d, "2KB", "20KB", "100KB", "fb_hadoop"), AtOnce: 1},
		Load: scenario.Load{Share: share, Of: "host_links"}, Pairs: pairs, Class: class(),
	}}
	bursts := d.between(1, 3)
	if d.flood {
		bursts = 1
	}
	for i := range bursts {
		senders := d.between(2, peers)
		if d.flood {
			senders = peers
		}
		cfg.Workload = append(cfg.Workload, scenario.Workload{
			Name: fmt.Sprintf("burst%d", i), Generator: "incast", Pairs: pairs, Class: class(),
			Params: &workload.Incast{
				Senders: senders, Size: max(1, total/2/units.Bytes(bursts*senders)-units.Bytes(d.IntN(int(h.Payload)))),
				At: units.Time(d.Int64N(int64(cfg.Run.Arrivals))),
			},
			To: scenario.Selection{fmt.Sprintf("host%d", d.IntN(d.hosts))},
		})
	}
	var single []workload.FlowSpec
	for range d.IntN(4) {
		from := d.IntN(d.hosts)
		to := (from + 1 + d.IntN(d.hosts-1)) % d.hosts
		single = append(single, workload.FlowSpec{
			From: fmt.Sprintf("host%d", from), To: fmt.Sprintf("host%d", to), Size: units.Bytes(d.between(1, 5000)),
			Start: pick[units.Time](d, 0, cfg.Run.Arrivals/2),
		})
	}
	if d.chance(0.4) {
		d.dependencies(pairs, class())
	}
	if len(single) > 0 {
		cfg.Workload = append(cfg.Workload, scenario.Workload{Name: "single", Generator: "flows", Params: &workload.List{Flows: single}, Class: scenario.ClassChoice{Fixed: "rdma"}})
	}
}

// dependencies adds flows that start when others complete, at their source or at their
// destination.
func (d *drawer) dependencies(pairs string, class scenario.ClassChoice) {
	w := scenario.Workload{Name: "chain", Class: class, Start: pick(d, 0, d.cfg.Run.Arrivals/3)}
	size := d.cfg.Hosts.Payload * units.Bytes(d.between(1, 20))
	gap := pick[units.Time](d, 0, 0, 1, 700_000)
	switch d.IntN(5) {
	case 0:
		w.Generator, w.Params = "ring_allreduce", &workload.RingAllReduce{Size: size + 100, Order: pick(d, "hosts", "across_racks"), Repeat: d.between(1, 2), Gap: gap}
		d.steps = 4 * d.hosts
	case 1:
		w.Generator, w.Params = "all_to_all", &workload.AllToAll{Size: size + 100, Order: "hosts", Repeat: d.between(1, 2), Gap: gap, Parallel: d.between(1, 2)}
		d.steps = 2 * d.hosts
	case 2:
		w.Generator, w.Pairs, w.Params = "sequential", pairs, &workload.Sequential{Sizes: fmt.Sprintf("%dB", size), Gap: gap, Count: d.between(2, 6)}
		d.steps = 6
	case 3:
		count := d.between(2, 8)
		w.Generator, w.Pairs, w.Params = "messages", pairs, &workload.Messages{Size: size, Depth: d.between(1, 3), Streams: d.between(1, 2), Gap: gap, Count: count}
		if d.chance(0.4) {
			w.Params = &workload.Messages{Size: size, Depth: 1, Streams: 1, Gap: gap, Count: count, PingPong: true}
		}
		d.steps = 16
	default:
		w.Generator, w.Pairs, w.Params = "request", pairs, &workload.Request{Size: size + 10, Servers: 2, Count: d.between(1, 4), Request: units.Bytes(d.between(1, 2000)), Think: gap}
		d.steps = 2
	}
	d.cfg.Workload = append(d.cfg.Workload, w)
}

// flooding lets queues fill nearly all of a buffer that is mostly shared: with short
// cables that need little headroom, high alphas and senders without congestion control.
func (d *drawer) flooding() {
	t, s := &d.tree, &d.cfg.Switch
	t.HostLink.Delay = min(t.HostLink.Delay, 100*units.Nanosecond)
	t.FabricLink.Delay = min(t.FabricLink.Delay, 100*units.Nanosecond)
	t.FabricLink.Rate = max(t.FabricLink.Rate, t.HostLink.Rate)
	s.Policy = scenario.Choice{Name: "dt", Params: &buffer.DTParams{Alpha: units.Ratio{Num: 16, Den: 1}, AlphaLossy: units.Ratio{Num: 64, Den: 1}}}
	s.Buffer.PrivatePerQueue, s.Buffer.Cell = 0, 1
	s.PFC.Processing, s.Latency = 0, 0
	d.cfg.Hosts.CC = scenario.Choice{Name: "none"}
}

// link draws the name of a cable.
func (d *drawer) link() string {
	t := &d.tree
	host := d.IntN(d.hosts)
	switch {
	case d.links != nil:
		return pick(d, d.links...)
	case !d.leaves:
		return fmt.Sprintf("host%d-switch0", host)
	case d.chance(0.5):
		return fmt.Sprintf("host%d-leaf%d", host, host/t.HostsPerLeaf)
	default:
		return fmt.Sprintf("leaf%d-spine%d", d.IntN(t.Leaves), d.IntN(t.Spines))
	}
}

func (d *drawer) faults() {
	when := func() units.Time { return units.Time(d.Int64N(int64(d.cfg.Run.Arrivals))) }
	used := map[string]bool{} // a link cannot fail while it is down
	for range d.between(1, 3) {
		f := scenario.Fault{At: when()}
		switch d.IntN(4) {
		case 0:
			f.Link, f.DownFor = d.link(), units.Time(d.between(1, 60))*units.Microsecond
		case 1:
			f.Link, f.DownFor = d.link(), units.Time(d.between(1, 10))*units.Microsecond
			f.Times, f.Every = d.between(2, 5), 3*f.DownFor
		case 2:
			f.Link, f.Corrupt = d.link(), 0.001+0.05*d.Float64()
			if d.chance(0.5) {
				f.For = units.Time(d.between(10, 300)) * units.Microsecond
			}
		default:
			f.Host, f.Stuck, f.For = fmt.Sprintf("host%d", d.IntN(d.hosts)), true, units.Time(d.between(5, 150))*units.Microsecond
		}
		if f.Link != "" && used[f.Link] {
			continue
		}
		used[f.Link] = true
		d.cfg.Faults = append(d.cfg.Faults, f)
	}
}

// slowReceivers makes one or all hosts take frames below line rate, with room for frames
// in flight after a pause.
func (d *drawer) slowReceivers() {
	r := &d.cfg.Hosts.Receive
	r.Rate = d.tree.HostLink.Rate * units.Rate(d.between(20, 95)) / 100
	r.Xoff = units.Bytes(d.between(2, 50)) * units.KB
	r.Buffer = 16 * units.MB
	if d.chance(0.5) {
		r.Hosts = []string{"host0"}
	}
}

// bufferSize sizes buffers for the headroom plus a small, medium or large shared segment.
func (d *drawer) bufferSize() {
	b := &d.cfg.Switch.Buffer
	b.Size = units.GiB
	built, err := fabric.New(d.cfg, fabric.Options{})
	if err != nil {
		panic(fmt.Sprintf("%s: %v", d.cfg.Name, err))
	}
	for _, f := range built.Flows.Flow {
		d.bytes += f.Size
	}
	taken, apart := units.Bytes(0), make([]units.Bytes, len(d.apart))
	for i, s := range built.Spec.Switches {
		most, name := &taken, built.Graph.Names[built.Graph.Hosts+i]
		if k := slices.IndexFunc(d.apart, func(prefix string) bool { return strings.HasPrefix(name, prefix) }); k >= 0 {
			most = &apart[k]
		}
		*most = max(*most, b.Size-dataplane.SharedSize(s))
	}
	for i, prefix := range d.apart {
		size := apart[i] + units.KB*units.Bytes(d.between(5, 200))
		d.over.buffer = max(d.over.buffer, size)
		d.cfg.Switch.Overrides = append(d.cfg.Switch.Overrides, patch(prefix+"*", fmt.Sprintf("buffer: {size: %dB}", int64(size))))
	}
	if d.flood {
		b.Size = max(taken, 15*units.KB) * units.Bytes(d.between(11, 14))
		return
	}
	b.Size = taken + units.KB*units.Bytes(pick(d, d.between(5, 30), d.between(30, 200), d.between(30, 200), d.between(200, 3000)))
}

// stop sets the end of the run: if all flows must end, late enough for all bytes to cross
// one host link three times, otherwise for the planned packets.
func (d *drawer) stop(ends bool) {
	r := &d.cfg.Run
	bytes := d.cfg.Hosts.Payload * units.Bytes(d.packets)
	if ends {
		bytes = max(bytes, d.bytes)
	}
	r.Stop.When = "all_flows_done"
	r.Stop.AtMost = r.Arrivals + 3*units.Millisecond + 3*d.tree.HostLink.Rate.TxTime(bytes)
	if !ends && d.chance(0.3) {
		r.Stop.When, r.Stop.AtMost = "time", r.Arrivals+units.Time(d.between(1, 400_000_000))
	}
	if d.longLink {
		r.Stop.AtMost += 10 * d.tree.FabricLink.Delay
	}
	r.Stop.AtMost += units.Time(d.steps) * 8 * (d.tree.FabricLink.Delay + units.Microsecond)
}

// mayLose returns why lossless frames may be dropped in this scenario, or an empty string.
// Each reason is a condition of lossless flow control that the scenario violates.
func (d *drawer) mayLose() string {
	s := &d.cfg.Switch
	mtu := max(max(d.cfg.Hosts.Payload, d.over.payload)+62, d.over.mtu) + s.WireOverhead
	headroom, loses := headroomOf(s.FlowControl)
	if d.loses != "" {
		return d.loses
	}
	if d.over.none {
		return "no flow control"
	}
	if loses != "" {
		return loses
	}
	if headroom.Rule == link.RuleBytes {
		return "headroom is a fixed number of bytes"
	}
	// Eq. 1 allows 3840 B for processing, a third frame and the PAUSE frames.
	rate := max(d.tree.HostLink.Rate, d.tree.FabricLink.Rate)
	pauses := units.Bytes(1)
	if !s.PFC.Coalesce || d.over.ordered {
		pauses = 2 * units.Bytes(len(d.cfg.Classes["rdma"].IDs))
	}
	processing := max(s.PFC.Processing, d.over.processing)
	if headroom.Rule == link.RuleEq1 && rate.In(processing)+1+3*mtu+pauses*(64+s.WireOverhead) > 2*(mtu-s.WireOverhead)+3840 {
		return "headroom of eq. 1 is less than the bytes in flight"
	}
	return ""
}
