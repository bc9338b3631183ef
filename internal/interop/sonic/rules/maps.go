package rules

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// carries says which code points a traffic class has; empty: none.
func (l *look) carries(p *sonic.Port, tc int) string {
	list := l.DSCPs(p, tc)
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (DSCP %s)", numbers(list))
}

// losslessOut tells whether a profile of a queue is meant for lossless traffic: by
// its name, or as one that never refuses.
func (l *look) losslessOut(p *sonic.Profile) bool {
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

// sidesDisagree is rule 4. Groups without any profile are of rules 2 and 9.
func sidesDisagree(l *look) {
	for _, p := range l.Ports {
		for tc := range sonic.Classes {
			g, in := l.GroupOf(p, tc)
			q, out := l.QueueOf(p, tc)
			if !in || !out || p.PG[g] == nil || p.PG[g].Profile == nil {
				continue
			}
			lossless := l.Lossless(p, g)
			at := p.QoS.ToQueue.Place
			at.Field = fmt.Sprint(tc)
			queue := p.Queue[q]
			switch {
			case queue == nil || queue.Profile == nil:
				if lossless {
					l.add(Error, at, say(fmt.Sprintf("give BUFFER_QUEUE|PORT|%d a lossless profile", q),
						"traffic class %d%s enters by lossless priority group %d but leaves by queue %d, which has no profile", tc, l.carries(p, tc), g, q))
				}
			case lossless && !l.losslessOut(queue.Profile):
				l.add(Error, at, say(fmt.Sprintf("map traffic class %d to the queue that its priority pauses, or give queue %d a lossless profile", tc, q),
					"traffic class %d%s enters by lossless priority group %d but leaves by queue %d, which has %s", tc, l.carries(p, tc), g, q, queue.Profile.Name))
			case !lossless && l.losslessOut(queue.Profile):
				l.add(Error, at, say(fmt.Sprintf("map traffic class %d to a lossless priority group, or to a lossy queue", tc),
					"traffic class %d%s enters by priority group %d, which has %s without headroom, but leaves by queue %d, which has %s", tc, l.carries(p, tc), g, p.PG[g].Profile.Name, q, queue.Profile.Name))
			}
		}
	}
}

// wrongQueuePaused is rule 5.
func wrongQueuePaused(l *look) {
	for _, p := range l.Ports {
		for tc := range sonic.Classes {
			g, in := l.GroupOf(p, tc)
			q, out := l.QueueOf(p, tc)
			if !in || !out || !l.Lossless(p, g) {
				continue
			}
			for _, k := range l.Priorities(p, g).List() {
				if paused := l.Paused(p, k); paused != q {
					at := p.QoS.ToQueue.Place
					at.Field = fmt.Sprint(tc)
					l.add(Error, at, say(fmt.Sprintf("map traffic class %d to queue %d, or priority %d to queue %d", tc, paused, k, q),
						"traffic class %d%s leaves by queue %d, but a PAUSE of its priority %d stops queue %d", tc, l.carries(p, tc), q, k, paused))
				}
			}
		}
	}
}

// classesShareGroup is rule 6.
func classesShareGroup(l *look) {
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
				if q, ok := l.QueueOf(p, tc); !ok || p.Queue[q] == nil || p.Queue[q].Profile == nil || !l.losslessOut(p.Queue[q].Profile) {
					lossy = append(lossy, tc)
				}
			}
			what := "all of them lossless"
			if len(lossy) > 0 {
				what = fmt.Sprintf("of which %s leave by lossy queues", numbers(lossy))
			}
			l.add(Error, p.QoS.ToPG.Place, say("one traffic class for each lossless priority group; others to a lossy one",
				"traffic classes %s share lossless priority group %d, %s", numbers(list), g, what))
		}
	}
}

// portsDiffer is rule 22: ports that are unlike most others.
func portsDiffer(l *look) {
	pfc, dscp := map[sonic.Set]int{}, map[*sonic.Map]int{}
	for _, p := range l.Ports {
		if p.QoS != nil {
			pfc[p.QoS.PFC]++
			dscp[p.QoS.DSCP]++
		}
	}
	var usual *sonic.QoS
	for _, p := range l.Ports { // the first of the most frequent
		if p.QoS != nil && (usual == nil || pfc[p.QoS.PFC] > pfc[usual.PFC]) {
			usual = p.QoS
		}
	}
	var map0 *sonic.QoS
	for _, p := range l.Ports {
		if p.QoS != nil && (map0 == nil || dscp[p.QoS.DSCP] > dscp[map0.DSCP]) {
			map0 = p.QoS
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
		case p.QoS.PFC != usual.PFC:
			l.add(Warning, in(p.QoS.Place, "pfc_enable"), say("the same on all ports that frames of the class cross", "pfc_enable is %s, but %s on most ports (%d)", list(p.QoS.PFC), list(usual.PFC), pfc[usual.PFC]))
		case p.QoS.DSCP != map0.DSCP:
			l.add(Warning, in(p.QoS.Place, "dscp_to_tc_map"), say("the same on all ports", "dscp_to_tc_map is %s, but %s on most ports (%d)", name(p.QoS.DSCP), name(map0.DSCP), dscp[map0.DSCP]))
		}
	}
}

// asymmetric is rule 28.
func asymmetric(l *look) {
	for _, p := range l.Ports {
		if p.Asymmetric {
			l.add(Warning, in(p.Place, "pfc_asym"), say("pfc_asym off", "pfc_asym is on"))
		}
	}
}

// malformed is rule 26.
func malformed(l *look) {
	l.mistakes(sonic.Malformed, "write it as the present release does")
	l.mistakes(sonic.Odd, "write it as the present release does")
}

// mistakes reports what the reader found.
func (l *look) mistakes(kind sonic.MistakeKind, fix string) {
	for _, m := range l.Mistakes {
		if m.Kind == kind {
			l.add(Error, m.Place, say(fix, "%s", m.What))
		}
	}
}
