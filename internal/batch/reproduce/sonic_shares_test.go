package reproduce

import "testing"

// Reverie eq. 2 and 3 with pools of 18 and 14 MB: three lossless and two lossy queues with alpha
// 1 and 2. Lossy: 14 x 4/5 = 11.2; lossless: (18 - 11.2) x 3/4 = 5.1. Drop thresholds
// 2 (14 - 11.2) = 5.6, PFC thresholds 18 - 11.2 - 5.1 = 1.7.
func TestSONiCShares(t *testing.T) {
	c := &Compute{Values: map[string]float64{"ingress": 18, "lossy": 14, "alpha_lossy": 2, "lossless_queues": 3}}
	got, err := sonicShares(c, Position{X: "2"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"lossy_held": 11.2, "lossless_held": 5.1, "drop_threshold": 5.6, "pfc_threshold": 1.7} {
		if d := got[name] - want; d < -1e-9 || d > 1e-9 {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if _, err := sonicShares(c, Position{X: "many"}); err == nil {
		t.Error(`no error for x "many"`)
	}
}
