package reproduce

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/headroom"
)

// function computes what a figure shows without a run. One more is an entry of functions.
type function struct {
	name     string
	measures []string // numbers that metrics may name
	values   []string // numbers that compute.values may have
	// at computes the numbers at a place: case, scheme and x are its arguments.
	at func(c *Compute, at Place) (map[string]float64, error)
}

var functions = []function{
	{
		// Of the chip that x names: the buffer over the capacity, the headroom that eq. 1
		// and 3 of DSH reserve, and its share of the buffer.
		name: "chips", measures: []string{"buffer_time_ps", "headroom_bytes", "headroom_share"}, at: chips,
	},
	{
		// What lossless and lossy queues hold in SONiC's pools, and their thresholds.
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

// function is that of the experiment; nil: it is simulated, or there is none of that name.
func (e *Experiment) function() *function {
	for i := range functions {
		if functions[i].name == e.Compute.Function {
			return &functions[i]
		}
	}
	return nil
}

func chips(c *Compute, at Place) (map[string]float64, error) {
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

// computed are the points of an experiment that is a function of its places.
func (e *Experiment) computed(scale string) ([]PointResult, error) {
	f := e.function()
	var list []PointResult
	for _, at := range e.places(scale) {
		numbers, err := f.at(&e.Compute, at)
		if err != nil {
			return nil, fmt.Errorf("%w (%s)", err, at)
		}
		values := make(map[string]float64)
		for i := range e.Metrics {
			m := &e.Metrics[i]
			values[m.Name] = float64(numbers[m.Summary] * m.factor())
		}
		list = append(list, PointResult{Place: at, Values: values})
	}
	return list, nil
}

// compute checks an experiment that is a function.
func (c *checker) compute() {
	c.known("compute.function", "function", c.e.Compute.Function, functionNames())
	f := c.e.function()
	if f == nil {
		return
	}
	if len(f.values) == 0 && len(c.e.Compute.Values) > 0 {
		c.fail("compute.values", "%s has none; allowed: without", f.name)
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
