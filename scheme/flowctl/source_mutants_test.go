package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Books with one mistake: DSH and its twin hold other bytes of some class.
func TestDeepMistakesInBooksAreCaught(t *testing.T) {
	for _, m := range []struct{ name, function, right, wrong string }{
		{"insurance is charged to a neighbour", "Ledger.Charge", "*l.apart[a.In*Classes+int(a.Class)].of(s) += int32(a.Bytes)", "*l.apart[a.In*Classes+int(a.Class)^3].of(s) += int32(a.Bytes)"},
		{"insurance is given back by a neighbour", "Ledger.Release", "l.releaseMixed(a.In*Classes+int(a.Class), left)", "l.releaseMixed(a.In*Classes+int(a.Class)^3, left)"},
		{"shared bytes are charged to a neighbour", "Ledger.Charge", "l.rows[a.In].shared[a.Class&7] += int32(a.Bytes)", "l.rows[a.In].shared[a.Class&7^3] += int32(a.Bytes)"},
		{"a frame that is given back leaves one byte", "Ledger.Release", "\tleft := int32(a.Bytes)\n\tif c := &l.rows", "\tleft := int32(a.Bytes) - 1\n\tif c := &l.rows"},
		{"a frame is placed by the insurance of its queue, not of its port", "dshReceiver.Place", "case view.PortIn(port, mmu.Headroom)+a.Bytes <= r.insurance:", "case in.Headroom+a.Bytes <= r.insurance:"},
		{"what is private counts as shared", "dshReceiver.Place", "shared, t := view.PortIn(port, mmu.Shared), r.threshold", "shared, t := view.PortIn(port, mmu.Shared)+in.Private, r.threshold"},
	} {
		t.Run(m.name, func(t *testing.T) {
			mutant.MustCatch(t, m.function, m.right, m.wrong, "-run=^TestDSHAgreesWithItsTwin$", ".")
		})
	}
}
