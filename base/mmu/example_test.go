package mmu_test

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
)

// A frame is stored once and counted twice: where it came in and where it leaves.
func ExampleLedger() {
	ledger := mmu.NewLedger(mmu.Spec{
		Ports: 4, Size: 10000, Shared: 6000, Kinds: [mmu.Classes]mmu.Kind{3: mmu.Lossless},
	})
	view := ledger.View()
	frame := &mmu.Arrival{In: 0, Out: 2, Class: 3, Bytes: 1000, Kind: mmu.Lossless}
	ledger.Charge(frame, mmu.Shared)
	fmt.Println(view.In(0, 3, mmu.Shared), view.Egress(2, 3), view.SharedFree())
	ledger.Release(frame)
	fmt.Println(view.In(0, 3, mmu.Shared), view.Egress(2, 3), view.SharedFree())
	// Output:
	// 1KB 1KB 5KB
	// 0B 0B 6KB
}
