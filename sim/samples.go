package sim

import (
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// Sample calls Take at every positive multiple of Every. Take sees the node as it was just
// before that time: samples precede all other events of the node.
type Sample struct {
	Node  int
	Every units.Time
	Take  func(now units.Time, n probe.Node)
}

// sampler takes the samples of one node.
type sampler struct {
	list []Sample
	next units.Time
	last units.Time // time of the last samples
}

// samplers returns the sampler of each node; nil for a node without samples.
func (s *Spec) samplers() []*sampler {
	all := make([]*sampler, s.nodeCount())
	for _, x := range s.Samples {
		n := all[x.Node]
		if n == nil {
			n = &sampler{next: units.Never}
			all[x.Node] = n
		}
		n.list = append(n.list, x)
		n.next = min(n.next, x.Every)
	}
	return all
}

// take takes the samples that have become due since the last call.
func (s *sampler) take(now units.Time, n probe.Node) {
	s.next = units.Never
	for i := range s.list {
		x := &s.list[i]
		if now/x.Every > s.last/x.Every {
			x.Take(now, n)
		}
		s.next = min(s.next, now-now%x.Every+x.Every)
	}
	s.last = now
}
