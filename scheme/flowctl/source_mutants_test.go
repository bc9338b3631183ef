package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/internal/devtool/mutant"
)

// Ledgers and receivers with one mistake each: DSH and its model then differ in the stored bytes
// of some class.
func TestDeepLedgerMutants(t *testing.T) {
	var group mutant.Group
	for _, m := range []struct{ name, function, right, wrong string }{
		{"insurance is charged to another queue", "Ledger.Charge", "*l.unshared[a.In*Classes+int(a.Class)].of(s) += int32(a.Bytes)", "*l.unshared[a.In*Classes+int(a.Class)^3].of(s) += int32(a.Bytes)"},
		{"insurance is released from another queue", "Ledger.Release", "l.releaseMixed(a.In*Classes+int(a.Class), left)", "l.releaseMixed(a.In*Classes+int(a.Class)^3, left)"},
		{"shared bytes are charged to another queue", "Ledger.Charge", "l.rows[a.In].shared[a.Class&7] += int32(a.Bytes)", "l.rows[a.In].shared[a.Class&7^3] += int32(a.Bytes)"},
		{"a released frame leaves one byte", "Ledger.Release", "\tleft := int32(a.Bytes)\n\tif c := &l.rows", "\tleft := int32(a.Bytes) - 1\n\tif c := &l.rows"},
		{"the insurance of the queue is checked, not of the port", "dshReceiver.Place", "case view.PortIn(port, mmu.Headroom)+a.Bytes <= r.insurance:", "case in.Headroom+a.Bytes <= r.insurance:"},
		{"private bytes count as shared", "dshReceiver.Place", "shared, t := view.PortIn(port, mmu.Shared), r.threshold", "shared, t := view.PortIn(port, mmu.Shared)+in.Private, r.threshold"},
	} {
		group.Add(m.name, m.function, m.right, m.wrong, "-run=^TestDSHAgreesWithModel$", ".")
	}
	group.MustCatch(t)
}
