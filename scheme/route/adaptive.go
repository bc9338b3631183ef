package route

import "github.com/xoff-net/xoff/base/units"

// newAdaptive returns a router that selects the port with the shortest time to drain its
// queue: the local part of CONGA, which needs no messages between switches. The search
// starts at a random port, so that ties do not always go to the first.
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
