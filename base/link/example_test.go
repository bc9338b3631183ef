package link_test

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
)

// Headroom of a queue behind 300 m of cable at 100 Gbps, by equation 1 of the DSH
// paper: two propagation delays, two frames, and the peer's time to react (3840 B).
// 2 x 1.5 us x 12.5 B/ns + 2 x 1500 B + 3840 B = 44,340 B.
func ExampleEq1() {
	fmt.Println(int64(link.Eq1(100*units.Gbps, 1500*units.Nanosecond, 1500)))
	// Output: 44340
}
