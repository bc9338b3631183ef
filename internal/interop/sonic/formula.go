package sonic

import (
	"math"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

// light is the speed of light in fibre that the scripts of SONiC count with, in m/s.
const light = 1.98e8

// quanta are the pause quanta (512 bit times) that a peer may take to answer, by
// Mb/s.
var quanta = map[int64]int64{
	800000: 905, 400000: 905, 200000: 453, 100000: 394, 50000: 147, 40000: 118, 25000: 80, 10000: 67, 1000: 2, 100: 1,
}

// Response is what arrives while a peer answers a pause; at rates for which there
// is no number it is that of the next faster one.
func Response(speed units.Rate) units.Bytes {
	mbps := int64(speed / units.Mbps)
	if q, ok := quanta[mbps]; ok {
		return units.Bytes(q * 64)
	}
	best := int64(math.MaxInt64)
	for s := range quanta {
		if s > mbps && s < best {
			best = s
		}
	}
	if best == math.MaxInt64 {
		best = 800000
	}
	return units.Bytes(quanta[best] * 64)
}

// OnCable is what a cable holds there and back.
func OnCable(speed units.Rate, metres int64) float64 {
	return 2 * float64(metres) * float64(speed) / light / 8
}

// Need is the headroom that a PG needs, by the quanta of 802.3.
type Need struct {
	Least units.Bytes // the cable and one frame: with a peer that answers at once
	One   units.Bytes // and the answer of the peer, if packets take no more than their bytes
	All   units.Bytes // if all packets are the small ones that waste most
}

// NeedOf is the need of a PG of a port on a chip.
func NeedOf(p *Port, metres int64, lossless units.Bytes, chip *chips.Chip) Need {
	cable := OnCable(p.Speed, metres)
	flight := cable + float64(Response(p.Speed)) + float64(p.MTU) + float64(0.8*1024)
	up := func(x float64) units.Bytes { return units.Bytes(math.Ceil(x)) }
	return Need{
		up(cable + float64(p.MTU)),
		up(flight + float64(lossless)),
		up(float64(flight*float64(chip.Waste())) + float64(lossless)),
	}
}

// Computed is what a switch with the dynamic model makes of a port.
type Computed struct{ Xon, Xoff, Size units.Bytes }

// computeHeadroom is the formula of the scripts of Mellanox and Barefoot in
// sonic-swss. Shared: the switch has a shared headroom pool.
func computeHeadroom(chip *chips.Chip, p *Port, metres int64, pattern Pattern, shared bool) Computed {
	f := chip.Formula
	cell, mtu, frame := float64(chip.Cell.N), float64(p.MTU), float64(pattern.MTU)
	speed := float64(p.Speed / units.Mbps)
	response := f.Peer * 1024
	if q, ok := quanta[int64(speed)]; ok {
		response = float64(q * 64)
	}
	small := float64(pattern.Small)
	if chip.Family == chips.Tofino {
		if speed == 400000 {
			response *= 2
		}
		cable := float64(2*float64(metres)*speed) * 1e9 / light / 8192
		worst := cell / 64
		share := (100 - small + float64(small*worst)) / 100
		prop := mtu + cable + float64(f.MAC*1024) + response
		xon := kibi(f.Pipeline * 1024)
		return Computed{xon, kibi(frame + float64(prop*share)), xon}
	}
	worst := math.Ceil(2 * cell / (1 + cell))
	if cell > 128 {
		worst = math.Ceil(cell / 64)
	}
	// What the script takes for the share of bytes in small packets, in per cent.
	bytes := 100 * 64 / ((float64(64*small) + float64((100-small)*frame)) / 100)
	share := (100 - bytes + float64(bytes*worst)) / 100
	prop := mtu + OnCable(p.Speed, metres) + float64(f.MAC*1024) + response + float64(speed/1000*float64(f.Tile))
	c := Computed{Xoff: kibi(frame+float64(prop*share)) + f.Extra}
	if most := kibi(frame + float64(prop*worst)); !shared && pattern.Small != 100 && c.Xoff+2048 < most {
		c.Xoff += 2048
	}
	pipeline := f.Pipeline * 1024
	if p.Lanes == 8 {
		pipeline *= 2
	}
	c.Xon = kibi(pipeline)
	c.Size = c.Xon
	if !shared {
		c.Size = c.Xoff + c.Xon
		if p.Lanes == 8 {
			c.Size += p.MTU
		}
		c.Size = kibi(float64(c.Size))
	}
	return c
}

// kibi rounds up to a multiple of 1024.
func kibi(x float64) units.Bytes { return units.Bytes(math.Ceil(x/1024)) * 1024 }
