package conformance

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/topo"
)

// adversary draws traffic that is hard on DSH: whole buffers filled at once, alternating classes,
// stuck hosts, and ports of different rates that compete for the buffer.
type adversary struct {
	*rand.Rand
	n      *Network
	params flowctl.DSHParams
	faults bool // a host is stuck: a storm of pauses from downstream
	lossy  bool
	waves  [4]bool // patterns used; see traffic
}

func newAdversary(index int) *adversary {
	d := &adversary{Rand: rand.New(rand.NewPCG(20250730, uint64(index)))}
	d.n = NewNetwork(d.graph())
	d.settings()
	d.traffic()
	return d
}

func pickOf[T any](d *adversary, list ...T) T { return list[d.IntN(len(list))] }

// graph returns a chain of one to three switches with hosts of different rates.
func (d *adversary) graph() *topo.Graph {
	switches, hosts := 1+d.IntN(3), 4+d.IntN(5)
	g := &topo.Graph{Hosts: hosts}
	rates := []units.Rate{10 * units.Gbps, 25 * units.Gbps, 40 * units.Gbps, 100 * units.Gbps, 100 * units.Gbps, 200 * units.Gbps}
	delays := []units.Time{50 * units.Nanosecond, 500 * units.Nanosecond, units.Microsecond, 2 * units.Microsecond}
	ports := make([]int, switches)
	cable := func(a, b, portA int, rate units.Rate) {
		l := topo.Link{A: a, B: b, PortA: portA, PortB: ports[b-hosts], Rate: rate, Delay: pickOf(d, delays...)}
		ports[b-hosts]++
		g.Links = append(g.Links, l)
	}
	for h := range hosts {
		g.Names, g.Rack = append(g.Names, fmt.Sprintf("host%d", h)), append(g.Rack, h%switches)
		cable(h, hosts+h%switches, 0, pickOf(d, rates...))
	}
	for s := range switches {
		g.Names = append(g.Names, fmt.Sprintf("switch%d", s))
		if s > 0 {
			from := ports[s-1]
			ports[s-1]++
			cable(hosts+s-1, hosts+s, from, pickOf(d, rates[3:]...))
		}
	}
	return g
}

func (d *adversary) settings() {
	n := d.n
	n.Shared = units.KB * units.Bytes(pickOf(d, 10+d.IntN(20), 30+d.IntN(100), 100+d.IntN(300)))
	n.Private = pickOf[units.Bytes](d, 0, 0, 1500, 3000)
	n.Cell = pickOf[units.Bytes](d, 1, 1, 1, 254)
	n.Overhead = pickOf[units.Bytes](d, 0, 0, 20)
	n.PFC.Processing = pickOf[units.Time](d, 0, 0, 200*units.Nanosecond)
	n.PFC.Ordered = d.IntN(6) == 0
	n.PFC.Indefinite = d.IntN(3) == 0
	n.Until = 200 * units.Millisecond
	n.Timeout, n.Linger = 50*units.Millisecond, 5*units.Millisecond
	if d.lossy = d.IntN(3) == 0; d.lossy {
		n.Kinds[7] = mmu.Lossy
		n.Timeout = units.Millisecond
	}
	alpha := pickOf(d, units.Ratio{Num: 1, Den: 16}, units.Ratio{Num: 1, Den: 4}, units.Ratio{Num: 1, Den: 1}, units.Ratio{Num: 2, Den: 3}, units.Ratio{Num: 8, Den: 1})
	dt := must(buffer.Policies.Get("dt"))
	n.Policy = func(_ int, e buffer.Env) (buffer.Policy, error) {
		return dt.New(&buffer.DTParams{Alpha: alpha, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, e)
	}
	d.params = *must(flowctl.Schemes.Get("dsh")).Params().(*flowctl.DSHParams)
	d.params.Estimator = pickOf(d, "ideal", "table")
	d.params.SharedHeadroom = d.IntN(5) > 0
	d.params.DeltaQueue = pickOf[units.Bytes](d, 0, 0, 2096)
	d.params.DeltaPort = pickOf[units.Bytes](d, 0, 0, 2096)
	d.params.Window = pickOf[units.Time](d, 10*units.Millisecond, 20*units.Microsecond)
}

// traffic adds a few waves of patterns, sometimes a stuck host, and a late flow per class that must
// find everything open again.
func (d *adversary) traffic() {
	n, hosts := d.n, d.n.Graph.Hosts
	add := func(start units.Time, src, dst int, class uint8, packets int) {
		transport := uint8(0)
		size := units.Bytes(packets) * bigPayload
		if d.IntN(5) == 0 {
			transport, size = 1, units.Bytes(packets)*smallPayload
		}
		if src != dst {
			n.Flows = append(n.Flows, dataplane.Flow{Start: start, Size: size, Src: uint32(src), Dst: uint32(dst), Class: class, Transport: transport, Hash: d.Uint32()})
		}
	}
	class := func() uint8 { return 1 + uint8(d.IntN(7)) }
	for range 1 + d.IntN(3) {
		at, k, packets := units.Time(d.IntN(30))*units.Microsecond, class(), 20+d.IntN(120)
		one := d.IntN(hosts)
		wave := d.IntN(4)
		d.waves[wave] = true
		switch wave {
		case 0: // all to one, one class
			for h := range hosts {
				add(at, h, one, k, packets)
			}
		case 1: // all to one, all classes in turn
			for h := range hosts {
				for range 4 {
					add(at+units.Time(d.IntN(2000))*units.Nanosecond, h, one, class(), packets/4)
				}
			}
		case 2: // one to all
			for h := range hosts {
				add(at, one, h, class(), packets)
			}
		default: // all to random hosts: T falls everywhere
			for h := range hosts {
				add(at, h, d.IntN(hosts), class(), packets)
				add(at, h, d.IntN(hosts), class(), packets)
			}
		}
	}
	for c := uint8(1); c < 8; c++ {
		add(20*units.Millisecond, d.IntN(hosts), d.IntN(hosts), c, 2)
	}
	slices.SortStableFunc(n.Flows, func(a, b dataplane.Flow) int { return cmp.Compare(a.Start, b.Start) }) // hosts start them in order
	if d.IntN(4) == 0 {
		d.faults = true
		victim, from := d.IntN(hosts), units.Time(1+d.IntN(20))*units.Microsecond
		to := from + units.Time(20+d.IntN(300))*units.Microsecond
		n.Receive = func(node int) dataplane.ReceiveSpec {
			if node != victim {
				return dataplane.ReceiveSpec{}
			}
			return dataplane.ReceiveSpec{Stuck: []units.Interval{{From: from, To: to}, {From: to + 5*units.Microsecond, To: to + 40*units.Microsecond}}}
		}
	}
}

// run runs the case with a scheme and returns its problems: a dropped lossless frame, a flow that
// does not finish, a queue or port that stays OFF, wrong counters.
func (d *adversary) run(s flowctl.Scheme) (*Result, string) {
	d.n.Flow = func(int, int) flowctl.Scheme { return s }
	r := d.n.Run()
	log := &errorLog{TB: nil}
	judge(log, "dsh", r, requirements{lossless: true, inOrder: !d.lossy, finish: true})
	return r, strings.Join(log.errors, "\n")
}

// errorLog is a testing.TB that collects errors.
type errorLog struct {
	testing.TB
	errors []string
}

func (v *errorLog) Helper() {}

func (v *errorLog) Errorf(format string, args ...any) {
	v.errors = append(v.errors, fmt.Sprintf(format, args...))
}

func (d *adversary) mixedRates() bool {
	links := d.n.Graph.Links
	return slices.ContainsFunc(links, func(l topo.Link) bool { return l.Rate != links[0].Rate })
}

// With an insurance of PHI*, DSH drops no lossless frame, whatever the traffic, and nothing stays
// OFF. Corrupted frames and failed links are not covered.
func TestDSHLosesNothing(t *testing.T) { losesNothing(t, trials.First(300)) }

func losesNothing(t *testing.T, which []int) {
	t.Helper()
	var paused, spread, filled, drops, faults, insured, ports, estimates, toOne, alternating, fromOne, everybody, rates int
	cases := len(which)
	for _, i := range which {
		d := newAdversary(i)
		r, problem := d.run(must(must(flowctl.Schemes.Get("dsh")).New(&d.params)))
		if problem != "" {
			t.Errorf("case %d: %s\n%+v", i, problem, d.params)
		}
		if r.Err != nil {
			continue
		}
		fill, used := false, false
		for _, v := range r.Views {
			fill = fill || v.PeakStored()-v.Peak(mmu.Headroom) >= v.SharedSize()*9/10
			used = used || v.Peak(mmu.Headroom) > 0
		}
		far := uint64(0)
		for depth, n := range r.Totals.Depths {
			if depth >= 2 {
				far += n
			}
		}
		for _, k := range []struct {
			seen bool
			n    *int
		}{
			{r.Totals.Pauses > 0, &paused}, {far > 0, &spread}, {fill, &filled}, {r.Totals.Drops[probe.Overflow] > 0, &drops}, {d.faults, &faults},
			{used, &insured}, {d.waves[0], &toOne}, {d.waves[1], &alternating}, {d.waves[2], &fromOne}, {d.waves[3], &everybody}, {d.mixedRates(), &rates}, {r.Totals.Pauses > 0 && !used, &ports}, {d.params.Estimator == "table" && r.Totals.Pauses > 0, &estimates},
		} {
			if k.seen {
				*k.n++
			}
		}
	}
	t.Logf("of %d cases: %d pause, %d pause over several switches, %d fill 90 %% of the shared segment, %d drop lossy frames, %d have a stuck host, %d use the insurance, %d pause without it, %d use the table estimator",
		cases, paused, spread, filled, drops, faults, insured, ports, estimates)
	t.Logf("waves: %d all to one, %d all to one in alternating classes, %d one to all, %d all to random hosts; %d have ports of different rates", toOne, alternating, fromOne, everybody, rates)
	if min(toOne, alternating, fromOne, everybody) < cases/4 || rates < cases/2 || paused < cases/2 || spread < cases/4 || filled < cases/5 || drops < cases/5 || faults < cases/10 || insured < cases/4 || ports < cases/10 || estimates < cases/5 {
		t.Error("the cases do not cover enough")
	}
}

// The property must detect these mistakes in DSH.
func TestDSHMutantsAreCaught(t *testing.T) {
	for _, m := range []struct {
		name string
		want string
		make func(p flowctl.DSHParams) flowctl.Scheme
	}{
		{"no insurance", "frames dropped", func(p flowctl.DSHParams) flowctl.Scheme {
			p.Insurance = flowctl.Insurance{}
			return must(must(flowctl.Schemes.Get("dsh")).New(&p))
		}},
		{"insurance one frame short", "frames dropped", func(p flowctl.DSHParams) flowctl.Scheme { return &shortInsurance{p} }},
		{"port pause of one class only", "frames dropped", func(p flowctl.DSHParams) flowctl.Scheme {
			return &dshMutant{must(must(flowctl.Schemes.Get("dsh")).New(&p)), func(r flowctl.Receiver) flowctl.Receiver { return &oneClass{Receiver: r} }}
		}},
		{"queues that never resume", "did not finish", func(p flowctl.DSHParams) flowctl.Scheme {
			return &dshMutant{must(must(flowctl.Schemes.Get("dsh")).New(&p)), func(r flowctl.Receiver) flowctl.Receiver { return deaf{r} }}
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			for i := range 150 {
				d := newAdversary(i)
				d.n.Until, d.n.Cell = 40*units.Millisecond, 1 // rounding to cells would hide a missing frame
				if _, problem := d.run(m.make(d.params)); strings.Contains(problem, m.want) {
					t.Logf("caught by case %d: %.200s", i, problem)
					return
				}
			}
			t.Error("not caught")
		})
	}
}

// shortInsurance is DSH with an insurance that is one full frame too small.
type shortInsurance struct{ p flowctl.DSHParams }

func (s *shortInsurance) dsh(p *link.Port) flowctl.Scheme {
	params := s.p
	params.Insurance = flowctl.Insurance{Bytes: link.Exact(p) - p.MTU}
	return must(must(flowctl.Schemes.Get("dsh")).New(&params))
}

func (s *shortInsurance) Reserve(p *link.Port) units.Bytes { return s.dsh(p).Reserve(p) }
func (s *shortInsurance) Properties() flowctl.Properties   { return flowctl.Properties{} }
func (s *shortInsurance) Gate(p flowctl.Port) flowctl.Gate { return flowctl.NewPauseGate(p) }
func (s *shortInsurance) Receiver(p flowctl.Port) flowctl.Receiver {
	return s.dsh(p.Spec()).Receiver(p)
}

type dshMutant struct {
	flowctl.Scheme
	wrap func(flowctl.Receiver) flowctl.Receiver
}

func (m *dshMutant) Receiver(p flowctl.Port) flowctl.Receiver { return m.wrap(m.Scheme.Receiver(p)) }

// oneClass pauses the class whose frame went to the insurance, not the port.
type oneClass struct {
	flowctl.Receiver
}

func (r *oneClass) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	r.Receiver.Charged(now, a, s)
	if s == mmu.Headroom {
		r.Receiver.(interface {
			Want(units.Time, packet.ClassMask)
		}).Want(now, 1<<a.Class)
	}
}

type deaf struct{ flowctl.Receiver }

func (deaf) Released(units.Time, *mmu.Arrival) {}
