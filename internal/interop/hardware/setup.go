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

// setup describes a simulated switch and its test, from a row and the table of chips. It is
// comparable; identical setups are measured once.
type setup struct {
	ports, parts, classes int
	cell, perPacket       units.Bytes
	size, pool            units.Bytes // whole buffer; headroom pool, 0: private headroom
	minimum, headroom     units.Bytes
	xon, offset           units.Bytes
	exponent              int64 // alpha = 2^exponent
	borrow                bool

	frame  units.Bytes
	queues int // queues that fill in turn, and then fill the headroom
	turns  int // queues whose pause thresholds were measured
}

// assumedPool is the size of a pool whose size is unknown. The distance between two
// thresholds does not depend on it.
const assumedPool = 4096 // cells

// newSetup returns the setup of a row, or nil if its profile is unknown.
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
		// A small frame takes less than a cell: count bytes, plus a charge per frame.
		s.cell, s.perPacket = 1, chip.Packet.Bytes()-64
	}
	if chip.Family == chips.Spectrum {
		s.headroom = units.Bytes(chip.Cells(s.headroom)) * s.cell // reserved in whole cells
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

// layOut sets the number of ports and the size of the buffer.
func (s *setup) layOut(r *Row, chip *chips.Chip) {
	sources := (s.queues + s.classes - 1) / s.classes
	s.ports = max(sources+1, s.parts*sources) // sources share a partition
	counted := 0
	if r.Ports != nil {
		counted = int(*r.Ports)
		s.ports = max(s.ports, counted)
	}
	// Reserved per port: minimums and private headroom.
	each := s.minimum
	if s.pool == 0 {
		each += s.headroom
	}
	each *= units.Bytes(s.classes)
	switch {
	case r.Pool == nil:
		s.size = assumedPool*max(s.cell, 64+s.perPacket)*units.Bytes(s.parts) + units.Bytes(s.ports)*each
	case chip.Dialect.Total:
		// Ports beyond those that the row counts must not reduce the shared part.
		s.size = units.Bytes(*r.Pool) + units.Bytes(s.ports-counted)*each
		if counted > 0 {
			s.size -= (units.Bytes(counted) + bytesOr(r.Lossy, 0)) * chip.PortCells.Bytes() * s.cell
		}
	default:
		s.size = units.Bytes(*r.Pool) + s.pool + units.Bytes(s.ports)*each
	}
}

// layout returns the layout of a scenario with one switch.
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

// cells returns the cells that frames take; if the buffer counts bytes, the frames.
func (s *setup) cells(frames int64) int64 {
	if s.cell == 1 {
		return frames
	}
	return frames * int64((s.frame+s.cell-1)/s.cell)
}

// String describes the setup in one line for messages.
func (s *setup) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d ports in %d partitions, buffer %d B, headroom pool %d B, minimum %d B, headroom %d B, alpha 2^%d", s.ports, s.parts, s.size, s.pool, s.minimum, s.headroom, s.exponent)
	return b.String()
}
