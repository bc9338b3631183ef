package sonic

import "github.com/xoff-net/xoff/internal/analysis/chips"

// DSCPs returns which code points of a port's map give a traffic class.
func (c *Completed) DSCPs(p *Port, tc int) []int {
	var m *Map
	switch {
	case p.QoS != nil && p.QoS.DSCP != nil:
		m = p.QoS.DSCP
	case c.Global != nil:
		m = c.Global.DSCP
	}
	var list []int
	for dscp := range 64 {
		if to, ok := m.Get(dscp); ok && to == tc {
			list = append(list, dscp)
		}
	}
	return list
}

// GroupOf returns the priority group of a traffic class; false: no map says.
func (c *Completed) GroupOf(p *Port, tc int) (int, bool) {
	if p.QoS == nil {
		return 0, false
	}
	return p.QoS.ToPG.Get(tc)
}

// QueueOf returns the queue of a traffic class; false: no map says.
func (c *Completed) QueueOf(p *Port, tc int) (int, bool) {
	if p.QoS == nil {
		return 0, false
	}
	return p.QoS.ToQueue.Get(tc)
}

// Paused returns the queue that a PAUSE for a priority stops; without a map it has
// the same number.
func (c *Completed) Paused(p *Port, priority int) int {
	if p.QoS != nil {
		if q, ok := p.QoS.PFCToQueue.Get(priority); ok {
			return q
		}
	}
	return priority
}

// GroupOfPriority returns the priority group that sends XOFF for a priority. Only
// Spectrum and Tofino have a map for it.
func (c *Completed) GroupOfPriority(p *Port, priority int) int {
	if p.QoS != nil && (c.Chip.Family == chips.Spectrum || c.Chip.Family == chips.Tofino) {
		if g, ok := p.QoS.PFCToPG.Get(priority); ok {
			return g
		}
	}
	return priority
}

// Priorities returns those for which a priority group sends XOFF.
func (c *Completed) Priorities(p *Port, group int) Set {
	var set Set
	for k := range Classes {
		if c.GroupOfPriority(p, k) == group {
			set |= 1 << k
		}
	}
	return set
}

// Lossless tells whether a priority group of a port has headroom.
func (c *Completed) Lossless(p *Port, group int) bool {
	return p.PG[group] != nil && p.PG[group].Profile.Lossless()
}

// LosslessGroups is how many priority groups of a port have headroom.
func (c *Completed) LosslessGroups(p *Port) int64 {
	n := int64(0)
	for g := range Classes {
		if c.Lossless(p, g) {
			n++
		}
	}
	return n
}

// EachLossless calls f for every priority group with headroom.
func (c *Completed) EachLossless(f func(p *Port, group int, profile *Profile)) {
	for _, p := range c.Ports {
		for g := range Classes {
			if c.Lossless(p, g) {
				f(p, g, p.PG[g].Profile)
			}
		}
	}
}

// LosslessQueues tells which queues carry lossless traffic: a traffic class whose
// priority group has headroom is mapped to them, or a PAUSE of the port stops them.
func (c *Completed) LosslessQueues(p *Port) [Queues]bool {
	var is [Queues]bool
	for tc := range Classes {
		g, ok := c.GroupOf(p, tc)
		q, there := c.QueueOf(p, tc)
		if ok && there && c.Lossless(p, g) {
			is[q] = true
		}
	}
	if p.QoS != nil {
		for _, k := range p.QoS.PFC.List() {
			is[c.Paused(p, k)] = true
		}
	}
	return is
}
