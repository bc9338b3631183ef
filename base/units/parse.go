package units

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// unit is a suffix and how many base units it stands for.
type unit struct {
	name string
	size int64
}

// Suffixes, largest first, which is the order of preference when printing.
var (
	timeUnits = []unit{{"s", int64(Second)}, {"ms", int64(Millisecond)}, {"us", int64(Microsecond)}, {"ns", int64(Nanosecond)}, {"ps", 1}}
	byteUnits = []unit{{"GiB", int64(GiB)}, {"GB", int64(GB)}, {"MiB", int64(MiB)}, {"MB", int64(MB)}, {"KiB", int64(KiB)}, {"KB", int64(KB)}, {"B", 1}}
	rateUnits = []unit{{"Tbps", int64(Tbps)}, {"Gbps", int64(Gbps)}, {"Mbps", int64(Mbps)}, {"Kbps", int64(Kbps)}, {"bps", 1}}
)

// Regular expressions of quantities, for editors.
var (
	TimePattern  = pattern(timeUnits)
	BytesPattern = pattern(byteUnits)
	RatePattern  = pattern(rateUnits)
)

func pattern(table []unit) string {
	var names []string
	for _, u := range table {
		names = append(names, u.name)
	}
	return `[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)? *(` + strings.Join(names, "|") + `)`
}

// ParseTime reads a time such as "2us" or "1.5ms".
func ParseTime(s string) (Time, error) {
	v, err := parse(s, "time", timeUnits)
	return Time(v), err
}

// ParseBytes reads a size such as "64KB" (1000) or "16MiB" (1024).
func ParseBytes(s string) (Bytes, error) {
	v, err := parse(s, "size", byteUnits)
	return Bytes(v), err
}

// ParseRate reads a rate such as "100Gbps".
func ParseRate(s string) (Rate, error) {
	v, err := parse(s, "rate", rateUnits)
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

// maxDigits bounds what is read, so that a hostile exponent cannot make a
// number of gigabytes.
const maxDigits = 40

func parse(s, what string, table []unit) (int64, error) {
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	suffix := s[len(num):]
	num = strings.TrimSpace(num)
	if num == "" {
		return 0, fmt.Errorf("%q is not a %s; allowed: a number and a unit, such as %s", s, what, example(table))
	}
	var size int64
	for _, u := range table {
		if u.name == suffix {
			size = u.size
		}
	}
	if size == 0 {
		if suffix == "" {
			return 0, fmt.Errorf("%q has no unit; allowed: %s", s, names(table))
		}
		return 0, fmt.Errorf("%q is not a unit of %s; allowed: %s", suffix, what, names(table))
	}
	if len(num) > maxDigits || strings.Trim(num, "0123456789+-.eE") != "" {
		return 0, fmt.Errorf("%q is not a number; allowed: one such as 1.5", num)
	}
	v, ok := new(big.Rat).SetString(num)
	if !ok {
		return 0, fmt.Errorf("%q is not a number; allowed: one such as 1.5", num)
	}
	v.Mul(v, new(big.Rat).SetInt64(size))
	if !v.IsInt() {
		return 0, fmt.Errorf("%q is finer than one %s; allowed: whole multiples of it", s, table[len(table)-1].name)
	}
	if !v.Num().IsInt64() {
		return 0, fmt.Errorf("%q is too large; allowed: less than 2^63%s", s, table[len(table)-1].name)
	}
	return v.Num().Int64(), nil
}

// format prints v so that it reads back to the same value: in the largest unit
// that leaves at most three decimals, or with all of them where that would leave
// thousands before the point.
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

// decimals prints v as an exact multiple of a unit that is a power of ten.
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

func example(table []unit) string { return "10" + table[len(table)/2].name }
