package sonic

import (
	"math"

	"github.com/xoff-net/xoff/base/units"
)

// Thresholds are the occupancies at which a priority group pauses and drops when it fills
// its pool alone, in units of storage.
type Thresholds struct {
	Unit     units.Bytes // a cell, or the storage for a frame of 64 B
	Shared   int64       // free part of the pool, as the port sees it
	Minimum  int64
	Limit    int64 // threshold in the shared part
	PFC      int64 // Minimum + Limit: the group pauses
	Headroom int64
	Drop     int64 // PFC + Headroom: further frames are dropped
}

// Bytes converts units of storage to bytes.
func (p *Thresholds) Bytes(n int64) units.Bytes { return units.Bytes(n) * p.Unit }

// Unit returns the unit of storage: a cell, or the storage for a frame of 64 B if that is
// less.
func (c *Completed) Unit() units.Bytes {
	return units.Bytes(min(c.Chip.Cell.N, c.Chip.Packet.N))
}

// Reserved returns the bytes of a pool that are reserved: by priority groups, by port
// profiles and, in no table, by the chip for each port.
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

// SharedPart returns the part of a pool that all groups compete for, as one port sees it.
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

// Minimum returns the guaranteed bytes of a priority group. Without a shared headroom
// pool, the profile's size also contains the headroom.
func (c *Completed) Minimum(profile *Profile) units.Bytes {
	if profile.Pool != nil && profile.Pool.Xoff > 0 {
		return profile.Size
	}
	return max(0, profile.Size-profile.Xoff)
}

// Available returns the headroom that a priority group can use. On some chips it can use
// the headroom of all lossless groups of its port.
func (c *Completed) Available(p *Port, profile *Profile) units.Bytes {
	if c.Chip.PortHeadroom && profile.Pool != nil && profile.Pool.Xoff > 0 {
		return units.Bytes(c.LosslessGroups(p)) * profile.Xoff
	}
	return profile.Xoff
}

// ThresholdsOf returns the thresholds of a priority group with the given profile.
func (c *Completed) ThresholdsOf(p *Port, profile *Profile) Thresholds {
	unit := c.Unit()
	x := Thresholds{Unit: unit, Shared: int64(c.SharedPart(profile.Pool) / unit), Minimum: int64(c.Minimum(profile) / unit)}
	x.Limit = x.Shared
	switch {
	case profile.HasDynamic:
		x.Limit = AloneLimit(x.Shared, profile.DynamicTh)
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

// AloneLimit returns the limit of a dynamic threshold with alpha 2^th when only one
// group uses the pool.
func AloneLimit(shared, th int64) int64 {
	switch {
	case shared > math.MaxInt64>>16:
		return shared
	case th >= 0:
		return shared << min(th, 8) / (1<<min(th, 8) + 1)
	}
	return shared / (1<<min(-th, 8) + 1)
}
