package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Each mutant has one mistake in the source of the fast engine: in the order of
// simultaneous events, or in the window in which a node runs. The comparison with the
// oracle must catch each of them. The order of starting flows in the oracle is
// compared with the public simulator instead.
func TestDeepMistakesInTheEngineAreCaught(t *testing.T) {
	few := []string{"-run=^TestFewArrivalsAreOrderedLikeMany$", "."}
	byKey, byInsertion, public := []string{"-run=^TestEnginesAgree$", "."}, []string{"-run=^(TestEnginesAgreeByInsertion|TestChangesArePlannedFirst|TestNodesStartInOrder)$", "."}, []string{"-run=^TestReferences$", "../internal/interop/publicsim"}
	var group mutant.Group
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"classes of events in reverse", "key", "class<<keyPortBits", "(7-class)<<keyPortBits", byKey},
		{"one control frame treated as a data frame", "arrivals.gatherFew", "from, classControl,", "from, classArrival,", few},
		{"boxes of other workers ignored", "arrivals.findBoxes", "senders &= senders - 1", "senders = 0", byKey},
		{"stolen nodes stay in the queue of their owner", "runQueue.last", "CompareAndSwap(b, b-1)", "CompareAndSwap(b, b)", []string{"-run=^TestEveryNodeIsTakenOnce$", "."}},
		{"control frames treated as data frames", "arrivals.gatherAll", "control := uint64(classControl)", "control := uint64(classArrival)", byKey},
		{"windows of twice the lookahead", "NewFast", "windowLength(look /", "windowLength(2 * look /", byKey},
		{"frames in the box of the next window", "near.of", "uint64(at-n.start)*", "uint64(at-n.start+n.length)*", byKey},
		{"boxes for one window too many", "near.begin", "units.Time(n.depth)*", "units.Time(n.depth+1)*", byKey},
		{"wires with later frames ignored", "arrivals.gatherFar", "left |= bit", "_ = bit", byKey},
		{"the longer delay of a cable", "Spec.lookahead", "min(c.AtoB, c.BtoA)+", "max(c.AtoB, c.BtoA)+", byKey},
		{"far wakes a window late", "worker.due", "w.far[0].window <= index", "w.far[0].window < index", byKey},
		{"simultaneous arrivals by port", "arrivals.orderTies", "n.before(*a.number(keys[j-1]))", "n.before(*n)", byInsertion},
		{"simultaneous ends of transmissions by port", "orderedNode.firstEnd", "&& a != none &&", "&& a < 0 &&", byInsertion},
		{"causes that share their time not collected", "planner.collect", "*s = *s<<1 | 1", "*s |= 1", byInsertion},
		{"causes ranked in the order of nodes", "planner.rank", "a.before(b.number)", "a.at < b.at", byInsertion},
		{"causes with ranks of their node", "journal.setRank", "c.rank = rank", "_ = rank", byInsertion},
		{"children with ranks of their node", "journal.setRank", "child.cause == at &&", "child.cause != at &&", byInsertion},
		{"numbers of causes not corrected", "planner.final", "n.cause >= p.from", "n.cause > p.from+p.length", byInsertion},
		{"later causes of a node do not wait for other nodes", "planner.rank", "heads[i].before(next.number)", "false", byInsertion},
		{"ends of transmissions numbered when they are armed", "orderedNode.ArmTx", "o.setEnd(port,", "o.plan(&o.ends[port]); o.setEnd(port,", byInsertion},
		{"timers before simultaneous arrivals", "orderedNode.breakTie", "if s.number(k).before(first) {", "if timer != at && s.number(k).before(first) {", byInsertion},
		{"timed changes after events of earlier windows", "orderedNode.armChange", "number{causeChange,", "number{causeFlow,", byInsertion},
		{"nodes started in reverse", "newPlanner", "uint64(i) << 32", "uint64(len(nodes)-i) << 32", byInsertion},
		{"simultaneous flows started by host", "startOf", "return firstStart + uint64(flow)", "return firstStart", public},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, m.test...)
	}
	group.MustCatch(t)
}

// Each mutant has one mistake in the path of plain switches or NICs.
func TestDeepMistakesInPlainNodesAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"all frames are admitted", "Switch.forwardPlain", " || !s.fast.admits(l, in, class, units.Bytes(size))", ""},
		{"receivers do not see departures", "Switch.txDonePlain", "s.releasedPlain(now, in, p, slot, f)", "_ = now"},
		{"stored frames are not marked", "Switch.txDonePlain", "s.mark(now, p, f)", "_ = now"},
		{"the peak is forgotten", "Ledger.ChargeShared", "max(l.peakAll, l.stored)", "l.stored"},
		{"bytes outside the shared segment are released from it", "Ledger.ReleaseShared", "l.mixed[in]>>(class&7)&1 != 0 || left < 0", "left < 0"},
		{"packets are taken in any order", "NIC.arrivePlain", "p.Seq != r.Next || ", ""},
		{"marks are not returned", "NIC.arrivePlain", " || p.Flags&packet.CE != 0", ""},
		{"ACKs overtake data", "NIC.acknowledge", "port.idle(now, 1<<queue)", "port.busy <= now"},
		{"timeouts stay doubled", "NIC.arrivePlain", "!q.plain || q.late", "!q.plain"},
		{"retransmissions count as new", "NIC.servePlain", "q.seq < q.high || ", ""},
		{"the send time is ignored", "NIC.sendNew", " || q.nextAt > p.busy", ""},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^(TestPlainNodesChangeNothing|TestPlainSwitchUnderCongestion)$", ".", "../dataplane")
	}
	group.MustCatch(t)
}

// Each mutant has one mistake in a newer scheme.
func TestDeepMistakesInNewerSchemesAreCaught(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"credits of handlers ignore cells", "handlerSwitch.departed", "p.spec.StoreOfPeer().Cost(units.Bytes(f.Size))", "units.Bytes(f.Size)"},
		{"credits ignore stored frames", "cbfcReceiver.limit", "min(r.lane-r.stored[class], r.most)", "min(r.lane, r.most)"},
		{"Bifrost forgets half of its grants", "slotRules.window", "(p.RoundTrip()+s.slot-1)/s.slot", "(p.RoundTrip()/2)/s.slot"},
		{"relays do not obey pauses", "swing.Gate", "s.params.Side == sideShort", "false"},
		{"half of the headroom of SONiC", "sonic.Receiver", "s.params.Headroom.Of(p.Spec()),", "s.params.Headroom.Of(p.Spec()) / 2,"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^TestNewerSchemes$", ".")
	}
	group.MustCatch(t)
}

// Each mutant has one mistake in the deadlock search.
func TestDeepMistakesAboutDeadlockAreCaught(t *testing.T) {
	rings := []string{"-run=^(TestRandomLoops|TestSearchOften|TestLoopCloses|TestPausedLoopThatDrainsIsNoDeadlock)$", "."}
	trees := []string{"-run=^(TestPauseTreeOfAStuckHost|TestRandomPauseTrees)$", "."}
	var group mutant.Group
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"a RESUME in flight is ignored", "deadlockSearch.reduce", "q.since <= t && !q.free", "q.since <= t", rings},
		{"hosts never take a frame", "deadlockSearch.reduce", "if q.in && x.sw(x.peers[q.Node][q.Port].Node) == nil {", "if false {", rings},
		{"thresholds as they are now", "deadlockSearch.reduceAt", "rest.View = x.rests[i].View()", "rest.View = s.View()", rings},
		{"a queue counts as moving though no frame leaves it", "deadlockSearch.favour", "|| all.Total() != b {", "|| all.Total() >= b {", rings},
		{"all blocked queues count", "deadlockSearch.reduceAt", "		if q.in {\n			for _, l", "		if true {\n			for _, l", rings},
		{"later frames count", "deadlockSearch.dateBetween", "if f.arrived <= t {", "if f.arrived <= x.now {", rings},
		{"the time of the last departure is lost", "sihReceiver.Released", "	r.quiet[a.Class&7] = now\n	in :=", "	in :=", []string{"-run=^TestResumes$", "../scheme/flowctl"}},
		{"the first pause that was sent is the cause", "parent", "sent[n-1]", "sent[0]", trees},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, m.test...)
	}
	group.MustCatch(t)
}
