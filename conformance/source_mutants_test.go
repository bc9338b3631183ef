package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Credits with one mistake in their source each.
func TestDeepMistakesInCBFCAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"what is stored is forgotten", "cbfcReceiver.limit", "min(r.lane-r.stored[class], r.most)", "min(r.lane, r.most)"},
		{"differences of counters do not wrap", "cbfcGate.May", "blocks(g.store.Cost(b)))&g.mask <= g.most", "blocks(g.store.Cost(b))) <= g.most"},
		{"the last block of a frame is free", "blocks", "return uint64((b + creditBlock - 1) / creditBlock)", "return uint64(b / creditBlock)"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^TestCBFCKeepsItsPromise$", ".")
	}
	group.MustCatch(t)
}

// DSH with one mistake in its source each: the property must find all of them.
func TestDeepMistakesInDSHAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"an empty queue stays OFF while T is below tau (step 5)", "dshReceiver.queueGoesOn", " || in.Shared+in.Headroom+in.Reserve == 0\n", "\n"},
		{"the port resumes while its insurance is in use", "dshReceiver.portGoesOn", " && v.PortIn(r.in.Index(), mmu.Headroom)+v.PortIn(r.in.Index(), mmu.Reserve) == 0", ""},
		{"the insurance does not pause the port", "dshReceiver.Charged", "if s == mmu.Headroom {", "if s == mmu.Drop {"},
		{"the insurance is one frame short", "dshReceiver.Place", "mmu.Headroom)+a.Bytes <= r.insurance:", "mmu.Headroom)+a.Bytes <= r.insurance-1048:"},
		{"a port that is empty stays OFF", "dshReceiver.portGoesOn", "(shared < limit-r.deltaP || shared == 0)", "shared < limit-r.deltaP"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^TestDSHLosesNothing$", ".")
	}
	group.MustCatch(t)
}

// Bifrost with one mistake in its source each: the property must find all of them.
func TestDeepMistakesInBifrostAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"grants expire two slots early", "slotRules.window", "+s.slot-1)/s.slot) + 1", "+s.slot-1)/s.slot) - 1"},
		{"grants are never returned", "slotState.grant", "b.flight += c - b.grants[b.oldest]", "b.flight += c"},
		{"the frame in progress is forgotten", "bifrostReceiver.decide", "quantaFor(r.full - (c - frame))", "quantaFor(r.full - c)"},
		{"grants are not whole frames", "bifrostReceiver.decide", "c = (c-openSlack)/frame*frame + openSlack", ""},
		{"what is stored is forgotten", "bifrostReceiver.decide", "c := min(r.full, r.room()-r.flight)", "c := min(r.full, r.limit-r.flight)"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^TestBifrostKeepsItsPromise$", ".")
	}
	group.MustCatch(t)
}

// BifrostX with one mistake in its source each.
func TestDeepMistakesInBifrostXAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"all that is left is carried over", "bifrostXGate.refill", "g.left = min(g.left, g.frame) + tokens[0]", "g.left += tokens[0]"},
		{"what is in flight is forgotten", "bifrostXReceiver.Wake", "r.room()-r.flight))", "r.room()))"},
		{"tokens of the link are not used up", "bifrostXGate.Sent", "g.left -= b + g.overhead", "g.left -= 0"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^(TestBifrostXKeepsItsPromise|TestFlowControl)$/(^bifrostx$)?", ".")
	}
	group.MustCatch(t)
}

// SWING with one mistake in its source each: the property must find all of them.
func TestDeepMistakesInSwingAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"the long side covers one direction instead of a round trip", "swing.queue", "return p.Cells(link.BDP(p)) + units.MiB", "return p.Cells(link.BDP(p))/2 - 128*units.KB"},
		{"frames leave the relay by the port they came in", "swingGate.pass", "relayPorts-1-g.port.Index()", "g.port.Index()"},
		{"the switch is never resumed", "swingReceiver.Released", "r.Want(now, r.want&^(1<<a.Class))", "r.Want(now, r.want)"},
		{"the short side forgets bytes in flight", "swing.queue", "return s.params.Xoff + link.Needed(p)", "return s.params.Xoff"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^(TestSwingKeepsItsPromise|TestFlowControl)$/(^swing$)?", ".")
	}
	group.MustCatch(t)
}

// Mistakes in policies and flow control that the property must find.
func TestDeepMistakesInSharingAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"reverie takes what the pool has no room for", "reverie.FitsCounted", "free := v.SharedFree() - a.Bytes", "free := v.SharedFree()"},
		{"a queue resumes while it holds headroom", "sonicReceiver.goesOn", "if in.Headroom|in.Reserve != 0 {", "if in.Reserve != 0 {"},
		{"headroom does not pause", "sonicReceiver.Charged", "(s == mmu.Headroom || s == mmu.Shared", "(s == mmu.Drop || s == mmu.Shared"},
		{"an empty queue stays OFF", "sonicReceiver.goesOn", " || in.Total() == 0\n", "\n"},
		// Filtered lengths lag behind the stored bytes, in both directions.
		{"an empty queue of SIH turns OFF", "sihReceiver.Released", " && in.Total() > 0 {", " && in.Total() >= 0 {"},
		{"an empty queue of DSH stays OFF", "dshReceiver.queueGoesOn", " || in.Shared+in.Headroom+in.Reserve == 0\n", "\n"},
		{"a filter decides about room", "dshReceiver.Place", "case (used+a.Bytes <= limit || r.sharing && !r.ports) && a.Bytes <= view.SharedFree():", "case used+a.Bytes <= limit && r.policy.Fits(now, view, a) || in.Total() < t:"},
		{"a filter ends the pause of a port", "dshReceiver.turn", "case r.portGoesOn(view, shared, limit):", "case q < xoff:"},
		{"the insurance is one frame short", "dshReceiver.Place", "mmu.Headroom)+a.Bytes <= r.insurance:", "mmu.Headroom)+a.Bytes <= r.insurance-1048:"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^TestSharingLosesNothing$", ".")
	}
	group.MustCatch(t)
}
