package sweep

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Axis is a key of the scenario and its values, written as after `--set KEY=`.
type Axis struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Bounds that keep a typing error from exhausting the memory.
const (
	maxValues = 10_000
	maxPoints = 20_000
)

// ParseAxis parses `key=a,b,c`. A value may be a YAML flow mapping or list, which may
// contain commas, or a range such as 0.1..0.9/0.2 (the default step is 1).
func ParseAxis(text string) (Axis, error) {
	key, list, ok := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" || strings.TrimSpace(list) == "" {
		return Axis{}, fmt.Errorf("%q has no key or no values (expected KEY=VALUE,VALUE,..., such as switch.policy.alpha=1/8,1/4)", text)
	}
	if key == "seed" {
		return Axis{}, errors.New("seed cannot be an axis; fix: use --seeds")
	}
	axis := Axis{Key: key}
	parts, err := splitValues(list)
	if err != nil {
		return Axis{}, fmt.Errorf("%q: %w", text, err)
	}
	for _, part := range parts {
		values, err := expand(part)
		if err != nil {
			return Axis{}, fmt.Errorf("%q: %w", text, err)
		}
		for _, v := range values {
			if slices.Contains(axis.Values, v) {
				return Axis{}, fmt.Errorf("%q has the value %s twice (expected each value once)", text, v)
			}
			axis.Values = append(axis.Values, v)
		}
	}
	return axis, nil
}

// splitValues splits at commas outside brackets and quotes.
func splitValues(list string) ([]string, error) {
	var parts []string
	var open []rune // closing brackets that are still missing
	quote := rune(0)
	from := 0
	closing := map[rune]rune{'{': '}', '[': ']'}
	for i, r := range list {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case closing[r] != 0:
			open = append(open, closing[r])
		case r == '}' || r == ']':
			if len(open) == 0 || open[len(open)-1] != r {
				return nil, fmt.Errorf("%q has no matching opening bracket", string(r))
			}
			open = open[:len(open)-1]
		case r == ',' && len(open) == 0:
			parts = append(parts, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("closing quote %q is missing", string(quote))
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("closing bracket %q is missing", string(open[len(open)-1]))
	}
	parts = append(parts, strings.TrimSpace(list[from:]))
	if slices.Contains(parts, "") {
		return nil, errors.New("a value is empty (expected values between commas)")
	}
	return parts, nil
}

const number = `(-?\d+(?:\.\d+)?)([A-Za-z%]*)`

var rangeForm = regexp.MustCompile(`^` + number + `\.\.` + number + `(?:/` + number + `)?$`)

// expand returns the values of a range, or the text itself if it is not a range. Decimals
// are exact: 0.1..0.3/0.1 ends with 0.3.
func expand(text string) ([]string, error) {
	m := rangeForm.FindStringSubmatch(text)
	if m == nil {
		return []string{text}, nil
	}
	unit := m[2]
	step, stepUnit := m[5], m[6]
	if step == "" {
		step, stepUnit = "1", unit
	}
	if m[4] != unit || stepUnit != unit {
		return nil, fmt.Errorf("range %s mixes units (expected one unit, such as 10us..50us/10us)", text)
	}
	from, to, by := new(big.Rat), new(big.Rat), new(big.Rat)
	digits := 0
	for i, s := range [3]string{m[1], m[3], step} {
		[3]*big.Rat{from, to, by}[i].SetString(s) // cannot fail: the pattern allows only decimals
		if _, fraction, ok := strings.Cut(s, "."); ok {
			digits = max(digits, len(fraction))
		}
	}
	if by.Sign() <= 0 || from.Cmp(to) > 0 {
		return nil, fmt.Errorf("range %s is empty (expected FROM..TO/STEP with FROM <= TO and STEP > 0)", text)
	}
	var values []string
	for v := new(big.Rat).Set(from); v.Cmp(to) <= 0; v.Add(v, by) {
		if len(values) == maxValues {
			return nil, fmt.Errorf("range %s has more than %d values; fix: use a larger step", text, maxValues)
		}
		values = append(values, trimZeros(v.FloatString(digits))+unit)
	}
	return values, nil
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// ParseSeeds parses a number of seeds, counted from first, or a list such as 1,2,5 or 1..5.
func ParseSeeds(text string, first uint64) ([]uint64, error) {
	wrong := func() error {
		return fmt.Errorf("bad seeds: %q (expected a number of seeds (5), a list (1,2,5) or a range (3..7))", text)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		if n < 1 || n > maxValues || first+(n-1) < first {
			return nil, fmt.Errorf("number of seeds from %d on is %d (expected 1 to %d, without overflow)", first, n, maxValues)
		}
		seeds := make([]uint64, n)
		for i := range seeds {
			seeds[i] = first + uint64(i)
		}
		return seeds, nil
	}
	parts, err := splitValues(text)
	if err != nil {
		return nil, wrong()
	}
	var seeds []uint64
	for _, part := range parts {
		values, err := expand(part)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			seed, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return nil, wrong()
			}
			if slices.Contains(seeds, seed) {
				return nil, fmt.Errorf("%q has seed %d twice (expected each seed once)", text, seed)
			}
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}
