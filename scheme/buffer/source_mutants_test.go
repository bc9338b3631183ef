package buffer

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Policies with one mistake each: a forgotten release, an arriving frame that is not counted, a
// sum that is not reset.
func TestDeepMistakesInPoliciesAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong, test string }{
		{"sonic: a release is forgotten", "sonic.Dequeued", "{ s.count(a, -1) }", "{}", "SONiC"},
		{"sonic: the arriving frame is not counted at the ingress", "sonic.Fits", "a.Bytes <= left && v.In(a.In, a.Class, mmu.Shared)+a.Bytes <=", "a.Bytes <= left && v.In(a.In, a.Class, mmu.Shared) <=", "SONiC"},
		{"sonic: the arriving frame is not counted at the egress", "sonic.Fits", "v.Egress(a.Out, a.Class)+a.Bytes <=", "v.Egress(a.Out, a.Class) <=", "SONiC"},
		{"sonic: headroom counts as shared", "pools.losslessFree", "used := p.lossless - v.Used(mmu.Headroom) - v.Used(mmu.Reserve)", "used := p.lossless", "SONiC"},
		{"abm: a queue that shrinks stays congested", "abm.Dequeued", "m.count(a, -1)\n\tm.congested(v, a)", "m.count(a, -1)", "ABM"},
		{"abm: the arriving frame is not counted", "abm.Fits", "v.Egress(a.Out, a.Class)+a.Bytes <=", "v.Egress(a.Out, a.Class) <=", "ABM"},
		{"abm: a window starts with the bytes of the last one", "drain.sent", "d.end, d.now = (now/window+1)*window, 0", "d.end = (now/window + 1) * window", "ABM"},
		{"reverie: a departure is not filtered", "reverie.Dequeued", "{ r.follow(v, a) }", "{}", "Reverie"},
		{"reverie: the arriving frame is not counted", "reverie.Fits", "q+a.Bytes <= limit", "q <= limit", "Reverie"},
		{"reverie: the filter is not limited to the queue length", "reverie.filtered", "hat = min(float64(units.Bytes(hat)), float64(q))", "hat = float64(units.Bytes(hat))", "Reverie"},
		{"reverie: the old fraction of a queue is not subtracted", "congestion.set", "c.sums[class&7] += now - *part", "c.sums[class&7] += now", "Reverie"},
		{"occamy: a release is forgotten", "occamy.Dequeued", "o.count(a, -a.Bytes)", "_ = a", "Occamy"},
		{"occamy: departing frames take no bandwidth", "occamy.Dequeued", "max(o.read, now-o.saved) + o.speed.TxTime(a.Bytes)", "max(o.read, now-o.saved)", "Occamy"},
		{"occamy: idle time is saved up without limit", "occamy.Dequeued", "o.read = max(o.read, now-o.saved) +", "o.read +=", "Occamy"},
		{"occamy: a queue at its threshold loses frames", "maxTree.above", "for t.max[i] <= bound {", "for t.max[i] < bound {", "Occamy"},
		{"occamy: always the same queue", "occamy.Expel", "o.turn = i + 1", "o.turn = i", "Occamy"},
		{"occamy: lossless queues count as lossy", "occamy.count", "if a.Kind == mmu.Lossy {\n\t\to.queues", "if a.Kind != mmu.Control {\n\t\to.queues", "Occamy"},
		{"occamy: a busy memory expels frames", "occamy.Expel", "if now <= o.read || ", "if ", "Occamy"},
		{"l2bm: a departing packet does not subtract its value", "l2bm.Dequeued", "q.rest -= leaves - now", "_ = leaves", "L2BM"},
		{"l2bm: the arriving frame is not counted", "l2bm.Fits", "v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= b.threshold", "v.In(a.In, a.Class, mmu.Shared) <= b.threshold", "L2BM"},
		{"l2bm: a removed queue stays in the sum", "sojourns.drop", "s.values -= q.value", "_ = q.value", "L2BM"},
		{"l2bm: a frozen packet is never removed", "l2bm.Dequeued", "q.frozen--", "_ = q.frozen", "L2BM"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run="+m.test, ".")
	}
	group.MustCatch(t)
}
