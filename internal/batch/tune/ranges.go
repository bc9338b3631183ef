// Package tune searches for settings of a scenario that improve chosen metrics, for xoff
// tune. It turns keys into axes of package optimise, points into trials, and the result into
// tables, figures and patches.
package tune

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/batch/sweep"
)

// Range is a key and the values that a search may give it.
type Range struct {
	Key     string   `json:"key"`
	Scale   Scale    `json:"scale"`
	Values  []string `json:"values"`
	Ordered bool     `json:"-"` // values ascend; false for words
	kind    kind
	numbers []*big.Rat // of ordered values
}

// Scale is how the values of a range follow each other.
type Scale string

// Scales.
const (
	Linear Scale = "linear" // equal differences
	Log    Scale = "log"    // about equal ratios
	List   Scale = "list"   // as written
)

// kind is the kind of a quantity.
type kind uint8

const (
	plain kind = iota // a number or a ratio
	duration
	size
	rate
)

var kindNames = map[kind]string{plain: "a number", duration: "a time", size: "a size", rate: "a rate"}

// plainForm is a number or a ratio. Its exponent is short, so that no number takes much memory.
var plainForm = regexp.MustCompile(`^-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,2})?(/[0-9]{1,20})?$`)

// quantity parses a number, a time, a size or a rate.
func quantity(text string) (*big.Rat, kind, bool) {
	if plainForm.MatchString(text) {
		r, ok := new(big.Rat).SetString(text)
		return r, plain, ok
	}
	if t, err := units.ParseTime(text); err == nil {
		return new(big.Rat).SetInt64(int64(t)), duration, true
	}
	if b, err := units.ParseBytes(text); err == nil {
		return new(big.Rat).SetInt64(int64(b)), size, true
	}
	if r, err := units.ParseRate(text); err == nil {
		return new(big.Rat).SetInt64(int64(r)), rate, true
	}
	return nil, plain, false
}

// format writes a quantity as a scenario does.
func (k kind) format(v *big.Rat) string {
	switch n := v.Num().Int64(); k {
	case duration:
		return units.Time(n).String()
	case size:
		return units.Bytes(n).String()
	case rate:
		return units.Rate(n).String()
	}
	if digits, exact := v.FloatPrec(); exact {
		return v.FloatString(digits)
	}
	return v.RatString()
}

// rangeForm is what an error expects.
const rangeForm = "expected KEY=LOW..HIGH, such as switch.ecn.kmin=20KB..400KB, or KEY=A,B,..."

// maxLevels is the largest number of values of a key.
const maxLevels = 1000

// ParseRange parses `key=low..high` or `key=a,b,c`. Accepts reports whether the key takes a
// value; it decides whether the key needs whole numbers.
func ParseRange(text string, accepts func(key, value string) error) (*Range, error) {
	key, list, ok := strings.Cut(text, "=")
	key, list = strings.TrimSpace(key), strings.TrimSpace(list)
	low, high, isRange := strings.Cut(list, "..")
	if !ok || key == "" || list == "" {
		return nil, fmt.Errorf("%q has no key or no values (%s)", text, rangeForm)
	}
	var r *Range
	var err error
	if isRange && !strings.ContainsAny(list, ",{[\"'") {
		r, err = span(key, strings.TrimSpace(low), strings.TrimSpace(high), accepts)
		if err != nil {
			err = fmt.Errorf("%q: %w", text, err)
		}
	} else {
		r, err = listed(text)
	}
	if err != nil {
		return nil, err
	}
	// The ends of a range stand for all its values; every word counts.
	check := r.Values
	if r.Ordered {
		check = []string{r.Values[0], r.Values[len(r.Values)-1]}
	}
	for _, v := range check {
		if err := accepts(key, v); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// listed parses a list of values.
func listed(text string) (*Range, error) {
	axis, err := sweep.ParseAxis(text)
	switch {
	case err != nil:
		return nil, err
	case len(axis.Values) < 2:
		return nil, fmt.Errorf("%q has one value (%s)", text, rangeForm)
	case len(axis.Values) > maxLevels:
		return nil, fmt.Errorf("%q has %d values (expected at most %d)", text, len(axis.Values), maxLevels)
	}
	r := &Range{Key: axis.Key, Scale: List, Values: axis.Values, Ordered: true}
	for i, v := range axis.Values {
		n, k, ok := quantity(v)
		if r.Ordered = r.Ordered && ok && (i == 0 || k == r.kind); !r.Ordered {
			r.numbers = nil
			return r, nil
		}
		r.kind, r.numbers = k, append(r.numbers, n)
	}
	r.sort()
	return r, nil
}

// sort puts ordered values in ascending order.
func (r *Range) sort() {
	order := make([]int, len(r.Values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.numbers[a].Cmp(r.numbers[b]) })
	var values []string
	var numbers []*big.Rat
	for _, i := range order {
		values, numbers = append(values, r.Values[i]), append(numbers, r.numbers[i])
	}
	r.Values, r.numbers = values, numbers
}

// span returns the values between two ends: powers of 2 between fractions that are such,
// preferred numbers on a log scale, or equal steps.
func span(key, low, high string, accepts func(key, value string) error) (*Range, error) {
	from, kindLow, okLow := quantity(low)
	to, kindHigh, okHigh := quantity(high)
	switch {
	case key == "seed":
		return nil, errors.New("seed cannot be tuned; fix: use --seeds")
	case !okLow || !okHigh:
		bad := low
		if okLow {
			bad = high
		}
		return nil, fmt.Errorf("%q is not a quantity (expected a number, ratio, time, size or rate at both ends, such as 1/64..1)", bad)
	case kindLow != kindHigh:
		return nil, fmt.Errorf("%s is %s, but %s is %s (expected one kind of quantity)", low, kindNames[kindLow], high, kindNames[kindHigh])
	case from.Cmp(to) >= 0:
		return nil, fmt.Errorf("range is empty: %s is not below %s (expected LOW..HIGH)", low, high)
	}
	r := &Range{Key: key, Scale: Linear, Ordered: true, kind: kindLow}
	fractions := strings.Contains(low, "/") || strings.Contains(high, "/")
	whole := r.kind != plain || from.IsInt() && to.IsInt() && needsWhole(key, from, accepts)
	switch decade := new(big.Rat).Mul(from, big.NewRat(10, 1)); {
	case fractions && powerOf2(from) && powerOf2(to):
		r.Scale = Log
		for v := from; v.Cmp(to) <= 0; v = new(big.Rat).Mul(v, big.NewRat(2, 1)) {
			r.numbers = append(r.numbers, v)
		}
	case from.Sign() > 0 && to.Cmp(decade) > 0:
		r.Scale = Log
		r.numbers = preferred(from, to)
	default:
		r.numbers = equalSteps(from, to)
	}
	if whole {
		for i, v := range r.numbers {
			twice := new(big.Int).Add(new(big.Int).Mul(v.Num(), big.NewInt(2)), v.Denom()) // rounds to the nearest
			r.numbers[i] = new(big.Rat).SetInt(new(big.Int).Div(twice, new(big.Int).Mul(v.Denom(), big.NewInt(2))))
		}
		r.numbers = slices.CompactFunc(r.numbers, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
	}
	if len(r.numbers) > maxLevels {
		return nil, fmt.Errorf("range has %d values (expected at most %d); fix: bring the ends closer together", len(r.numbers), maxLevels)
	}
	for _, v := range r.numbers {
		text := r.kind.format(v)
		if fractions && r.kind == plain {
			text = v.RatString()
		}
		r.Values = append(r.Values, text)
	}
	return r, nil
}

// needsWhole reports whether a key takes a whole number, but not the half above it.
func needsWhole(key string, v *big.Rat, accepts func(key, value string) error) bool {
	half := new(big.Rat).Add(v, big.NewRat(1, 2))
	return accepts(key, plain.format(v)) == nil && accepts(key, plain.format(half)) != nil
}

func powerOf2(v *big.Rat) bool {
	one := func(n *big.Int) bool { return n.Sign() > 0 && n.TrailingZeroBits() == uint(n.BitLen()-1) }
	return one(v.Num()) && one(v.Denom())
}

// series is the E24 series of preferred numbers: steps of about 10 %.
var series = []int64{10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91}

// preferred returns the ends and the preferred numbers between them.
func preferred(from, to *big.Rat) []*big.Rat {
	list := []*big.Rat{from}
	unit := big.NewRat(1, 10) // of the decade
	ten := big.NewRat(10, 1)
	for unit.Cmp(from) > 0 {
		unit = new(big.Rat).Quo(unit, ten)
	}
	for ; unit.Cmp(to) < 0; unit = new(big.Rat).Mul(unit, ten) {
		for _, n := range series {
			if v := new(big.Rat).Mul(unit, big.NewRat(n, 10)); v.Cmp(from) > 0 && v.Cmp(to) < 0 {
				list = append(list, v)
			}
		}
	}
	return append(list, to)
}

// steps is the smallest number of steps of a linear range.
const steps = 40

// equalSteps returns the ends and the multiples of a round step between them.
func equalSteps(from, to *big.Rat) []*big.Rat {
	width := new(big.Rat).Sub(to, from)
	widest := new(big.Rat).Quo(width, big.NewRat(steps, 1))
	step := big.NewRat(1, 1)
	for step.Cmp(widest) > 0 {
		step.Quo(step, big.NewRat(10, 1))
	}
	for {
		next := new(big.Rat).Mul(step, big.NewRat(10, 1))
		if next.Cmp(widest) > 0 {
			break
		}
		step = next
	}
	for _, n := range []int64{5, 2} {
		if next := new(big.Rat).Mul(step, big.NewRat(n, 1)); next.Cmp(widest) <= 0 {
			step = next
			break
		}
	}
	list := []*big.Rat{from}
	quotient := new(big.Rat).Quo(from, step)
	n := new(big.Int).Div(quotient.Num(), quotient.Denom()) // rounds down
	for v := from; ; {
		n.Add(n, big.NewInt(1))
		if v = new(big.Rat).Mul(step, new(big.Rat).SetInt(n)); v.Cmp(to) >= 0 {
			return append(list, to)
		}
		list = append(list, v)
	}
}

// insert makes today's value a level, if it lies in the range, and returns its index, or -1.
func (r *Range) insert(text string) int {
	if !r.Ordered {
		return slices.Index(r.Values, text)
	}
	n, k, ok := quantity(text)
	last := len(r.numbers) - 1
	if !ok || k != r.kind && n.Sign() != 0 || n.Cmp(r.numbers[0]) < 0 || n.Cmp(r.numbers[last]) > 0 {
		return -1
	}
	at, found := slices.BinarySearchFunc(r.numbers, n, (*big.Rat).Cmp)
	if !found {
		r.numbers, r.Values = slices.Insert(r.numbers, at, n), slices.Insert(r.Values, at, text)
	}
	return at
}

// Float returns a value as a number for figures, in base units.
func (r *Range) Float(level int) float64 {
	if !r.Ordered {
		return float64(level)
	}
	v, _ := r.numbers[level].Float64()
	return v
}

// Text describes the range.
func (r *Range) Text() string {
	if r.Scale == List {
		return strings.Join(r.Values, ", ")
	}
	return fmt.Sprintf("%s to %s, %s", r.Values[0], r.Values[len(r.Values)-1], cmp.Or(string(r.Scale), "list"))
}
