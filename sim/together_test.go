package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// together is a combination of schemes.
type together struct {
	policy, ports, handler string
	long                   string // flow control of long links; empty: no long links
}

// togetherBase is the index of the first case of drawLoop and draw for combinations.
const togetherBase = 40_000

// draw returns a case with the combination: a ring with flows around it, or a fabric with bursts,
// mixed traffic and faults.
func (c together) draw(index, packets int) *randomCase {
	n := &newerSchemes{
		drawer: &drawer{Rand: rand.New(rand.NewPCG(20261118, uint64(index)))},
		long:   c.long != "", policy: c.policy, flow: c.long, handler: c.handler, ports: c.ports,
	}
	if index%3 == 2 && c.long == "" && c.ports != "cbfc" {
		return n.loop(togetherBase + index/3)
	}
	r := draw(togetherBase+index, packets, n)
	r.index = index
	return r
}

// keeps runs cases of a combination. Engines agree to the byte, no invariant breaks, no lossless
// frame is dropped, all flows finish where the schemes promise it, and the rest waits for a deadlock.
func (c together) keeps(t *testing.T, indexes []int, packets int, v *togetherCoverage) {
	t.Helper()
	for _, i := range indexes {
		r := c.draw(i, packets)
		o, err := r.checkNewer(make(refusals))
		if err != nil {
			t.Errorf("%+v, case %d: %v\n%v", c, i, err, r)
			continue
		}
		v.add(r, o)
	}
}

// togetherCoverage counts cases with certain events.
type togetherCoverage struct{ cases, paused, deadlocks, finish, faults, lossy int }

func (v *togetherCoverage) add(r *randomCase, o *outcome) {
	v.cases++
	for _, k := range []struct {
		seen bool
		n    *int
	}{
		{o.totals.Pauses > 0, &v.paused}, {len(o.final.Deadlocks) > 0, &v.deadlocks}, {r.ends, &v.finish}, {len(r.cfg.Faults) > 0, &v.faults},
		{o.totals.Drops[0] > 0 || len(r.cfg.Classes) > 2, &v.lossy},
	} {
		if k.seen {
			*k.n++
		}
	}
}

func (v *togetherCoverage) String() string {
	return fmt.Sprintf("%d cases: %d pause, %d deadlock, %d must finish, %d have faults, %d lossy classes", v.cases, v.paused, v.deadlocks, v.finish, v.faults, v.lossy)
}

// combinations returns the combinations of docs/together.md that promise to lose nothing. Relays
// (swing) need a buffer that fits the fabric and have tests of their own.
func combinations() (list []together) {
	for _, policy := range buffer.Policies.Names() {
		list = append(list, together{policy: policy, ports: "cbfc", handler: "none"})
		for _, ports := range []string{"pfc", "sonic", "adaptive", "dsh"} {
			for _, handler := range deadlock.Handlers.Names() {
				list = append(list, together{policy: policy, ports: ports, handler: handler})
			}
			for _, long := range []string{"bifrost", "bifrostx", "cbfc"} {
				for _, handler := range []string{"none", "roundabout"} {
					list = append(list, together{policy, ports, handler, long})
				}
			}
		}
	}
	return list
}

// Reverie, DSH and Roundabout in one switch keep all their promises.
func TestReverieDSHRoundabout(t *testing.T) {
	if testing.Short() {
		t.Skip("TestNewerSchemes covers the same engines under the race detector")
	}
	var v togetherCoverage
	together{policy: "reverie", ports: "dsh", handler: "roundabout"}.keeps(t, trials.First(9), 300, &v)
	t.Log(&v)
	if v.paused < 4 || v.deadlocks < 2 || v.finish < 3 || v.faults < 1 || v.lossy < 2 {
		t.Error("the cases do not cover enough")
	}
}
