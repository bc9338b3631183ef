package reproduce

import (
	"fmt"
	"strconv"
)

// sonicShares is the steady state of SONiC's buffer model with Dynamic Threshold (Reverie
// eq. 2 and 3): x is the number of lossless and of lossy queues, or, with value lossy_queues
// or lossless_queues, of the others only. Values: ingress (pool, MB), lossy (egress pool),
// alpha, alpha_lossy.
func sonicShares(c *Compute, at Place) (map[string]float64, error) {
	n, err := strconv.ParseFloat(at.X, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is no number of queues; allowed: 0 or more", at.X)
	}
	of := func(name string, usual float64) float64 {
		if v, ok := c.Values[name]; ok {
			return v
		}
		return usual
	}
	lossless, lossy := of("lossless_queues", n)*of("alpha", 1), of("lossy_queues", n)*of("alpha_lossy", 1)
	ingress, pool := of("ingress", 18), of("lossy", 14)
	held := float64(lossy/(1+lossy)) * pool
	kept := float64(lossless/(1+lossless)) * (ingress - held)
	return map[string]float64{
		"lossy_held": held, "lossless_held": kept,
		"drop_threshold": of("alpha_lossy", 1) * (pool - held), "pfc_threshold": of("alpha", 1) * (ingress - held - kept),
	}, nil
}
