// Package sweep runs a scenario over a grid of values and seeds, stores finished points, and
// turns the results into tables and comparisons. It backs xoff sweep, compare and
// reproduce. The caller supplies the function that simulates a point.
package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
)

// Grid describes the points of a sweep: a base scenario, values of some of its keys, and
// seeds.
type Grid struct {
	Name  string   // file name for messages
	Data  []byte   // text of the base scenario
	Set   []string // settings of every point, as `path=value`
	Axes  []Axis
	Seeds []uint64 // empty: the seed of the scenario
}

// ReadGrid returns a grid with the scenario in a file and no axes; - is standard input.
func ReadGrid(path string) (*Grid, error) {
	name, data, err := scenario.ReadText(path)
	if err != nil {
		return nil, err
	}
	return &Grid{Name: name, Data: data}, nil
}

// Base returns the scenario without the values of axes.
func (g *Grid) Base() (*scenario.Config, error) {
	return scenario.Parse(g.Name, g.Data, g.Set...)
}

// hash returns the hash of the base scenario.
func (g *Grid) hash() (string, error) {
	base, err := g.Base()
	if err != nil {
		return "", err
	}
	text, err := base.Canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Point is one run of a sweep.
type Point struct {
	Index  int
	Values []string // one per axis
	Seed   uint64
	Config *scenario.Config
	Label  string // key=value, ..., for messages
	// Cost is the approximate run time in any unit; 0 counts as 1. It is used to estimate
	// the remaining time and to divide points among tasks.
	Cost float64

	Folder string // name below the folder of points
	Key    Key
	// Blame adds the input that caused a build error to the error. It may be nil.
	Blame  func(error) error
	plan   *fabric.Plan // kept until the point runs; nil for most points of a large sweep
	expect []fabric.Expectation
	frames float64 // see frames
}

// Size returns the number of points. Above maxPoints it is only a lower bound.
func (g *Grid) Size() int {
	n := max(1, len(g.Seeds))
	for _, a := range g.Axes {
		n *= len(a.Values)
		if n > maxPoints {
			break
		}
	}
	return n
}

// Points parses the scenario of every point. The seed changes fastest, then the last axis.
func (g *Grid) Points() ([]*Point, error) {
	for i, a := range g.Axes {
		for _, b := range g.Axes[:i] {
			if a.Key == b.Key {
				return nil, fmt.Errorf("%s is varied twice (expected one list of values per key)", a.Key)
			}
		}
	}
	if n := g.Size(); n > maxPoints {
		return nil, fmt.Errorf("the grid has too many points (expected at most %d)", maxPoints)
	}
	var points []*Point
	values := make([]string, len(g.Axes))
	var walk func(axis int) error
	walk = func(axis int) error {
		if axis < len(g.Axes) {
			for _, v := range g.Axes[axis].Values {
				values[axis] = v
				if err := walk(axis + 1); err != nil {
					return err
				}
			}
			return nil
		}
		seeds := g.Seeds
		if len(seeds) == 0 {
			seeds = []uint64{0} // ignored: the scenario's seed is used
		}
		for _, seed := range seeds {
			p, err := g.Point(values, seed)
			if err != nil {
				return err
			}
			p.Index = len(points)
			points = append(points, p)
		}
		return nil
	}
	if err := walk(0); err != nil {
		return nil, err
	}
	return points, nil
}

// Point parses the scenario of a point: one value per axis, and a seed, which is ignored if the
// grid has no seeds.
func (g *Grid) Point(values []string, seed uint64) (*Point, error) {
	set := append([]string(nil), g.Set...)
	for i, v := range values {
		set = append(set, g.Axes[i].Key+"="+v)
	}
	cfg, err := scenario.Parse(g.Name, g.Data, set...)
	if err != nil {
		return nil, g.blame(err, values)
	}
	if len(g.Seeds) > 0 {
		cfg.Seed = seed
	}
	p := &Point{Values: append([]string(nil), values...), Seed: cfg.Seed, Config: cfg}
	p.Blame = func(err error) error { return g.blame(err, p.Values) }
	p.Label = strings.Join(append(g.pairs(values), fmt.Sprintf("seed=%d", cfg.Seed)), ", ")
	return p, nil
}

// pairs returns key=value of each axis.
func (g *Grid) pairs(values []string) []string {
	var list []string
	for i, v := range values {
		list = append(list, g.Axes[i].Key+"="+v)
	}
	return list
}

// blame attributes an input error to a --vary flag, which the parser sees as a --set. If no
// single value caused it, blame adds the values of the point.
func (g *Grid) blame(err error, values []string) error {
	var in *scenario.InputError
	if !errors.As(err, &in) {
		return err
	}
	for _, pair := range g.pairs(values) {
		if in.File == "--set "+pair {
			in.File = "--vary " + pair
			return err
		}
	}
	if len(values) > 0 && !strings.HasPrefix(in.File, "--set ") {
		return fmt.Errorf("%w (at %s)", err, strings.Join(g.pairs(values), ", "))
	}
	return err
}
