package buffer

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// ChipParams are the parameters of the chip policy.
type ChipParams struct {
	Alpha          units.Ratio `yaml:"alpha" doc:"threshold of a lossless ingress queue: this times the free shared bytes of its partition; flow control may override it"`
	PortAlpha      units.Ratio `yaml:"port_alpha,omitempty" doc:"two levels: a port may store this times the free bytes, and a queue alpha times what its port has left of that"`
	AlphaLossy     units.Ratio `yaml:"alpha_lossy" doc:"threshold of a lossy egress queue: this times the free bytes of the egress_lossy pool, or of the partition without one"`
	IngressLossy   units.Bytes `yaml:"ingress_lossy,omitempty" doc:"shared bytes that a lossy ingress queue may store; 0B: no limit"`
	EgressMinimum  units.Bytes `yaml:"egress_minimum,omitempty" doc:"bytes guaranteed to each egress queue, outside the egress pools"`
	EgressLossless units.Bytes `yaml:"egress_lossless,omitempty" doc:"pool of the egress queues of lossless classes; frames that do not fit are dropped; 0B: no pool"`
	LosslessLimit  units.Bytes `yaml:"egress_lossless_limit,omitempty" doc:"bytes of the egress_lossless pool that one queue may use; 0B: all"`
	LosslessAlpha  units.Ratio `yaml:"egress_lossless_alpha,omitempty" doc:"instead of that limit: this times the free bytes of the egress_lossless pool"`
	EgressLossy    units.Bytes `yaml:"egress_lossy,omitempty" doc:"pool of the egress queues of lossy classes; 0B: no pool"`
	LossyLimit     units.Bytes `yaml:"egress_lossy_limit,omitempty" doc:"bytes that one lossy egress queue may store above its minimum, instead of alpha_lossy; 0B: use alpha_lossy"`
}

// chip shares a buffer as measured on switching chips, and as imported SONiC configurations mean
// it. Dynamic Threshold applies to the free bytes of a port's partition, with the frame counted
// before the threshold is computed (Reverie section 2.2.1). A queue pauses when it has no room
// for another frame, without waiting for that frame. The egress side has its own pools. Policy
// sonic is the ideal model of the same switch.
type chip struct {
	params ChipParams
	lossy  alpha
	port   alpha   // port level; see level
	levels bool    // two levels
	queues []alpha // by port: alpha of its lossless ingress queues
	egress [mmu.Lossy + 1]egressPool
	least  units.Bytes // buffer bytes of the smallest frame
	large  bool        // 32-bit counters could overflow
}

// minFrame is the smallest Ethernet frame.
const minFrame = 64 * units.Byte

// egressPool is a pool on the egress side.
type egressPool struct {
	size    units.Bytes // 0: no pool
	limit   units.Bytes // per queue; 0: no limit
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
			return nil, fmt.Errorf("%s is %s (expected 0B to %dB)", b.key, b.is, int64(mmu.MaxDivided))
		}
	}
	if p.LosslessLimit > 0 && p.LosslessAlpha.Den != 0 {
		return nil, fmt.Errorf("egress_lossless_limit and egress_lossless_alpha are both set (expected only one of them)")
	}
	if p.LosslessAlpha.Den != 0 && p.EgressLossless == 0 {
		return nil, fmt.Errorf("egress_lossless_alpha is set without egress_lossless (expected both)")
	}
	c := &chip{params: *p, lossy: newAlpha(p.AlphaLossy), levels: p.PortAlpha.Den != 0, least: env.View.Cells(minFrame), large: env.View.Size() > mmu.MaxBuffer}
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
	if a.Bytes > free || c.large && v.PortShared(a.In)+a.Bytes > mmu.MaxBuffer {
		return false
	}
	queue := v.In(a.In, a.Class, mmu.Shared)
	if a.Kind == mmu.Lossless {
		return queue+a.Bytes <= c.level(v, a.In, free, a.Bytes)
	}
	if c.params.IngressLossy > 0 && queue+a.Bytes > c.params.IngressLossy {
		return false
	}
	if c.egress[mmu.Lossy].dynamic || c.egress[mmu.Lossy].limit > 0 {
		return true // Admits has already decided
	}
	return v.Egress(a.Out, a.Class)+a.Bytes <= c.lossy.of(free)
}

// maxPort bounds what a port may store, so that products of two alphas fit 64 bits. No buffer is
// larger.
const maxPort units.Bytes = 1 << 40

// level returns the threshold of a lossless queue after more bytes are added to it. With two
// levels, a queue that is alone settles where u = aq (ap (S - u) - u), at S ap aq / (ap aq + aq +
// 1).
func (c *chip) level(v mmu.View, port int, free, more units.Bytes) units.Bytes {
	free = max(0, free-more)
	if c.levels {
		free = max(0, min(maxPort, c.port.of(free))-v.PortIn(port, mmu.Shared)-more)
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

// Admits implements EgressLimiting. Within its minimum a queue takes every frame; beyond it, what
// its pool and its own limit allow.
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
