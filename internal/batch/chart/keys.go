package chart

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/render/plot"
)

// Keys returns the keys in which the runs differ, and those that every figure has.
func (d *Data) Keys() []string {
	list := slices.Clone(d.varied)
	for _, k := range []string{keyRun, keySeed} {
		if !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	if len(d.workloads) > 0 {
		list = append(list, keyWorkload)
	}
	if len(d.sizes) > 0 {
		list = append(list, keySize)
	}
	return list
}

// key returns the full name of a key: as listed, its unique end such as alpha, or any key of
// the scenarios.
func (d *Data) key(name string) (string, error) {
	known := d.Keys()
	if slices.Contains(known, name) {
		return name, nil
	}
	short := sweep.ShortKeys(known)
	if i := slices.Index(short, name); i >= 0 {
		return known[i], nil
	}
	for _, r := range d.records {
		if r.variant != nil {
			if _, ok := r.variant.Key(name); ok {
				return name, nil
			}
		}
	}
	return "", registry.Unknown("key", name, short)
}

// shortKey returns the short name of a key.
func (d *Data) shortKey(key string) string {
	known := d.Keys()
	if i := slices.Index(known, key); i >= 0 {
		return sweep.ShortKeys(known)[i]
	}
	return sweep.ShortKeys([]string{key})[0]
}

// seriesName names a series by its values: a word by itself, a number with its key.
func (d *Data) seriesName(keys, values []string) string {
	var list []string
	for i, v := range values {
		v = sweep.ShortValue(v)
		if _, _, isNumber := quantity(v); isNumber {
			v = d.shortKey(keys[i]) + "=" + v
		}
		if v != "" {
			list = append(list, v)
		}
	}
	return strings.Join(list, ", ")
}

// quantity parses a value of a key as a number: 0.5, 1/2, 10us, 1MiB or 100Gbps.
func quantity(text string) (float64, plot.Unit, bool) {
	if r, ok := new(big.Rat).SetString(text); ok {
		v, _ := r.Float64()
		return v, plot.Plain, true
	}
	if t, err := units.ParseTime(text); err == nil {
		return float64(t) / 1e12, plot.Seconds, true
	}
	if b, err := units.ParseBytes(text); err == nil {
		return float64(b), plot.Bytes, true
	}
	if r, err := units.ParseRate(text); err == nil {
		return float64(r), plot.BitRate, true
	}
	return 0, plot.Plain, false
}

// quantities parses values that have one unit. It returns false if some is no number.
func quantities(values []string) (list []float64, unit plot.Unit, ok bool) {
	for i, v := range values {
		x, u, isNumber := quantity(v)
		if !isNumber || i > 0 && u != unit && x != 0 {
			return nil, plot.Plain, false
		}
		if i == 0 {
			unit = u
		}
		list = append(list, x)
	}
	return list, unit, len(values) > 0
}

// ordered sorts values as numbers; others keep their order.
func ordered(values []string) []string {
	if _, _, ok := quantities(values); !ok {
		return values
	}
	return slices.SortedStableFunc(slices.Values(values), func(a, b string) int {
		x, _, _ := quantity(a)
		y, _, _ := quantity(b)
		return cmp.Compare(x, y)
	})
}

// levels returns the distinct values of a key, in order of the runs.
func (d *Data) levels(key string) []string {
	var list []string
	for _, r := range d.records {
		if v := r.value(key); !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// Where keeps the runs with a value of a key, given as KEY=VALUE.
func (d *Data) Where(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("invalid condition %q (expected KEY=VALUE)", text)
	}
	key, err := d.key(name)
	if err != nil {
		return err
	}
	if key == keyWorkload || key == keySize {
		return fmt.Errorf("%s is no key of a run (expected --workload NAME, or --by size)", key)
	}
	var kept []*record
	for _, r := range d.records {
		if v := r.value(key); v == value || sweep.ShortValue(v) == value {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		return registry.Unknown("value of "+key, value, d.levels(key))
	}
	d.records = kept
	return nil
}
