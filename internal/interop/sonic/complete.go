package sonic

import (
	"fmt"
	"math"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
)

// Completed is the configuration of a switch together with its chip, and with the
// profiles and pool sizes that the switch derives from both.
type Completed struct {
	*Switch
	Chip   *chips.Chip
	Lookup *Lookup
	Memory units.Bytes // packet memory of the chip; 0: unknown
	// Rounded: Memory is the advertised number, which is rounded.
	Rounded   bool
	Generated []*Profile // profiles that the switch creates; no table has them
	Missing   []Missing
	// SharedHeadroom: lossless priority groups take their headroom from a shared pool.
	SharedHeadroom bool
	// Occupied is the memory that a switch with the dynamic model reserves before it
	// sizes its pools; 0 in the traditional model.
	Occupied units.Bytes
	Wanted   units.Bytes // headroom that lossless priority groups can take from the pool
}

// Missing is a port for which the switch cannot create a lossless profile.
type Missing struct {
	Port *Port
	Name string // name of the profile
	Why  string
	// Unknown: an input is missing, so that the switch itself may well create the profile.
	Unknown bool
}

// losslessPool is the pool of all profiles that a switch creates.
const losslessPool = "ingress_lossless_pool"

// Complete adds the profiles and pool sizes that the switch derives itself. It changes
// s. A memory above 0 replaces the packet memory of the chip.
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

// EffectiveSpeed returns the speed that determines the headroom of a port.
func (c *Completed) EffectiveSpeed(p *Port) units.Rate {
	if c.Dynamic && p.AutoNeg && p.Advertised > 0 {
		return p.Advertised
	}
	return p.Speed
}

// fromLookup mimics buffermgr: each port with a cable and pfc_enable gets the profile
// for its speed and cable on the priority groups of pfc_enable.
func (c *Completed) fromLookup(pool *Pool) {
	for _, p := range c.Ports {
		if p.Cable == nil || p.Cable.Metres == 0 || p.QoS == nil || p.QoS.PFC == 0 {
			continue
		}
		if p.Speed == 0 {
			continue // rule 29
		}
		name := fmt.Sprintf("pg_lossless_%d_%s_profile", int64(p.Speed/units.Mbps), p.Cable.Text)
		profile := c.profileNamed(name)
		if profile == nil {
			row, ok := c.Lookup.Find(p.Speed, p.Cable.Text)
			if !ok {
				c.addMissing(p, name)
				continue
			}
			profile = &Profile{
				Location: Location{File: c.Lookup.File}, Name: name, Pool: pool, PoolName: losslessPool, Generated: true,
				Size: row.Size, Xon: row.Xon, Xoff: row.Xoff, XonOffset: row.XonOffset, HasXoff: true,
			}
			if pool == nil || pool.DynamicTh {
				profile.HasDynamic, profile.DynamicTh = true, row.Threshold
			} else {
				profile.HasStatic, profile.StaticTh = true, units.Bytes(row.Threshold)
			}
			c.Generated = append(c.Generated, profile)
		}
		for _, k := range p.QoS.PFC.List() {
			if p.PG[k] == nil {
				p.PG[k] = &PG{Location: p.QoS.Location, Profile: profile, Generated: true}
			}
		}
	}
}

func (c *Completed) profileNamed(name string) *Profile {
	if p := c.Profile(name); p != nil {
		return p
	}
	return find(c.Generated, func(p *Profile) bool { return p.Name == name })
}

// addMissing records a port for which no profile can be created. Without a lookup file,
// ports whose priority groups all have profiles in the tables are not recorded.
func (c *Completed) addMissing(p *Port, name string) {
	why := fmt.Sprintf("%s has no row for %d Mb/s and %s", lookupName(c.Lookup), int64(p.Speed/units.Mbps), p.Cable.Text)
	if c.Lookup == nil {
		covered := true
		for _, k := range p.QoS.PFC.List() {
			covered = covered && p.PG[k] != nil
		}
		if covered {
			return // the switch's own lookup file may have the row
		}
		why = "there is no lookup file"
	}
	c.Missing = append(c.Missing, Missing{p, name, why, c.Lookup == nil})
}

func lookupName(l *Lookup) string {
	if l == nil {
		return LookupName
	}
	return l.File
}

// compute mimics buffermgrdyn.
func (c *Completed) compute(pool *Pool) {
	for _, p := range c.Ports {
		for k, pg := range p.PG {
			if pg == nil || !pg.Compute && (pg.Profile == nil || !pg.Profile.HeadroomComputed) {
				continue
			}
			if c.Chip.Formula == nil && pg.Compute {
				c.addUncomputed(p)
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

// addUncomputed records a port whose profile the chip computes by an unknown formula.
func (c *Completed) addUncomputed(p *Port) {
	if n := len(c.Missing); n > 0 && c.Missing[n-1].Port == p {
		return
	}
	cable := "0m"
	if p.Cable != nil {
		cable = p.Cable.Text
	}
	c.Missing = append(c.Missing, Missing{
		p, fmt.Sprintf("pg_lossless_%d_%s_profile", int64(p.Speed/units.Mbps), cable), "the formula of " + c.Chip.Name + " for headroom is unknown", true,
	})
}

// computed returns the profile for a port. Ports with the same parameters share one.
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
	if made := find(c.Generated, func(q *Profile) bool { return q.Name == b.String() }); made != nil {
		return made
	}
	n := computeHeadroom(c.Chip, &own, p.Cable.Metres, c.Pattern, c.SharedHeadroom)
	made := &Profile{
		Location: Location{File: c.File, Table: "BUFFER_PROFILE", Key: b.String()}, Name: b.String(), Pool: pool, PoolName: losslessPool, Generated: true,
		Size: n.Size, Xon: n.Xon, Xoff: n.Xoff, HasXoff: true, HasDynamic: true, DynamicTh: th,
	}
	c.Generated = append(c.Generated, made)
	return made
}

// Parts of Spectrum's memory that appear in no table, in bytes.
const (
	privateHeadroom = 10 * 1024 // per lossless port, with a shared headroom pool
	mirrorBuffer    = 10 * 1024 // per port that is up
	managementPool  = 256 * 1024
	minSharedPool   = 655360 // size of a shared headroom pool that nothing needs
	spc6Reserve     = 32 << 20
)

// computePools divides the memory that is not reserved among pools without a size.
func (c *Completed) computePools(pool *Pool) {
	if c.Chip.Formula == nil {
		return
	}
	if e := c.Pool("egress_lossless_pool"); e != nil && e.HasSize && (c.Memory == 0 || c.Rounded) {
		c.Memory, c.Rounded = e.Size, false // SONiC's script does the same when the memory is unknown
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
		occupied += spc6Reserve
	}
	if c.SharedHeadroom {
		occupied += units.Bytes(lossless) * privateHeadroom
		c.Wanted = max(0, want-units.Bytes(lossless)*privateHeadroom)
		if pool != nil && pool.Xoff == 0 {
			ratio := units.Bytes(max(1, c.Default.Ratio))
			pool.Computed = true
			if pool.Xoff = (c.Wanted + ratio - 1) / ratio; pool.Xoff == 0 {
				pool.Xoff = minSharedPool
			}
		}
		if pool != nil {
			occupied += pool.Xoff
		}
	}
	c.Occupied = occupied
	c.sizePools(occupied)
}

// sizePools divides the remaining memory among pools without a size.
func (c *Completed) sizePools(occupied units.Bytes) {
	if c.Memory == 0 {
		return
	}
	left, unsized := max(0, c.Memory-occupied), units.Bytes(0)
	for _, p := range c.Pools {
		if p.Ingress && !p.HasSize && p.Percentage == 0 {
			unsized++
		}
	}
	for _, p := range c.Pools {
		switch {
		case p.HasSize:
			continue
		case p.Percentage > 0:
			p.Size = left * units.Bytes(p.Percentage) / 100
		default:
			p.Size = left / max(1, unsized)
		}
		p.Computed = true
	}
}
