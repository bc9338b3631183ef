package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/mark"
)

func init() {
	mark.Markers.Register(registry.Entry[mark.New]{
		Name: "coin", Doc: "marks each frame above k with probability 1/2",
		Params: func() any { return &CoinParams{K: 100 * units.KB} }, New: newCoin,
	})
}

// CoinParams are the parameters of the marker.
type CoinParams struct {
	K units.Bytes `yaml:"k" doc:"queue length above which frames are marked"`
}

type coin struct{ k units.Bytes }

func newCoin(params any, _ units.Rate) (mark.Marker, error) {
	p := params.(*CoinParams)
	if p.K <= 0 {
		return nil, fmt.Errorf("k is %s (expected more than 0B)", p.K)
	}
	return coin{p.K}, nil
}

// Floor implements mark.Marker.
func (c coin) Floor() units.Bytes { return c.k }

// Mark implements mark.Marker.
func (c coin) Mark(queue units.Bytes, r *rand.PCG) bool { return queue > c.k && r.Uint64()&1 == 0 }
