package units

import (
	"fmt"
	"math/big"
	"strings"
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
	switch {
	case !ok && len(s) > 32 && strings.Trim(s, "0123456789") == "":
		return fmt.Errorf("%.60q is too large; allowed: more than 0, at most %d", s, maxRatio)
	case !ok || v.Sign() <= 0:
		return fmt.Errorf("%.60q is not a positive ratio; allowed: a fraction such as 1/16 or a number such as 0.5", s)
	case v.Cmp(new(big.Rat).SetInt64(maxRatio)) > 0:
		return fmt.Errorf("%.60q is too large; allowed: more than 0, at most %d", s, maxRatio)
	case v.Num().Cmp(big.NewInt(maxRatio)) > 0 || v.Denom().Cmp(big.NewInt(maxRatio)) > 0:
		return fmt.Errorf("%.60q is too fine; allowed: fractions of numbers up to %d", s, maxRatio)
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
func (r Ratio) Of(b Bytes) Bytes { return Bytes(int64(b) * r.Num / r.Den) }

// Interval is a span of time, the end excluded.
type Interval struct{ From, To Time }
