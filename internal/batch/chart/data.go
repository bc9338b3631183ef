// Package chart draws figures of any metric over any key, for xoff plot: from runs, sweeps,
// comparisons and stored results of xoff reproduce.
package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/reproduce"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/metrics"
)

// Data are the runs of a figure.
type Data struct {
	records []*record
	varied  []string // keys whose values differ, in order
	names   []string // metrics in order
	known   map[string]bool
	// workloads and sizes are the parts of flows that summaries have.
	workloads, sizes []string
	experiment       *reproduce.Experiment // of stored results; nil: of none, or of several
}

// record is a run.
type record struct {
	source  string // results folder, or file and index of a stored point
	keys    map[string]string
	variant *sweep.Variant
	seed    uint64
	values  map[string]float64
	stored  *reproduce.PointResult // nil: the run has a results folder
}

// Keys of every run, besides the keys of its scenario.
const (
	keyRun      = "run"
	keySeed     = "seed"
	keyWorkload = "workload"
	keySize     = "size"
)

// Read reads results folders of runs, sweeps and comparisons, and files of stored results.
func Read(paths []string) (*Data, error) {
	d := &Data{known: make(map[string]bool)}
	short := shortPaths(paths)
	for i, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s does not exist (expected a results folder of `xoff run` or `xoff sweep`, or a file of `xoff reproduce --save`)", path)
		case info.IsDir():
			err = d.folder(path, short[i])
		default:
			err = d.file(path, short[i])
		}
		if err != nil {
			return nil, err
		}
	}
	if len(paths) > 1 {
		d.vary(keyRun)
	}
	return d, nil
}

// shortPaths returns the last parts of paths, with a number if they are equal.
func shortPaths(paths []string) []string {
	var list []string
	for _, p := range paths {
		base := strings.TrimSuffix(filepath.Base(filepath.Clean(p)), ".json")
		name := base
		for n := 2; slices.Contains(list, name); n++ {
			name = fmt.Sprintf("%s (%d)", base, n)
		}
		list = append(list, name)
	}
	return list
}

func (d *Data) vary(key string) {
	if !slices.Contains(d.varied, key) {
		d.varied = append(d.varied, key)
	}
}

// folder reads a results folder.
func (d *Data) folder(path, short string) error {
	variants, err := sweep.ReadVariants([]string{path})
	if err != nil {
		return err
	}
	for _, v := range variants {
		for _, k := range v.Keys {
			d.vary(k)
		}
		for _, folder := range v.Runs {
			s, err := metrics.ReadSummary(folder)
			if err != nil {
				return err
			}
			r := &record{source: folder, variant: v, seed: s.Seed, values: make(map[string]float64), keys: map[string]string{keyRun: short}}
			for i, k := range v.Keys {
				r.keys[k] = v.Values[i]
			}
			for _, m := range metrics.Measures(s) {
				d.name(m.Name)
				if m.Known {
					r.values[m.Name] = m.Value
				}
			}
			d.workloads = parts(d.workloads, s.Workloads)
			d.sizes = parts(d.sizes, s.Sizes)
			d.add(r)
		}
	}
	return nil
}

// parts appends the names of parts that a list lacks.
func parts(names []string, list []metrics.Part) []string {
	for i := range list {
		if !slices.Contains(names, list[i].Name) {
			names = append(names, list[i].Name)
		}
	}
	return names
}

// name adds a metric after the one before it.
func (d *Data) name(metric string) {
	if !d.known[metric] {
		d.known[metric] = true
		d.names = append(d.names, metric)
	}
}

func (d *Data) add(r *record) {
	r.keys[keySeed] = strconv.FormatUint(r.seed, 10)
	d.records = append(d.records, r)
}

// file reads stored results.
func (d *Data) file(path, short string) error {
	r, e, err := reproduce.LoadFile(path)
	if err != nil {
		return err
	}
	if d.experiment = e; len(d.records) > 0 {
		d.experiment = nil
	}
	seen := make(map[string]map[string]bool)
	for i := range r.Points {
		p := &r.Points[i]
		rec := &record{source: fmt.Sprintf("%s#%d", path, i), seed: p.Seed, stored: p, values: make(map[string]float64), keys: map[string]string{keyRun: short}}
		for k, v := range map[string]string{"case": p.Case, "scheme": p.Scheme, "x": p.X} {
			rec.keys[k] = v
			if seen[k] == nil {
				seen[k] = make(map[string]bool)
			}
			seen[k][v] = true
		}
		for name, v := range p.Values {
			rec.values[name] = v
		}
		for name, dist := range p.Distributions {
			for stat, v := range dist.Statistics {
				rec.values[name+"."+stat] = v
			}
		}
		d.add(rec)
	}
	for _, k := range []string{"x", "scheme", "case"} {
		if len(seen[k]) > 1 {
			d.vary(k)
		}
	}
	var names []string
	for _, rec := range d.records {
		for name := range rec.values {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		d.name(n)
	}
	return nil
}

// value returns a key of a run.
func (r *record) value(key string) string {
	if v, ok := r.keys[key]; ok || r.variant == nil {
		return v
	}
	v, _ := r.variant.Key(key)
	return v
}
