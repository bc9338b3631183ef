//go:build deep

package hardware

import (
	"testing"

	"github.com/xoff-net/xoff/internal/mutant"
)

// The model of chips with one mistake in its source, which its tests must find.
func TestDeepMistakesInTheModelAreCaught(t *testing.T) {
	const mmu, policy, flow, plane = "../../base/mmu/", "../../scheme/buffer/", "../../scheme/flowctl/", "../../dataplane/"
	books, rules := []string{"-run=Cells|Part|Minimum|Egress|Division", "../../base/mmu"}, []string{"-run=Chip", "../../scheme/buffer"}
	ends, points := []string{"-run=SONiC", "../../scheme/flowctl"}, []string{"-run=ByHand|Setups", "."}
	runs := []string{"-run=ChipSwitches", "../../scenario/build"}
	for _, m := range []struct {
		name, file, right, wrong string
		test                     []string
	}{
		{"a port sees everything", mmu + "parts.go", "b := whole / l.div.n", "b := whole", books},
		{"parts lose what leaves", mmu + "parts.go", "used[s] += l.segments[s] - d.seen[s]", "used[s] += max(0, l.segments[s]-d.seen[s])", books},
		{"egress queues have no minimum", mmu + "parts.go", "d.egress[l.spec.Kinds[class&7]] += max(0, now-d.least)", "d.egress[l.spec.Kinds[class&7]] += max(0, now)", books},
		{"packets have no price", mmu + "ledger.go", "*l.unit + l.spec.PerPacket", "*l.unit + 0*l.spec.PerPacket", books},
		{"thresholds of the whole buffer", policy + "chip.go", "free := v.PartFree(a.In)", "free := v.SharedFree()", rules},
		{"the frame does not count", policy + "chip.go", "free = max(0, free-more)", "free = max(0, free)", points},
		{"pauses only beyond the threshold", policy + "chip.go", "v.In(port, class, mmu.Shared)+c.least > c.level", "v.In(port, class, mmu.Shared)-c.least > c.level", points},
		{"one level", policy + "chip.go", "levels: p.PortAlpha.Den != 0", "levels: false", rules},
		{"a pool that never ends", flow + "sonic.go", "b <= r.view.PoolFree(r.index)", "b > 0", ends},
		{"nobody borrows", flow + "sonic.go", "if s.params.Borrow {", "if false {", ends},
		{"resumes at the threshold", flow + "sonic.go", "q+r.offset <= xoff", "q <= xoff", points},
		{"the egress side is not asked", plane + "node_admit.go", "n.egress != nil && n.refusesOut(a)", "false && n.refusesOut(a)", runs},
		{"pools are shared, too", plane + "switch.go", "spec.Spare - spec.Buffer.Pool", "spec.Spare", runs},
		{"the dialect of sizes is forgotten", "setup.go", "case chip.Dialect.Total:", "case true:", points},
		{"cells of ports are forgotten", "setup.go", "chip.PortCells.Bytes() * s.cell", "0 * chip.PortCells.Bytes() * s.cell", points},
	} {
		t.Run(m.name, func(t *testing.T) { mutant.MustCatch(t, m.file, m.right, m.wrong, m.test...) })
	}
}
