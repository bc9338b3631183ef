// Package sweep runs a scenario over a grid of values and seeds, keeps what is
// finished, and turns the results into tables and comparisons. It does not know
// how a point is simulated: the caller hands in a Run function.
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

// Grid describes the points of a sweep: a base scenario, the values that keys of
// it take, and seeds.
type Grid struct {
	Name  string   // of the file, in messages
	Data  []byte   // the base scenario
	Set   []string // settings of every point, as `path=value`
	Axes  []Axis
	Seeds []uint64 // empty: that of the scenario
}

// ReadGrid starts a grid with a scenario file; - is standard input.
func ReadGrid(path string) (*Grid, error) {
	name, data, err := scenario.ReadText(path)
	if err != nil {
		return nil, err
	}
	return &Grid{Name: name, Data: data}, nil
}

// Base returns the scenario without any of the varied values.
func (g *Grid) Base() (*scenario.Config, error) {
	return scenario.Parse(g.Name, g.Data, g.Set...)
}

// hash identifies the scenario without any of the varied values.
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
	Values []string // of the axes, in their order
	Seed   uint64
	Config *scenario.Config
	Label  string  // key=value, ..., for messages
	Cost   float64 // about how long it takes, in any unit; 0 is 1. For the time that is left, and to deal points to tasks

	Folder string // name below the folder of points
	Key    Key
	// Blame, if there is one, makes an error of building the point name the input that caused it.
	Blame  func(error) error
	plan   *fabric.Plan // until the point runs; nil for most points of a large sweep
	expect []fabric.Expectation
	frames float64 // see frames
}

// Size is the number of points.
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

// Points reads the scenario of every point, the last axis changing fastest, then
// the seed.
func (g *Grid) Points() ([]*Point, error) {
	for i, a := range g.Axes {
		for _, b := range g.Axes[:i] {
			if a.Key == b.Key {
				return nil, fmt.Errorf("%s is varied twice; allowed: one list of values per key", a.Key)
			}
		}
	}
	if n := g.Size(); n > maxPoints {
		return nil, fmt.Errorf("the grid has more than %d points; allowed: fewer", maxPoints)
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
			seeds = []uint64{0} // stands for that of the scenario
		}
		for _, seed := range seeds {
			p, err := g.point(values, seed)
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

func (g *Grid) point(values []string, seed uint64) (*Point, error) {
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

// blame says which flag a mistake comes from: the parser knows settings only.
// When no single value is to blame, it names the point.
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
