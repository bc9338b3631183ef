package hardware

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/model/validate"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/topo"
)

// setup is a switch to be measured, and how: what the files of a row and the table of
// chips make of it. Alike setups are measured once.
type setup struct {
	ports, parts, classes int
	cell, perPacket       units.Bytes
	size, pool            units.Bytes // of everything; of the pool of headroom, 0: private
	minimum, headroom     units.Bytes
	xon, offset           units.Bytes
	exponent              int64 // alpha = 2^exponent
	borrow                bool

	frame  units.Bytes
	queues int // that fill in turn, and then the headroom
	turns  int // of these, whose points are known
}

// unknownPool stands for a pool of which nothing is known: what lies between two points
// does not depend on it.
const unknownPool = 4096 // cells

// newSetup says what is measured of a row; nil: its profile is not known.
func newSetup(r *Row) (*setup, error) {
	if r.Xoff == nil || r.Size == nil {
		return nil, nil
	}
	chip, err := chips.ModelledNamed(r.Chip)
	if err != nil {
		return nil, err
	}
	s := &setup{
		parts: int(max(1, chip.Partitions.N)), classes: 2, cell: chip.Cell.Bytes(), frame: units.Bytes(r.Frame),
		minimum: bytesOr(r.Size, 0), headroom: bytesOr(r.Xoff, 0), xon: bytesOr(r.Xon, 0), offset: bytesOr(r.XonOffset, 0),
		pool: bytesOr(r.PoolXoff, 0), borrow: chip.PortHeadroom,
	}
	if r.Alpha != nil {
		s.exponent = *r.Alpha
	}
	if chip.Packet.Known() && chip.Packet.N < chip.Cell.N {
		// A small frame costs less than a cell: bytes are counted, and a price for each.
		s.cell, s.perPacket = 1, chip.Packet.Bytes()-64
	}
	if chip.Family == chips.Spectrum {
		s.headroom = units.Bytes(chip.Cells(s.headroom)) * s.cell // whole cells are set aside
		if r.Block == "pcbb" {
			s.classes = 4 // the tunnel of a dual ToR makes classes 2 and 6 lossless, too
		}
	}
	if s.pool == 0 && s.minimum >= s.headroom {
		s.minimum -= s.headroom // private headroom is part of the size of a profile
	}
	s.turns = len(r.Turns)
	s.queues = max(1, s.turns)
	if r.PGs != nil && s.pool > 0 {
		s.queues = max(s.queues, int(*r.PGs))
	}
	s.layOut(r, &chip)
	return s, nil
}

// layOut finds the number of ports and the size of the buffer.
func (s *setup) layOut(r *Row, chip *chips.Chip) {
	sources := (s.queues + s.classes - 1) / s.classes
	s.ports = max(sources+1, s.parts*sources) // sources are on one part
	counted := 0
	if r.Ports != nil {
		counted = int(*r.Ports)
		s.ports = max(s.ports, counted)
	}
	// What a port takes: minimums, and headroom that is its own.
	each := s.minimum
	if s.pool == 0 {
		each += s.headroom
	}
	each *= units.Bytes(s.classes)
	switch {
	case r.Pool == nil:
		s.size = unknownPool*max(s.cell, 64+s.perPacket)*units.Bytes(s.parts) + units.Bytes(s.ports)*each
	case chip.Dialect.Total:
		// Ports that the row does not count, if it counts any, take nothing.
		s.size = units.Bytes(*r.Pool) + units.Bytes(s.ports-counted)*each
		if counted > 0 {
			s.size -= (units.Bytes(counted) + bytesOr(r.Lossy, 0)) * chip.PortCells.Bytes() * s.cell
		}
	default:
		s.size = units.Bytes(*r.Pool) + s.pool + units.Bytes(s.ports)*each
	}
}

// layout lays out the scenario of a setup: one switch.
func (s *setup) layout() (*layout.Layout, error) {
	c := scenario.Default()
	c.Name = "hardware"
	c.Topology = scenario.Fabric("one-switch", &topo.OneSwitchParams{Hosts: s.ports, HostLink: topo.Cable{Rate: 100 * units.Gbps, Delay: units.Microsecond}})
	lossless, lossy := []int{3, 4}, []int{1, 2, 5, 6, 7}
	if s.classes == 4 {
		lossless, lossy = []int{2, 3, 4, 6}, []int{1, 5, 7}
	}
	c.Classes = map[string]scenario.Class{
		"control": {IDs: []int{0}, Kind: "control"}, "lossless": {IDs: lossless, Kind: "lossless"}, "lossy": {IDs: lossy, Kind: "lossy"},
	}
	c.Switch.Buffer = scenario.Buffer{Size: s.size, Cell: s.cell, ReserveFor: "cabled", PerPacket: s.perPacket, HeadroomPool: s.pool}
	if s.parts > 1 {
		c.Switch.Buffer.Partitions = s.parts
	}
	alpha := units.Ratio{Num: 1, Den: 1}
	if s.exponent >= 0 {
		alpha.Num <<= s.exponent
	} else {
		alpha.Den <<= -s.exponent
	}
	c.Switch.Policy = scenario.Choice{Name: "chip", Params: &buffer.ChipParams{Alpha: alpha, AlphaLossy: units.Ratio{Num: 1, Den: 1}}}
	c.Switch.FlowControl = scenario.Choice{Name: "sonic", Params: &flowctl.SONiCParams{
		Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: s.headroom}, Xon: s.xon, Offset: s.offset, Minimum: s.minimum, Borrow: s.borrow,
	}}
	c.Switch.PFC.Hold = "indefinite"
	c.Resolve()
	return validate.Scenario(c)
}

// cells is what frames take of the buffer, in cells; where bytes are counted, in frames.
func (s *setup) cells(frames int64) int64 {
	if s.cell == 1 {
		return frames
	}
	return frames * int64((s.frame+s.cell-1)/s.cell)
}

// String is a setup in a line, for messages.
func (s *setup) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ports in %d parts, %d B, pool %d B, minimum %d B, headroom %d B, alpha 2^%d", s.ports, s.parts, s.size, s.pool, s.minimum, s.headroom, s.exponent)
	return b.String()
}
