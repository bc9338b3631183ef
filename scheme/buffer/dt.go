package buffer

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// DTParams are the parameters of Dynamic Threshold.
type DTParams struct {
	Alpha      units.Ratio `yaml:"alpha" doc:"threshold of a lossless ingress queue: this times the free part of the shared segment"`
	AlphaLossy units.Ratio `yaml:"alpha_lossy" doc:"threshold of a lossy egress queue: this times the free part of the shared segment"`
}

// dt is Dynamic Threshold (DSH eq. 2): T(t) = alpha (B_s - used). Lossless queues are measured at
// the ingress, lossy queues at the egress.
type dt struct {
	lossless, lossy alpha
}

// alpha multiplies by a ratio, with a shift if its denominator is a power of two.
type alpha struct {
	units.Ratio
	shift uint8 // Den == 1<<shift, valid when pow2
	pow2  bool
}

func newAlpha(r units.Ratio) alpha {
	a := alpha{Ratio: r}
	for s := uint8(0); s < 63; s++ {
		if r.Den == 1<<s {
			a.shift, a.pow2 = s, true
		}
	}
	return a
}

func (a *alpha) of(b units.Bytes) units.Bytes {
	if a.pow2 {
		return units.Bytes(int64(b) * a.Num >> a.shift)
	}
	return a.Ratio.Of(b)
}

func newDT(params any, _ Env) (Policy, error) {
	p := params.(*DTParams)
	return &dt{lossless: newAlpha(p.Alpha), lossy: newAlpha(p.AlphaLossy)}, nil
}

// Fits implements Policy.
func (d *dt) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree()
	if a.Kind == mmu.Lossless {
		return v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= d.lossless.of(free) && a.Bytes <= free
	}
	return v.Egress(a.Out, a.Class)+a.Bytes <= d.lossy.of(free) && a.Bytes <= free
}

// LossyLevel implements Dropping.
func (d *dt) LossyLevel(_ units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes) {
	return v.Egress(a.Out, a.Class), d.lossy.of(v.SharedFree())
}

// FitsCounted implements Counting.
func (d *dt) FitsCounted(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree() - a.Bytes
	return free >= 0 && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= d.lossless.of(free)
}

// Share implements Proportional.
func (d *dt) Share() (mmu.Share, bool) {
	a := &d.lossless
	return mmu.Share{Num: a.Num, Shift: a.shift}, a.pow2 && a.Num <= a.Den
}

// Level implements Policy.
func (d *dt) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), d.lossless.of(v.SharedFree())
}
