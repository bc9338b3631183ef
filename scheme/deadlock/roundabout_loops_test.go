package deadlock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/route"
	"github.com/xoff-net/xoff/topo"
)

// pathNetwork is a network of n switches with one host each, at 400 Gbps. Each path lists the
// switches of a flow. Cables between switches have 100 Gbps and 1 us.
func pathNetwork(n int, size units.Bytes, paths ...[]int) *conformance.Network {
	g := &topo.Graph{Hosts: n}
	for i := range n {
		g.Names = append(g.Names, fmt.Sprintf("host%d", i))
		g.Rack = append(g.Rack, i)
	}
	ports, to := make([]int, n), make([]map[int]int, n) // ports used; port by neighbour
	for i := range n {
		g.Names = append(g.Names, fmt.Sprintf("switch%d", i))
		g.Links = append(g.Links, topo.Link{A: i, B: n + i, Rate: 400 * units.Gbps, Delay: units.Microsecond})
		ports[i], to[i] = 1, map[int]int{i: 0}
	}
	for _, p := range paths {
		for i, b := range p[1:] {
			a := p[i]
			if _, ok := to[a][b]; ok {
				continue
			}
			to[a][b], to[b][a] = ports[a], ports[b]
			g.Links = append(g.Links, topo.Link{A: n + a, PortA: ports[a], B: n + b, PortB: ports[b], Rate: 100 * units.Gbps, Delay: units.Microsecond})
			ports[a]++
			ports[b]++
		}
	}
	net := conformance.NewNetwork(g)
	net.PFC.Indefinite, net.Timeout = true, units.Second
	net.Tables = make([]*route.Table, 2*n)
	for i := range n {
		t := route.NewTable(n)
		t.Pinned = make(map[uint32]uint16)
		host := t.Add(0)
		for dst := range n {
			t.To[dst] = host // all traffic is pinned
		}
		net.Tables[n+i] = t
	}
	for i, p := range paths {
		last := len(p) - 1
		net.Flows = append(net.Flows, dataplane.Flow{Size: size, Src: uint32(p[0]), Dst: uint32(p[last]), Class: 1, Pinned: true})
		for at, s := range p {
			net.Tables[n+s].Pinned[uint32(i)<<1] = uint16(to[s][p[min(at+1, last)]])
			net.Tables[n+s].Pinned[uint32(i)<<1|1] = uint16(to[s][p[max(at-1, 0)]])
		}
	}
	return net
}

// concurrent has loops that exist at the same time (Roundabout section VII-A).
var concurrent = []struct {
	name  string
	n     int
	stuck int // stuck egress queues
	paths [][]int
}{
	// Two rings of three switches through switch 0, in different queues there. They have
	// different coordinators, and the lock and buffer of switch 0 can serve one at a time.
	{"two loops through a switch", 5, 6, [][]int{
		{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 3, 4}, {3, 4, 0}, {4, 0, 3},
	}},
	// Both run from switch 0 to 1 and branch there. The common part has one coordinator for both,
	// whose question takes both branches.
	{"two loops over a link", 4, 5, [][]int{
		{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 1, 3}, {1, 3, 0}, {3, 0, 1},
	}},
	// Switch 4 leads to both, where they branch, and is part of neither. The queue there receives
	// the same tuple by two paths and is a candidate that gets no answer.
	{"two loops over a link, and a path to them", 5, 6, [][]int{
		{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 1, 3}, {1, 3, 0}, {3, 0, 1}, {4, 1, 2}, {4, 1, 3},
	}},
}

func useDSH(net *conformance.Network) {
	e, _ := flowctl.Schemes.Get("dsh")
	p := e.Params().(*flowctl.DSHParams)
	p.Headroom = link.Headroom{Rule: link.RuleExact}
	scheme, _ := e.New(p)
	net.Flow = func(int, int) flowctl.Scheme { return scheme }
}

// Flows start at random times within 20 us, so that either loop closes first, or both do.
// Resolving one must not prevent resolving the other.
func TestRoundaboutConcurrentLoops(t *testing.T) { testConcurrentLoops(t, seeds(8)) }

func testConcurrentLoops(t *testing.T, seeds []int) {
	for _, c := range concurrent {
		for _, dsh := range []bool{false, true} {
			both, confirmed, leaders := 0, 0, []int{}
			for _, seed := range seeds {
				build := func() *conformance.Network {
					r := rand.New(rand.NewPCG(uint64(seed), 7))
					net := pathNetwork(c.n, 500*units.KB, c.paths...)
					for i := range net.Flows {
						net.Flows[i].Start = units.Time(r.IntN(20)) * units.Microsecond
					}
					if dsh {
						useDSH(net)
					}
					net.Until, net.Linger = 200*units.Millisecond, 200*units.Microsecond
					return net
				}
				left := build()
				left.Until = units.Millisecond
				if r := left.Run(); len(r.Deadlocks) > 0 && len(r.Deadlocks[0].Queues) >= c.stuck {
					both++
				}
				r, reports := withHandler(build(), "roundabout", nil)
				if err := promises(r); err != nil {
					t.Errorf("%s, seed %d, DSH %t: %v", c.name, seed, dsh, err)
				}
				confirmed += count(reports, deadlock.Confirmed)
				for _, s := range reports {
					if s.event == deadlock.Confirmed && !slices.Contains(leaders, s.node) {
						leaders = append(leaders, s.node)
					}
				}
			}
			slices.Sort(leaders)
			t.Logf("%s, DSH %t: both exist in %d of %d; %d loops confirmed, by switches %d", c.name, dsh, both, len(seeds), confirmed, leaders)
			if both == 0 || len(leaders) < 2 {
				t.Errorf("%s, DSH %t: the loops never exist at the same time, or have one coordinator in all runs", c.name, dsh)
			}
		}
	}
}

// A loop that runs through switch 0 twice is found, but one buffer cannot serve it twice. It is
// given up, and nothing is lost.
func TestRoundaboutLoopTwiceThroughASwitch(t *testing.T) {
	net := pathNetwork(5, 500*units.KB, []int{0, 1, 2}, []int{1, 2, 0}, []int{2, 0, 3}, []int{0, 3, 4}, []int{3, 4, 0}, []int{4, 0, 1})
	net.Until = 10 * units.Millisecond
	r, reports := withHandler(net, "roundabout", nil)
	if len(r.Deadlocks) != 1 || len(r.Deadlocks[0].Loop) != 6 {
		t.Fatalf("want a deadlock of six queues: %+v", r.Deadlocks)
	}
	if count(reports, deadlock.Confirmed) == 0 || count(reports, deadlock.GivenUp) == 0 || count(reports, deadlock.RoundBegun) != 0 {
		t.Errorf("%d confirmed, %d given up, %d rounds", count(reports, deadlock.Confirmed), count(reports, deadlock.GivenUp), count(reports, deadlock.RoundBegun))
	}
	if len(r.Broken) != 0 || r.Totals.Drops != [probe.NumReasons]uint64{} {
		t.Errorf("%v, drops %v", r.Broken, r.Totals.Drops)
	}
}
