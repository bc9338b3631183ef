package rules

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// dscpNote lists the code points of a traffic class for a message; empty: none.
func (l *inspector) dscpNote(p *sonic.Port, tc int) string {
	list := l.DSCPs(p, tc)
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (DSCP %s)", numbers(list))
}

// losslessQueueProfile reports whether the profile of a queue is meant for lossless
// traffic: by its name, or because it never drops.
func (l *inspector) losslessQueueProfile(p *sonic.Profile) bool {
	name := strings.ToLower(p.Name)
	switch {
	case strings.Contains(name, "lossy"):
		return false
	case strings.Contains(name, "lossless"):
		return true
	case p.HasStatic:
		return p.StaticTh == 0 || p.Pool != nil && p.StaticTh >= p.Pool.Size
	}
	return p.HasDynamic && p.DynamicTh == 7
}

// sidesDisagree is rule 4. Rules 2 and 9 cover groups without a profile.
func sidesDisagree(l *inspector) {
	for _, p := range l.Ports {
		for tc := range sonic.Classes {
			g, in := l.GroupOf(p, tc)
			q, out := l.QueueOf(p, tc)
			if !in || !out || p.PG[g] == nil || p.PG[g].Profile == nil {
				continue
			}
			lossless := l.Lossless(p, g)
			at := p.QoS.ToQueue.Location
			at.Field = fmt.Sprint(tc)
			queue := p.Queue[q]
			switch {
			case queue == nil || queue.Profile == nil:
				if lossless {
					l.add(Error, at, describe(fmt.Sprintf("give BUFFER_QUEUE|PORT|%d a lossless profile", q),
						"traffic class %d%s enters through lossless priority group %d but leaves through queue %d, which has no profile", tc, l.dscpNote(p, tc), g, q))
				}
			case lossless && !l.losslessQueueProfile(queue.Profile):
				l.add(Error, at, describe(fmt.Sprintf("map traffic class %d to the queue that its priority pauses, or give queue %d a lossless profile", tc, q),
					"traffic class %d%s enters through lossless priority group %d but leaves through queue %d, whose profile is %s", tc, l.dscpNote(p, tc), g, q, queue.Profile.Name))
			case !lossless && l.losslessQueueProfile(queue.Profile):
				l.add(Error, at, describe(fmt.Sprintf("map traffic class %d to a lossless priority group, or to a lossy queue", tc),
					"traffic class %d%s enters through priority group %d, whose profile %s has no headroom, but leaves through queue %d, whose profile is %s", tc, l.dscpNote(p, tc), g, p.PG[g].Profile.Name, q, queue.Profile.Name))
			}
		}
	}
}

// wrongQueuePaused is rule 5.
func wrongQueuePaused(l *inspector) {
	for _, p := range l.Ports {
		for tc := range sonic.Classes {
			g, in := l.GroupOf(p, tc)
			q, out := l.QueueOf(p, tc)
			if !in || !out || !l.Lossless(p, g) {
				continue
			}
			for _, k := range l.Priorities(p, g).List() {
				if paused := l.PausedQueue(p, k); paused != q {
					at := p.QoS.ToQueue.Location
					at.Field = fmt.Sprint(tc)
					l.add(Error, at, describe(fmt.Sprintf("map traffic class %d to queue %d, or priority %d to queue %d", tc, paused, k, q),
						"traffic class %d%s leaves through queue %d, but a PAUSE of its priority %d pauses queue %d", tc, l.dscpNote(p, tc), q, k, paused))
				}
			}
		}
	}
}

// classesShareGroup is rule 6.
func classesShareGroup(l *inspector) {
	for _, p := range l.Ports {
		var in [sonic.Classes][]int
		for tc := range sonic.Classes {
			if g, ok := l.GroupOf(p, tc); ok {
				in[g] = append(in[g], tc)
			}
		}
		for g, list := range in {
			if len(list) < 2 || !l.Lossless(p, g) {
				continue
			}
			lossy := []int{}
			for _, tc := range list {
				if q, ok := l.QueueOf(p, tc); !ok || p.Queue[q] == nil || p.Queue[q].Profile == nil || !l.losslessQueueProfile(p.Queue[q].Profile) {
					lossy = append(lossy, tc)
				}
			}
			what := "all of them lossless"
			if len(lossy) > 0 {
				what = fmt.Sprintf("of which %s leave through lossy queues", numbers(lossy))
			}
			l.add(Error, p.QoS.ToPG.Location, describe("map one traffic class to each lossless priority group, and all others to a lossy group",
				"traffic classes %s share lossless priority group %d, %s", numbers(list), g, what))
		}
	}
}

// portsDiffer is rule 22. It reports ports that differ from the most common setting. Ports
// without PFC are compared with ports that have it, even if they are the majority.
func portsDiffer(l *inspector) {
	pfc, dscp := map[sonic.Set]int{}, map[*sonic.Map]int{}
	for _, p := range l.Ports {
		if p.QoS != nil {
			pfc[p.QoS.PFC]++
			dscp[p.QoS.DSCP]++
		}
	}
	commonPFC := &sonic.QoS{}
	for _, p := range l.Ports { // of equally common settings, the first
		if p.QoS != nil && p.QoS.PFC != 0 && (commonPFC.PFC == 0 || pfc[p.QoS.PFC] > pfc[commonPFC.PFC]) {
			commonPFC = p.QoS
		}
	}
	var commonMap *sonic.QoS
	for _, p := range l.Ports {
		if p.QoS != nil && (commonMap == nil || dscp[p.QoS.DSCP] > dscp[commonMap.DSCP]) {
			commonMap = p.QoS
		}
	}
	name := func(m *sonic.Map) string {
		if m == nil {
			return "none"
		}
		return m.Name
	}
	list := func(s sonic.Set) string {
		if s == 0 {
			return "empty"
		}
		return numbers(s.List())
	}
	for _, p := range l.Ports {
		switch {
		case p.QoS == nil:
		case p.QoS.PFC == 0 && commonPFC.PFC != 0:
			l.add(Warning, atField(p.QoS.Location, "pfc_enable"), describe("use the same pfc_enable on all ports that the class crosses", "the port has no PFC, but %d ports have pfc_enable %s", pfc[commonPFC.PFC], list(commonPFC.PFC)))
		case p.QoS.PFC != commonPFC.PFC:
			l.add(Warning, atField(p.QoS.Location, "pfc_enable"), describe("use the same pfc_enable on all ports that the class crosses", "pfc_enable is %s, but %s on most ports (%d)", list(p.QoS.PFC), list(commonPFC.PFC), pfc[commonPFC.PFC]))
		case p.QoS.DSCP != commonMap.DSCP:
			l.add(Warning, atField(p.QoS.Location, "dscp_to_tc_map"), describe("use the same map on all ports", "dscp_to_tc_map is %s, but %s on most ports (%d)", name(p.QoS.DSCP), name(commonMap.DSCP), dscp[commonMap.DSCP]))
		}
	}
}

// asymmetric is rule 28.
func asymmetric(l *inspector) {
	for _, p := range l.Ports {
		if p.Asymmetric {
			l.add(Warning, atField(p.Location, "pfc_asym"), describe("set pfc_asym to off", "pfc_asym is on"))
		}
	}
}

// malformed is rule 26.
func malformed(l *inspector) {
	const fix = "write the entry in the form of the current release"
	l.mistakes(sonic.Malformed, fix)
	l.mistakes(sonic.Unportable, fix)
}

// mistakes reports mistakes that were found while reading.
func (l *inspector) mistakes(kind sonic.MistakeKind, fix string) {
	for _, m := range l.Mistakes {
		if m.Kind == kind {
			l.add(Error, m.Location, describe(fix, "%s", m.What))
		}
	}
}
