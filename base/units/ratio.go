package units

import (
	"fmt"
	"math/big"
	"strings"
)

// Ratio is a positive fraction such as 1/16. Thresholds are computed with it in integer
// arithmetic, so results are identical on every platform.
type Ratio struct{ Num, Den int64 }

// maxRatio limits numerator and denominator so that a product with a buffer size fits in 64 bits.
const maxRatio = 1 << 20

// UnmarshalText parses "1/16", "0.0625" or "4".
func (r *Ratio) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	v, ok := new(big.Rat), len(s) <= 32
	if ok {
		v, ok = v.SetString(s)
	}
	switch {
	case !ok && len(s) > 32 && strings.Trim(s, "0123456789") == "":
		return fmt.Errorf("%.60q is too large (expected more than 0, at most %d)", s, maxRatio)
	case !ok || v.Sign() <= 0:
		return fmt.Errorf("%.60q is not a positive ratio (expected a fraction such as 1/16 or a number such as 0.5)", s)
	case v.Cmp(new(big.Rat).SetInt64(maxRatio)) > 0:
		return fmt.Errorf("%.60q is too large (expected more than 0, at most %d)", s, maxRatio)
	case v.Num().Cmp(big.NewInt(maxRatio)) > 0 || v.Denom().Cmp(big.NewInt(maxRatio)) > 0:
		return fmt.Errorf("%.60q is too fine (expected fractions of numbers up to %d)", s, maxRatio)
	}
	r.Num, r.Den = v.Num().Int64(), v.Denom().Int64()
	return nil
}

// MarshalText formats the ratio as a fraction, or as an integer if the denominator is 1.
func (r Ratio) MarshalText() ([]byte, error) {
	if r.Den == 1 {
		return fmt.Appendf(nil, "%d", r.Num), nil
	}
	return fmt.Appendf(nil, "%d/%d", r.Num, r.Den), nil
}

// Pattern returns a regular expression that matches ratios, for the JSON schema.
func (Ratio) Pattern() string { return `^[0-9]+(\.[0-9]+)?(/[0-9]+)?$` }

// Of returns r times b, rounded down.
func (r Ratio) Of(b Bytes) Bytes { return Bytes(int64(b) * r.Num / r.Den) }

// Interval is a span of time that includes From and excludes To.
type Interval struct{ From, To Time }
