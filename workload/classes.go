package workload

import (
	"math/rand/v2"
)

// Classes assigns classes to flows.
type Classes struct {
	IDs    []uint8
	Shares []float64 // probability of each, with sum 1; nil: equal
	Rand   *rand.Rand
}

// Next draws the class of a flow, or of a group of flows.
func (c *Classes) Next() uint8 {
	if len(c.IDs) == 1 {
		return c.IDs[0]
	}
	if c.Shares == nil {
		return c.IDs[c.Rand.IntN(len(c.IDs))]
	}
	x := c.Rand.Float64()
	for i, s := range c.Shares[:len(c.Shares)-1] {
		if x < s {
			return c.IDs[i]
		}
		x -= s
	}
	return c.IDs[len(c.IDs)-1]
}
