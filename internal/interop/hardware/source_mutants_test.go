package hardware

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Mutates the source of the chip model; its tests must fail.
func TestDeepMistakesInTheModelAreCaught(t *testing.T) {
	books, rules := []string{"-run=Cells|Part|Minimum|Egress|Division", "../../../base/mmu"}, []string{"-run=Chip", "../../../scheme/buffer"}
	ends, points := []string{"-run=SONiC", "../../../scheme/flowctl"}, []string{"-run=ByHand|Setups", "."}
	runs := []string{"-run=ChipSwitches", "../../../fabric"}
	var group mutant.Group
	for _, m := range []struct {
		name, function, right, wrong string
		test                         []string
	}{
		{"a port sees everything", "Ledger.part", "b := whole / l.div.n", "b := whole", books},
		{"parts lose what leaves", "division.follow", "used[s] += l.segments[s] - d.seen[s]", "used[s] += max(0, l.segments[s]-d.seen[s])", books},
		{"egress queues have no minimum", "division.moved", "d.egress[l.spec.Kinds[class&7]] += max(0, now-d.least)", "d.egress[l.spec.Kinds[class&7]] += max(0, now)", books},
		{"packets have no price", "Ledger.Cells", "*l.unit + l.spec.PerPacket", "*l.unit + 0*l.spec.PerPacket", books},
		{"thresholds of the whole buffer", "chip.Fits", "free := v.PartFree(a.In)", "free := v.SharedFree()", rules},
		{"the frame does not count", "chip.level", "free = max(0, free-more)", "free = max(0, free)", points},
		{"pauses only beyond the threshold", "chip.Reached", "v.In(port, class, mmu.Shared)+c.least > c.level", "v.In(port, class, mmu.Shared)-c.least > c.level", points},
		{"one level", "newChip", "levels: p.PortAlpha.Den != 0", "levels: false", rules},
		{"a pool that never ends", "sonicReceiver.room", "b <= r.view.PoolFree(r.index)", "b > 0", ends},
		{"nobody borrows", "sonic.Receiver", "if s.params.Borrow {", "if false {", ends},
		{"resumes at the threshold", "sonicReceiver.goesOn", "q+r.offset <= xoff", "q <= xoff", points},
		{"the egress side is not asked", "node.admit", "n.egress != nil && n.refusesOut(a)", "false && n.refusesOut(a)", runs},
		{"pools are shared, too", "SharedSize", "spec.Spare - spec.Buffer.Pool", "spec.Spare", runs},
		{"the dialect of sizes is forgotten", "setup.layOut", "case chip.Dialect.Total:", "case true:", points},
		{"cells of ports are forgotten", "setup.layOut", "chip.PortCells.Bytes() * s.cell", "0 * chip.PortCells.Bytes() * s.cell", points},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, m.test...)
	}
	group.MustCatch(t)
}
