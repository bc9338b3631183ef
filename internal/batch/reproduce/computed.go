package reproduce

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/headroom"
)

// function computes the numbers of a figure without a simulation. To add one, add an entry
// to functions.
type function struct {
	name     string
	measures []string // results that metrics may use
	values   []string // keys of compute.values
	// at computes the results at a position; case, scheme and x are the arguments.
	at func(c *Compute, at Position) (map[string]float64, error)
}

var functions = []function{
	{
		// For the chip in x: buffer divided by capacity, headroom by eq. 1 and 3 of DSH, and
		// its share of the buffer.
		name: "chips", measures: []string{"buffer_time_ps", "headroom_bytes", "headroom_share"}, at: chips,
	},
	{
		// Occupancy of lossless and lossy queues in SONiC's pools, and their thresholds.
		name: "sonic_shares", measures: []string{"lossy_held", "lossless_held", "drop_threshold", "pfc_threshold"},
		values: []string{"ingress", "lossy", "alpha", "alpha_lossy", "lossless_queues", "lossy_queues"}, at: sonicShares,
	},
}

func functionNames() []string {
	var names []string
	for _, f := range functions {
		names = append(names, f.name)
	}
	return names
}

// function returns the function of the experiment, or nil if it is simulated or the name is
// unknown.
func (e *Experiment) function() *function {
	for i := range functions {
		if functions[i].name == e.Compute.Function {
			return &functions[i]
		}
	}
	return nil
}

func chips(c *Compute, at Position) (map[string]float64, error) {
	chip, err := headroom.ChipNamed(at.X)
	if err != nil {
		return nil, err
	}
	link := headroom.Link{Rate: chip.Rate, Delay: c.Delay, MTU: c.MTU}
	total := headroom.SIH(c.Classes, headroom.Ports{Count: chip.Ports, PHI: link.Eq1()})
	return map[string]float64{
		"buffer_time_ps": float64(chip.BufferTime() / units.Picosecond), "headroom_bytes": float64(total),
		"headroom_share": headroom.Share(chip, c.MTU, c.Delay, c.Classes),
	}, nil
}

// computed returns the points of an experiment that is not simulated.
func (e *Experiment) computed(scale string) ([]PointResult, error) {
	f := e.function()
	var list []PointResult
	for _, at := range e.positions(scale) {
		numbers, err := f.at(&e.Compute, at)
		if err != nil {
			return nil, fmt.Errorf("%w (%s)", err, at)
		}
		values := make(map[string]float64)
		for i := range e.Metrics {
			m := &e.Metrics[i]
			values[m.Name] = float64(numbers[m.Summary] * m.factor())
		}
		list = append(list, PointResult{Position: at, Values: values})
	}
	return list, nil
}

// compute checks an experiment that is not simulated.
func (c *checker) compute() {
	c.known("compute.function", "function", c.e.Compute.Function, functionNames())
	f := c.e.function()
	if f == nil {
		return
	}
	if len(f.values) == 0 && len(c.e.Compute.Values) > 0 {
		c.fail("compute.values", "%s takes no values; fix: remove compute.values", f.name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.e.Compute.Values)) {
		c.known("compute.values."+name, "value", name, f.values)
	}
	for _, scale := range []string{Quick, Full} {
		if _, err := c.e.computed(scale); err != nil {
			c.fail("scales."+scale+".x", "%w", err)
		}
	}
}
