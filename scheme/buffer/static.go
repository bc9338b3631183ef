package buffer

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// StaticParams are the parameters of the static policy.
type StaticParams struct {
	Limit units.Bytes `yaml:"limit" doc:"bytes of the shared segment that a queue may take"`
}

// static gives every queue the same fixed limit: lossless queues at the ingress,
// lossy ones at the egress.
type static struct{ limit units.Bytes }

func newStatic(params any, _ Env) (Policy, error) {
	p := params.(*StaticParams)
	if p.Limit <= 0 || p.Limit > mmu.MaxBuffer {
		return nil, fmt.Errorf("limit is %s; allowed: more than 0B, at most %dB", p.Limit, int64(mmu.MaxBuffer))
	}
	return &static{limit: p.Limit}, nil
}

// Fits implements Policy.
func (s *static) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	q := v.Egress(a.Out, a.Class)
	if a.Kind == mmu.Lossless {
		q = v.In(a.In, a.Class, mmu.Shared)
	}
	return q+a.Bytes <= s.limit && a.Bytes <= v.SharedFree()
}

// LossyLevel implements Dropping.
func (s *static) LossyLevel(_ units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	return v.Egress(a.Out, a.Class), s.limit
}

// Level implements Policy.
func (s *static) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), s.limit
}
