package deadlock_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// randomLoop is a ring of 3 to 8 switches with flows of 1 to N-1 hops that start at different
// times. Hosts have different rates, so that 1 to N switches trigger. Some hosts are stuck for a
// while, so that exits pause and reopen. Flow control is SIH or DSH.
func randomLoop(seed uint64) (*conformance.Network, *deadlock.RoundaboutParams, string) {
	r := rand.New(rand.NewPCG(seed, 27))
	n := 3 + r.IntN(6)
	net := conformance.Ring(n, 1, 0)
	net.Flows = nil
	for i := range n {
		clear(net.Tables[n+i].Pinned)
	}
	for i := range n * (1 + r.IntN(3)) {
		src, hops := i%n, 1+r.IntN(n-1)
		if r.IntN(3) > 0 {
			hops = n - 1
		}
		dst := (src + hops) % n
		net.Flows = append(net.Flows, dataplane.Flow{
			Size: units.Bytes(100+r.IntN(900)) * units.KB, Src: uint32(src), Dst: uint32(dst), Class: 1, Pinned: true,
			Start: units.Time(r.IntN(100)) * units.Microsecond,
		})
		for at := dst; at != src; at = (at + n - 1) % n {
			net.Tables[n+at].Pinned[uint32(i)<<1|1] = conformance.RingPrev
		}
	}
	for i := range net.Graph.Links {
		if l := &net.Graph.Links[i]; l.A < n && r.IntN(2) == 0 {
			l.Rate = []units.Rate{25, 40, 100}[r.IntN(3)] * units.Gbps
		}
	}
	stuck := make([][]units.Interval, n)
	for range r.IntN(4) {
		from := units.Time(r.IntN(500)) * units.Microsecond
		stuck[r.IntN(n)] = []units.Interval{{From: from, To: from + units.Time(50+r.IntN(1000))*units.Microsecond}}
	}
	net.Receive = func(node int) dataplane.ReceiveSpec { return dataplane.ReceiveSpec{Stuck: stuck[node]} }
	name := fmt.Sprintf("seed %d, ring of %d, %d flows", seed, n, len(net.Flows))
	if r.IntN(2) == 0 {
		name += ", DSH"
		e, _ := flowctl.Schemes.Get("dsh")
		p := e.Params().(*flowctl.DSHParams)
		p.Headroom = link.Headroom{Rule: link.RuleExact}
		scheme, _ := e.New(p)
		net.Flow = func(int, int) flowctl.Scheme { return scheme }
	}
	e, _ := deadlock.Handlers.Get("roundabout")
	p := e.Params().(*deadlock.RoundaboutParams)
	// From one MTU to 2 BDP: 1 us at 100 Gbps is 12.5 KB in each direction.
	p.Redundant = []units.Bytes{1048, 12500, 25000, 50000}[r.IntN(4)]
	net.Until, net.Linger = 400*units.Millisecond, 200*units.Microsecond
	return net, p, name
}

func testRandomLoops(t *testing.T, seeds []int) {
	deadlocks, rounds, given := 0, 0, 0
	for _, seed := range seeds {
		net, p, name := randomLoop(uint64(seed))
		r, reports := withHandler(net, "roundabout", p)
		if err := promises(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		deadlocks += count(reports, deadlock.Confirmed)
		rounds += count(reports, deadlock.RoundBegun)
		given += count(reports, deadlock.GivenUp)
	}
	t.Logf("%d deadlocks, switches took part in %d rounds, %d given up", deadlocks, rounds, given)
	if deadlocks == 0 {
		t.Error("nothing deadlocks")
	}
}

func TestRoundaboutRandomLoops(t *testing.T) { testRandomLoops(t, seeds(20)) }

// Rings in which a switch has less free buffer than replies need: when it should grant the first
// credit of a round, within a round with less than a frame of credit left, and after a round, when
// lent queues wait for room.
func TestRoundaboutGoesOnWithLittleRoom(t *testing.T) {
	for _, seed := range []uint64{294, 532} {
		net, p, name := randomLoop(seed)
		r, reports := withHandler(net, "roundabout", p)
		if err := promises(r); err != nil || count(reports, deadlock.GivenUp) > 0 || count(reports, deadlock.RoundBegun) == 0 {
			t.Errorf("%s: %v, %d rounds given up", name, err, count(reports, deadlock.GivenUp))
		}
	}
}

// The two slowest of 1,000 loops. Hosts of random loops pause without any buffer. Under DSH, a
// host that is stuck for a while therefore also pauses at every other frame, and resumes 5 ns
// later, the time of a PFC frame. With one MTU of credit the next frame of the loop arrives a
// round trip after the last, at exactly that time. It misses its exit, and so do all frames
// behind it to that exit. Few frames leave in a round, but some do: if none has left, nothing
// pauses the exit. The loops need 289 ms and 203 ms.
func TestRoundaboutExitsThatPauseAtEachFrame(t *testing.T) { exitsThatPause(t, 377) }

func exitsThatPause(t *testing.T, seeds ...uint64) {
	for _, seed := range seeds {
		roomy, p, name := randomLoop(seed)
		receive := roomy.Receive
		roomy.Receive = func(node int) dataplane.ReceiveSpec {
			r := receive(node)
			r.Xoff = 100 * units.KB
			return r
		}
		r, _ := withHandler(roomy, "roundabout", p)
		if err := promises(r); err != nil || r.End > 5*units.Millisecond {
			t.Errorf("%s, hosts with buffer: %v, done at %s, want within 5 ms", name, err, r.End)
		}

		var out, rounds [2]int
		for i, until := range []units.Time{10 * units.Millisecond, 20 * units.Millisecond} {
			net, p, _ := randomLoop(seed)
			net.Until = until
			r, reports := withHandler(net, "roundabout", p)
			for _, f := range r.Flows.Recv {
				out[i] += int(f.Next)
			}
			rounds[i] = count(reports, deadlock.RoundBegun) / (len(net.Graph.Names) / 2)
		}
		frames, turns := out[1]-out[0], rounds[1]-rounds[0]
		t.Logf("%s: from 10 to 20 ms %d frames leave in %d rounds", name, frames, turns)
		if turns == 0 || frames < turns {
			t.Errorf("%s: %d frames leave in %d rounds, want at least one per round", name, frames, turns)
		}
	}
}

// coverage checks that the first random loops cover all values they are drawn from, and logs the
// counts. Triggers, as ITSY sees them, are switches that pause their upstream in the ring without
// being blocked, until the loop has closed.
func coverage(t *testing.T, n int) {
	var lengths, hops, triggers [9]int
	var redundant = make(map[units.Bytes]int)
	dsh, stuck, all := 0, 0, 0
	for seed := range uint64(n) {
		net, p, name := randomLoop(seed)
		size := len(net.Graph.Names) / 2
		lengths[size]++
		redundant[p.Redundant]++
		for _, f := range net.Flows {
			hops[(int(f.Dst)+size-int(f.Src))%size]++
		}
		for host := range size {
			if len(net.Receive(host).Stuck) > 0 {
				stuck++
			}
		}
		if strings.HasSuffix(name, "DSH") {
			dsh++
		}
		net.Until = units.Millisecond
		r, reports := withHandler(net, "itsy", &deadlock.ITSYParams{Resolve: "nothing", Retry: units.Second})
		if len(r.Deadlocks) == 0 {
			continue
		}
		var first []int
		for _, s := range reports {
			if s.event == deadlock.Suspected && s.port == conformance.RingPrev && s.at <= r.Deadlocks[0].Onset && !slices.Contains(first, s.node) {
				first = append(first, s.node)
			}
		}
		triggers[len(first)]++
		if len(first) == size {
			all++
		}
	}
	t.Logf("%d loops: lengths %d, hops of flows %d, triggers %d, all switches trigger in %d; redundant headroom %d; DSH in %d; %d hosts stuck for a while",
		n, lengths, hops, triggers, all, redundant, dsh, stuck)
	if slices.Contains(lengths[3:], 0) || slices.Contains(hops[1:8], 0) || slices.Contains(triggers[1:5], 0) || all == 0 ||
		len(redundant) != 4 || dsh == 0 || dsh == n || stuck == 0 {
		t.Error("some value is never drawn")
	}
}

func seeds(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}
