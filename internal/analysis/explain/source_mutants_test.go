package explain_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Mistakes in the recorder, in the walk along the critical path, and in the causes found.
func TestDeepMutants(t *testing.T) {
	const tests = "ByHand|Loss|Cases|Alone|PartsAddUp|Trees|Narrow"
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"an opening window is ignored", "sender.leaves", "case s.opened.at > ready:", "case s.opened.at > ready && now < 0:"},
		{"pacing is ignored", "sender.leaves", "ready := min(max(s.paced, s.start), now)", "ready := min(s.start, now)"},
		{"a loss is forgotten", "node.Lost", "s.lost = n.moment(now, flow, whyNack, whyTimeout)", "n.moment(now, flow, whyNack, whyTimeout)"},
		{"a timeout is recorded as a NACK", "node.Lost", "s.lost, s.late = moment{at: now, by: whyTimeout}, false", "s.lost, s.late = moment{at: now, by: whyNack}, false"},
		{"arrival instead of acceptance", "node.Answered", "answer{n.taken.at, n.taken.came, queue}", "answer{n.taken.came, n.taken.came, queue}"},
		{"replies in the wrong order", "node.Depart", "a := list[0]", "a := list[len(list)-1]"},
		{"the cause of a pause is omitted", "node.pfc", "e.byPort, e.byClass = int64(by), int64(class)", "_, _ = by, class"},
		{"paused since the arrival", "Run.divide", "s.Part, s.Pause, s.From = Paused, blocked[h].by, max(from, blocked[h].from)", "s.Part, s.Pause, s.From = Paused, blocked[h].by, from"},
		{"behind the wrong frame", "Run.divide", "s.Part, s.Behind, s.From = Queueing, x.flow, max(s.From, x.at)", "s.Part, s.Behind, s.From = Queueing, f.flow+1, max(s.From, x.at)"},
		{"the flow itself counts as another", "Run.divide", "if x.flow == f.flow {", "if x.flow == f.flow && to < 0 {"},
		{"lost since the last packet", "walk.source", "last := w.sentBefore(i, int64(f.seq))", "last := w.sentBefore(i, -1)"},
		{"round trips are not counted", "walk.source", "w.rounds()\n", "\n"},
		{"processing of a host is omitted", "walk.arrived", "{From: f.cause, To: f.came, Part: Receiver,", "{From: f.came, To: f.came, Part: Receiver,"},
		{"a pause blocks before it arrives", "pauseBuilder.blockingPause", "if b.pauses[list[i]].came <= at {", "if b.pauses[list[i]].sent <= at {"},
		{"a refresh counts as a pause", "pauseBuilder.pause", "was != nil && was.ended == units.Never", "was != nil && was.ended == units.Never && at < 0"},
		{"pauses survive link changes", "pauseBuilder.upTo", "b.ended(f.from, End{f.node, f.port, class})", "_ = class"},
		{"frames of other ingress ports count", "Run.contents", "if int(f.in) == e.Port {", "if int(f.in) != e.Port {"},
		{"the emptiest egress", "Run.followQueues", "if b > most {", "if b > 0 && (out < 0 || b < most) {"},
		{"users of the port are victims", "Run.victims", "if !users[flow] {", "if users[flow] {"},
		{"cost of all pauses", "Run.victims", "s.Part == Paused && s.Pause >= 0 && mine[r.pauses[s.Pause].root]", "s.Part != Propagation"},
		{"the smallest cause comes first", "Run.congestion", "return cmp.Compare(b.Paused, a.Paused) })\n\tfor", "return cmp.Compare(a.Paused, b.Paused) })\n\tfor"},
		{"slow links are ignored", "Run.describePort", "case p.rate < usual:", "case p.rate < usual && flows < 0:"},
		{"late marks are ignored", "Run.describePort", "m.Queue <= m.Floor && r.needMarks(bytes)", "m.Queue > m.Floor && r.needMarks(bytes)"},
		{"a full window is not reported", "NIC.sendPacket", "n.paced(now, p, q, size)\n\tif n.watched {", "n.paced(now, p, q, size)\n\tif n.watched && now < 0 {"},
		{"a NACK reports no loss", "NIC.acknowledged", "n.ack.Nack = true\n\t\tn.reportLost(now, q)\n", "n.ack.Nack = true\n"},
		{"the next send time instead of this one", "NIC.sendPacket", "n.flowEnds.Sends(q.flow, q.nextAt)", "n.flowEnds.Sends(q.flow, now)"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-failfast", "-run="+tests, ".")
	}
	group.MustCatch(t)
}
