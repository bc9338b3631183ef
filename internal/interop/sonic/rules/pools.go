package rules

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// admitted returns the most bytes that ingress can admit to a lossless pool.
func (l *inspector) admitted(pool *sonic.Pool) units.Bytes {
	if l.Chip.Dialect.Total && !pool.Computed {
		return pool.Size
	}
	return pool.Size + pool.Xoff
}

// egressRefuses is rule 7.
func egressRefuses(l *inspector) {
	var ingress *sonic.Pool
	l.EachLossless(func(_ *sonic.Port, _ int, p *sonic.Profile) {
		if p.Pool != nil && (ingress == nil || l.admitted(p.Pool) > l.admitted(ingress)) {
			ingress = p.Pool
		}
	})
	if ingress == nil {
		if l.losslessClasses() != 0 {
			l.unjudged(sonic.Location{File: l.File, Table: "BUFFER_POOL", Key: "ingress_lossless_pool"}, describe("add the pool to the input", "lossless profiles use this pool, which the input does not contain"))
		}
		return
	}
	all := l.admitted(ingress)
	if all == 0 {
		l.unjudged(atField(ingress.Location, "size"), describe("set the memory of the chip with --memory", "the size of the pool is unknown"))
		return
	}
	seen := map[*sonic.Profile]bool{}
	for _, port := range l.Ports {
		for q, carries := range l.LosslessQueues(port) {
			if !carries || port.Queue[q] == nil || port.Queue[q].Profile == nil {
				continue
			}
			p := port.Queue[q].Profile
			if seen[p] || !l.losslessQueueProfile(p) || p.Pool == ingress {
				continue // rule 4 covers lossy profiles
			}
			seen[p] = true
			counts := map[string]int64{"ingress_bytes": int64(all)}
			if pool := p.Pool; pool != nil && pool.Size > 0 && pool.Size < all {
				l.add(Error, atField(pool.Location, "size"), describe(fmt.Sprintf("set size to %d", int64(all)), "size is %d, but ingress can admit %d B to %s", int64(pool.Size), int64(all), ingress.Name).with(counts))
			}
			switch {
			case p.HasStatic && p.StaticTh > 0 && p.StaticTh < all:
				l.add(Error, atField(p.Location, "static_th"), describe(fmt.Sprintf("set static_th to %d", int64(all)), "static_th is %d, but ingress can admit %d B to %s", int64(p.StaticTh), int64(all), ingress.Name).with(counts))
			case p.HasDynamic && !p.HasStatic && p.DynamicTh < 7:
				l.add(Warning, atField(p.Location, "dynamic_th"), describe("set dynamic_th to 7", "dynamic_th is %d: when the pool fills, the queue can drop frames that ingress has admitted", p.DynamicTh))
			}
		}
	}
}

// tooMuchMemory is rule 8. Headroom and minimums must fit the pool that contains them,
// pools must fit the chip, and a port must stay below the chip's limit of headroom.
func tooMuchMemory(l *inspector) {
	l.poolsTooFull()
	l.portsTakeTooMuch()
	if l.Memory == 0 {
		l.skip("the memory of %s is not public; fix: set it with --memory", l.Chip.Name)
		return
	}
	sum, parts := units.Bytes(0), "pools"
	var first *sonic.Pool
	for _, p := range l.Pools {
		if !p.Ingress {
			continue
		}
		if first == nil {
			first = p
		}
		sum += p.Size
		if !l.Chip.Dialect.Total || p.Computed {
			sum += p.Xoff
			parts = "pools, headroom pools and minimums"
		}
	}
	if first == nil {
		return
	}
	if l.Occupied > 0 && first.Computed {
		sum = max(l.Occupied, sum) // the switch gives the rest to the pools
	} else if !l.Chip.Dialect.Total {
		sum += l.minimums()
	}
	if sum <= l.Memory {
		return
	}
	grade, known := Error, ""
	if l.Rounded {
		grade, known = Warning, " (a rounded number)"
	}
	l.add(grade, first.Location, describe(fmt.Sprintf("shrink pools by %d B", int64(sum-l.Memory)),
		"ingress %s take %d B (dialect: %s), but %s has %d B%s", parts, int64(sum), l.Chip.Dialect, l.Chip.Name, int64(l.Memory), known,
	).with(map[string]int64{"taken_bytes": int64(sum), "memory_bytes": int64(l.Memory)}))
}

// poolsTooFull checks pools whose size includes headroom and minimums. A pool that is too
// small was written for a chip with the other dialect.
func (l *inspector) poolsTooFull() {
	for _, p := range l.Pools {
		if !p.Ingress || !p.HasSize || p.Computed || !l.Chip.Dialect.Total {
			continue
		}
		if inside := p.Xoff + l.Reserved(p); inside > 0 && inside >= p.Size {
			l.add(Error, atField(p.Location, "size"), describe(fmt.Sprintf("set size to more than %d, which leaves a shared part", int64(inside)),
				"size is %d, but on %s it includes the headroom pool and all minimums, %d B: no shared part is left", int64(p.Size), l.Chip.Name, int64(inside),
			).with(map[string]int64{"size_bytes": int64(p.Size), "inside_bytes": int64(inside)}))
		}
	}
}

// portsTakeTooMuch checks the headroom that a port's lossless priority groups take from the
// shared pool. Above the limit per port, Spectrum configures none of the groups.
func (l *inspector) portsTakeTooMuch() {
	f := l.Chip.Formula
	if f == nil || f.PortPool == 0 || !l.SharedHeadroom {
		return
	}
	limit := units.Bytes((f.PortPool + f.ReservedPool) * l.Chip.Cell.N)
	for _, p := range l.Ports {
		want := units.Bytes(0)
		for g := range sonic.Classes {
			if l.Lossless(p, g) {
				profile := p.PG[g].Profile
				want += max(0, profile.Xon+profile.Xoff-profile.Size)
			}
		}
		if want > limit {
			l.add(Error, sonic.Location{File: p.File, Table: "BUFFER_PG", Key: p.Name}, describe(fmt.Sprintf("reduce xoff by %d B in total, or use a shorter cable or fewer lossless priorities", int64(want-limit)),
				"the port's lossless priority groups take %d B of the headroom pool, but %s allows a port %d B", int64(want), l.Chip.Name, int64(limit),
			).with(map[string]int64{"wanted_bytes": int64(want), "most_bytes": int64(limit)}))
		}
	}
}

// minimums returns the sum of the minimums of all priority groups and queues.
func (l *inspector) minimums() units.Bytes {
	sum := units.Bytes(0)
	for _, p := range l.Ports {
		for _, pg := range p.PG {
			if pg != nil && pg.Profile != nil {
				sum += pg.Profile.Size
			}
		}
		for _, q := range p.Queue {
			if q != nil && q.Profile != nil {
				sum += q.Profile.Size
			}
		}
	}
	return sum
}

// refused is rule 20.
func refused(l *inspector) {
	l.mistakes(sonic.Dangling, "correct the entry")
	for _, p := range l.Profiles {
		switch {
		case p.HasDynamic && p.HasStatic:
			l.add(Error, p.Location, describe("remove one of the two", "both dynamic_th and static_th are set"))
		case !p.HasDynamic && !p.HasStatic && p.Pool != nil:
			th := "static_th"
			if p.Pool.DynamicTh {
				th = "dynamic_th"
			}
			l.add(Error, p.Location, describe("add "+th, "neither dynamic_th nor static_th is set; pool %s requires %s", p.Pool.Name, th))
		}
	}
	for _, p := range l.Ports {
		for _, pg := range p.PG {
			if pg != nil && pg.Profile != nil && pg.Profile.Pool.OnlyEgress() {
				l.wrongSide(pg.Location, pg.Profile, "egress", "ingress")
			}
		}
		for _, q := range p.Queue {
			if q != nil && q.Profile != nil && q.Profile.Pool.OnlyIngress() {
				l.wrongSide(q.Location, q.Profile, "ingress", "egress")
			}
		}
	}
}

// wrongSide reports a priority group with a profile of an egress pool, or the reverse.
func (l *inspector) wrongSide(at sonic.Location, p *sonic.Profile, is, want string) {
	l.add(Error, at, describe("use a profile of an "+want+" pool", "profile %s belongs to %s, whose type is %s (expected %s or both)", p.Name, p.Pool.Name, is, want))
}

// resumes is rule 21.
func resumes(l *inspector) {
	seen := map[*sonic.Profile]bool{}
	l.EachLossless(func(port *sonic.Port, _ int, p *sonic.Profile) {
		if seen[p] {
			return
		}
		seen[p] = true
		thresholds := l.thresholdsOf(port, p)
		level := thresholds.Bytes(thresholds.PFC)
		switch {
		case p.Xon == 0 && p.XonOffset == 0:
			l.add(Warning, p.Location, describe(fmt.Sprintf("set xon_offset to %d, two frames", l.roundUp(2*port.MTU)), "xon and xon_offset are both 0"))
		case p.Xon > level && level > 0:
			l.add(Warning, atField(p.Location, "xon"), describe(fmt.Sprintf("set xon below %d, or to 0 with an xon_offset", int64(level)), "xon is %d, but the group pauses at %d B", int64(p.Xon), int64(level)))
		}
	})
}

// lossyInLossless is rule 25.
func lossyInLossless(l *inspector) {
	th := map[*sonic.Pool]int64{}
	l.EachLossless(func(_ *sonic.Port, _ int, p *sonic.Profile) {
		if old, seen := th[p.Pool]; !seen || p.DynamicTh < old {
			th[p.Pool] = p.DynamicTh
		}
	})
	seen := map[*sonic.Profile]bool{}
	for _, port := range l.Ports {
		for _, pg := range port.PG {
			if pg == nil || pg.Profile == nil || pg.Profile.Lossless() || seen[pg.Profile] || pg.Profile.Pool == nil {
				continue
			}
			p := pg.Profile
			least, lossless := th[p.Pool]
			seen[p] = true
			switch {
			case !lossless:
			case p.HasStatic && p.StaticTh >= p.Pool.Size:
				l.add(Note, p.Location, describe("use a separate pool or a smaller static_th", "a lossy profile may take all of %s (static_th %d)", p.Pool.Name, int64(p.StaticTh)))
			case p.HasDynamic && p.DynamicTh > least:
				l.add(Note, p.Location, describe("use a separate pool or a smaller dynamic_th", "a lossy profile has dynamic_th %d in %s, but a lossless profile has %d", p.DynamicTh, p.Pool.Name, least))
			}
		}
	}
}
