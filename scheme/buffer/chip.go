package buffer

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// ChipParams are the parameters of the policy of measured switching chips.
type ChipParams struct {
	Alpha          units.Ratio `yaml:"alpha" doc:"lossless ingress threshold: alpha times the free shared bytes in the port's partition; flow control may override it"`
	PortAlpha      units.Ratio `yaml:"port_alpha,omitempty" doc:"two levels: a port may hold this times what is free, and a queue alpha times what its port has left of that"`
	AlphaLossy     units.Ratio `yaml:"alpha_lossy" doc:"threshold of a lossy egress queue: this times what is free of the egress_lossy pool, or of the part where there is none"`
	IngressLossy   units.Bytes `yaml:"ingress_lossy,omitempty" doc:"most of the shared segment that a lossy ingress queue may hold; 0B: no limit"`
	EgressMinimum  units.Bytes `yaml:"egress_minimum,omitempty" doc:"guaranteed to each egress queue, outside of the egress pools"`
	EgressLossless units.Bytes `yaml:"egress_lossless,omitempty" doc:"pool of the egress queues of lossless classes, which drops what it cannot hold; 0B: none"`
	LosslessLimit  units.Bytes `yaml:"egress_lossless_limit,omitempty" doc:"most of that pool that one queue may hold; 0B: all"`
	LosslessAlpha  units.Ratio `yaml:"egress_lossless_alpha,omitempty" doc:"or this times what is free of it"`
	EgressLossy    units.Bytes `yaml:"egress_lossy,omitempty" doc:"pool of the egress queues of lossy classes; 0B: none"`
	LossyLimit     units.Bytes `yaml:"egress_lossy_limit,omitempty" doc:"most that one lossy egress queue may hold beside its minimum, in place of alpha_lossy; 0B: alpha_lossy counts"`
}

// Refuses reports whether a lossless frame can be dropped on the egress side.
func (p *ChipParams) Refuses() bool { return p.EgressLossless > 0 || p.LosslessLimit > 0 }

// chip shares a buffer as measured switching chips do, and as imported configurations of
// SONiC mean it: Dynamic Threshold on what is free of the part of a port, with the frame
// counted before the threshold is computed (Reverie section 2.2.1); a queue pauses when it
// has no room for another frame, not when that comes; and the egress side has pools of its
// own. Policy sonic is the ideal model of the same.
type chip struct {
	params ChipParams
	lossy  alpha
	port   alpha // two levels; see level
	levels bool
	queues []alpha // of the lossless ingress queues, by port
	egress [mmu.Lossy + 1]egressPool
	least  units.Bytes // that a frame costs
	large  bool        // counters of 32 bits could overflow
}

// smallest is the smallest frame of Ethernet.
const smallest = 64 * units.Byte

// egressPool is a pool on the egress side.
type egressPool struct {
	size    units.Bytes // 0: none
	limit   units.Bytes // of a queue; 0: none
	alpha   alpha
	dynamic bool
}

func newChip(params any, env Env) (Policy, error) {
	p := params.(*ChipParams)
	for _, b := range []struct {
		key string
		is  units.Bytes
	}{
		{"ingress_lossy", p.IngressLossy}, {"egress_minimum", p.EgressMinimum},
		{"egress_lossless", p.EgressLossless}, {"egress_lossless_limit", p.LosslessLimit},
		{"egress_lossy", p.EgressLossy}, {"egress_lossy_limit", p.LossyLimit},
	} {
		if b.is < 0 || b.is > mmu.MaxDivided {
			return nil, fmt.Errorf("%s is %s; allowed: 0B to %dB", b.key, b.is, int64(mmu.MaxDivided))
		}
	}
	if p.LosslessLimit > 0 && p.LosslessAlpha.Den != 0 {
		return nil, fmt.Errorf("egress_lossless_limit and egress_lossless_alpha are both given; allowed: one of them")
	}
	if p.LosslessAlpha.Den != 0 && p.EgressLossless == 0 {
		return nil, fmt.Errorf("egress_lossless_alpha is a share of a pool that is not there; allowed: together with egress_lossless")
	}
	c := &chip{params: *p, lossy: newAlpha(p.AlphaLossy), levels: p.PortAlpha.Den != 0, least: env.View.Cells(smallest), large: env.View.Size() > mmu.MaxBuffer}
	if c.levels {
		c.port = newAlpha(p.PortAlpha)
	}
	for i := range env.View.Ports() {
		here := p.Alpha
		if env.Profiles != nil && env.Profiles[i].Alpha.Den != 0 {
			here = env.Profiles[i].Alpha
		}
		c.queues = append(c.queues, newAlpha(here))
	}
	c.egress[mmu.Lossless] = egressPool{size: p.EgressLossless, limit: p.LosslessLimit, dynamic: p.LosslessAlpha.Den != 0}
	if p.LosslessAlpha.Den != 0 {
		c.egress[mmu.Lossless].alpha = newAlpha(p.LosslessAlpha)
	}
	c.egress[mmu.Lossy] = egressPool{size: p.EgressLossy, limit: p.LossyLimit, alpha: c.lossy, dynamic: p.EgressLossy > 0 && p.LossyLimit == 0}
	return c, nil
}

// Fits implements Policy.
func (c *chip) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.PartFree(a.In)
	if a.Bytes > free || c.large && v.PortHeld(a.In)+a.Bytes > mmu.MaxBuffer {
		return false
	}
	held := v.In(a.In, a.Class, mmu.Shared)
	if a.Kind == mmu.Lossless {
		return held+a.Bytes <= c.level(v, a.In, free, a.Bytes)
	}
	if c.params.IngressLossy > 0 && held+a.Bytes > c.params.IngressLossy {
		return false
	}
	if c.egress[mmu.Lossy].dynamic || c.egress[mmu.Lossy].limit > 0 {
		return true // the egress side has decided
	}
	return v.Egress(a.Out, a.Class)+a.Bytes <= c.lossy.of(free)
}

// most keeps products of two alphas within 64 bits; no buffer is as large.
const most units.Bytes = 1 << 40

// level is the threshold of a lossless queue once so many bytes more are in it. With two
// levels a queue that is alone settles where u = aq (ap (S - u) - u): at
// S ap aq / (ap aq + aq + 1).
func (c *chip) level(v mmu.View, port int, free, more units.Bytes) units.Bytes {
	free = max(0, free-more)
	if c.levels {
		free = max(0, min(most, c.port.of(free))-v.PortIn(port, mmu.Shared)-more)
	}
	return c.queues[port].of(free)
}

// LossyLevel implements Dropping.
func (c *chip) LossyLevel(_ units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	q, e := v.Egress(a.Out, a.Class), &c.egress[mmu.Lossy]
	switch {
	case e.limit > 0:
		return q, c.params.EgressMinimum + e.limit
	case e.dynamic:
		return q, c.params.EgressMinimum + e.alpha.of(max(0, e.size-v.EgressPool(mmu.Lossy)))
	}
	return q, c.lossy.of(v.PartFree(a.In))
}

// Level implements Policy.
func (c *chip) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), c.level(v, port, v.PartFree(port), 0)
}

// Reached implements Reaching.
func (c *chip) Reached(v mmu.View, port int, class uint8) bool {
	return v.In(port, class, mmu.Shared)+c.least > c.level(v, port, v.PartFree(port), c.least)
}

// EgressMinimum implements EgressLimiting.
func (c *chip) EgressMinimum() units.Bytes { return c.params.EgressMinimum }

// Admits implements EgressLimiting: within its minimum a queue takes everything, beyond
// it what its pool and its own limit allow.
func (c *chip) Admits(v mmu.View, a *mmu.Arrival) bool {
	queue := v.Egress(a.Out, a.Class) + a.Bytes
	if c.large && queue > mmu.MaxBuffer {
		return false
	}
	e := &c.egress[a.Kind]
	beyond := queue - c.params.EgressMinimum
	if beyond <= 0 {
		return true
	}
	if e.limit > 0 && beyond > e.limit {
		return false
	}
	if e.size == 0 {
		return true
	}
	free := e.size - v.EgressPool(a.Kind)
	return min(a.Bytes, beyond) <= free && (!e.dynamic || beyond <= e.alpha.of(max(0, free)))
}
