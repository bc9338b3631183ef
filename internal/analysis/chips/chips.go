// Package chips is what is known about switching chips, and how well: one table
// for budgets of headroom, for checks of switch configurations and for models of
// real switches.
package chips

import (
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Trust says how a number is known.
type Trust uint8

// From worst to best.
const (
	Unknown   Trust = iota // the number means nothing
	Assumed                // by likeness to other chips; nothing contradicts it
	Shipped                // in configuration files, or code, that are shipped for the chip
	Published              // by the vendor, maybe rounded
	Measured               // on the chip
)

func (t Trust) String() string {
	return [...]string{"unknown", "assumed", "shipped", "published", "measured"}[t]
}

// MarshalText implements encoding.TextMarshaler.
func (t Trust) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Fact is a number and how it is known.
type Fact struct {
	N     int64 `json:"value"`
	Trust Trust `json:"known"`
}

// Known tells whether there is a number.
func (f Fact) Known() bool { return f.Trust != Unknown }

// Bytes is the number of a fact that counts bytes.
func (f Fact) Bytes() units.Bytes { return units.Bytes(f.N) }

// Dialect is what the key size of a pool contains.
type Dialect struct {
	// Total: shared part, headroom pool and every minimum. Otherwise it is the
	// shared part alone, and the other two come on top.
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

// Family decides what a vendor does alike on all its chips.
type Family string

// Families.
const (
	XGS      Family = "broadcom-xgs" // Trident and Tomahawk
	DNX      Family = "broadcom-dnx" // Jericho and Qumran
	Spectrum Family = "spectrum"
	Tofino   Family = "tofino"
	Other    Family = "other"
)

// Formula has the constants by which a switch computes headroom itself, in its
// dynamic buffer model.
type Formula struct {
	// Latency of the pipeline, of MAC and PHY, and of the answer of a peer at rates
	// for which 802.3 has none, in KiB.
	Pipeline, MAC, Peer float64
	// PortPool and ReservedPool bound what a port takes of the headroom pool, in cells.
	PortPool, ReservedPool int64
	Tile                   units.Bytes // bytes per Gbps
	Extra                  units.Bytes // added to every xoff
}

// Chip is a switching chip. Numbers that are not known are 0.
type Chip struct {
	Name   string
	Short  string // another name; empty: none
	Family Family

	// All ports at their highest common rate, and the buffer as it is published,
	// read as MiB: for budgets of headroom.
	Ports  int
	Rate   units.Rate
	Buffer units.Bytes
	Fig4   bool // a point of DSH Fig. 4, in this order
	Note   string

	Memory     Fact    // bytes that pools, headroom and minimums share, to the byte
	Cell       Fact    // bytes; unit of storage
	Packet     Fact    // bytes that a frame of 64 B costs
	Dialect    Dialect // of the size of pools
	Partitions Fact    // of pool and headroom pool: a port sees only its part
	// PortCells are cells that a port takes of the pool in no file.
	PortCells Fact
	// PortHeadroom: a PG may take what all lossless PGs of its port have together.
	PortHeadroom bool
	// Formula is nil for chips that look headroom up in a table.
	Formula *Formula

	SKUs      []string // how names of hardware SKUs begin
	Platforms []string // how names of platforms begin
}

// All returns the chips: first those with a budget, by capacity.
func All() []Chip { return slices.Clone(table) }

// Modelled returns the chips whose memory is known well enough to judge a
// configuration.
func Modelled() []Chip {
	return slices.DeleteFunc(All(), func(c Chip) bool { return !c.Cell.Known() })
}

// Named returns a chip by one of its names, whatever their case.
func Named(name string) (Chip, error) { return Find(All(), name) }

// ModelledNamed returns a chip whose memory is known.
func ModelledNamed(name string) (Chip, error) { return Find(Modelled(), name) }

// Find returns a chip of a list by one of its names.
func Find(list []Chip, name string) (Chip, error) {
	var names []string
	for _, c := range list {
		if strings.EqualFold(c.Name, name) || c.Short != "" && strings.EqualFold(c.Short, name) {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Chip{}, registry.Unknown("chip", name, names)
}

// Of returns the chip of a switch by its hardware SKU or platform; false: neither
// is known. Of several beginnings that fit the longest decides.
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

// Cells is how many cells bytes fill, rounded up.
func (c *Chip) Cells(b units.Bytes) int64 { return (int64(b) + c.Cell.N - 1) / c.Cell.N }

// Waste is how much more than its bytes a frame of 64 B takes at most: the cell
// in frames of 64 B, rounded up.
func (c *Chip) Waste() int64 { return (c.Packet.N + 63) / 64 }

// BufferTime is how long the buffer lasts at the speed of all ports: the buffer
// per capacity of DSH Fig. 4.
func (c *Chip) BufferTime() units.Time {
	return (c.Rate * units.Rate(c.Ports)).TxTime(c.Buffer)
}
