package headroom

import (
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Chip is a switching chip with all ports at their highest common rate.
type Chip struct {
	Name   string
	Ports  int
	Rate   units.Rate
	Buffer units.Bytes
	Fig4   bool // a point of DSH Fig. 4, in this order
	Note   string
}

// chips are Broadcom's, by capacity. Buffers are the public figures, read as MiB,
// as the worked example of DSH section III-A does. The paper does not list the
// points of Fig. 4; its ends follow from the numbers in the text (157 us and
// 43 %, 37 us and 67 %).
var chips = []Chip{
	{"64x10G", 64, 10 * units.Gbps, 12 * units.MiB, true, "first point of DSH Fig. 4, which does not name it"},
	{"trident2", 32, 40 * units.Gbps, 12 * units.MiB, true, "worked example of DSH section III-A"},
	{"tomahawk", 32, 100 * units.Gbps, 16 * units.MiB, true, "switch of the evaluation in the DSH paper"},
	{"trident3", 32, 100 * units.Gbps, 32 * units.MiB, false, ""},
	{"tomahawk2", 64, 100 * units.Gbps, 42 * units.MiB, true, ""},
	{"tomahawk3", 32, 400 * units.Gbps, 64 * units.MiB, true, ""},
	{"trident4", 32, 400 * units.Gbps, 132 * units.MiB, false, ""},
	{"tomahawk4", 64, 400 * units.Gbps, 113 * units.MiB, true, "last point of DSH Fig. 4"},
}

// Chips returns the known chips, by capacity.
func Chips() []Chip { return append([]Chip(nil), chips...) }

// ChipNamed returns the chip of a name, whatever its case.
func ChipNamed(name string) (Chip, error) {
	var names []string
	for _, c := range chips {
		if strings.EqualFold(c.Name, name) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Chip{}, registry.Unknown("chip", name, names)
}

// BufferTime is how long the buffer lasts at the speed of all ports: the buffer
// per capacity of DSH Fig. 4.
func (c *Chip) BufferTime() units.Time {
	return (c.Rate * units.Rate(c.Ports)).TxTime(c.Buffer)
}

// Share is the part of a chip's buffer that eq. 1 and 3 of DSH reserve: the
// headroom of Fig. 4 with an MTU of 1500 B, 1.5 us and 8 classes.
func Share(c Chip, mtu units.Bytes, delay units.Time, classes int) float64 {
	l := Link{Rate: c.Rate, Delay: delay, MTU: mtu}
	return Divide(c.Buffer, SIH(classes, Ports{c.Ports, l.Eq1()})).Share
}
