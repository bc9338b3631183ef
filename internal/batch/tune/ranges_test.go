package tune

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

func any(string, string) error { return nil }

// wholeOnly accepts whole numbers, like a key with a count.
func wholeOnly(_, value string) error {
	if strings.Contains(value, ".") {
		return errors.New("no whole number")
	}
	return nil
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		text    string
		accepts func(string, string) error
		scale   Scale
		want    string // values
	}{
		{"a=1/64..1", any, Log, "1/64 1/32 1/16 1/8 1/4 1/2 1"},
		{"a=1/4..1/2", any, Log, "1/4 1/2"},
		{"a=0.25..8/1", any, Log, "1/4 1/2 1 2 4 8"},
		{"a=red,step", any, List, "red step"},
		{"a={name: dcqcn, g: 0.1},{name: none}", any, List, "{name: dcqcn, g: 0.1} {name: none}"},
		{"a=4us,10ns,1ms", any, List, "10ns 4us 1ms"},
		{"a=1..3,7", any, List, "1 2 3 7"},
		{"a=40KB..450KB", any, Log, "40KB 43KB 47KB 51KB 56KB 62KB 68KB 75KB 82KB 91KB 100KB 110KB 120KB 130KB 150KB 160KB 180KB 200KB 220KB 240KB 270KB 300KB 330KB 360KB 390KB 430KB 450KB"},
		{"a=1..25", wholeOnly, Log, "1 2 3 4 5 6 7 8 9 10 11 12 13 15 16 18 20 22 24 25"},
		{"a=3..10", wholeOnly, Linear, "3 4 5 6 7 8 9 10"},
		{"a=0..0.1", any, Linear, "0 0.002 0.004"},                 // 0.1 / 40 = 0.0025, so steps of 0.002
		{"a=10.5us..15us", any, Linear, "10.5us 10.6us 10.7us"},    // 4.5 us / 40 = 112 ns, so steps of 100 ns
		{"a=1MiB..4MiB", any, Linear, "1MiB 1.05MB 1.1MB 1.15MB"},  // 3 MiB / 40 = 79 KB, so steps of 50 KB
		{"a=25Gbps..100Gbps", any, Linear, "25Gbps 26Gbps 27Gbps"}, // 75 / 40 = 1.9 Gbps, so steps of 1 Gbps
	} {
		r, err := ParseRange(c.text, c.accepts)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := strings.Join(r.Values, " "); !strings.HasPrefix(got, c.want) || r.Scale != c.scale {
			t.Errorf("%s: %s, %s (expected %s, %s)", c.text, r.Scale, got, c.scale, c.want)
		}
	}
}

func TestRangeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a":                `"a" has no key or no values`,
		"=1..2":            "no key",
		"a=":               "no values",
		"a=5":              "has one value",
		"a=5..5":           "range is empty: 5 is not below 5",
		"a=400KB..20KB":    "range is empty",
		"a=20KB..400us":    "20KB is a size, but 400us is a time",
		"a=slow..fast":     `"slow" is not a quantity`,
		"a=1..fast":        `"fast" is not a quantity`,
		"a=..2":            `"" is not a quantity`,
		"a=1,1":            "the value 1 twice",
		"a={x,y":           "is missing",
		"seed=1..5":        "fix: use --seeds",
		"a=1e999999999..1": "not a quantity",
		"a=1,2,3..20000":   "more than 10000 values",
		"a=1,2,3..2000":    "has 2000 values",
		"a=1e-60..1e60":    "range has 2881 values",
	} {
		_, err := ParseRange(text, any)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (expected %s)", text, err, want)
		}
	}
	if _, err := ParseRange("a=x,y", func(_, v string) error { return fmt.Errorf("no %s", v) }); err == nil || err.Error() != "no x" {
		t.Errorf("a value that the key rejects: %v", err)
	}
}

// Today's value becomes a level at its place.
func TestInsert(t *testing.T) {
	for _, c := range []struct {
		text, today string
		want        int
		values      int
	}{
		{"a=1/64..1", "0.125", 3, 7},
		{"a=1/64..1", "0.75", 6, 8},
		{"a=1/64..1", "2", -1, 7},
		{"a=1/64..1", "1us", -1, 7},
		{"a=red,step", "step", 1, 2},
		{"a=red,step", "none", -1, 2},
	} {
		r, err := ParseRange(c.text, any)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.insert(c.today); got != c.want || len(r.Values) != c.values || r.Ordered && len(r.numbers) != c.values {
			t.Errorf("%s with %s: level %d of %v (expected %d of %d)", c.text, c.today, got, r.Values, c.want, c.values)
		}
	}
}

// Any text is a range with ascending values between its ends, or an error.
func FuzzRange(f *testing.F) {
	for _, s := range []string{"a=1/64..1", "a=20KB..400KB", "a=0..1", "a=1us..1s", "a=x,y", "a=-5..5", "a=1e-9..1e9", "a=1/3..2/3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRange(text, any)
		if err != nil {
			return
		}
		if len(r.Values) < 2 || len(r.Values) > maxLevels {
			t.Fatalf("%q has %d values", text, len(r.Values))
		}
		for i, v := range r.Values {
			if !r.Ordered {
				continue
			}
			n, _, ok := quantity(v)
			if !ok || n.Cmp(r.numbers[i]) != 0 || i > 0 && r.numbers[i-1].Cmp(new(big.Rat).Set(n)) > 0 {
				t.Fatalf("%q: value %d is %q in %v", text, i, v, r.Values)
			}
		}
	})
}
