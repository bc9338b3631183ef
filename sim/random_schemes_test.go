package sim_test

import (
	"math/rand/v2"
	"strings"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// headroomSchemes replaces PFC by another headroom scheme with the same headroom size. It
// has its own random stream, so that the other parts of a case do not change.
func (d *drawer) headroomSchemes(index int) {
	own := &drawer{Rand: rand.New(rand.NewPCG(20250730, uint64(index)))}
	fc, ok := d.cfg.Switch.FlowControl.Params.(*flowctl.SIHParams)
	if !ok || index%4 < 2 {
		return
	}
	choose := func(name string) any {
		c, err := scenario.Choose("flow_control", name)
		if err != nil {
			panic(err)
		}
		d.cfg.Switch.FlowControl = c
		return c.Params
	}
	switch own.IntN(6) {
	case 0:
		p := choose("adaptive").(*flowctl.AdaptiveParams)
		p.Headroom, p.Delta = fc.Headroom, fc.Delta
	case 1:
		p := choose("oversubscribed").(*flowctl.OversubscribedParams)
		p.Headroom, p.Delta, p.Limit = fc.Headroom, fc.Delta, pick(own, "per_queue", "pool")
	default:
		p := choose("dsh").(*flowctl.DSHParams)
		p.Headroom, p.DeltaQueue, p.DeltaPort = fc.Headroom, fc.Delta, pick[units.Bytes](own, 0, 3000)
		p.Estimator, p.SharedHeadroom = pick(own, "ideal", "table"), own.chance(0.8)
		p.Window = pick(own, p.Window, 10*units.Microsecond)
		if own.chance(0.15) {
			p.Insurance = flowctl.Insurance{}
		}
		if p.Estimator == "ideal" && own.chance(0.3) {
			p.Gradient, p.K = units.Ratio{Num: 2, Den: 3}, units.Ratio{Num: 5, Den: 2}
		}
	}
}

// headroomOf returns the headroom size of a scheme, and why it may not be enough.
func headroomOf(c scenario.Choice) (h link.Headroom, loses string) {
	switch p := c.Params.(type) {
	case *flowctl.SIHParams:
		return p.Headroom, ""
	case *flowctl.AdaptiveParams:
		return p.Headroom, ""
	case *flowctl.SONiCParams:
		return p.Headroom, ""
	case *flowctl.CBFCParams:
		return h, "" // a buffer of credits
	case *flowctl.OversubscribedParams:
		return p.Headroom, "headroom is oversubscribed"
	case *flowctl.DSHParams:
		if p.Insurance == (flowctl.Insurance{}) {
			return p.Headroom, "no insurance"
		}
		return p.Headroom, ""
	default:
		return h, "no flow control"
	}
}

// promises reports whether a scheme promises not to drop lossless frames.
func promises(s flowctl.Scheme, p *link.Port) bool {
	enough, breaks := s.Properties().Sizing.Enough, s.Properties().Breaks
	return !strings.Contains(enough, "ratio") && breaks&registry.Lossless == 0 && s.Reserve(p) > 0 // not oversubscribed
}
