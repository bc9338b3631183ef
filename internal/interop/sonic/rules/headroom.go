package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// headroomTooSmall is rule 1. The three grades follow the spread of shipped lookup
// files: a tenth of their rows assumes peers that answer faster than 802.3 allows.
func headroomTooSmall(l *look) {
	unknown := ""
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		if p.Speed == 0 && p.Name != unknown {
			l.skip("port %s has no speed", p.Name)
			unknown = p.Name
		}
		if p.Cable == nil || p.Cable.Metres == 0 || p.Speed == 0 {
			return // rule 10
		}
		need := sonic.NeedOf(p, p.Cable.Metres, l.Pattern.MTU, l.Chip)
		have := l.Available(p, profile)
		grade := Severity("")
		switch {
		case have < need.Least:
			grade = Error
		case have < need.One:
			grade = Warning
		case have < need.All:
			grade = Note
		default:
			return
		}
		times, of := int64(1), ""
		if have > profile.Xoff {
			times = int64(have / profile.Xoff)
			of = fmt.Sprintf(" (%d groups of the port share %d x %d)", times, times, int64(profile.Xoff))
		}
		l.add(grade, where(p, group), say(
			fmt.Sprintf("xoff %d in %s, and as much more in the headroom pool if it has one", (l.up(need.All)+times-1)/times, profile.Name),
			"%s: headroom is %d B%s, but over %s at %s the cable holds %d B and one frame has %d B: %d B arrive if the peer answers at once, %d B with the time that 802.3 allows, %d B if packets are small and waste cells of %d B",
			profile.Name, int64(have), of, p.Cable.Text, p.Speed, int64(sonic.OnCable(p.Speed, p.Cable.Metres)+0.5), int64(p.MTU),
			int64(need.Least), int64(need.One), int64(need.All), int64(l.Unit()),
		).with(map[string]int64{
			"have_bytes": int64(have), "least_bytes": int64(need.Least), "need_bytes": int64(need.One), "need_small_packets_bytes": int64(need.All),
		}))
	})
}

// pfcWithoutHeadroom is rule 2.
func pfcWithoutHeadroom(l *look) {
	lacking := map[*sonic.Port]bool{}
	for _, m := range l.Missing {
		lacking[m.Port] = true // rule 9 says why
	}
	for _, p := range l.Ports {
		if p.QoS == nil {
			continue
		}
		var bare []int
		for _, k := range p.QoS.PFC.List() {
			g := l.GroupOfPriority(p, k)
			switch pg := p.PG[g]; {
			case l.Lossless(p, g):
			case pg == nil || pg.Compute && pg.Profile == nil: // which only the dynamic model computes
				bare = append(bare, k)
			case pg.Profile != nil:
				l.add(Error, where(p, g), say(fmt.Sprintf("take %d out of pfc_enable, or use a profile with xoff", k),
					"priority %d is in pfc_enable, but %s of priority group %d has no xoff", k, pg.Profile.Name, g))
			}
		}
		if len(bare) > 0 && !lacking[p] {
			l.add(Error, p.QoS.Place, say("take them out of pfc_enable, or give their priority groups a lossless profile in BUFFER_PG",
				"pfc_enable has %s, but their priority groups have no profile", numbers(bare)))
		}
	}
}

// headroomWithoutPFC is rule 3.
func headroomWithoutPFC(l *look) {
	if !slices.ContainsFunc(l.Ports, func(p *sonic.Port) bool { return p.QoS != nil }) {
		l.skip("there is no table PORT_QOS_MAP: which priorities have PFC is not known")
		return
	}
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		set := l.Priorities(p, group)
		if p.QoS == nil || p.QoS.PFC&set == 0 {
			l.add(Error, where(p, group), say(fmt.Sprintf("add %s to pfc_enable, or use a lossy profile", numbers(set.List())),
				"priority group %d has %s with %d B of headroom, but its priority %s is not in pfc_enable", group, profile.Name, int64(profile.Xoff), numbers(set.List())))
		}
	})
}

// noProfile is rule 9.
func noProfile(l *look) {
	if l.Lookup == nil && !l.Dynamic && len(l.Missing) == 0 {
		l.skip("no lookup file is given (--lookup)")
		return
	}
	for _, m := range l.Missing {
		at := m.Port.Cable.Place
		at.Key, at.Field = at.Key+"|"+at.Field, "" // alike ports are one finding
		l.add(Error, at, say("add the row to the lookup file, or the profile to BUFFER_PROFILE", "%s, and there is no profile %s", m.Why, m.Name))
	}
}

// pfcWithoutCable is rule 10.
func pfcWithoutCable(l *look) {
	for _, p := range l.Ports {
		if p.QoS == nil || p.QoS.PFC == 0 {
			continue
		}
		pfc := numbers(p.QoS.PFC.List())
		switch {
		case p.Cable == nil:
			l.add(Error, p.QoS.Place, say("give the length in CABLE_LENGTH", "pfc_enable is %s, but CABLE_LENGTH does not have the port", pfc))
		case p.Cable.Metres == 0:
			l.add(Error, p.QoS.Place, say("give the length in CABLE_LENGTH, or clear pfc_enable", "pfc_enable is %s, but the cable is %s", pfc, p.Cable.Text))
		}
	}
}

// carried is what the name of a profile says about a link.
func carried(name string) (speed units.Rate, cable string, ok bool) {
	rest, ok := strings.CutPrefix(name, "pg_lossless_")
	if !ok {
		return 0, "", false
	}
	words := strings.Split(rest, "_")
	if len(words) < 3 {
		return 0, "", false
	}
	mbps := int64(0)
	if _, err := fmt.Sscanf(words[0], "%d", &mbps); err != nil || mbps <= 0 {
		return 0, "", false
	}
	return units.Rate(mbps) * units.Mbps, words[1], true
}

// staleProfile is rule 11.
func staleProfile(l *look) {
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		speed, cable, ok := carried(profile.Name)
		if !ok || p.Cable == nil || p.Speed == 0 || p.PG[group].Made {
			return
		}
		if has := l.EffectiveSpeed(p); speed != has || cable != p.Cable.Text {
			l.add(Warning, where(p, group), say(fmt.Sprintf("use pg_lossless_%d_%s_profile", int64(has/units.Mbps), p.Cable.Text),
				"the profile is %s, but the port runs at %s over %s", profile.Name, has, p.Cable.Text))
		}
	})
}

// unlikeLookup is rule 12.
func unlikeLookup(l *look) {
	if l.Lookup == nil {
		if !l.Dynamic {
			l.skip("no lookup file is given (--lookup)")
		}
		return
	}
	for _, p := range l.Profiles {
		speed, cable, ok := carried(p.Name)
		if !ok {
			continue
		}
		row, ok := l.Lookup.Find(speed, cable)
		if !ok {
			continue
		}
		th := p.DynamicTh
		if p.HasStatic {
			th = int64(p.StaticTh)
		}
		if row.Size != p.Size || row.Xon != p.Xon || row.Xoff != p.Xoff || row.XonOffset != p.XonOffset || row.Threshold != th {
			l.add(Warning, p.Place, say("remove the profile, or make the two alike",
				"size, xon, xoff, threshold, xon_offset are %d, %d, %d, %d, %d, but %s says %d, %d, %d, %d, %d",
				int64(p.Size), int64(p.Xon), int64(p.Xoff), th, int64(p.XonOffset), l.Lookup.File,
				int64(row.Size), int64(row.Xon), int64(row.Xoff), row.Threshold, int64(row.XonOffset)))
		}
	}
}

// oversubscribed is rule 13.
func oversubscribed(l *look) {
	for _, pool := range l.Pools {
		if pool.Xoff == 0 {
			continue
		}
		var sum, largest units.Bytes
		n := int64(0)
		l.EachLossless(func(_ *sonic.Port, _ int, profile *sonic.Profile) {
			if profile.Pool == pool {
				n++
				sum += profile.Xoff
				largest = max(largest, profile.Xoff)
			}
		})
		if l.Wanted > 0 {
			sum = l.Wanted // what is private does not come from the pool
		}
		k := units.Bytes(l.Chip.Partitions.N)
		part := ""
		if k > 1 {
			part = fmt.Sprintf(" in each of %d parts of the chip", int64(k))
		}
		counts := map[string]int64{"pool_bytes": int64(pool.Xoff), "wanted_bytes": int64(sum), "groups": n, "partitions": int64(k)}
		switch {
		case n == 0:
		case pool.Xoff/k < largest:
			l.add(Error, in(pool.Place, "xoff"), say(fmt.Sprintf("xoff %d at least", int64(largest*k)),
				"the headroom pool has %d B%s, but one priority group alone may take %d B", int64(pool.Xoff/k), part, int64(largest)).with(counts))
		case pool.Xoff < sum:
			counts["full_at_once"] = int64(pool.Xoff/k/largest) * int64(k)
			l.add(Warning, in(pool.Place, "xoff"), say(fmt.Sprintf("xoff %d if all of them may pause at once", int64(sum)),
				"%d lossless priority groups may take %d B, but the headroom pool has %d B: oversubscribed %.3g times; %d of them%s can be full at once",
				n, int64(sum), int64(pool.Xoff), float64(sum)/float64(pool.Xoff), int64(pool.Xoff/k/largest), part).with(counts))
		case k > 1:
			l.add(Note, in(pool.Place, "xoff"), say("spread lossless ports evenly over the parts",
				"the headroom pool has %d cells%s: %d of the largest priority groups can be full there at once, enough if ports are spread evenly",
				int64(pool.Xoff/k/l.Unit()), part, int64(pool.Xoff/k/largest)).with(counts))
		}
	}
}

// notReserved is rule 14. Shipped files for Broadcom's chips keep xon outside of
// size; elsewhere size is the sum.
func notReserved(l *look) {
	seen := map[*sonic.Profile]bool{}
	l.EachLossless(func(_ *sonic.Port, _ int, p *sonic.Profile) {
		if seen[p] || p.Pool == nil || p.Pool.Xoff > 0 {
			return
		}
		seen[p] = true
		need, sum := p.Xon+p.Xoff, "xon + xoff"
		if l.Chip.Family == chips.XGS || l.Chip.Family == chips.DNX {
			need, sum = p.Xoff, "xoff"
		}
		if p.Size < need {
			l.add(Error, in(p.Place, "size"), say(fmt.Sprintf("size %d, or a headroom pool (xoff of %s)", int64(need), p.Pool.Name),
				"size is %d, but %s is %d, and pool %s has no xoff", int64(p.Size), sum, int64(need), p.Pool.Name))
		}
	})
}

// largestFrame is what profiles of headroom count with.
const largestFrame = 9100

// jumbo is rule 23.
func jumbo(l *look) {
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		if p.MTU > largestFrame && (!profile.Made || !l.Dynamic) {
			l.add(Warning, in(p.Place, "mtu"), say(fmt.Sprintf("mtu %d, or xoff %d more in %s", largestFrame, l.up((p.MTU-largestFrame)*units.Bytes(l.Chip.Waste())), profile.Name),
				"mtu is %d, but the headroom of %s is for frames of %d B", int64(p.MTU), profile.Name, largestFrame))
		}
	})
}
