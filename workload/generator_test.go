package workload

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// ofSizes is a size distribution and a number of flows.
type ofSizes struct {
	sizes string
	flows float64
}

func TestPoissonLoad(t *testing.T) {
	poissonLoad(t, []ofSizes{{"64KB", 5e4}, {"fb_hadoop", 1e6}, {"testdata/two_columns.txt", 2e5}})
}

// poissonLoad checks that size distributions offer the requested load. Heavy tails need many
// flows: the largest of data_mining are 400 times the mean.
func poissonLoad(t *testing.T, list []ofSizes) {
	for _, c := range list {
		t.Run(c.sizes, func(t *testing.T) {
			e := world(t, fabric(8, 16), AnyPair, units.Second)
			g := &Poisson{Sizes: c.sizes, AtOnce: 1}
			sizes, err := e.sizes("sizes", c.sizes)
			if err != nil {
				t.Fatal(err)
			}
			load := e.offer(0.7)
			e.Stop = units.Time(c.flows * sizes.Mean() / load * float64(units.Second))
			offers(t, e, generate(t, e, g), load)
		})
	}
}

// Senders, receivers and classes are drawn evenly; flows start in order.
func TestPoissonShares(t *testing.T) {
	e := world(t, fabric(4, 8), AnyPair, 30*units.Millisecond)
	e.Start = 10 * units.Millisecond
	load := e.offer(0.6)
	p := generate(t, e, &Poisson{Sizes: "10KB", AtOnce: 1})
	offers(t, e, p, load)
	var classes [3]int
	src, dst := make([]int, 32), make([]int, 32)
	hashes := map[uint32]bool{}
	last := units.Time(0)
	for _, f := range p.Flows {
		classes[f.Class-1]++
		src[f.Src]++
		dst[f.Dst]++
		hashes[f.Hash] = true
		if f.Start < last || f.Group != -1 {
			t.Fatalf("%+v after %s", f, last)
		}
		last = f.Start
	}
	chiSquare(t, "classes", classes[:])
	chiSquare(t, "senders", src)
	chiSquare(t, "receivers", dst)
	if len(hashes) < len(p.Flows)*99/100 {
		t.Errorf("%d flows have %d hashes", len(p.Flows), len(hashes))
	}
}

// Classes by probability: BifrostX has 28, 32 and 40 %. The limit is four standard deviations.
func TestClassShares(t *testing.T) {
	e := world(t, fabric(2, 8), AnyPair, 50*units.Millisecond)
	e.Classes.Shares = []float64{0.28, 0.32, 0.4}
	e.offer(0.8)
	var counts [3]int
	p := generate(t, e, &Poisson{Sizes: "10KB", AtOnce: 1})
	for _, f := range p.Flows {
		counts[f.Class-1]++
	}
	n := float64(len(p.Flows))
	for i, s := range e.Classes.Shares {
		if got := float64(counts[i]) / n; math.Abs(got-s) > 4*math.Sqrt(s*(1-s)/n) {
			t.Errorf("class %d has a share of %.4f; want %v", i+1, got, s)
		}
	}
}

// Classes and hashes have their own random streams: other classes do not change times,
// pairs, sizes or paths.
func TestStreamsApart(t *testing.T) {
	make := func(shares []float64, ids ...uint8) *Plan {
		e := world(t, fabric(2, 8), AnyPair, units.Millisecond)
		e.Classes.IDs, e.Classes.Shares = ids, shares
		e.offer(0.8)
		p := generate(t, e, &Poisson{Sizes: "websearch", AtOnce: 1})
		for i := range p.Flows {
			p.Flows[i].Class = 0
		}
		return p
	}
	if a, b, c := make(nil, 1), make(nil, 1, 2, 3), make([]float64{0.5, 0.5}, 4, 5); !reflect.DeepEqual(a, b) || !reflect.DeepEqual(a, c) {
		t.Error("the flows depend on the classes")
	}
}

// DSH, Fig. 24: eight flows per arrival offer the same load.
func TestAtOnce(t *testing.T) {
	e := world(t, fabric(4, 8), OtherRack, 100*units.Millisecond)
	load := e.offer(0.5)
	p := generate(t, e, &Poisson{Sizes: "10KB", AtOnce: 8})
	offers(t, e, p, load)
	for i := 0; i < len(p.Flows); i += 8 {
		for _, f := range p.Flows[i : i+8] {
			if f.Start != p.Flows[i].Start || f.Src != p.Flows[i].Src {
				t.Fatalf("%+v does not start with %+v", f, p.Flows[i])
			}
		}
	}
}

// Hosts with faster links send more, so that all links have the same load.
func TestMixedRates(t *testing.T) {
	f := fabric(2, 8)
	for i := range 8 {
		f.Rates[i] = 25 * units.Gbps
	}
	e := world(t, f, AnyPair, 100*units.Millisecond)
	load := e.offer(0.5)
	p := generate(t, e, &Poisson{Sizes: "10KB", AtOnce: 1})
	offers(t, e, p, load)
	slow := 0
	for _, w := range p.Flows {
		if w.Src < 8 {
			slow++
		}
	}
	// 8 x 25 of 8 x 25 + 8 x 100 Gbps: a fifth.
	if got := float64(slow) / float64(len(p.Flows)); math.Abs(got-0.2) > 4*math.Sqrt(0.2*0.8/float64(len(p.Flows))) {
		t.Errorf("slow hosts send %.4f of the flows; want 0.2", got)
	}
}

func TestIncast(t *testing.T) {
	f := fabric(4, 8)
	e := world(t, f, OtherRack, 100*units.Millisecond)
	load := e.offer(0.5)
	g := &Incast{Senders: 12, Size: 64 * units.KB}
	p := generate(t, e, g)
	offers(t, e, p, load)
	if len(p.Flows)%g.Senders != 0 {
		t.Fatalf("%d flows", len(p.Flows))
	}
	receivers, senders := make([]int, 32), make([]int, 32)
	for i := 0; i < len(p.Flows); i += g.Senders {
		first := p.Flows[i]
		receivers[first.Dst]++
		seen := make(map[int32]bool)
		for _, w := range p.Flows[i : i+g.Senders] {
			seen[w.Src] = true
			senders[w.Src]++
			if w.Start != first.Start || w.Dst != first.Dst || w.Class != first.Class || w.Size != g.Size || int(w.Group) != i/g.Senders {
				t.Fatalf("%+v is in a burst with %+v", w, first)
			}
			if f.Rack[w.Src] == f.Rack[w.Dst] {
				t.Fatalf("%+v stays in its rack", w)
			}
		}
		if len(seen) != g.Senders {
			t.Fatalf("burst %d has %d senders", i/g.Senders, len(seen))
		}
	}
	chiSquare(t, "receivers", receivers)
	chiSquare(t, "senders", senders)
}

// DSH, Fig. 16: the size of each flow of a burst is drawn from a table.
func TestIncastSizes(t *testing.T) {
	e := world(t, fabric(4, 8), OtherRack, units.Second)
	load := e.offer(0.005)
	p := generate(t, e, &Incast{Senders: 8, Sizes: "fb_hadoop"})
	offers(t, e, p, load)
	if p.Flows[0].Size == p.Flows[1].Size && p.Flows[1].Size == p.Flows[2].Size {
		t.Error("all flows of a burst have the same size")
	}
}

// Bursts of 1 to 15 flows: every number is equally frequent, and the load is the same.
func TestIncastFewest(t *testing.T) {
	e := world(t, fabric(4, 8), OtherRack, 100*units.Millisecond)
	load := e.offer(0.5)
	p := generate(t, e, &Incast{Senders: 15, Fewest: 1, Size: 64 * units.KB})
	sizes := make(map[int32]int)
	for _, f := range p.Flows {
		sizes[f.Group]++
	}
	times := make(map[int]int)
	for _, n := range sizes {
		times[n]++
	}
	mean := float64(len(sizes)) / 15
	for n := range 17 {
		got := float64(times[n])
		if (n < 1 || n > 15) && got > 0 || n >= 1 && n <= 15 && math.Abs(got-mean) > 5*math.Sqrt(mean) {
			t.Errorf("%g bursts of %d flows, want %.0f of 1 to 15 each", got, n, mean)
		}
	}
	offers(t, e, p, load)
}

// Mixed bursts change only the classes of flows; all classes are equally frequent.
func TestIncastMixed(t *testing.T) {
	bursts := func(mixed bool) []Flow {
		e := world(t, fabric(4, 8), OtherRack, 100*units.Millisecond)
		e.offer(0.5)
		return generate(t, e, &Incast{Senders: 15, Size: 64 * units.KB, Mixed: mixed}).Flows
	}
	one, mixed := bursts(false), bursts(true)
	if len(one) != len(mixed) {
		t.Fatalf("%d flows, but %d with mixed classes", len(one), len(mixed))
	}
	count, other := map[uint8]int{}, 0
	for i, f := range mixed {
		count[f.Class]++
		if i > 0 && f.Group == mixed[i-1].Group && f.Class != mixed[i-1].Class {
			other++
		}
		if i > 0 && one[i].Group == one[i-1].Group && one[i].Class != one[i-1].Class {
			t.Fatalf("flow %d has another class than its burst", i)
		}
		if f.Class = one[i].Class; f != one[i] {
			t.Fatalf("flow %d is %+v, but %+v with mixed classes", i, one[i], mixed[i])
		}
	}
	mean := float64(len(mixed)) / 3
	for id := uint8(1); id <= 3; id++ {
		if math.Abs(float64(count[id])-mean) > 5*math.Sqrt(mean) {
			t.Errorf("%d flows of class %d, want %.0f", count[id], id, mean)
		}
	}
	alone := world(t, fabric(4, 8), OtherRack, units.Millisecond)
	alone.Classes.IDs = []uint8{2}
	if _, err := (&Incast{Senders: 3, Size: 1, Mixed: true}).Check(alone); err == nil || !strings.HasPrefix(err.Error(), "mixed: flows have only class 2 (expected") {
		t.Errorf("mixed with one class: %v", err)
	}
	// 14 of 15 flows have a predecessor, two thirds of them with another class.
	if want := float64(len(mixed)) * 14 / 15 * 2 / 3; math.Abs(float64(other)-want) > 5*math.Sqrt(want) {
		t.Errorf("%d flows differ in class from their predecessor, want %.0f", other, want)
	}
}

// One burst, DSH Fig. 22: 1024 flows of 8 KB from 255 senders in turn.
func TestIncastOnce(t *testing.T) {
	e := world(t, fabric(16, 16), AnyPair, units.Millisecond)
	e.pair(t, AnyPair, nil, []int32{7})
	p := generate(t, e, &Incast{Senders: 255, Size: 8 * units.KB, Flows: 1024, At: 30 * units.Microsecond})
	count := map[int32]int{}
	for _, f := range p.Flows {
		count[f.Src]++
		if f.Dst != 7 || f.Start != 30*units.Microsecond {
			t.Fatalf("%+v", f)
		}
	}
	// 1024 = 4 x 255 + 4
	five := 0
	for _, n := range count {
		if n < 4 || n > 5 {
			t.Errorf("a host sends %d flows", n)
		}
		if n == 5 {
			five++
		}
	}
	if len(p.Flows) != 1024 || len(count) != 255 || five != 4 {
		t.Errorf("%d flows of %d hosts, %d of which send five", len(p.Flows), len(count), five)
	}
}

func TestQueryResponse(t *testing.T) {
	f := fabric(4, 8)
	e := world(t, f, OtherRack, units.Second)
	// 32 hosts x 400 per second in a second, of 100,003 B each.
	g := &QueryResponse{Size: 100_003, Rate: 400}
	p := generate(t, e, g)
	offers(t, e, p, 32*400*100_003)
	asked := make([]int, 4)
	for i := 0; i < len(p.Flows); i += 8 {
		sum := units.Bytes(0)
		for k, w := range p.Flows[i : i+8] {
			sum += w.Size
			if w.Dst != p.Flows[i].Dst || f.Rack[w.Src] != f.Rack[p.Flows[i].Src] || f.Rack[w.Src] == f.Rack[w.Dst] || w.Src != p.Flows[i].Src+int32(k) {
				t.Fatalf("%+v is in a response with %+v", w, p.Flows[i])
			}
		}
		if sum != g.Size {
			t.Fatalf("a response has %d bytes", sum)
		}
		asked[f.Rack[p.Flows[i].Src]]++
	}
	chiSquare(t, "racks", asked)

	// As a load, with requests that servers answer after a delay; leaf i asks leaf i + 1, as
	// in the authors' program.
	e = world(t, f, NextRack, 200*units.Millisecond)
	load := e.offer(0.2)
	p = generate(t, e, &QueryResponse{Size: 80 * units.KB, Request: 100, Think: 5 * units.Microsecond})
	answers := 0.0
	for k, w := range p.Waits {
		request, answer := p.Flows[w.On[0]], p.Flows[w.Flow]
		answers += float64(answer.Size)
		if len(w.On) != 1 || w.Delay != 5*units.Microsecond || request.Size != 100 || request.Src != answer.Dst || request.Dst != answer.Src {
			t.Fatalf("wait %d: %+v answers %+v", k, answer, request)
		}
		if (f.Rack[request.Src]+1)%4 != f.Rack[request.Dst] {
			t.Fatalf("%+v does not ask the next rack", request)
		}
	}
	if got := answers / e.seconds() / load; math.Abs(got-1) > 0.01 || 2*len(p.Waits) != len(p.Flows) {
		t.Errorf("offers %.4f of the load", got)
	}
}

// L2BM: 376 requests of 1 MB from 5 servers are 1880 flows of 200 KB.
func TestRequest(t *testing.T) {
	e := world(t, fabric(4, 32), AnyPair, 500*units.Millisecond)
	p := generate(t, e, &Request{Size: units.MB, Servers: 5, Count: 376})
	if len(p.Flows) != 1880 {
		t.Errorf("%d flows", len(p.Flows))
	}
	var thirds [3]int
	for i := 0; i < len(p.Flows); i += 5 {
		thirds[p.Flows[i].Start*3/e.Stop]++
		seen := map[int32]bool{}
		for _, f := range p.Flows[i : i+5] {
			seen[f.Src] = true
			if f.Size != 200*units.KB || f.Dst != p.Flows[i].Dst || f.Start != p.Flows[i].Start || int(f.Group) != i/5 {
				t.Fatalf("%+v", f)
			}
		}
		if len(seen) != 5 {
			t.Fatal("a server answers twice")
		}
	}
	chiSquare(t, "times", thirds[:])

	e = world(t, fabric(4, 8), OtherRack, units.Second)
	load := e.offer(0.1)
	offers(t, e, generate(t, e, &Request{Size: units.MB, Servers: 10}), load)
	e = world(t, fabric(4, 8), AnyPair, units.Second)
	offers(t, e, generate(t, e, &Request{Size: units.MB, Servers: 3, Rate: 1000}), 32*1000*1e6)
}

// A host plans as many flows as its link can carry, each after the previous one.
func TestSequential(t *testing.T) {
	e := world(t, fabric(2, 2), OtherRack, 10*units.Millisecond)
	e.Start = 2 * units.Millisecond
	// 100 KB take 8 us at 100 Gbps, and the gap is 2 us: 800 fit into 8 ms.
	p := generate(t, e, &Sequential{Sizes: "100KB", Gap: 2 * units.Microsecond})
	if len(p.Flows) != 4*800 || len(p.Waits) != 4*799 {
		t.Errorf("%d flows, %d of which wait", len(p.Flows), len(p.Waits))
	}
	for _, w := range p.Waits {
		if len(w.On) != 1 || w.On[0] != w.Flow-1 || p.Flows[w.Flow].Src != p.Flows[w.On[0]].Src || w.Delay != 2*units.Microsecond || w.Until != e.Stop {
			t.Fatalf("%+v", w)
		}
	}
	if p = generate(t, e, &Sequential{Sizes: "websearch", Count: 3}); len(p.Flows) != 12 {
		t.Errorf("%d flows", len(p.Flows))
	}
}

func TestMessages(t *testing.T) {
	e := world(t, fabric(2, 2), AnyPair, 10*units.Millisecond)
	e.pair(t, Matched, []int32{0, 1}, []int32{2, 3})
	p := generate(t, e, &Messages{Size: 64 * units.KB, Depth: 4, Streams: 3, Count: 10})
	if len(p.Flows) != 2*3*10 || len(p.Waits) != 2*3*6 {
		t.Fatalf("%d messages, %d of which wait", len(p.Flows), len(p.Waits))
	}
	for _, w := range p.Waits {
		if f, g := p.Flows[w.Flow], p.Flows[w.On[0]]; w.On[0] != w.Flow-4 || f.Src != g.Src || f.Dst != f.Src+2 || f.Hash != g.Hash {
			t.Fatalf("%+v", w)
		}
	}
	// Latency: 8 KB take 640 ns in each direction, so at most 7813 fit into 10 ms.
	p = generate(t, e, &Messages{Size: 8 * units.KB, Depth: 1, Streams: 1, PingPong: true})
	if n := len(p.Flows); n != 2*2*7813 {
		t.Errorf("%d messages", n)
	}
	for _, w := range p.Waits {
		if f, g := p.Flows[w.Flow], p.Flows[w.On[0]]; w.On[0] != w.Flow-1 || f.Src != g.Dst || f.Dst != g.Src {
			t.Fatalf("%+v", w)
		}
	}
	// Back to back until the end: 64 KB take 5.12 us, so 1954 fit into 10 ms; the
	// first depth - 1 are extra.
	p = generate(t, e, &Messages{Size: 64 * units.KB, Depth: 8, Streams: 1})
	if n := len(p.Flows); n != 2*(1954+7) {
		t.Errorf("%d messages", n)
	}
}

func TestLongLived(t *testing.T) {
	e := world(t, fabric(2, 2), AnyPair, units.Millisecond)
	e.pair(t, Matched, []int32{0, 1}, []int32{3, 2})
	p := generate(t, e, &LongLived{Streams: 2})
	// The run ends after 10 ms: 125,000,000 B at 100 Gbps.
	if len(p.Flows) != 4 || p.Flows[0].Size <= 125*units.MB || p.Flows[0].Dst != 3 || p.Flows[2].Dst != 2 {
		t.Errorf("%+v", p.Flows)
	}
}

func TestList(t *testing.T) {
	e := world(t, fabric(1, 4), AnyPair, units.Millisecond)
	p := generate(t, e, &List{[]FlowSpec{
		{From: "host0", To: "host1", Size: 1000, Start: 5},
		{From: "host1", To: "host2", Size: 2000, After: []int{0}, Delay: 7, Class: "5"},
	}})
	if len(p.Flows) != 2 || p.Flows[1].Class != 5 || !reflect.DeepEqual(p.Waits, []Wait{{Flow: 1, On: []int32{0}, Delay: 7}}) {
		t.Errorf("%+v", p)
	}
	one := FlowSpec{From: "host0", To: "host1", Size: 1}
	with := func(change func(f *FlowSpec)) []FlowSpec {
		f := one
		change(&f)
		return []FlowSpec{one, f}
	}
	for want, flows := range map[string][]FlowSpec{
		"flows: the list is empty":                               {},
		"flows[1].from: there is no host \"x\"":                  with(func(f *FlowSpec) { f.From = "x" }),
		"flows[1].to: host0 sends to itself":                     with(func(f *FlowSpec) { f.To = "host0" }),
		"flows[1].size: 0B is too small":                         with(func(f *FlowSpec) { f.Size = 0 }),
		"flows[1].start: 1ms is outside the run":                 with(func(f *FlowSpec) { f.Start = units.Millisecond }),
		"flows[1].class: no such class":                          with(func(f *FlowSpec) { f.Class = "9" }),
		"flows[1].delay: delay without after":                    with(func(f *FlowSpec) { f.Delay = 1 }),
		"flows[1].after: flow 1 waits for flow 7":                with(func(f *FlowSpec) { f.After = []int{7} }),
		"flows[1].after: flow 1 waits for flow 1":                with(func(f *FlowSpec) { f.After = []int{1} }),
		"flows[1].after: flow 1 waits for flow 0, which neither": with(func(f *FlowSpec) { f.From, f.After = "host2", []int{0} }),
		"flows: flows wait for each other": {
			{From: "host0", To: "host1", Size: 1, After: []int{1}}, {From: "host1", To: "host0", Size: 1, After: []int{0}},
		},
	} {
		_, err := (&List{flows}).Check(e)
		var key *KeyError
		if !errors.As(err, &key) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
}

// Parameters out of range are rejected at their key.
func TestCheck(t *testing.T) {
	for want, g := range map[string]Generator{
		"sizes: unknown sizes \"\"":              &Poisson{AtOnce: 1},
		"at_once: 0 is too small":                &Poisson{Sizes: "1KB"},
		"sizes: open testdata/none":              &Poisson{Sizes: "testdata/none", AtOnce: 1},
		"senders: 0 is too small":                &Incast{Size: 1},
		"senders: 8 is too large":                &Incast{Senders: 8, Size: 1},
		"size: 0B is too small":                  &Incast{Senders: 1},
		"sizes: size is given as well":           &Incast{Senders: 3, Size: 1, Sizes: "cache"},
		"flows: 2 is too small":                  &Incast{Senders: 3, Size: 1, Flows: 2},
		"fewest: 4 is out of range (expected 1":  &Incast{Senders: 3, Size: 1, Fewest: 4},
		"fewest: flows is given as well":         &Incast{Senders: 3, Size: 1, Flows: 3, Fewest: 1},
		"at: load and at are both set (expected": &Incast{Senders: 3, Size: 1, At: 1},
		"pairs: \"any\" does not select":         &QueryResponse{Size: 1000},
		"rate: load is given as well":            &Request{Size: 1000, Servers: 1, Rate: 1},
		"count: load or rate is given":           &Request{Size: 1000, Servers: 1, Count: 1},
		"size: 2B divided":                       &Request{Size: 2, Servers: 3},
		"think: request is missing":              &Request{Size: 1000, Servers: 3, Think: 1},
		"gap: -1ps is out of range":              &Sequential{Sizes: "1KB", Gap: -1},
		"depth: 0 is too small":                  &Messages{Size: 1, Streams: 1},
		"ping_pong: each message waits for an":   &Messages{Size: 1, Streams: 1, Depth: 2, PingPong: true},
		"streams: 0 is too small":                &LongLived{},
		"order: \"x\" is unknown":                &RingAllReduce{Size: 1000, Repeat: 1, Order: "x"},
		"ranks: 8 hosts cannot be divided":       &RingAllReduce{Size: 1000, Repeat: 1, Order: "hosts", Ranks: 3},
		"size: 7B in 8 pieces":                   &RingAllReduce{Size: 7, Repeat: 1, Order: "hosts"},
		"repeat: 0 is too small":                 &AllToAll{Size: 7, Order: "hosts"},
		"path: no file is given":                 &Trace{Format: "auto"},
		"format: \"x\" is unknown":               &Trace{Format: "x", Path: "y"},
		"workloads[1]: \"a\" is empty or":        &Trace{Format: "csv", Path: "y", Workloads: []string{"a", "a"}},
		"path: open testdata/none: no such fi":   &Trace{Format: "csv", Path: "testdata/none"},
	} {
		e := world(t, fabric(2, 4), AnyPair, units.Millisecond)
		e.offer(0.5)
		_, err := g.Check(e)
		var key *KeyError
		if !errors.As(err, &key) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
	e := world(t, fabric(1, 6), AnyPair, units.Millisecond)
	if _, err := (&HalvingDoubling{Size: 1000, Repeat: 1, Order: "hosts"}).Check(e); err == nil || !strings.HasPrefix(err.Error(), "ranks: 6 is not a power") {
		t.Errorf("got %v", err)
	}
	for _, g := range []Generator{&Poisson{Sizes: "1KB", AtOnce: 1}, &QueryResponse{Size: 1000}, &Request{Size: 1000, Servers: 2}} {
		e := world(t, fabric(2, 3), OtherRack, units.Millisecond)
		if _, err := g.Check(e); err == nil {
			t.Errorf("%T accepts a missing load", g)
		}
	}
}

// Every generator of the table can be made from its defaults.
func TestTable(t *testing.T) {
	for _, g := range Generators.All() {
		if g.New(g.Params()) == nil {
			t.Errorf("%s cannot be made", g.Name)
		}
	}
}
