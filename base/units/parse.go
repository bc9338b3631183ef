package units

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// unit is a suffix and its size in base units.
type unit struct {
	name string
	size int64
}

// PerMetre is the propagation delay of one metre of fibre: two thirds of the speed of
// light in vacuum. 300 m give the 1.5 us of DSH section II.
const PerMetre = 5 * Nanosecond

// Unit suffixes, largest first: format prefers them in this order.
var (
	timeUnits = []unit{{"s", int64(Second)}, {"ms", int64(Millisecond)}, {"us", int64(Microsecond)}, {"ns", int64(Nanosecond)}, {"ps", 1}}
	byteUnits = []unit{{"GiB", int64(GiB)}, {"GB", int64(GB)}, {"MiB", int64(MiB)}, {"MB", int64(MB)}, {"KiB", int64(KiB)},
		{"KB", int64(KB)}, {"B", 1}}
	rateUnits = []unit{{"Tbps", int64(Tbps)}, {"Gbps", int64(Gbps)}, {"Mbps", int64(Mbps)}, {"Kbps", int64(Kbps)}, {"bps", 1}}
)

// quantity is a kind of value that is written as a number and a unit.
type quantity struct {
	name, example string
	units         []unit // the last is the base unit
}

var (
	times  = quantity{"time", "10us", timeUnits}
	sizes  = quantity{"size", "10MB", byteUnits}
	rates  = quantity{"rate", "10Mbps", rateUnits}
	delays = quantity{"delay", "10us or 3m", append([]unit{{"km", 1000 * int64(PerMetre)}, {"m", int64(PerMetre)}}, timeUnits...)}
)

// Regular expressions that match quantities, for the JSON schema.
var (
	TimePattern  = times.pattern()
	BytesPattern = sizes.pattern()
	RatePattern  = rates.pattern()
	DelayPattern = delays.pattern()
)

func (q *quantity) pattern() string {
	var names []string
	for _, u := range q.units {
		if u.name == "us" {
			names = append(names, "[uµμ]s")
			continue
		}
		names = append(names, u.name)
	}
	return `[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)? *(` + strings.Join(names, "|") + `)`
}

// ParseTime parses a time such as "2us" or "1.5ms". A micro sign may replace the u.
func ParseTime(s string) (Time, error) {
	v, err := times.parse(s)
	return Time(v), err
}

// ParseDelay parses a cable delay: a time, or a cable length in m or km.
func ParseDelay(s string) (Time, error) {
	v, err := delays.parse(s)
	return Time(v), err
}

// ParseBytes parses a size such as "64KB" (1000) or "16MiB" (1024).
func ParseBytes(s string) (Bytes, error) {
	v, err := sizes.parse(s)
	return Bytes(v), err
}

// ParseRate parses a rate such as "100Gbps".
func ParseRate(s string) (Rate, error) {
	v, err := rates.parse(s)
	return Rate(v), err
}

func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return format(int64(t), timeUnits)
}

func (b Bytes) String() string { return format(int64(b), byteUnits) }

func (r Rate) String() string { return format(int64(r), rateUnits) }

// maxDigits limits the length of a number, so that a hostile exponent cannot expand to
// gigabytes of digits.
const maxDigits = 40

// micro replaces both Unicode micro signs (U+00B5 and U+03BC) by u.
var micro = strings.NewReplacer("µ", "u", "μ", "u")

func (q *quantity) parse(s string) (int64, error) {
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ/")
	suffix := micro.Replace(s[len(num):])
	num = strings.TrimSpace(num)
	if num == "" {
		return 0, fmt.Errorf("%q is not a %s (expected a number and a unit, such as %s)", s, q.name, q.example)
	}
	var size int64
	for _, u := range q.units {
		if u.name == suffix {
			size = u.size
		}
	}
	if size == 0 {
		return 0, q.noUnit(s, num, suffix)
	}
	v, err := q.number(s, num)
	if err != nil {
		return 0, err
	}
	v.Mul(v, new(big.Rat).SetInt64(size))
	if !v.IsInt() {
		return 0, q.tooFine(s)
	}
	if !v.Num().IsInt64() {
		return 0, q.tooLarge(s)
	}
	return v.Num().Int64(), nil
}

// number parses the numeric part num of the quantity s.
func (q *quantity) number(s, num string) (*big.Rat, error) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(num), "e")
	whole, part, _ := strings.Cut(strings.TrimLeft(mantissa, "+-"), ".")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if digits(whole) && digits(part) && whole+part != "" && (!scaled || exponent != "" && digits(strings.TrimLeft(exponent, "+-"))) {
		switch {
		case len(strings.TrimLeft(whole, "0")) > maxDigits:
			return nil, q.tooLarge(s)
		case len(num) > maxDigits:
			return nil, fmt.Errorf("%.60q has %d characters before the unit (expected at most %d)", s, len(num), maxDigits)
		}
		if v, ok := new(big.Rat).SetString(num); ok {
			return v, nil
		}
		switch { // an exponent that math/big rejects
		case strings.HasPrefix(exponent, "-"):
			return nil, q.tooFine(s)
		case scaled:
			return nil, q.tooLarge(s)
		}
	}
	return nil, fmt.Errorf("%.60q is not a number (expected one such as 1.5)", num)
}

func (q *quantity) base() string { return q.units[len(q.units)-1].name }

func (q *quantity) tooLarge(s string) error {
	return fmt.Errorf("%.60q is too large (expected less than 2^63%s)", s, q.base())
}

func (q *quantity) tooFine(s string) error {
	return fmt.Errorf("%.60q is finer than one %s (expected whole multiples of it)", s, q.base())
}

// noUnit returns the error for an unknown unit, with a suggestion if one is clear.
func (q *quantity) noUnit(s, num, suffix string) error {
	if suffix == "" {
		return fmt.Errorf("%q has no unit (allowed: %s)", s, names(q.units))
	}
	hint := ""
	switch meant := q.meant(suffix); {
	case meant != "":
		hint = fmt.Sprintf("; did you mean %s%s?", num, meant)
	case q.name == times.name && suffix == "m":
		hint = ": it is neither minutes nor milliseconds"
	}
	return fmt.Errorf("%q is not a unit of %s%s (allowed: %s)", suffix, q.name, hint, names(q.units))
}

// meant returns the unit that a common spelling stands for: Gbps for G and Gb/s, KB for k.
// It returns "" if the spelling is ambiguous: GBps counts bytes and Mb counts bits; m may
// mean minutes, milli or mega.
func (q *quantity) meant(suffix string) string {
	lower := strings.ToLower(suffix)
	switch {
	case suffix == "m", q.name == times.name && lower == "m":
		return ""
	case q.name == rates.name && strings.Contains(suffix, "B"):
		return ""
	case q.name == sizes.name && strings.HasSuffix(suffix, "b") && suffix != lower:
		return ""
	}
	word := strings.NewReplacer("bit", "b", "/s", "ps", "sec", "s").Replace(lower)
	best := ""
	for _, u := range q.units {
		switch name := strings.ToLower(u.name); {
		case name == word:
			return u.name
		case strings.HasPrefix(name, word):
			best = u.name // the last match: KB rather than KiB
		}
	}
	return best
}

// format prints v so that it parses back to the same value. It uses the largest unit that
// leaves at most three decimals, or all decimals where that would leave thousands before
// the point.
func format(v int64, table []unit) string {
	if v == 0 {
		return "0" + table[len(table)-1].name
	}
	for _, u := range table {
		if v%u.size == 0 {
			return strconv.FormatInt(v/u.size, 10) + u.name
		}
		if u.size%1000 == 0 && v%(u.size/1000) == 0 && larger(v, u) {
			if larger(v/1000, u) {
				break
			}
			return decimals(v, u)
		}
	}
	for _, u := range table {
		if u.size%1000 == 0 && larger(v, u) {
			return decimals(v, u)
		}
	}
	return strconv.FormatInt(v, 10) + table[len(table)-1].name
}

func larger(v int64, u unit) bool { return v >= u.size || v <= -u.size }

// decimals prints v as an exact multiple of a power-of-ten unit.
func decimals(v int64, u unit) string {
	text := append(strconv.AppendInt(nil, v/u.size, 10), '.')
	for part, size := max(v%u.size, -(v%u.size)), u.size/10; part > 0; part, size = part%size, size/10 {
		text = append(text, byte('0'+part/size))
	}
	return string(append(text, u.name...))
}

func names(table []unit) string {
	var n []string
	for i := len(table) - 1; i >= 0; i-- {
		n = append(n, table[i].name)
	}
	return strings.Join(n, ", ")
}
