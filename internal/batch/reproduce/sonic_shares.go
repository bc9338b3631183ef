package reproduce

import (
	"fmt"
	"strconv"
)

// sonicShares returns the steady state of SONiC's buffer model with Dynamic Threshold
// (Reverie eq. 2 and 3). x is the number of lossless and of lossy queues; the values
// lossless_queues and lossy_queues override it. Other values: ingress (pool, MB), lossy
// (egress pool, MB), alpha, alpha_lossy.
func sonicShares(c *Compute, at Position) (map[string]float64, error) {
	n, err := strconv.ParseFloat(at.X, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("bad number of queues: %q (expected 0 or more)", at.X)
	}
	of := func(name string, fallback float64) float64 {
		if v, ok := c.Values[name]; ok {
			return v
		}
		return fallback
	}
	lossless, lossy := of("lossless_queues", n)*of("alpha", 1), of("lossy_queues", n)*of("alpha_lossy", 1)
	ingress, pool := of("ingress", 18), of("lossy", 14)
	lossyBytes := float64(lossy/(1+lossy)) * pool
	losslessBytes := float64(lossless/(1+lossless)) * (ingress - lossyBytes)
	return map[string]float64{
		"lossy_held": lossyBytes, "lossless_held": losslessBytes,
		"drop_threshold": of("alpha_lossy", 1) * (pool - lossyBytes), "pfc_threshold": of("alpha", 1) * (ingress - lossyBytes - losslessBytes),
	}, nil
}
