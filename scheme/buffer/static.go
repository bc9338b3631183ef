package buffer

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// StaticParams are the parameters of the static policy.
type StaticParams struct {
	Limit units.Bytes `yaml:"limit" doc:"shared bytes that a queue may store; overrides of ports may change it"`
}

// static gives every queue the same fixed limit: lossless queues at the ingress, lossy queues at
// the egress.
type static struct {
	limit units.Bytes
	ports []units.Bytes // by port; nil: limit
}

func newStatic(params any, env Env) (Policy, error) {
	p := params.(*StaticParams)
	s := &static{limit: p.Limit}
	if err := p.check(); err != nil {
		return nil, err
	}
	for _, own := range env.Ports {
		p := own.(*StaticParams)
		if err := p.check(); err != nil {
			return nil, err
		}
		s.ports = append(s.ports, p.Limit)
	}
	return s, nil
}

func (p *StaticParams) check() error {
	if p.Limit <= 0 || p.Limit > mmu.MaxBuffer {
		return fmt.Errorf("limit is %s (expected more than 0B and at most %dB)", p.Limit, int64(mmu.MaxBuffer))
	}
	return nil
}

// of returns the limit of the queues of a port.
func (s *static) of(port int) units.Bytes {
	if s.ports == nil {
		return s.limit
	}
	return s.ports[port]
}

// Fits implements Policy.
func (s *static) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	q, limit := v.Egress(a.Out, a.Class), s.of(a.Out)
	if a.Kind == mmu.Lossless {
		q, limit = v.In(a.In, a.Class, mmu.Shared), s.of(a.In)
	}
	return q+a.Bytes <= limit && a.Bytes <= v.SharedFree()
}

// LossyLevel implements Dropping.
func (s *static) LossyLevel(_ units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	return v.Egress(a.Out, a.Class), s.of(a.Out)
}

// Level implements Policy.
func (s *static) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), s.of(port)
}
