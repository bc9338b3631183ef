package workload

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// fabric returns racks of hosts with links of 100 Gbps; two racks are a group.
func fabric(racks, perRack int) *Fabric {
	f := &Fabric{}
	for i := range racks * perRack {
		f.Names = append(f.Names, fmt.Sprintf("host%d", i))
		f.Rack = append(f.Rack, i/perRack)
		f.Group = append(f.Group, i/perRack/2)
		f.Rates = append(f.Rates, 100*units.Gbps)
	}
	return f
}

// world returns an environment in which all hosts send to each other by a rule.
func world(t testing.TB, f *Fabric, rule Rule, stop units.Time) *Env {
	t.Helper()
	e := &Env{
		Fabric: f, From: f.All(), Stop: stop, End: 10 * stop, MaxSize: 100 * units.GB, MaxDelay: units.Second,
		Classes: &Classes{IDs: []uint8{1, 2, 3}, Rand: Stream(1, "class")},
		Rand:    Stream(1, "flows"), Hashes: Stream(1, "hash"),
		Reachable: func(_, _ int32) bool { return true },
		Open:      func(path string) (io.ReadCloser, error) { return os.Open(path) },
	}
	e.Host = func(name string) (int32, bool) {
		for i, n := range f.Names {
			if n == name {
				return int32(i), true
			}
		}
		return 0, false
	}
	e.Class = func(name string) (uint8, error) {
		if len(name) == 1 && name[0] >= '1' && name[0] <= '7' {
			return name[0] - '0', nil
		}
		return 0, errors.New("no such class (expected 1 to 7)")
	}
	e.pair(t, rule, nil, nil)
	return e
}

// pair sets senders and receivers; nil means all hosts.
func (e *Env) pair(t testing.TB, rule Rule, from, to []int32) {
	t.Helper()
	if from == nil {
		from = e.Fabric.All()
	}
	if to == nil {
		to = e.Fabric.All()
	}
	p, err := NewPairs(e.Fabric, rule, from, to)
	if err != nil {
		t.Fatal(err)
	}
	e.From, e.Pairs = from, p
}

// offer sets the load as a fraction of the link rates of the senders.
func (e *Env) offer(share float64) float64 {
	e.Load = share * float64(e.Fabric.Capacity(e.Pairs.From)) / 8
	return e.Load
}

// generate runs a generator and checks the invariants of every plan.
func generate(t testing.TB, e *Env, g Generator) *Plan {
	t.Helper()
	expected, err := g.Check(e)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Generate(e)
	if err != nil {
		t.Fatal(err)
	}
	// Six standard deviations of a Poisson count, if bursts are single flows.
	if n := float64(len(p.Flows)); expected > 0 && n > 3*expected+6*math.Sqrt(expected)+10 {
		t.Errorf("%v flows, but %v were expected", n, expected)
	}
	for _, f := range p.Flows {
		if f.Src == f.Dst || f.Size < 1 || f.Start < e.Start || f.Start >= e.Stop {
			t.Fatalf("%+v is not a flow of this workload", f)
		}
	}
	if err := p.checkWaits(func(i int32) string { return fmt.Sprint(i) }); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Plan) bytes() float64 {
	sum := 0.0
	for _, f := range p.Flows {
		sum += float64(f.Size)
	}
	return sum
}

// offers checks that the bytes of a plan are within 1 % of a load. There must be enough draws
// for a standard deviation of at most a third of that.
func offers(t *testing.T, e *Env, p *Plan, perSecond float64) {
	t.Helper()
	if got := p.bytes() / e.seconds() / perSecond; math.Abs(got-1) > 0.01 {
		t.Errorf("offers %.4f of the load with %d flows", got, len(p.Flows))
	}
}

// chiSquare checks that counts are equally frequent. The limit is far beyond the 99.99 %
// point of the distribution: mean n - 1, deviation sqrt(2 (n - 1)).
func chiSquare(t *testing.T, what string, counts []int) {
	t.Helper()
	total := 0
	for _, n := range counts {
		total += n
	}
	want := float64(total) / float64(len(counts))
	sum := 0.0
	for _, n := range counts {
		d := float64(n) - want
		sum += d * d / want
	}
	free := float64(len(counts) - 1)
	if want < 20 || sum > free+5*math.Sqrt(2*free) {
		t.Errorf("%s are not equally frequent: chi square %.1f with %.0f degrees of freedom, %.0f expected of each", what, sum, free, want)
	}
}
