package plot

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func labels(x *axis) string {
	var list []string
	for _, t := range x.ticks {
		if t.label != "" {
			list = append(list, t.label)
		}
	}
	return strings.Join(list, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		name   string
		axis   Axis
		values []float64
		zero   bool
		round  bool
		ticks  int
		want   string
		label  string
	}{
		// 26.7 / 5 = 5.3: the next step of 1, 2, 5 is 10.
		{"from zero", Axis{}, []float64{0, 26.7}, false, true, 5, "0 10 20 30", ""},
		{"bars start at zero", Axis{}, []float64{90, 100}, true, true, 5, "0 20 40 60 80 100", ""},
		// 0.9 / 9 = 0.1; the axis ends where the data ends.
		{"tight", Axis{}, []float64{0.15, 0.95}, false, false, 9, "0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9", ""},
		{"negative", Axis{}, []float64{-4, 5}, false, true, 5, "-4 -2 0 2 4 6", ""},
		{"thousands", Axis{}, []float64{0, 25000}, false, true, 5, "0 5k 10k 15k 20k 25k", ""},
		{"2000 is not 2k", Axis{}, []float64{0, 2000}, false, true, 4, "0 500 1000 1500 2000", ""},
		{"bytes", Axis{Label: "buffer", Unit: Bytes}, []float64{0, 4e6}, false, true, 4, "0 1 2 3 4", "buffer (MB)"},
		{"seconds", Axis{Label: "time", Unit: Seconds}, []float64{0, 0.0025}, false, true, 5, "0 0.5 1.0 1.5 2.0 2.5", "time (ms)"},
		{"rates", Axis{Unit: BitRate}, []float64{0, 1e11}, false, true, 2, "0 50 100", "(Gbps)"},
		{"shares", Axis{Unit: Share}, []float64{0, 1}, false, true, 5, "0% 20% 40% 60% 80% 100%", ""},
		{"per cent", Axis{Unit: Percent}, []float64{0, 8}, false, true, 4, "0% 2% 4% 6% 8%", ""},
		{"powers", Axis{Log: true}, []float64{1, 10000}, false, true, 5, "1 10 100 1000 10k", ""},
		{"powers with units", Axis{Log: true, Unit: Bytes}, []float64{1e3, 1e7}, false, true, 5, "1 KB 10 KB 100 KB 1 MB 10 MB", ""},
		{"powers of seconds", Axis{Log: true, Unit: Seconds}, []float64{1e-6, 1e-3}, false, true, 4, "1 us 10 us 100 us 1 ms", ""},
		{"one decade", Axis{Log: true}, []float64{1, 20}, false, true, 5, "1 2 5 10 20", ""},
		{"less than a decade", Axis{Log: true}, []float64{2, 4}, false, false, 4, "2.0 2.5 3.0 3.5 4.0", ""},
		{"no data", Axis{}, nil, false, true, 2, "0 0.5 1.0", ""},
		{"no data, powers", Axis{Log: true}, nil, false, true, 2, "1 10", ""},
		{"constant", Axis{}, []float64{7, 7}, false, true, 4, "2 4 6 8 10 12", ""},
		{"zero", Axis{}, []float64{0}, false, true, 2, "0 0.5 1.0", ""},
		{"fixed", Axis{Min: new(0.0), Max: new(1.0)}, []float64{0.2, 7}, false, true, 5, "0 0.2 0.4 0.6 0.8 1.0", ""},
		{"positive values only", Axis{Log: true}, []float64{-5, 0, 1, 100}, false, true, 2, "1 10 100", ""},
		{"minimum above maximum", Axis{Min: new(3.0), Max: new(1.0)}, []float64{1}, false, true, 3, "3 4 5 6", ""},
	} {
		x := newAxis(c.axis, demand{values: c.values, zero: c.zero, round: c.round, ticks: c.ticks})
		if got := labels(&x); got != c.want {
			t.Errorf("%s: ticks %q, want %q", c.name, got, c.want)
		}
		if x.label != c.label {
			t.Errorf("%s: label %q, want %q", c.name, x.label, c.label)
		}
		if !(x.lo < x.hi) {
			t.Errorf("%s: from %g to %g", c.name, x.lo, x.hi)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		n        int64
		exponent int
		want     string
	}{
		{0, -3, "0"}, {5, 0, "5"}, {5, 2, "500"}, {-5, -1, "-0.5"}, {15, -1, "1.5"}, {10, -1, "1.0"}, {2, -4, "0.0002"}, {2, -12, "2e-12"}, {2, 20, "2e20"},
	} {
		if got := decimal(c.n, c.exponent); got != c.want {
			t.Errorf("decimal(%d, %d) = %q, want %q", c.n, c.exponent, got, c.want)
		}
	}
}

func TestUnitString(t *testing.T) {
	for u, want := range map[unit]string{0: "0", 5: "0.05", 50: "0.5", 100: "1", 1234: "12.34", -1230: "-12.3", -5: "-0.05"} {
		if got := u.String(); got != want {
			t.Errorf("%d is formatted as %q, want %q", int(u), got, want)
		}
	}
}

// Values that differ only in their last bits, as with and without a fused multiply-add, give
// the same coordinate, also halfway between two coordinates.
func TestRounding(t *testing.T) {
	for _, v := range []float64{0.125, 17.375, 250.005, 1.0 / 3, -0.625} {
		want := units(v)
		for _, near := range []float64{math.Nextafter(v, 1e9), math.Nextafter(v, -1e9)} {
			if got := units(near); got != want {
				t.Errorf("%v is %s, %v is %s", v, want, near, got)
			}
		}
	}
}

// A scheme has the same colour in every figure, whatever the other series are.
func TestColours(t *testing.T) {
	panel := func(names ...string) *Figure {
		p := Panel{}
		for _, n := range names {
			p.Series = append(p.Series, Series{Name: n})
		}
		return &Figure{Panels: []Panel{p}, Colours: papers}
	}
	colour := func(name string, among ...string) ink { return newLooks(panel(among...)).byName[name].ink }
	for _, c := range [][]string{{"DSH"}, {"x", "y", "DSH"}, {"SIH", "Adaptive", "Oversubscription", "DSH"}, {"dsh"}} {
		if got := colour(c[len(c)-1], c...); got != inkData {
			t.Errorf("%v: DSH has colour %d", c, got-inkData)
		}
	}
	if a, b := colour("x", "x", "DSH", "SIH"), colour("y", "x", "y"); a == inkData || a == inkData+1 || b != inkData+1 {
		t.Error("unknown names do not take free colours in order")
	}
	l := newLooks(panel("DSH, DCQCN", "DSH, HPCC", "SIH, DCQCN"))
	a, b := l.byName["DSH, DCQCN"], l.byName["DSH, HPCC"]
	if a.ink != b.ink || a.marker == b.marker || slices.Equal(a.dash, b.dash) {
		t.Error("variants of a scheme do not share its colour, or do not differ in shape")
	}
}

func TestDistribution(t *testing.T) {
	x, y := distribution([]float64{3, 1, math.Inf(1), 1, math.NaN()})
	// Four samples: two are 1, one is 3, one is +Inf.
	if !slices.Equal(x, []float64{1, 3}) || !slices.Equal(y, []float64{0.5, 0.75}) {
		t.Errorf("got %v %v", x, y)
	}
	s := Spread("s", []float64{1, 2, 3, 4}, []float64{2, 2, 4, math.Inf(1)})
	// At 1: 1/4 and 0; at 2: 2/4 and 2/4; at 3: 3/4 and 2/4; at 4: 1 and 3/4.
	want := Series{X: []float64{1, 2, 3, 4}, Y: []float64{0.125, 0.5, 0.625, 0.875}, Low: []float64{0, 0.5, 0.5, 0.75}, High: []float64{0.25, 0.5, 0.75, 1}}
	if !slices.Equal(s.X, want.X) || !slices.Equal(s.Y, want.Y) || !slices.Equal(s.Low, want.Low) || !slices.Equal(s.High, want.High) {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if s := Spread("no runs"); len(s.X) != 0 || s.Y == nil {
		t.Errorf("no runs give %+v", s)
	}
}

func TestThin(t *testing.T) {
	var run []vec
	for i := range 10000 {
		y := 100.0
		if i == 5000 {
			y = 3
		}
		run = append(run, vec{float64(i) / 100, y})
	}
	short := thin(run)
	// 100 pixels of two halves, with at most four points per half.
	if len(short) > 800 {
		t.Errorf("%d points are left", len(short))
	}
	if !slices.ContainsFunc(short, func(v vec) bool { return v.y == 3 }) {
		t.Error("the lowest point is missing")
	}
}

func TestClip(t *testing.T) {
	b := box{0, 0, 10, 10}
	got := b.clipLine([]vec{{-5, 5}, {5, 5}, {5, 15}, {20, 15}, {20, 5}, {8, 5}})
	want := [][]vec{{{0, 5}, {5, 5}, {5, 10}}, {{10, 5}, {8, 5}}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("part %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// A line of 10 px with dashes of 3 px and gaps of 2 px has dashes 0-3 and 5-8.
func TestDashes(t *testing.T) {
	got := cut([]point{{0, 0}, {600, 0}, {1000, 0}}, []unit{300, 200})
	want := [][]point{{{0, 0}, {300, 0}}, {{500, 0}, {600, 0}, {800, 0}}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("dash %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestPowers(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   bool
	}{
		{nil, false}, {[]float64{1, 9.9}, false}, {[]float64{1, 10}, true}, {[]float64{0, 1, 100}, false}, {[]float64{-1, 100}, false},
		{[]float64{2, math.Inf(1)}, false}, {[]float64{2, 500, math.Inf(1)}, true},
	} {
		if got := Powers(c.values); got != c.want {
			t.Errorf("%v: %t", c.values, got)
		}
	}
}
