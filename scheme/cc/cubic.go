package cc

import (
	"fmt"
	"math"

	"github.com/xoff-net/xoff/base/units"
)

// CubicParams are the parameters of CUBIC.
type CubicParams struct {
	InitialSegments int     `yaml:"initial_segments" doc:"initial window; 0: one bandwidth-delay product"`
	C               float64 `yaml:"c" doc:"steepness of the curve, segments per second cubed"`
	Beta            float64 `yaml:"beta" doc:"factor applied to the window on a loss"`
	FastConvergence bool    `yaml:"fast_convergence" doc:"release bandwidth faster if the window shrinks from loss to loss"`
	ECN             bool    `yaml:"ecn" doc:"react to marks as to losses (RFC 3168)"`
}

func defaultCubic() *CubicParams {
	return &CubicParams{InitialSegments: 10, C: 0.4, Beta: 0.7, FastConvergence: true, ECN: true}
}

func newCubic(params any) (Factory, error) {
	p := *params.(*CubicParams)
	switch {
	case !(p.C > 0 && p.C <= 1e6):
		return nil, fmt.Errorf("c is %v (expected more than 0, at most 1e6)", p.C)
	case !(p.Beta > 0 && p.Beta < 1):
		return nil, fmt.Errorf("beta is %v (expected between 0 and 1)", p.Beta)
	}
	if err := checkInitial(p.InitialSegments); err != nil {
		return nil, err
	}
	alpha := 3 * (1 - p.Beta) / (1 + p.Beta)
	return func() Control { return &cubic{params: &p, alpha: alpha} }, nil
}

// cubic is the congestion control of RFC 9438. Windows are in bytes, with fractions.
type cubic struct {
	tcp
	params *CubicParams
	alpha  float64    // growth of Reno's estimated window, segments per round trip
	srtt   units.Time // smoothed round-trip time

	window  float64    // cwnd with its fraction
	most    float64    // W_max
	prior   float64    // cwnd_prior: the window before the last reduction
	reno    float64    // W_est: estimate of Reno's window
	epoch   units.Time // start of this congestion avoidance; Never: not started
	k       units.Time // when the curve reaches W_max, from the epoch
	flat    bool       // after a timeout: the curve starts at its plateau
	lastAck units.Time // time of the last ACK
}

// NeedsRTT implements Clocked.
func (c *cubic) NeedsRTT() {}

// Start implements Control.
func (c *cubic) Start(now units.Time, f *Flow) {
	*c = cubic{params: c.params, alpha: c.alpha, srtt: f.BaseRTT, epoch: units.Never, lastAck: now}
	c.begin(f, c.params.InitialSegments)
}

// OnAck implements Control.
func (c *cubic) OnAck(now units.Time, a *Ack) {
	if a.RTT > 0 {
		c.srtt += (a.RTT - c.srtt) / 8 // RFC 6298
	}
	marked := a.CE && c.params.ECN
	grows := c.take(a, marked)
	switch {
	case marked && c.newMark(a):
		c.cut(c.used, c.mss)
	case grows && c.slow():
		c.slowStart(a.Bytes)
	case grows:
		c.climb(now, a.Bytes)
	case c.epoch != units.Never:
		c.epoch += now - c.lastAck // section 5.8: idle time does not count
	}
	c.lastAck = now
}

// climb is congestion avoidance: sections 4.2 to 4.5.
func (c *cubic) climb(now units.Time, b units.Bytes) {
	mss := float64(c.mss)
	if c.epoch == units.Never {
		c.beginEpoch(now)
	}
	share := float64(b) / c.window // fraction of a window that this ACK covers
	slope := c.alpha
	if c.reno >= c.prior {
		slope = 1
	}
	c.reno += float64(float64(slope*mss) * share)
	if c.curve(now-c.epoch) < c.reno {
		c.window = max(c.window, c.reno) // section 4.3: not slower than Reno
	} else {
		target := min(max(c.curve(now-c.epoch+c.srtt), c.window), float64(1.5*c.window))
		c.window += float64((target - c.window) * min(share, 1))
	}
	c.window = min(c.window, float64(maxWindow))
	c.cwnd = units.Bytes(c.window)
}

// beginEpoch starts the curve at the current window; it reaches W_max after K, eq. 2.
func (c *cubic) beginEpoch(now units.Time) {
	c.window = float64(c.cwnd)
	c.epoch, c.reno, c.k = now, c.window, 0
	if c.flat || c.most <= c.window {
		c.most, c.flat = c.window, false // section 4.8
		return
	}
	c.k = units.Time(cubeRoot((c.most-c.window)/float64(c.mss)/c.params.C) * float64(units.Second))
}

// curve returns W_cubic(t), eq. 1.
func (c *cubic) curve(t units.Time) float64 {
	d := float64(t-c.k) / float64(units.Second)
	cube := float64(float64(d*d) * d)
	return c.most + float64(float64(c.params.C*float64(c.mss))*cube)
}

// cut is the reduction of section 4.6, with the fast convergence of section 4.7. The window
// is at least `least`.
func (c *cubic) cut(flight, least units.Bytes) {
	to := c.remember(flight)
	c.lower(max(to, 2*c.mss), max(to, least))
}

// remember records the window before a reduction and returns the new threshold.
func (c *cubic) remember(flight units.Bytes) units.Bytes {
	before := c.most
	c.prior = float64(c.cwnd)
	c.most = c.prior
	if c.params.FastConvergence && c.prior < before {
		c.most = float64(c.prior*(1+c.params.Beta)) / 2
	}
	c.epoch = units.Never
	return units.Bytes(float64(flight) * c.params.Beta)
}

// OnLoss implements Control.
func (c *cubic) OnLoss(_ units.Time, timeout bool) {
	if timeout {
		if !c.expired {
			c.timeout(max(c.remember(c.outstanding()), 2*c.mss))
		} else {
			c.timeout(c.ssthresh)
		}
		c.epoch, c.flat = units.Never, true
		return
	}
	if c.beginRecovery(); c.unmarked() {
		c.cut(c.outstanding(), 2*c.mss)
	}
}

// cubeRoot returns the cube root of a positive number by Newton's method, with the same bits
// on every machine. The first guess divides the exponent by three.
func cubeRoot(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	const bias = 0x2a9f7893 << 32 // two thirds of the exponent's bias, centred
	x := math.Float64frombits(math.Float64bits(v)/3 + bias)
	for range 5 { // the guess is good to 6 %; each step doubles the digits
		x = float64(float64(2*x)+v/float64(x*x)) / 3
	}
	return x
}
