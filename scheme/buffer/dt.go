package buffer

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// Ratio is a positive fraction such as 1/16. Thresholds are computed with it in
// integers, so that every build gives the same bytes.
type Ratio struct{ Num, Den int64 }

// maxRatio bounds both parts so that a product with a buffer size fits.
const maxRatio = 1 << 20

// UnmarshalText reads "1/16", "0.0625" or "4".
func (r *Ratio) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	v, ok := new(big.Rat), len(s) <= 32
	if ok {
		v, ok = v.SetString(s)
	}
	if !ok || v.Sign() <= 0 || !v.Num().IsInt64() || !v.Denom().IsInt64() || v.Num().Int64() > maxRatio || v.Denom().Int64() > maxRatio {
		return fmt.Errorf("%q is not a positive ratio; allowed: a fraction such as 1/16 or a number such as 0.5", s)
	}
	r.Num, r.Den = v.Num().Int64(), v.Denom().Int64()
	return nil
}

// MarshalText writes the fraction.
func (r Ratio) MarshalText() ([]byte, error) {
	if r.Den == 1 {
		return fmt.Appendf(nil, "%d", r.Num), nil
	}
	return fmt.Appendf(nil, "%d/%d", r.Num, r.Den), nil
}

// Pattern is a regular expression of what UnmarshalText reads, for editors.
func (Ratio) Pattern() string { return `^[0-9]+(\.[0-9]+)?(/[0-9]+)?$` }

// Of returns the fraction of b, rounded down.
func (r Ratio) Of(b units.Bytes) units.Bytes { return units.Bytes(int64(b) * r.Num / r.Den) }

// DTParams are the parameters of Dynamic Threshold.
type DTParams struct {
	Alpha      Ratio `yaml:"alpha" doc:"threshold of a lossless ingress queue: this times the free part of the shared segment"`
	AlphaLossy Ratio `yaml:"alpha_lossy" doc:"the same of a lossy egress queue"`
}

// DT is Dynamic Threshold (DSH eq. 2): T(t) = alpha (B_s - used). Lossless
// queues are measured at the ingress, lossy ones at the egress.
type DT struct {
	lossless, lossy alpha
}

// alpha multiplies by a ratio; powers of two, the usual choice, by a shift.
type alpha struct {
	Ratio
	shift uint8 // Den == 1<<shift, valid when pow2
	pow2  bool
}

func newAlpha(r Ratio) alpha {
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
	return &DT{lossless: newAlpha(p.Alpha), lossy: newAlpha(p.AlphaLossy)}, nil
}

// Fits implements Policy.
func (d *DT) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree()
	if a.Kind == mmu.Lossless {
		return v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= d.lossless.of(free) && a.Bytes <= free
	}
	return v.Egress(a.Out, a.Class)+a.Bytes <= d.lossy.of(free) && a.Bytes <= free
}

// FitsCounted implements Counting.
func (d *DT) FitsCounted(v mmu.View, a *mmu.Arrival) bool {
	free := v.SharedFree() - a.Bytes
	return free >= 0 && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= d.lossless.of(free)
}

// Share implements Proportional.
func (d *DT) Share() (num int64, shift uint8, ok bool) {
	a := &d.lossless
	return a.Num, a.shift, a.pow2 && a.Num <= a.Den
}

// Level implements Policy.
func (d *DT) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), d.lossless.of(v.SharedFree())
}
