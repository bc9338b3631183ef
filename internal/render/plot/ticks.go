package plot

import (
	"math"
	"strconv"
	"strings"
)

// axis is an Axis with its ends and ticks.
type axis struct {
	lo, hi float64
	log    bool
	label  string // with the unit
	ticks  []tick
}

type tick struct {
	value float64
	label string // empty: a tick without a number
}

// demand is what a panel requires of an axis.
type demand struct {
	values []float64 // finite data
	zero   bool      // include 0, unless logarithmic
	near   bool      // include 0 if it is near the data
	round  bool      // end the axis at ticks
	pad    bool      // add a margin at both ends, for markers
	beyond bool      // add a margin at the upper end, for distributions
	ticks  int       // approximate number of ticks
}

// Data beyond huge is drawn at the edge, and data below tiny counts as 0. This keeps sums,
// differences and logarithms finite, and ticks, which are up to ten decades smaller than the
// axis, normal numbers.
const (
	huge = 1e300
	tiny = 1e-280
)

// tame clamps a value to the range that is safe to compute with.
func (x *axis) tame(v float64) float64 {
	if math.Abs(v) < tiny {
		v = 0
	}
	return min(max(v, -huge), huge)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// newAxis computes the ends and ticks of an axis.
func newAxis(a Axis, d demand) axis {
	x := axis{log: a.Log, label: a.Label}
	x.extent(a, d)
	if x.log {
		x.logTicks(a, d)
	} else {
		x.linearTicks(a, d)
	}
	return x
}

// extent computes the ends, with lo < hi.
func (x *axis) extent(a Axis, d demand) {
	x.lo, x.hi = math.Inf(1), math.Inf(-1)
	for _, v := range d.values {
		if v = x.tame(v); !x.log || v > 0 {
			x.lo, x.hi = min(x.lo, v), max(x.hi, v)
		}
	}
	empty := x.lo > x.hi
	switch {
	case empty && x.log:
		x.lo, x.hi = 1, 10
	case empty:
		x.lo, x.hi = 0, 1
	}
	if !x.log && (d.zero || d.near && x.lo > 0 && x.lo < x.hi/2) {
		x.lo, x.hi = min(x.lo, 0), max(x.hi, 0)
	}
	if !empty && !d.round {
		x.loosen(d)
	}
	fixed := func(p *float64) bool { return p != nil && finite(*p) && (!x.log || *p >= tiny) }
	if fixed(a.Min) {
		x.lo = x.tame(*a.Min)
	}
	if fixed(a.Max) {
		x.hi = x.tame(*a.Max)
	}
	// A span that is tiny compared with its ends cannot have ticks.
	if size := max(math.Abs(x.lo), math.Abs(x.hi)); x.hi-x.lo <= size*1e-9 {
		switch {
		case x.log:
			x.lo, x.hi = x.lo/2, x.lo*2
		case size == 0:
			x.hi = x.lo + 1
		case fixed(a.Min):
			x.hi = x.lo + max(math.Abs(x.lo), 1)
		default:
			x.lo, x.hi = x.hi-size/2, x.hi+size/2
		}
	}
}

// loosen moves the ends of an axis that need not end at ticks: outward by a margin for
// markers, and to a power of ten or 0 that is very near.
func (x *axis) loosen(d demand) {
	if x.log {
		if d.pad {
			x.lo = x.lo / 1.1
		}
		if d.pad || d.beyond {
			x.hi *= 1.1
		}
		if e := scaled(1, int(math.Floor(log10(x.lo)+1e-6))); x.lo < e*1.1 {
			x.lo = min(x.lo, e)
		}
		return
	}
	positive := x.lo >= 0
	margin := x.hi/25 - x.lo/25
	if d.pad {
		x.lo -= margin
	}
	if d.pad || d.beyond {
		x.hi += margin
	}
	if positive && x.lo < x.hi/20 {
		x.lo = 0
	}
}

// nice is a step of 1, 2 or 5 times a power of ten.
type nice struct{ mantissa, exponent int }

func niceStep(least float64) nice {
	for e := int(math.Floor(log10(least))) - 1; ; e++ {
		for _, m := range []int{1, 2, 5} {
			if scaled(int64(m), e) >= least*(1-1e-9) {
				return nice{m, e}
			}
		}
	}
}

// scaled returns n times a power of ten, rounded once.
func scaled(n int64, exponent int) float64 {
	switch {
	case exponent >= 0:
		return float64(n) * math.Pow10(exponent)
	case exponent < -300:
		return float64(n) / 1e300 / math.Pow10(-exponent-300)
	}
	return float64(n) / math.Pow10(-exponent)
}

// log10 returns the rounded logarithm: the last bits of math.Log10 differ between processors.
func log10(v float64) float64 { return math.Round(math.Log10(v)*1e9) / 1e9 }

func (x *axis) linearTicks(a Axis, d demand) {
	step := niceStep((x.hi/2 - x.lo/2) / float64(max(d.ticks, 1)) * 2)
	width := scaled(int64(step.mantissa), step.exponent)
	first, last := math.Ceil(x.lo/width-1e-6), math.Floor(x.hi/width+1e-6)
	if d.round && a.Min == nil && x.lo < (first-1e-6)*width {
		first--
		x.lo = float64(first * width)
	}
	if d.round && a.Max == nil && x.hi > (last+1e-6)*width {
		last++
		x.hi = float64(last * width)
	}
	most := max(math.Abs(x.lo), math.Abs(x.hi))
	prefix, suffix := a.Unit.prefix(most)
	if a.Unit.inLabel() && suffix != "" {
		x.label = strings.TrimSpace(x.label + " (" + suffix + ")")
		suffix = ""
	}
	for i := first; i <= last; i++ {
		n := int64(i) * int64(step.mantissa)
		label := decimal(n, step.exponent-prefix)
		if n != 0 || a.Unit == Percent || a.Unit == Share {
			label += suffix
		}
		x.ticks = append(x.ticks, tick{scaled(n, step.exponent), label})
	}
}

func (x *axis) logTicks(a Axis, d demand) {
	decades := log10(x.hi) - log10(x.lo)
	if decades < 0.7 {
		// Too short for powers of ten: use the ticks of a linear axis.
		lin := axis{lo: x.lo, hi: x.hi, label: x.label}
		lin.linearTicks(a, demand{ticks: d.ticks})
		x.label, x.ticks = lin.label, lin.ticks
		return
	}
	first, last := int(math.Floor(log10(x.lo)+1e-6)), int(math.Ceil(log10(x.hi)-1e-6))
	mantissas := []int64{1}
	if decades < 3 && d.ticks >= 5 {
		mantissas = []int64{1, 2, 5}
		if decades > 1.7 {
			mantissas = []int64{1, 3}
		}
	}
	if d.round {
		x.roundLog(a, first, last, mantissas)
	}
	stride := 1 + int(decades-0.5)/max(d.ticks, 2)
	for e := first; e <= last; e++ {
		for m := int64(1); m < 10; m++ {
			v := scaled(m, e)
			if v < x.lo*(1-1e-9) || v > x.hi*(1+1e-9) {
				continue
			}
			t := tick{value: v}
			for _, k := range mantissas {
				if k == m && (e-first)%stride == 0 {
					t.label = a.Unit.number(m, e)
				}
			}
			if t.label != "" || stride == 1 && decades <= 4 {
				x.ticks = append(x.ticks, t)
			}
		}
	}
}

// roundLog moves ends that are not fixed to ticks.
func (x *axis) roundLog(a Axis, first, last int, mantissas []int64) {
	lo, hi := 0.0, math.Inf(1)
	for e := first; e <= last; e++ {
		for _, m := range mantissas {
			v := scaled(m, e)
			if v <= x.lo*(1+1e-9) {
				lo = max(lo, v)
			}
			if v >= x.hi*(1-1e-9) {
				hi = min(hi, v)
			}
		}
	}
	if a.Min == nil && lo > 0 {
		x.lo = lo
	}
	if a.Max == nil && finite(hi) {
		x.hi = hi
	}
}

// share returns the position of a value between the ends, 0 to 1. It returns false if the
// value has no position on the axis.
func (x *axis) share(v float64) (float64, bool) {
	if !finite(v) || x.log && v <= 0 {
		return 0, false
	}
	v = min(max(v, -huge), huge)
	at := (v/2 - x.lo/2) / (x.hi/2 - x.lo/2)
	if x.log {
		lo := log10(x.lo)
		at = (log10(v) - lo) / (log10(x.hi) - lo)
	}
	return min(max(at, -far), far), true
}

// far limits the distance of a value from the axis, in lengths of the axis. A line to that
// point leaves the panel in the right direction.
const far = 1e6

// Powers reports whether values span a factor of ten or more and suit a logarithmic axis. It
// ignores +Inf and returns false if any value is not positive.
func Powers(values []float64) bool {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v <= 0 {
			return false
		}
		if finite(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return hi >= 10*lo
}

// prefixes are the names of consecutive powers of 1000 of a unit.
type prefixes struct {
	from  int // exponent of ten of the first name
	names []string
}

var unitPrefixes = map[Unit]prefixes{
	Plain:   {0, []string{"", "k", "M", "G", "T"}},
	Seconds: {-12, []string{"ps", "ns", "us", "ms", "s"}},
	Bytes:   {0, []string{"B", "KB", "MB", "GB", "TB"}},
	BitRate: {0, []string{"bps", "Kbps", "Mbps", "Gbps", "Tbps"}},
}

// inLabel reports whether the unit is part of the axis label rather than of each tick.
func (u Unit) inLabel() bool { return u == Seconds || u == Bytes || u == BitRate }

// prefix returns the power of ten and the suffix that suit numbers up to most.
func (u Unit) prefix(most float64) (exponent int, suffix string) {
	switch u {
	case Percent:
		return 0, "%"
	case Share:
		return -2, "%"
	}
	p := unitPrefixes[u]
	least := 1 - 1e-9
	if u == Plain {
		least = 10 // 2000 reads better than 2k
	}
	i := 0
	for i+1 < len(p.names) && most >= least*scaled(1, p.from+3*(i+1)) {
		i++
	}
	return p.from + 3*i, p.names[i]
}

// number formats mantissa times a power of ten with its unit.
func (u Unit) number(mantissa int64, exponent int) string {
	prefix, suffix := u.prefix(scaled(mantissa, exponent))
	if u.inLabel() {
		suffix = " " + suffix
	}
	return decimal(mantissa, exponent-prefix) + suffix
}

// rounded formats a value with at most three digits.
func (u Unit) rounded(v float64) string {
	if v == 0 {
		return "0"
	}
	prefix, suffix := u.prefix(math.Abs(v))
	if u.inLabel() {
		suffix = " " + suffix
	}
	v /= scaled(1, prefix)
	if math.Abs(v) >= 999.5 {
		return strconv.FormatFloat(v, 'f', 0, 64) + suffix
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + suffix
}

// decimal formats n times a power of ten without rounding.
func decimal(n int64, exponent int) string {
	if n == 0 {
		return "0"
	}
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	digits := strconv.FormatInt(n, 10)
	switch {
	case exponent > 9 || exponent < -9:
		return sign + digits + "e" + strconv.Itoa(exponent)
	case exponent >= 0:
		return sign + digits + strings.Repeat("0", exponent)
	}
	if missing := -exponent + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) + exponent
	return sign + digits[:point] + "." + digits[point:]
}
