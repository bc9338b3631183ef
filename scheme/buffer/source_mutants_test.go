//go:build deep

package buffer

import (
	"testing"

	"github.com/xoff-net/xoff/internal/mutant"
)

// Policies with one mistake: a release that is forgotten, an arriving frame that is not
// counted, a sum that is not set back.
func TestDeepMistakesInPoliciesAreCaught(t *testing.T) {
	for _, m := range []struct{ name, file, right, wrong, test string }{
		{"sonic: a release is forgotten", "sonic.go", "{ s.count(a, -1) }", "{}", "SONiC"},
		{"sonic: the arriving frame is not counted at the ingress", "sonic.go", "a.Bytes <= left && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <=", "a.Bytes <= left && v.In(a.In, a.Class, mmu.Shared) <=", "SONiC"},
		{"sonic: the arriving frame is not counted at the egress", "sonic.go", "v.Egress(a.Out, a.Class)+a.Bytes <=", "v.Egress(a.Out, a.Class) <=", "SONiC"},
		{"sonic: headroom counts as shared", "pools.go", "used := p.lossless - v.Used(mmu.Headroom) - v.Used(mmu.Reserve)", "used := p.lossless", "SONiC"},
		{"abm: a queue that shrinks stays congested", "abm.go", "m.count(a, -1)\n\tm.congested(v, a)", "m.count(a, -1)", "ABM"},
		{"abm: the arriving frame is not counted", "abm.go", "v.Egress(a.Out, a.Class)+a.Bytes <=", "v.Egress(a.Out, a.Class) <=", "ABM"},
		{"abm: a window begins with the bytes of the last", "abm.go", "d.end, d.now = (now/window+1)*window, 0", "d.end = (now/window + 1) * window", "ABM"},
		{"reverie: a departure is not filtered", "reverie.go", "{ r.follow(v, a) }", "{}", "Reverie"},
		{"reverie: the arriving frame is not counted", "reverie.go", "q+a.Bytes <= limit", "q <= limit", "Reverie"},
		{"reverie: the filter is not cut down to the queue", "reverie.go", "hat = min(float64(units.Bytes(hat)), float64(q))", "hat = float64(units.Bytes(hat))", "Reverie"},
		{"reverie: the parts of queues add up", "pools.go", "c.sums[class&7] += now - *part", "c.sums[class&7] += now", "Reverie"},
		{"occamy: a release is forgotten", "occamy.go", "o.count(a, -a.Bytes)", "_ = a", "Occamy"},
		{"occamy: frames that leave take no bandwidth", "occamy.go", "max(o.read, now-o.saved) + o.speed.TxTime(a.Bytes)", "max(o.read, now-o.saved)", "Occamy"},
		{"occamy: idle time is saved up without end", "occamy.go", "o.read = max(o.read, now-o.saved) +", "o.read +=", "Occamy"},
		{"occamy: a queue at its threshold gives frames up", "occamy.go", "for t.max[i] <= bound {", "for t.max[i] < bound {", "Occamy"},
		{"occamy: the same queue again and again", "occamy.go", "o.turn = i + 1", "o.turn = i", "Occamy"},
		{"occamy: lossless queues count as lossy ones", "occamy.go", "if a.Kind == mmu.Lossy {\n\t\to.queues", "if a.Kind != mmu.Control {\n\t\to.queues", "Occamy"},
		{"occamy: a memory that is busy takes frames back", "occamy.go", "if now <= o.read || ", "if ", "Occamy"},
		{"l2bm: a packet does not take back its value", "l2bm.go", "q.rest -= leaves - now", "_ = leaves", "L2BM"},
		{"l2bm: the arriving frame is not counted", "l2bm.go", "v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= b.threshold", "v.In(a.In, a.Class, mmu.Shared) <= b.threshold", "L2BM"},
		{"l2bm: a queue stays in the sum", "sojourn.go", "s.values -= q.value", "_ = q.value", "L2BM"},
		{"l2bm: a clock that was frozen stays so", "l2bm.go", "q.frozen--", "_ = q.frozen", "L2BM"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, m.file, m.right, m.wrong, "-run="+m.test, ".")
		})
	}
}
