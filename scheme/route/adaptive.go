package route

import "github.com/xoff-net/xoff/base/units"

// newAdaptive chooses the port that has the least to send, in time: the local part of
// CONGA, which switches can do without hearing of each other. Equal ports are tried
// from a random one on, so that switches do not all take the first.
func newAdaptive(params any, env Env) (Router, error) {
	r, err := newFlowlets(params, env)
	if err != nil {
		return nil, err
	}
	r.choose = func(ports []uint16) int {
		best, least, from := 0, units.Never, env.random(ports)
		for i := range ports {
			k := (from + i) % len(ports)
			port := ports[k]
			if wait := env.Rates[port].TxTime(env.View.EgressPort(int(port))); wait < least {
				best, least = k, wait
			}
		}
		return best
	}
	return r, nil
}
