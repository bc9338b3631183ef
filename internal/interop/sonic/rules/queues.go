package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// eachLosslessQueue calls f for every queue that carries lossless traffic.
func (l *look) eachLosslessQueue(f func(p *sonic.Port, q int)) {
	for _, p := range l.Ports {
		for q, is := range l.LosslessQueues(p) {
			if is {
				f(p, q)
			}
		}
	}
}

// thresholds are the least of enabled colours.
func thresholds(w *sonic.WRED) (low, high units.Bytes, enabled bool) {
	for _, c := range w.Colour {
		if !c.Enabled {
			continue
		}
		if !enabled || c.Min < low {
			low = c.Min
		}
		if !enabled || c.Max < high {
			high = c.Max
		}
		enabled = true
	}
	return low, high, enabled
}

// ecnAbovePFC is rule 15.
func ecnAbovePFC(l *look) {
	l.eachLosslessQueue(func(p *sonic.Port, q int) {
		s := p.Served[q]
		if s == nil || s.WRED == nil || s.WRED.ECN == "ecn_none" {
			return
		}
		low, high, enabled := thresholds(s.WRED)
		if !enabled {
			return // rule 16
		}
		for tc := range sonic.Classes {
			g, in := l.GroupOf(p, tc)
			to, out := l.QueueOf(p, tc)
			if !in || !out || to != q || !l.Lossless(p, g) {
				continue
			}
			points := l.pointsOf(p, p.PG[g].Profile)
			level := points.Bytes(points.PFC)
			if level == 0 || high <= level {
				continue
			}
			counts := map[string]int64{"ecn_min_bytes": int64(low), "ecn_max_bytes": int64(high), "pfc_bytes": int64(level)}
			made := fmt.Sprintf("%d + %d B", int64(points.Bytes(points.Limit)), int64(points.Bytes(points.Minimum)))
			if low > level {
				l.add(Warning, s.WRED.Place, say(fmt.Sprintf("minimum threshold below %d, or a larger dynamic_th in %s", int64(level), p.PG[g].Profile.Name),
					"marks begin at %d B, but one priority group alone pauses at %s: no mark before PFC unless %d ports send into the queue at once", int64(low), made, int64((low+level-1)/level)).with(counts))
				continue
			}
			l.add(Note, s.WRED.Place, say(fmt.Sprintf("maximum threshold below %d", int64(level)),
				"all frames are marked from %d B on, but one priority group alone pauses at %s", int64(high), made).with(counts))
		}
	})
}

// wredDrops is rule 16.
func wredDrops(l *look) {
	l.eachLosslessQueue(func(p *sonic.Port, q int) {
		s := p.Served[q]
		if s == nil || s.WRED == nil {
			return
		}
		_, _, enabled := thresholds(s.WRED)
		switch none := s.WRED.ECN == "ecn_none"; {
		case none && enabled:
			l.add(Error, in(s.WRED.Place, "ecn"), say("ecn ecn_all, or no wred_profile on the queue", "%s is on lossless queues, and drops instead of marking: ecn is ecn_none", s.WRED.Name))
		case !none && !enabled:
			l.add(Warning, s.WRED.Place, say("wred_green_enable true", "%s has %s, but no colour is enabled: nothing is marked", s.WRED.Name, s.WRED.ECN))
		}
	})
}

// notWatched is rule 17.
func notWatched(l *look) {
	for _, p := range l.Ports {
		if p.QoS == nil || p.QoS.PFC == 0 {
			continue
		}
		if left := p.QoS.PFC &^ p.QoS.Watched; left != 0 {
			l.add(Warning, p.QoS.Place, say("pfcwd_sw_enable "+strings.ReplaceAll(numbers(p.QoS.PFC.List()), " ", ""), "priorities %s are in pfc_enable but not in pfcwd_sw_enable", numbers(left.List())))
		}
		if p.Watchdog == nil {
			l.add(Warning, sonic.Place{File: p.File, Table: "PFC_WD", Key: p.Name}, say("add the port to PFC_WD", "pfc_enable is %s, but the port has no watchdog", numbers(p.QoS.PFC.List())))
		}
	}
}

// defaultPoll is the poll interval of a switch that is not told one, in ms.
const defaultPoll = 100

// watchdogTimes is rule 18.
func watchdogTimes(l *look) {
	poll := l.Watchdog.Poll
	if poll <= 0 {
		poll = defaultPoll
	}
	for _, p := range l.Ports {
		w := p.Watchdog
		if w == nil {
			continue
		}
		for _, t := range []struct {
			field string
			ms    int64
		}{{"detection_time", w.Detection}, {"restoration_time", w.Restoration}} {
			switch {
			case t.ms == 0 && t.field == "restoration_time":
				l.add(Warning, w.Place, say(fmt.Sprintf("restoration_time %d", 2*max(w.Detection, poll)), "there is no restoration_time"))
			case t.ms == 0: // rule 20
			case t.ms < poll:
				l.add(Warning, in(w.Place, t.field), say(fmt.Sprintf("%s %d", t.field, poll), "is %d ms, but counters are read every %d ms", t.ms, poll))
			case t.ms%poll != 0:
				up := (t.ms + poll - 1) / poll
				l.add(Warning, in(w.Place, t.field), say(fmt.Sprintf("%s %d", t.field, up*poll), "is %d ms, no multiple of the %d ms between polls: it takes %d ms", t.ms, poll, up*poll))
			}
		}
	}
}

// watchdogAction is rule 19.
func watchdogAction(l *look) {
	count := map[string]int{}
	for _, p := range l.Ports {
		if p.Watchdog != nil {
			count[p.Watchdog.Action]++
		}
	}
	usual := "drop"
	for _, a := range []string{"drop", "forward", "alert"} {
		if count[a] > count[usual] {
			usual = a
		}
	}
	broadcom := l.Chip.Family == chips.XGS || l.Chip.Family == chips.DNX
	for _, p := range l.Ports {
		w := p.Watchdog
		if w == nil {
			continue
		}
		if broadcom && w.Action != usual {
			l.add(Error, in(w.Place, "action"), say("action "+usual, "action is %s, but %s on most ports: this chip recovers all queues by one action and refuses a second", w.Action, usual))
			continue
		}
		if w.Action != "drop" && p.QoS != nil && p.QoS.PFC != 0 {
			l.add(Warning, in(w.Place, "action"), say("action drop", "action is %s: a deadlock goes on", w.Action))
		}
	}
}

// networkControl is the first code point of routing protocols (class selector 6).
const networkControl = 48

// starvation is rule 24.
func starvation(l *look) {
	for _, p := range l.Ports {
		carries := l.LosslessQueues(p)
		lowest := slices.Index(carries[:], true)
		if lowest < 0 {
			continue
		}
		for q, is := range carries {
			if is && p.QoS.Scheduler == nil && (p.Served[q] == nil || p.Served[q].Scheduler == nil) {
				l.add(Warning, sonic.Place{File: p.File, Table: "QUEUE", Key: fmt.Sprintf("%s|%d", p.Name, q)}, say("give it a scheduler", "lossless queue %d has no scheduler", q))
			}
		}
		for q, s := range p.Served {
			if s == nil || !s.Scheduler.Strict() || s.Scheduler.PIR > 0 || carries[q] {
				continue
			}
			grade, who := Note, "network control"
			for tc := range sonic.Classes {
				if to, ok := l.QueueOf(p, tc); !ok || to != q {
					continue
				}
				if list := l.DSCPs(p, tc); len(list) > 0 && list[0] < networkControl {
					grade, who = Warning, "DSCP "+numbers(list)
				}
			}
			l.add(grade, s.Place, say(fmt.Sprintf("pir in SCHEDULER|%s", s.Scheduler.Name), "queue %d (%s) is strict without a rate and can starve lossless queues", q, who))
		}
	}
}

// sameThresholds is rule 27.
func sameThresholds(l *look) {
	speeds := map[*sonic.WRED][]string{}
	l.eachLosslessQueue(func(p *sonic.Port, q int) {
		if s := p.Served[q]; s != nil && s.WRED != nil && p.Speed > 0 && !slices.Contains(speeds[s.WRED], p.Speed.String()) {
			speeds[s.WRED] = append(speeds[s.WRED], p.Speed.String())
		}
	})
	for _, w := range l.WREDs {
		if list := speeds[w]; len(list) > 1 {
			low, high, _ := thresholds(w)
			l.add(Note, w.Place, say("a profile for each speed", "thresholds %d and %d B are used at %s", int64(low), int64(high), strings.Join(list, ", ")))
		}
	}
}
