package sonic

import "github.com/xoff-net/xoff/internal/analysis/chips"

// DSCPs returns the code points that a port maps to a traffic class.
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

// Reaches reports whether any code point or 802.1p priority of the frames that enter a port
// leads to a traffic class. Without a map, all frames have traffic class 0.
func (c *Completed) Reaches(p *Port, tc int) bool {
	if len(c.DSCPs(p, tc)) > 0 {
		return true
	}
	var m *Map
	switch {
	case p.QoS != nil && p.QoS.Dot1p != nil:
		m = p.QoS.Dot1p
	case c.Global != nil:
		m = c.Global.Dot1p
	}
	for k := range Classes {
		if to, ok := m.Get(k); ok && to == tc {
			return true
		}
	}
	return false
}

// GroupOf returns the priority group of a traffic class; false: it is not mapped.
func (c *Completed) GroupOf(p *Port, tc int) (int, bool) {
	if p.QoS == nil {
		return 0, false
	}
	return p.QoS.ToPG.Get(tc)
}

// QueueOf returns the queue of a traffic class; false: it is not mapped.
func (c *Completed) QueueOf(p *Port, tc int) (int, bool) {
	if p.QoS == nil {
		return 0, false
	}
	return p.QoS.ToQueue.Get(tc)
}

// PausedQueue returns the queue that a PAUSE of a priority pauses. Without a map, it is
// the queue with the same number.
func (c *Completed) PausedQueue(p *Port, priority int) int {
	if p.QoS != nil {
		if q, ok := p.QoS.PFCToQueue.Get(priority); ok {
			return q
		}
	}
	return priority
}

// GroupOfPriority returns the priority group that sends PAUSE frames for a priority. Only
// Spectrum and Tofino can map it; elsewhere it has the same number.
func (c *Completed) GroupOfPriority(p *Port, priority int) int {
	if p.QoS != nil && (c.Chip.Family == chips.Spectrum || c.Chip.Family == chips.Tofino) {
		if g, ok := p.QoS.PFCToPG.Get(priority); ok {
			return g
		}
	}
	return priority
}

// Priorities returns the priorities for which a priority group sends PAUSE frames.
func (c *Completed) Priorities(p *Port, group int) Set {
	var set Set
	for k := range Classes {
		if c.GroupOfPriority(p, k) == group {
			set |= 1 << k
		}
	}
	return set
}

// Lossless reports whether a priority group of a port has headroom.
func (c *Completed) Lossless(p *Port, group int) bool {
	return p.PG[group] != nil && p.PG[group].Profile.Lossless()
}

// LosslessGroups returns the number of priority groups of a port that have headroom.
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

// LosslessClasses returns the traffic classes that enter a port through a priority group with
// headroom. Without a map, a class has the priority group of its number.
func (c *Completed) LosslessClasses(p *Port) Set {
	var set Set
	for tc := range Classes {
		g, ok := c.GroupOf(p, tc)
		if p.QoS == nil || p.QoS.ToPG == nil {
			g, ok = tc, true
		}
		if ok && c.Lossless(p, g) {
			set |= 1 << tc
		}
	}
	return set
}

// LosslessQueues reports which queues carry lossless traffic: queues of a traffic class
// whose priority group has headroom, and queues that a PAUSE of pfc_enable pauses.
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
			is[c.PausedQueue(p, k)] = true
		}
	}
	return is
}
