package headroom

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

// Chip is a switching chip with all ports at their highest common rate.
type Chip = chips.Chip

// Chips returns the chips whose ports and buffer are known, by capacity.
func Chips() []Chip {
	return chips.Budgeted()
}

// ChipNamed returns one of Chips by its name or alias, ignoring case.
func ChipNamed(name string) (Chip, error) { return chips.BudgetedNamed(name) }

// Share returns the fraction of a chip's buffer that eq. 1 and 3 of DSH reserve. With an MTU
// of 1500 B, 1.5 us and 8 classes it is the headroom of Fig. 4.
func Share(c Chip, mtu units.Bytes, delay units.Time, classes int) float64 {
	l := Link{Rate: c.Rate, Delay: delay, MTU: mtu}
	return Divide(c.Buffer, SIH(classes, Ports{c.Ports, l.Eq1()})).Share
}
