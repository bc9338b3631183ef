package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// headroomTooSmall is rule 1. One bound decides whether the switch is lossless: below
// Need.FastPeer frames are dropped whatever the peer is, which is an error. The other bounds
// depend on the peer and the traffic: the peer's reaction time (a warning) and small packets
// (a note). Shipped lookup files vary: a tenth of their rows assumes peers that react faster
// than 802.3 requires. The check of an imported scenario has the same bound; see Sizing.Least
// of flow control sonic.
func headroomTooSmall(l *inspector) {
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		if p.Cable == nil || p.Cable.Metres == 0 || p.Speed == 0 {
			return // rules 10 and 29
		}
		rate, metres := p.Link()
		need := sonic.NeedOf(rate, metres, p.MTU, l.Pattern.MTU, l.Chip)
		have := l.Available(p, profile)
		grade := Severity("")
		switch {
		case have < need.FastPeer:
			grade = Error
		case have < need.Standard:
			grade = Warning
		case have < need.SmallPackets:
			grade = Note
		default:
			return
		}
		times, of := int64(1), ""
		if have > profile.Xoff {
			times = int64(have / profile.Xoff)
			of = fmt.Sprintf(" (%d groups of the port share %d x %d B)", times, times, int64(profile.Xoff))
		}
		l.add(grade, groupEntry(p, group), describe(
			fmt.Sprintf("set xoff to %d in %s, and enlarge its headroom pool (if any) by the same amount", (l.roundUp(need.SmallPackets)+times-1)/times, profile.Name),
			"%s: headroom is %d B%s. At %[5]s, %[4]s of cable carry %[6]d B and a frame has %[7]d B: after XOFF, %[8]d B arrive if the peer reacts at once, %[9]d B within the time that 802.3 allows, %[10]d B if small packets waste cells of %[11]d B",
			profile.Name, int64(have), of, fmt.Sprintf("%dm", metres), rate, int64(sonic.CableBytes(rate, metres)+0.5), int64(p.MTU),
			int64(need.FastPeer), int64(need.Standard), int64(need.SmallPackets), int64(l.Unit()),
		).with(map[string]int64{
			"have_bytes": int64(have), "least_bytes": int64(need.FastPeer), "need_bytes": int64(need.Standard), "need_small_packets_bytes": int64(need.SmallPackets),
		}))
	})
}

// pfcWithoutHeadroom is rule 2.
func pfcWithoutHeadroom(l *inspector) {
	lacking := map[*sonic.Port]bool{}
	for _, m := range l.Missing {
		lacking[m.Port] = true // rule 9 reports it
	}
	for _, p := range l.Ports {
		if p.QoS == nil || p.Speed == 0 {
			continue // rule 29
		}
		var bare []int
		for _, k := range p.QoS.PFC.List() {
			g := l.GroupOfPriority(p, k)
			switch pg := p.PG[g]; {
			case l.Lossless(p, g):
			case pg == nil || pg.Compute && pg.Profile == nil: // only the dynamic model computes it
				bare = append(bare, k)
			case pg.Profile != nil:
				l.add(Error, groupEntry(p, g), describe(fmt.Sprintf("remove %d from pfc_enable, or use a profile with xoff", k),
					"priority %d is in pfc_enable, but profile %s of priority group %d has no xoff", k, pg.Profile.Name, g))
			}
		}
		if len(bare) > 0 && !lacking[p] {
			l.add(Error, p.QoS.Location, describe("remove them from pfc_enable, or give their priority groups a lossless profile in BUFFER_PG",
				"pfc_enable has priorities %s, but their priority groups have no profile", numbers(bare)))
		}
	}
}

// headroomWithoutPFC is rule 3.
func headroomWithoutPFC(l *inspector) {
	if !slices.ContainsFunc(l.Ports, func(p *sonic.Port) bool { return p.QoS != nil }) {
		if l.losslessClasses() != 0 {
			l.unjudged(sonic.Location{File: l.File, Table: "PORT_QOS_MAP", Key: "all ports"}, describe("add PORT_QOS_MAP with pfc_enable to the input",
				"priority groups have headroom, but no port has an entry here: it is unknown which priorities have PFC"))
		}
		return
	}
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		set := l.Priorities(p, group)
		if p.QoS == nil || p.QoS.PFC&set == 0 {
			l.add(Error, groupEntry(p, group), describe(fmt.Sprintf("add %s to pfc_enable, or use a lossy profile", numbers(set.List())),
				"priority group %d has profile %s with %d B of headroom, but its priority %s is not in pfc_enable", group, profile.Name, int64(profile.Xoff), numbers(set.List())))
		}
	})
}

// noProfile is rule 9. Only a lookup file can show that a row is missing: without one, the
// switch's own file may have it.
func noProfile(l *inspector) {
	if l.Lookup == nil && !l.Dynamic && len(l.Missing) == 0 {
		l.skip("there is no lookup file; fix: set --lookup")
		return
	}
	for _, m := range l.Missing {
		at := sonic.Location{File: m.Port.File, Table: "CABLE_LENGTH", Key: m.Port.Name}
		if c := m.Port.Cable; c != nil {
			at = c.Location
			at.Key, at.Field = at.Key+"|"+at.Field, "" // merge identical ports into one finding
		}
		if m.Unknown {
			l.unjudged(at, describe("set the lookup file with --lookup, or add the profile to BUFFER_PROFILE", "%s, and BUFFER_PROFILE has no %s", m.Why, m.Name))
			continue
		}
		l.add(Error, at, describe("add the row to the lookup file, or the profile to BUFFER_PROFILE", "%s, and BUFFER_PROFILE has no %s", m.Why, m.Name))
	}
}

// pfcWithoutCable is rule 10.
func pfcWithoutCable(l *inspector) {
	for _, p := range l.Ports {
		if p.QoS == nil || p.QoS.PFC == 0 {
			continue
		}
		pfc := numbers(p.QoS.PFC.List())
		switch {
		case p.Cable == nil:
			l.add(Error, p.QoS.Location, describe("set the length in CABLE_LENGTH", "pfc_enable is %s, but CABLE_LENGTH has no entry for the port", pfc))
		case p.Cable.Metres == 0:
			l.add(Error, p.QoS.Location, describe("set the length in CABLE_LENGTH, or clear pfc_enable", "pfc_enable is %s, but the cable length is %s", pfc, p.Cable.Text))
		}
	}
}

// parseProfileName returns the speed and cable in the name of a generated profile.
func parseProfileName(name string) (speed units.Rate, cable string, ok bool) {
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
func staleProfile(l *inspector) {
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		speed, cable, ok := parseProfileName(profile.Name)
		if !ok || p.Cable == nil || p.Speed == 0 || p.PG[group].Generated {
			return
		}
		if has := l.EffectiveSpeed(p); speed != has || cable != p.Cable.Text {
			l.add(Warning, groupEntry(p, group), describe(fmt.Sprintf("use pg_lossless_%d_%s_profile", int64(has/units.Mbps), p.Cable.Text),
				"the profile is %s, but the port runs at %s over %s of cable", profile.Name, has, p.Cable.Text))
		}
	})
}

// differsFromLookup is rule 12.
func differsFromLookup(l *inspector) {
	if l.Lookup == nil {
		if !l.Dynamic {
			l.skip("there is no lookup file; fix: set --lookup")
		}
		return
	}
	for _, p := range l.Profiles {
		speed, cable, ok := parseProfileName(p.Name)
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
			l.add(Warning, p.Location, describe("remove the profile, or use the same numbers in both",
				"size, xon, xoff, threshold, xon_offset are %d, %d, %d, %d, %d, but %s has %d, %d, %d, %d, %d",
				int64(p.Size), int64(p.Xon), int64(p.Xoff), th, int64(p.XonOffset), l.Lookup.File,
				int64(row.Size), int64(row.Xon), int64(row.Xoff), row.Threshold, int64(row.XonOffset)))
		}
	}
}

// oversubscribed is rule 13.
func oversubscribed(l *inspector) {
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
			sum = l.Wanted // without private headroom, which does not come from the pool
		}
		k := units.Bytes(l.Chip.Partitions.N)
		part := ""
		if k > 1 {
			part = fmt.Sprintf(" in each of the chip's %d partitions", int64(k))
		}
		counts := map[string]int64{"pool_bytes": int64(pool.Xoff), "wanted_bytes": int64(sum), "groups": n, "partitions": int64(k)}
		switch {
		case n == 0:
		case pool.Xoff/k < largest:
			l.add(Error, atField(pool.Location, "xoff"), describe(fmt.Sprintf("set xoff to at least %d", int64(largest*k)),
				"the headroom pool has %d B%s, but a single priority group may use %d B", int64(pool.Xoff/k), part, int64(largest)).with(counts))
		case pool.Xoff < sum:
			counts["full_at_once"] = int64(pool.Xoff/k/largest) * int64(k)
			l.add(Warning, atField(pool.Location, "xoff"), describe(fmt.Sprintf("set xoff to %d if all of them may pause at once", int64(sum)),
				"%d lossless priority groups may use %d B, but the headroom pool has %d B: it is oversubscribed %.3g times, and %d groups%s can be full at once",
				n, int64(sum), int64(pool.Xoff), float64(sum)/float64(pool.Xoff), int64(pool.Xoff/k/largest), part).with(counts))
		case k > 1:
			l.add(Note, atField(pool.Location, "xoff"), describe("spread lossless ports evenly over the partitions",
				"the headroom pool has %d cells%s: %d of the largest priority groups can be full there at once, which is enough if ports are spread evenly",
				int64(pool.Xoff/k/l.Unit()), part, int64(pool.Xoff/k/largest)).with(counts))
		}
	}
}

// notReserved is rule 14. In shipped files for Broadcom chips, size does not include xon;
// for other chips, size is the sum.
func notReserved(l *inspector) {
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
			l.add(Error, atField(p.Location, "size"), describe(fmt.Sprintf("set size to %d, or configure a headroom pool (xoff of %s)", int64(need), p.Pool.Name),
				"size is %d, but %s is %d, and pool %s has no xoff", int64(p.Size), sum, int64(need), p.Pool.Name))
		}
	})
}

// largestFrame is the frame size that shipped headroom profiles assume.
const largestFrame = 9100

// jumbo is rule 23.
func jumbo(l *inspector) {
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		if p.MTU > largestFrame && (!profile.Generated || !l.Dynamic) {
			l.add(Warning, atField(p.Location, "mtu"), describe(fmt.Sprintf("set mtu to %d, or increase xoff by %d in %s", largestFrame, l.roundUp((p.MTU-largestFrame)*units.Bytes(l.Chip.Waste())), profile.Name),
				"mtu is %d, but the headroom of %s is sized for frames of %d B", int64(p.MTU), profile.Name, largestFrame))
		}
	})
}
