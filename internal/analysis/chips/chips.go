// Package chips is a table of switching chips: their ports, buffers, cells and limits, and
// how reliable each number is. The headroom calculator, the SONiC checks and the models of
// real switches read it.
package chips

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Trust is how reliable a number is.
type Trust uint8

// Levels of trust, from worst to best.
const (
	Unknown   Trust = iota // the number has no meaning
	Assumed                // taken from similar chips; nothing contradicts it
	Shipped                // taken from configuration files or code that ship with the chip
	Published              // published by the vendor, perhaps rounded
	Measured               // measured on the chip
)

func (t Trust) String() string {
	return [...]string{"unknown", "assumed", "shipped", "published", "measured"}[t]
}

// MarshalText implements encoding.TextMarshaler.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Fact is a number and its trust.
type Fact struct {
	N     int64 `json:"value"`
	Trust Trust `json:"known"`
}

// Known reports whether the number is known.
func (f Fact) Known() bool { return f.Trust != Unknown }

// Bytes returns the number as bytes.
func (f Fact) Bytes() units.Bytes { return units.Bytes(f.N) }

// Dialect is what the size of a buffer pool includes.
type Dialect struct {
	// Total is true if the size includes the shared segment, the headroom pool and all
	// minimums. If false, it is the shared segment alone.
	Total bool  `json:"total"`
	Trust Trust `json:"known"`
}

func (d Dialect) String() string {
	switch {
	case d.Trust == Unknown:
		return "unknown"
	case d.Total:
		return "total"
	}
	return "shared"
}

// Family is a group of chips of one vendor with the same buffer model.
type Family string

// Families.
const (
	XGS      Family = "broadcom-xgs" // Trident and Tomahawk
	DNX      Family = "broadcom-dnx" // Jericho and Qumran
	Spectrum Family = "spectrum"
	Tofino   Family = "tofino"
	Other    Family = "other"
)

// Formula holds the constants from which a switch computes headroom in SONiC's dynamic
// buffer model.
type Formula struct {
	// Latencies of the pipeline and of MAC and PHY, and the peer's response time at rates
	// for which 802.3 defines none; all in KiB.
	Pipeline, MAC, Peer float64
	// PortPool and ReservedPool limit a port's share of the headroom pool, in cells.
	PortPool, ReservedPool int64
	Tile                   units.Bytes // bytes per Gbps
	Extra                  units.Bytes // added to every xoff
}

// Chip is a switching chip. Unknown numbers are 0.
type Chip struct {
	Name   string
	Short  string // alias; empty: none
	Family Family

	// Ports at their highest common rate, and the published buffer size read as MiB.
	// Headroom budgets use these; they are 0 for chips without a budget.
	Ports  int
	Rate   units.Rate
	Buffer units.Bytes
	Fig4   bool // a point of DSH Fig. 4; the table lists them in the figure's order
	Note   string

	Memory     Fact    // exact bytes shared by pools, headroom and minimums
	Cell       Fact    // bytes of a storage cell
	Packet     Fact    // bytes that a 64 B frame occupies
	Dialect    Dialect // meaning of a pool's size
	Partitions Fact    // parts of the pool and the headroom pool; a port can use only its own part
	// PortCells is the number of pool cells that each port uses although no configuration
	// file mentions them.
	PortCells Fact
	// PortHeadroom is true if a PG may use the headroom of all lossless PGs of its port.
	PortHeadroom bool
	// Formula is nil for chips that look up headroom in a table.
	Formula *Formula

	SKUs      []string // prefixes of hardware SKU names
	Platforms []string // prefixes of platform names
}

// All returns all chips: first those with a budget, by capacity, then the others by family.
func All() []Chip { return slices.Clone(table) }

// Modelled returns the chips whose memory is known well enough to check a configuration.
func Modelled() []Chip {
	return slices.DeleteFunc(All(), func(c Chip) bool { return !c.Cell.Known() })
}

// Budgeted returns the chips whose ports and buffer are known, by capacity.
func Budgeted() []Chip {
	return slices.DeleteFunc(All(), func(c Chip) bool { return c.Ports == 0 })
}

// Named returns a chip by its name or alias, ignoring case. The error suggests similar names.
func Named(name string) (Chip, error) {
	var names []string
	for _, c := range table {
		if strings.EqualFold(c.Name, name) || c.Short != "" && strings.EqualFold(c.Short, name) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Chip{}, registry.Unknown("chip", name, names)
}

// ModelledNamed is Named for the chips of Modelled.
func ModelledNamed(name string) (Chip, error) {
	return only(Modelled(), name, "the size of its cells is not public")
}

// BudgetedNamed is Named for the chips of Budgeted.
func BudgetedNamed(name string) (Chip, error) {
	return only(Budgeted(), name, "its ports or its buffer are not public")
}

// only is Named for the chips of a list; lacks is what other chips lack.
func only(list []Chip, name, lacks string) (Chip, error) {
	c, err := Named(name)
	if err != nil {
		return c, err
	}
	var names []string
	for i := range list {
		if list[i].Name == c.Name {
			return c, nil
		}
		names = append(names, list[i].Name)
	}
	return Chip{}, fmt.Errorf("chip %s cannot be used here: %s (allowed: %s)", c.Name, lacks, strings.Join(names, ", "))
}

// Of returns the chip of a switch from its hardware SKU or, failing that, its platform; false
// if neither is known. The longest matching prefix wins.
func Of(sku, platform string) (Chip, bool) {
	best, found := 0, Chip{}
	for _, c := range table {
		for _, p := range c.SKUs {
			if len(p) > best && strings.HasPrefix(sku, p) {
				best, found = len(p), c
			}
		}
	}
	if best > 0 {
		return found, true
	}
	for _, c := range table {
		for _, p := range c.Platforms {
			if len(p) > best && strings.HasPrefix(platform, p) {
				best, found = len(p), c
			}
		}
	}
	return found, best > 0
}

// Cells returns the number of cells that b bytes occupy, rounded up.
func (c *Chip) Cells(b units.Bytes) int64 { return (int64(b) + c.Cell.N - 1) / c.Cell.N }

// Waste returns the worst-case ratio of stored to received bytes, which 64 B frames cause:
// Packet over 64 B, rounded up.
func (c *Chip) Waste() int64 { return (c.Packet.N + 63) / 64 }

// BufferTime returns the time in which all ports together fill the buffer: the buffer per
// capacity of DSH Fig. 4.
func (c *Chip) BufferTime() units.Time {
	return (c.Rate * units.Rate(c.Ports)).TxTime(c.Buffer)
}
