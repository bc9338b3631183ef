package sonic

import (
	"math"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

// lightSpeed is the speed of light in fibre used by SONiC's scripts, in m/s.
const lightSpeed = 198_000_000

// quanta has the pause quanta (512 bit times) that a peer may take to react, by Mb/s.
var quanta = map[int64]int64{
	800000: 905, 400000: 905, 200000: 453, 100000: 394, 50000: 147, 40000: 118, 25000: 80, 10000: 67, 1000: 2, 100: 1,
}

// ResponseBytes returns the bytes that arrive while a peer reacts to a PAUSE. Speeds
// that 802.3 does not list use the number of the next faster one.
func ResponseBytes(speed units.Rate) units.Bytes {
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

// CableBytes returns the bytes in flight on a cable during one round trip.
func CableBytes(speed units.Rate, metres int64) float64 {
	return 2 * float64(metres) * float64(speed) / lightSpeed / 8
}

// Delay returns the one-way delay of a cable, with the speed of light in SONiC's formulas.
func Delay(metres int64) units.Time {
	return units.Time((metres*int64(units.Second) + lightSpeed - 1) / lightSpeed)
}

// Need is the headroom that a priority group needs, from the best to the worst case.
type Need struct {
	FastPeer     units.Bytes // cable and one frame: the peer reacts at once; link.Least
	Standard     units.Bytes // the peer takes the time that 802.3 allows; no bytes are wasted in cells
	SmallPackets units.Bytes // like Standard, but all packets have the size that wastes most
}

// NeedOf returns the headroom needed by a priority group of a port with the given rate and
// cable; lossless is the MTU of lossless traffic.
func NeedOf(rate units.Rate, metres int64, mtu, lossless units.Bytes, chip *chips.Chip) Need {
	delay := Delay(metres)
	flight := CableBytes(rate, metres) + float64(ResponseBytes(rate)) + float64(mtu) + float64(0.8*1024)
	up := func(x float64) units.Bytes { return units.Bytes(math.Ceil(x)) }
	return Need{
		link.Least(&link.Port{Rate: rate, DelayIn: delay, DelayOut: delay, MTU: mtu}),
		up(flight + float64(lossless)),
		up(float64(flight*float64(chip.Waste())) + float64(lossless)),
	}
}

// ComputedHeadroom has the numbers that a switch with the dynamic model computes for a port.
type ComputedHeadroom struct{ Xon, Xoff, Size units.Bytes }

// computeHeadroom is the formula in the Mellanox and Barefoot scripts of sonic-swss.
// shared: the switch has a shared headroom pool.
func computeHeadroom(chip *chips.Chip, p *Port, metres int64, pattern Pattern, shared bool) ComputedHeadroom {
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
		cable := float64(2*float64(metres)*speed) * 1e9 / lightSpeed / 8192
		worst := cell / 64
		share := (100 - small + float64(small*worst)) / 100
		prop := mtu + cable + float64(f.MAC*1024) + response
		xon := roundKiB(f.Pipeline * 1024)
		return ComputedHeadroom{xon, roundKiB(frame + float64(prop*share)), xon}
	}
	worst := math.Ceil(2 * cell / (1 + cell))
	if cell > 128 {
		worst = math.Ceil(cell / 64)
	}
	// The script's estimate of the share of bytes in small packets, in per cent.
	bytes := 100 * 64 / ((float64(64*small) + float64((100-small)*frame)) / 100)
	share := (100 - bytes + float64(bytes*worst)) / 100
	prop := mtu + CableBytes(p.Speed, metres) + float64(f.MAC*1024) + response + float64(speed/1000*float64(f.Tile))
	c := ComputedHeadroom{Xoff: roundKiB(frame+float64(prop*share)) + f.Extra}
	if most := roundKiB(frame + float64(prop*worst)); !shared && pattern.Small != 100 && c.Xoff+2048 < most {
		c.Xoff += 2048
	}
	pipeline := f.Pipeline * 1024
	if p.Lanes == 8 {
		pipeline *= 2
	}
	c.Xon = roundKiB(pipeline)
	c.Size = c.Xon
	if !shared {
		c.Size = c.Xoff + c.Xon
		if p.Lanes == 8 {
			c.Size += p.MTU
		}
		c.Size = roundKiB(float64(c.Size))
	}
	return c
}

// roundKiB rounds up to a multiple of 1024.
func roundKiB(x float64) units.Bytes { return units.Bytes(math.Ceil(x/1024)) * 1024 }
