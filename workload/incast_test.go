package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// Senders are drawn without or with repetition, or are the first hosts. Of 24 hosts in other racks,
// 16 draws with repetition contain 24 x (1 - (23/24)^16) = 11.85 distinct hosts on average.
func TestIncastDraw(t *testing.T) {
	for draw, want := range map[string]float64{"": 16, drawDistinct: 16, drawRepeated: 11.85, drawInOrder: 16} {
		e := world(t, fabric(4, 8), OtherRack, 100*units.Millisecond)
		e.offer(0.5)
		senders, bursts := map[int32][]int32{}, 0.0
		for _, f := range generate(t, e, &Incast{Senders: 16, Size: 64 * units.KB, Draw: draw}).Flows {
			if f.Src/8 == f.Dst/8 {
				t.Fatalf("%q: %+v stays in its rack", draw, f)
			}
			senders[f.Group] = append(senders[f.Group], f.Src)
		}
		distinct := 0.0
		for _, list := range senders {
			if len(list) != 16 {
				t.Fatalf("%q: a burst of %d flows", draw, len(list))
			}
			slices.Sort(list)
			distinct += float64(len(slices.Compact(list)))
			bursts++
		}
		if got := distinct / bursts; math.Abs(got-want) > 0.1 {
			t.Errorf("%q: %.2f distinct senders in a burst, want %.2f", draw, got, want)
		}
	}
}

// With draw in_order, the senders are the first hosts of from, except the receiver.
func TestIncastInOrder(t *testing.T) {
	e := world(t, fabric(2, 4), AnyPair, units.Millisecond)
	e.pair(t, AnyPair, []int32{5, 1, 3, 0}, []int32{3})
	var got []int32
	for _, f := range generate(t, e, &Incast{Senders: 3, Size: 1, Draw: drawInOrder}).Flows {
		got = append(got, f.Src)
	}
	if !slices.Equal(got, []int32{5, 1, 0}) {
		t.Errorf("senders are %v, want 5, 1 and 0", got)
	}
}

// Permits agrees with Sources, which counts in another way.
func TestPermits(t *testing.T) {
	f := fabric(4, 3)
	for rule := range Rule(len(RuleNames)) {
		p, err := NewPairs(f, rule, f.All(), append(f.All()[1:], 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, dst := range p.To {
			n := 0
			for _, src := range p.From {
				if p.Permits(src, dst) {
					n++
				}
			}
			if n != p.Sources(dst) {
				t.Errorf("%s: %d senders may send to %d, want %d", RuleNames[rule], n, dst, p.Sources(dst))
			}
		}
	}
}

// skip leaves out the first bursts of each receiver.
func TestIncastSkip(t *testing.T) {
	bursts := func(skip int) (map[int32]bool, int32) {
		e := world(t, fabric(4, 2), OtherRack, 20*units.Millisecond)
		e.Clock = Stream(1, "clock") // times do not depend on what is drawn for bursts
		e.offer(0.5)
		receivers, last := map[int32]bool{}, int32(-1)
		for _, f := range generate(t, e, &Incast{Senders: 1, Size: 640 * units.KB, Skip: skip}).Flows {
			receivers[f.Dst] = true
			if f.Group != last+1 {
				t.Fatalf("burst %d follows %d", f.Group, last)
			}
			last = f.Group
		}
		return receivers, last + 1
	}
	_, all := bursts(0)
	receivers, left := bursts(2)
	if left != all-8*2 || len(receivers) != 8 { // two of each of eight receivers
		t.Errorf("%d of %d bursts are left, for %d receivers", left, all, len(receivers))
	}
	e := world(t, fabric(4, 2), OtherRack, units.Millisecond)
	for _, c := range []struct {
		g    Incast
		want string
	}{
		{Incast{Senders: 1, Size: 1, Skip: 1}, "skip: there is only one burst"},
		{Incast{Senders: 1, Size: 1, Skip: -1}, "skip: -1 is too small"},
		{Incast{Senders: 1, Size: 1, Draw: "some"}, `draw: "some" is unknown (allowed: distinct, repeated, in_order)`},
		{Incast{Senders: 7, Size: 1}, "senders: 7 is too large (expected 1 to 6)"},
		{Incast{Senders: 7, Size: 1, Draw: drawInOrder}, "senders: 7 is too large (expected 1 to 6)"},
	} {
		if _, err := c.g.Check(e); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.g, err, c.want)
		}
	}
	if _, err := (&Incast{Senders: 7, Size: 1, Draw: drawRepeated}).Check(e); err != nil {
		t.Error(err)
	}
}

// Workloads with the same clock have the same arrival times, whatever else they draw.
func TestClock(t *testing.T) {
	times := func(name string, clock *rand.Rand) (list []units.Time) {
		e := world(t, fabric(4, 4), OtherRack, 10*units.Millisecond)
		e.Rand, e.Clock = Stream(1, name), clock
		e.offer(0.5)
		for _, f := range generate(t, e, &Incast{Senders: 12, Fewest: 1, Sizes: "websearch_dsh"}).Flows {
			if n := len(list); n == 0 || list[n-1] != f.Start {
				list = append(list, f.Start)
			}
		}
		return list
	}
	a, b := times("a", Stream(1, "clock/x")), times("b", Stream(1, "clock/x"))
	if len(a) < 20 || !slices.Equal(a, b) {
		t.Errorf("%d and %d arrivals with the same clock, want at least 20 at equal times", len(a), len(b))
	}
	if slices.Equal(a, times("a", nil)) || slices.Equal(a, times("a", Stream(1, "clock/y"))) {
		t.Error("the clock has no effect")
	}
}
