package units_test

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// One frame of 1538 B on the wire of a 100 Gbps link: 1538 x 80 ps.
func ExampleRate_TxTime() {
	rate, err := units.ParseRate("100Gbps")
	fmt.Println(rate.TxTime(1538), err)
	// Output: 123.04ns <nil>
}
