package sonic

import (
	"fmt"
	"math"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

// Completed is what is known of a switch beside its configuration, and what the
// switch itself would make of both.
type Completed struct {
	*Switch
	Chip   *chips.Chip
	Lookup *Lookup
	Memory units.Bytes // of the chip; 0: unknown
	// Rounded: Memory is known only as it is advertised.
	Rounded bool
	Made    []*Profile // that are in no table
	Missing []Missing
	// SharedHeadroom: lossless priority groups take headroom from a pool.
	SharedHeadroom bool
	// Occupied is what a switch with the dynamic model takes off its memory before
	// it sizes pools; 0: it does not.
	Occupied units.Bytes
	Wanted   units.Bytes // headroom that lossless priority groups want of the pool
}

// Missing is a lossless priority group for which the switch finds no profile.
type Missing struct {
	Port *Port
	Name string // of the profile
	Why  string
}

// losslessPool is the pool of all profiles that a switch makes itself.
const losslessPool = "ingress_lossless_pool"

// Complete adds what a switch makes itself. Memory replaces what is known of the
// chip; 0: it does not.
func Complete(s *Switch, chip *chips.Chip, lookup *Lookup, memory units.Bytes) *Completed {
	c := &Completed{Switch: s, Chip: chip, Lookup: lookup, Memory: memory}
	switch {
	case memory > 0:
	case chip.Memory.Known():
		c.Memory = chip.Memory.Bytes()
	default:
		c.Memory, c.Rounded = chip.Buffer, true
	}
	pool := s.Pool(losslessPool)
	c.SharedHeadroom = pool != nil && pool.Xoff > 0 || s.Dynamic && s.Default.Ratio > 0
	if s.Dynamic {
		c.compute(pool)
	} else {
		c.fromLookup(pool)
	}
	return c
}

// EffectiveSpeed is the one by which headroom is chosen.
func (c *Completed) EffectiveSpeed(p *Port) units.Rate {
	if c.Dynamic && p.AutoNeg && p.Advertised > 0 {
		return p.Advertised
	}
	return p.Speed
}

// fromLookup does what buffermgr does: each port with a cable and pfc_enable gets
// the profile of its speed and cable on the priority groups of pfc_enable.
func (c *Completed) fromLookup(pool *Pool) {
	for _, p := range c.Ports {
		if p.Cable == nil || p.Cable.Metres == 0 || p.QoS == nil || p.QoS.PFC == 0 {
			continue
		}
		name := fmt.Sprintf("pg_lossless_%d_%s_profile", int64(p.Speed/units.Mbps), p.Cable.Text)
		profile := c.named(name)
		if profile == nil {
			row, ok := c.Lookup.Find(p.Speed, p.Cable.Text)
			if !ok {
				c.missing(p, name)
				continue
			}
			profile = &Profile{
				Place: Place{File: c.Lookup.File}, Name: name, Pool: pool, PoolName: losslessPool, Made: true,
				Size: row.Size, Xon: row.Xon, Xoff: row.Xoff, XonOffset: row.XonOffset, HasXoff: true,
			}
			if pool == nil || pool.DynamicTh {
				profile.HasDynamic, profile.DynamicTh = true, row.Threshold
			} else {
				profile.HasStatic, profile.StaticTh = true, units.Bytes(row.Threshold)
			}
			c.Made = append(c.Made, profile)
		}
		for _, k := range p.QoS.PFC.List() {
			if p.PG[k] == nil {
				p.PG[k] = &PG{Place: p.QoS.Place, Profile: profile, Made: true}
			}
		}
	}
}

func (c *Completed) named(name string) *Profile {
	if p := c.Profile(name); p != nil {
		return p
	}
	return find(c.Made, func(p *Profile) bool { return p.Name == name })
}

// missing notes a port for which no profile can be made. One whose priority groups
// have profiles in the tables loses nothing unless the switch knows of no row.
func (c *Completed) missing(p *Port, name string) {
	why := fmt.Sprintf("%s has no row for %d Mb/s and %s", lookupName(c.Lookup), int64(p.Speed/units.Mbps), p.Cable.Text)
	if c.Lookup == nil {
		covered := true
		for _, k := range p.QoS.PFC.List() {
			covered = covered && p.PG[k] != nil
		}
		if covered {
			return // what the file of the switch says cannot be known
		}
		why = "no lookup file is given"
	}
	c.Missing = append(c.Missing, Missing{p, name, why})
}

func lookupName(l *Lookup) string {
	if l == nil {
		return LookupName
	}
	return l.File
}

// compute does what buffermgrdyn does.
func (c *Completed) compute(pool *Pool) {
	for _, p := range c.Ports {
		for k, pg := range p.PG {
			if pg == nil || !pg.Compute && (pg.Profile == nil || !pg.Profile.HeadroomComputed) {
				continue
			}
			if c.Chip.Formula == nil || p.Cable == nil || p.Cable.Metres == 0 || p.Speed == 0 {
				if pg.Compute {
					p.PG[k] = nil
				}
				continue
			}
			th := c.Default.DynamicTh
			if pg.Profile != nil {
				th = pg.Profile.DynamicTh
			}
			pg.Profile = c.computed(p, pool, th)
		}
	}
	if c.Chip.Family == chips.Tofino {
		if pool != nil && pool.Xoff == 0 && c.SharedHeadroom {
			pool.Xoff = units.Bytes(math.Ceil(float64(len(c.Ports)*2*400)*0.7)) * c.Chip.Cell.Bytes()
			pool.Computed = true
		}
		return
	}
	c.computePools(pool)
}

// computed returns the profile of a port, which others may share.
func (c *Completed) computed(p *Port, pool *Pool, th int64) *Profile {
	own := *p
	own.Speed = c.EffectiveSpeed(p)
	var b strings.Builder
	fmt.Fprintf(&b, "pg_lossless_%d_%s", int64(own.Speed/units.Mbps), p.Cable.Text)
	if p.MTU != 9100 {
		fmt.Fprintf(&b, "_mtu%d", int64(p.MTU))
	}
	if th != c.Default.DynamicTh {
		fmt.Fprintf(&b, "_th%d", th)
	}
	wide := own.Speed == 400*units.Gbps && c.Chip.Short == "spc3" || own.Speed == 800*units.Gbps
	if c.Chip.Family == chips.Spectrum && p.Lanes == 8 && !wide {
		b.WriteString("_8lane")
	}
	b.WriteString("_profile")
	if made := find(c.Made, func(q *Profile) bool { return q.Name == b.String() }); made != nil {
		return made
	}
	n := computeHeadroom(c.Chip, &own, p.Cable.Metres, c.Pattern, c.SharedHeadroom)
	made := &Profile{
		Place: Place{File: c.File, Table: "BUFFER_PROFILE", Key: b.String()}, Name: b.String(), Pool: pool, PoolName: losslessPool, Made: true,
		Size: n.Size, Xon: n.Xon, Xoff: n.Xoff, HasXoff: true, HasDynamic: true, DynamicTh: th,
	}
	c.Made = append(c.Made, made)
	return made
}

// Parts of the memory of Spectrum that no table has, in bytes.
const (
	privateHeadroom = 10 * 1024 // of a lossless port, with a shared headroom pool
	mirrorBuffer    = 10 * 1024 // of a port that is up
	managementPool  = 256 * 1024
	leastSharedPool = 655360 // shared headroom pool when nothing needs one
	lastReserve     = 32 << 20
)

// computePools sizes pools that have no size: what is left of the memory.
func (c *Completed) computePools(pool *Pool) {
	if c.Chip.Formula == nil {
		return
	}
	if e := c.Pool("egress_lossless_pool"); e != nil && e.Sized && c.Memory == 0 {
		c.Memory = e.Size // as the script does when the switch does not know it
	}
	pipeline := units.Bytes(c.Chip.Formula.Pipeline * 1024)
	occupied, want := units.Bytes(managementPool), units.Bytes(0)
	lossless := 0
	for _, p := range c.Ports {
		has := false
		for _, pg := range p.PG {
			switch {
			case pg == nil || pg.Profile == nil:
			case pg.Profile.Lossless():
				has = true
				occupied += pg.Profile.Size
				want += pg.Profile.Xon + pg.Profile.Xoff - pg.Profile.Size
			case pg.Profile.Size > 0:
				occupied += pg.Profile.Size
			case p.Lanes == 8:
				occupied += 2*pipeline - 1024
			default:
				occupied += pipeline
			}
		}
		for _, q := range p.Queue {
			if q != nil && q.Profile != nil {
				occupied += q.Profile.Size
			}
		}
		for _, l := range []*ProfileList{p.Ingress, p.Egress} {
			if l != nil {
				for _, q := range l.Profiles {
					occupied += q.Size
				}
			}
		}
		if has {
			lossless++
		}
		if p.Up {
			occupied += pipeline
			if c.Chip.Short != "spc6" {
				occupied += mirrorBuffer
			}
		}
	}
	if c.Chip.Short == "spc6" {
		occupied += lastReserve
	}
	if c.SharedHeadroom {
		occupied += units.Bytes(lossless) * privateHeadroom
		c.Wanted = max(0, want-units.Bytes(lossless)*privateHeadroom)
		if pool != nil && pool.Xoff == 0 {
			ratio := units.Bytes(max(1, c.Default.Ratio))
			pool.Computed = true
			if pool.Xoff = (c.Wanted + ratio - 1) / ratio; pool.Xoff == 0 {
				pool.Xoff = leastSharedPool
			}
		}
		if pool != nil {
			occupied += pool.Xoff
		}
	}
	c.Occupied = occupied
	c.share(occupied)
}

// share divides what is left between pools without a size.
func (c *Completed) share(occupied units.Bytes) {
	if c.Memory == 0 {
		return
	}
	left, unsized := max(0, c.Memory-occupied), units.Bytes(0)
	for _, p := range c.Pools {
		if p.Ingress && !p.Sized && p.Percentage == 0 {
			unsized++
		}
	}
	for _, p := range c.Pools {
		switch {
		case p.Sized:
			continue
		case p.Percentage > 0:
			p.Size = left * units.Bytes(p.Percentage) / 100
		default:
			p.Size = left / max(1, unsized)
		}
		p.Computed = true
	}
}
