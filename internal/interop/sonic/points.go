package sonic

import (
	"math"

	"github.com/xoff-net/xoff/base/units"
)

// Points are where a priority group begins to pause and to drop when it fills its
// pool alone, in units of storage.
type Points struct {
	Unit     units.Bytes // a cell, or what a frame of 64 B costs
	Shared   int64       // free part of the pool that the port sees
	Minimum  int64
	Limit    int64 // on the shared part
	PFC      int64 // Minimum and Limit
	Headroom int64
	Drop     int64 // PFC and Headroom: what comes beyond is dropped
}

// Bytes are units of storage in bytes.
func (p *Points) Bytes(n int64) units.Bytes { return units.Bytes(n) * p.Unit }

// Unit is that of storage: a cell, or what a frame of 64 B costs where that is less.
func (c *Completed) Unit() units.Bytes {
	return units.Bytes(min(c.Chip.Cell.N, c.Chip.Packet.N))
}

// Reserved is what priority groups and limits of ports take of a pool for
// themselves, and ports in no table.
func (c *Completed) Reserved(pool *Pool) units.Bytes {
	sum := units.Bytes(0)
	for _, p := range c.Ports {
		uses := false
		for _, pg := range p.PG {
			if pg != nil && pg.Profile != nil && pg.Profile.Pool == pool {
				uses = true
				sum += pg.Profile.Size
			}
		}
		if p.Ingress != nil {
			for _, q := range p.Ingress.Profiles {
				if q.Pool == pool {
					sum += q.Size
				}
			}
		}
		if uses {
			sum += units.Bytes(c.Chip.PortCells.N * c.Chip.Cell.N)
		}
	}
	return sum
}

// SharedPart is the part of a pool that all may use, as one port sees it.
func (c *Completed) SharedPart(pool *Pool) units.Bytes {
	if pool == nil {
		return 0
	}
	size := pool.Size
	if c.Chip.Dialect.Total && !pool.Computed {
		size -= pool.Xoff + c.Reserved(pool)
	}
	return max(0, size) / units.Bytes(c.Chip.Partitions.N)
}

// Minimum is what a priority group has for itself: without a shared headroom pool
// the size of its profile holds its headroom, too.
func (c *Completed) Minimum(profile *Profile) units.Bytes {
	if profile.Pool != nil && profile.Pool.Xoff > 0 {
		return profile.Size
	}
	return max(0, profile.Size-profile.Xoff)
}

// Available is the headroom that a priority group can get: on some chips that of
// all lossless ones of its port.
func (c *Completed) Available(p *Port, profile *Profile) units.Bytes {
	if c.Chip.PortHeadroom && profile.Pool != nil && profile.Pool.Xoff > 0 {
		return units.Bytes(c.LosslessGroups(p)) * profile.Xoff
	}
	return profile.Xoff
}

// PointsOf is where a priority group pauses and drops.
func (c *Completed) PointsOf(p *Port, profile *Profile) Points {
	unit := c.Unit()
	x := Points{Unit: unit, Shared: int64(c.SharedPart(profile.Pool) / unit), Minimum: int64(c.Minimum(profile) / unit)}
	x.Limit = x.Shared
	switch {
	case profile.HasDynamic:
		x.Limit = Alone(x.Shared, profile.DynamicTh)
	case profile.StaticTh > 0:
		x.Limit = min(x.Shared, int64(profile.StaticTh/unit))
	}
	x.PFC = x.Minimum + x.Limit
	x.Headroom = int64(profile.Xoff / unit)
	if c.Chip.PortHeadroom && profile.Pool != nil && profile.Pool.Xoff > 0 {
		x.Headroom = c.LosslessGroups(p) * int64((profile.Xoff+unit-1)/unit)
	}
	x.Drop = x.PFC + x.Headroom
	return x
}

// Alone is what a dynamic threshold of 2^th gives to the only one that uses a pool.
func Alone(shared, th int64) int64 {
	switch {
	case shared > math.MaxInt64>>16:
		return shared
	case th >= 0:
		return shared << min(th, 8) / (1<<min(th, 8) + 1)
	}
	return shared / (1<<min(-th, 8) + 1)
}
