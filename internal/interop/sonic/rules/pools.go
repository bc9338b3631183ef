package rules

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// admitted is all that ingress can hold of a lossless pool.
func (l *look) admitted(pool *sonic.Pool) units.Bytes {
	if l.Chip.Dialect.Total && !pool.Computed {
		return pool.Size
	}
	return pool.Size + pool.Xoff
}

// egressRefuses is rule 7.
func egressRefuses(l *look) {
	var ingress *sonic.Pool
	l.EachLossless(func(_ *sonic.Port, _ int, p *sonic.Profile) {
		if p.Pool != nil && (ingress == nil || l.admitted(p.Pool) > l.admitted(ingress)) {
			ingress = p.Pool
		}
	})
	if ingress == nil {
		return
	}
	all := l.admitted(ingress)
	if all == 0 {
		l.skip("the size of %s is not known; give the memory of the chip (--memory)", ingress.Name)
		return
	}
	seen := map[*sonic.Profile]bool{}
	for _, port := range l.Ports {
		for q, carries := range l.LosslessQueues(port) {
			if !carries || port.Queue[q] == nil || port.Queue[q].Profile == nil {
				continue
			}
			p := port.Queue[q].Profile
			if seen[p] || !l.losslessOut(p) || p.Pool == ingress {
				continue // a lossy profile is of rule 4
			}
			seen[p] = true
			counts := map[string]int64{"ingress_bytes": int64(all)}
			if pool := p.Pool; pool != nil && pool.Size > 0 && pool.Size < all {
				l.add(Error, in(pool.Place, "size"), say(fmt.Sprintf("size %d", int64(all)), "size is %d, but ingress can admit %d B into %s", int64(pool.Size), int64(all), ingress.Name).with(counts))
			}
			switch {
			case p.HasStatic && p.StaticTh > 0 && p.StaticTh < all:
				l.add(Error, in(p.Place, "static_th"), say(fmt.Sprintf("static_th %d", int64(all)), "static_th is %d, but ingress can admit %d B into %s", int64(p.StaticTh), int64(all), ingress.Name).with(counts))
			case p.HasDynamic && !p.HasStatic && p.DynamicTh < 7:
				l.add(Warning, in(p.Place, "dynamic_th"), say("dynamic_th 7", "dynamic_th is %d: the queue may refuse frames when the pool fills, though ingress has admitted them", p.DynamicTh))
			}
		}
	}
}

// tooMuchMemory is rule 8: what a pool holds beside its shared part must fit it, pools
// the chip, and what a port takes of the headroom pool the most that its chip allows.
func tooMuchMemory(l *look) {
	l.poolsTooFull()
	l.portsTakeTooMuch()
	if l.Memory == 0 {
		l.skip("the memory of %s is not public; give it (--memory)", l.Chip.Name)
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
		sum = max(l.Occupied, sum) // the switch itself takes what is left
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
	l.add(grade, first.Place, say(fmt.Sprintf("%d B less in pools", int64(sum-l.Memory)),
		"ingress %s (dialect: %s) take %d B, but %s has %d B%s", parts, l.Chip.Dialect, int64(sum), l.Chip.Name, int64(l.Memory), known,
	).with(map[string]int64{"taken_bytes": int64(sum), "memory_bytes": int64(l.Memory)}))
}

// poolsTooFull looks at pools whose size should hold headroom and minimums, too: one that
// does not was written for a chip with the other dialect.
func (l *look) poolsTooFull() {
	for _, p := range l.Pools {
		if !p.Ingress || !p.Sized || p.Computed || !l.Chip.Dialect.Total {
			continue
		}
		if inside := p.Xoff + l.Reserved(p); inside > 0 && inside >= p.Size {
			l.add(Error, in(p.Place, "size"), say(fmt.Sprintf("size %d more than this, for what is shared", int64(inside)),
				"size is %d, but on %s it contains the headroom pool and all minimums, which are %d B: nothing is left to share", int64(p.Size), l.Chip.Name, int64(inside),
			).with(map[string]int64{"size_bytes": int64(p.Size), "inside_bytes": int64(inside)}))
		}
	}
}

// portsTakeTooMuch looks at what lossless priority groups of a port want of a shared
// headroom pool. Spectrum programs none of them if that is more than it allows a port.
func (l *look) portsTakeTooMuch() {
	f := l.Chip.Formula
	if f == nil || f.PortPool == 0 || !l.SharedHeadroom {
		return
	}
	most := units.Bytes((f.PortPool + f.ReservedPool) * l.Chip.Cell.N)
	for _, p := range l.Ports {
		want := units.Bytes(0)
		for g := range sonic.Classes {
			if l.Lossless(p, g) {
				profile := p.PG[g].Profile
				want += max(0, profile.Xon+profile.Xoff-profile.Size)
			}
		}
		if want > most {
			l.add(Error, sonic.Place{File: p.File, Table: "BUFFER_PG", Key: p.Name}, say(fmt.Sprintf("%d B less of xoff, a shorter cable, or fewer lossless priorities", int64(want-most)),
				"lossless priority groups of the port want %d B of the headroom pool, but %s lets a port take %d B", int64(want), l.Chip.Name, int64(most),
			).with(map[string]int64{"wanted_bytes": int64(want), "most_bytes": int64(most)}))
		}
	}
}

// minimums are those of all priority groups and queues.
func (l *look) minimums() units.Bytes {
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
func refused(l *look) {
	l.mistakes(sonic.Dangling, "correct the entry")
	for _, p := range l.Profiles {
		switch {
		case p.HasDynamic && p.HasStatic:
			l.add(Error, p.Place, say("one of the two", "dynamic_th and static_th are both given"))
		case !p.HasDynamic && !p.HasStatic && p.Pool != nil:
			th := "static_th"
			if p.Pool.DynamicTh {
				th = "dynamic_th"
			}
			l.add(Error, p.Place, say("add "+th, "there is neither dynamic_th nor static_th; pool %s wants %s", p.Pool.Name, th))
		}
	}
}

// resumes is rule 21.
func resumes(l *look) {
	seen := map[*sonic.Profile]bool{}
	l.EachLossless(func(port *sonic.Port, _ int, p *sonic.Profile) {
		if seen[p] {
			return
		}
		seen[p] = true
		points := l.pointsOf(port, p)
		level := points.Bytes(points.PFC)
		switch {
		case p.Xon == 0 && p.XonOffset == 0:
			l.add(Warning, p.Place, say(fmt.Sprintf("xon_offset %d, two frames", l.up(2*port.MTU)), "xon and xon_offset are both 0"))
		case p.Xon > level && level > 0:
			l.add(Warning, in(p.Place, "xon"), say(fmt.Sprintf("xon below %d, or 0 with xon_offset", int64(level)), "xon is %d, but the group pauses at %d B", int64(p.Xon), int64(level)))
		}
	})
}

// lossyInLossless is rule 25.
func lossyInLossless(l *look) {
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
				l.add(Note, p.Place, say("a pool of its own, or a smaller static_th", "a lossy profile may take all of %s (static_th %d)", p.Pool.Name, int64(p.StaticTh)))
			case p.HasDynamic && p.DynamicTh > least:
				l.add(Note, p.Place, say("a pool of its own, or a smaller dynamic_th", "a lossy profile has dynamic_th %d in %s, lossless ones %d", p.DynamicTh, p.Pool.Name, least))
			}
		}
	}
}
