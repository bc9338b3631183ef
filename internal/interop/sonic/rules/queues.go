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
func (l *inspector) eachLosslessQueue(f func(p *sonic.Port, q int)) {
	for _, p := range l.Ports {
		for q, is := range l.LosslessQueues(p) {
			if is {
				f(p, q)
			}
		}
	}
}

// wredThresholds returns the smallest thresholds of the enabled colours.
func wredThresholds(w *sonic.WRED) (low, high units.Bytes, enabled bool) {
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
func ecnAbovePFC(l *inspector) {
	l.eachLosslessQueue(func(p *sonic.Port, q int) {
		s := p.Service[q]
		if s == nil || s.WRED == nil || s.WRED.ECN == "ecn_none" {
			return
		}
		low, high, enabled := wredThresholds(s.WRED)
		if !enabled {
			return // rule 16
		}
		for tc := range sonic.Classes {
			g, in := l.GroupOf(p, tc)
			to, out := l.QueueOf(p, tc)
			if !in || !out || to != q || !l.Lossless(p, g) {
				continue
			}
			thresholds := l.thresholdsOf(p, p.PG[g].Profile)
			level := thresholds.Bytes(thresholds.PFC)
			if level == 0 || high <= level {
				continue
			}
			counts := map[string]int64{"ecn_min_bytes": int64(low), "ecn_max_bytes": int64(high), "pfc_bytes": int64(level)}
			pausesAt := fmt.Sprintf("%d + %d B", int64(thresholds.Bytes(thresholds.Limit)), int64(thresholds.Bytes(thresholds.Minimum)))
			if low > level {
				l.add(Warning, s.WRED.Location, describe(fmt.Sprintf("set the minimum threshold below %d, or use a larger dynamic_th in %s", int64(level), p.PG[g].Profile.Name),
					"marking starts at %d B, but a single priority group pauses at %s: nothing is marked before PFC unless %d ports send to the queue at once", int64(low), pausesAt, int64((low+level-1)/level)).with(counts))
				continue
			}
			l.add(Note, s.WRED.Location, describe(fmt.Sprintf("set the maximum threshold below %d", int64(level)),
				"all frames are marked above %d B, but a single priority group pauses at %s", int64(high), pausesAt).with(counts))
		}
	})
}

// wredDrops is rule 16.
func wredDrops(l *inspector) {
	l.eachLosslessQueue(func(p *sonic.Port, q int) {
		s := p.Service[q]
		if s == nil || s.WRED == nil {
			return
		}
		_, _, enabled := wredThresholds(s.WRED)
		switch none := s.WRED.ECN == "ecn_none"; {
		case none && enabled:
			l.add(Error, atField(s.WRED.Location, "ecn"), describe("set ecn to ecn_all, or remove wred_profile from the queue", "%s is used on lossless queues and drops instead of marking: ecn is ecn_none", s.WRED.Name))
		case !none && !enabled:
			l.add(Warning, s.WRED.Location, describe("set wred_green_enable to true", "%s has %s, but no colour is enabled: nothing is marked", s.WRED.Name, s.WRED.ECN))
		}
	})
}

// notWatched is rule 17.
func notWatched(l *inspector) {
	for _, p := range l.Ports {
		if p.QoS == nil || p.QoS.PFC == 0 {
			continue
		}
		if left := p.QoS.PFC &^ p.QoS.Watched; left != 0 {
			l.add(Warning, p.QoS.Location, describe("set pfcwd_sw_enable to "+strings.ReplaceAll(numbers(p.QoS.PFC.List()), " ", ""), "priorities %s are in pfc_enable but not in pfcwd_sw_enable", numbers(left.List())))
		}
		if p.Watchdog == nil {
			l.add(Warning, sonic.Location{File: p.File, Table: "PFC_WD", Key: p.Name}, describe("add the port to PFC_WD", "pfc_enable is %s, but the port has no watchdog", numbers(p.QoS.PFC.List())))
		}
	}
}

// defaultPoll is the default poll interval of a switch, in ms.
const defaultPoll = 100

// watchdogTimes is rule 18.
func watchdogTimes(l *inspector) {
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
				l.add(Warning, w.Location, describe(fmt.Sprintf("set restoration_time to %d", 2*max(w.Detection, poll)), "restoration_time is not set"))
			case t.ms == 0: // rule 20
			case t.ms < poll:
				l.add(Warning, atField(w.Location, t.field), describe(fmt.Sprintf("set %s to %d", t.field, poll), "%s is %d ms, but counters are polled every %d ms", t.field, t.ms, poll))
			case t.ms%poll != 0:
				up := (t.ms + poll - 1) / poll
				l.add(Warning, atField(w.Location, t.field), describe(fmt.Sprintf("set %s to %d", t.field, up*poll), "%s is %d ms, not a multiple of the poll interval of %d ms: it takes %d ms", t.field, t.ms, poll, up*poll))
			}
		}
	}
}

// watchdogAction is rule 19.
func watchdogAction(l *inspector) {
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
			l.add(Error, atField(w.Location, "action"), describe("set action to "+usual, "action is %s, but %s on most ports: this chip recovers all queues with the same action and rejects a second one", w.Action, usual))
			continue
		}
		if w.Action != "drop" && p.QoS != nil && p.QoS.PFC != 0 {
			l.add(Warning, atField(w.Location, "action"), describe("set action to drop", "action is %s: a deadlock persists", w.Action))
		}
	}
}

// networkControl is the lowest code point of routing protocols (class selector 6).
const networkControl = 48

// starvation is rule 24.
func starvation(l *inspector) {
	for _, p := range l.Ports {
		carries := l.LosslessQueues(p)
		lowest := slices.Index(carries[:], true)
		if lowest < 0 {
			continue
		}
		for q, is := range carries {
			if is && p.QoS.Scheduler == nil && (p.Service[q] == nil || p.Service[q].Scheduler == nil) {
				l.add(Warning, sonic.Location{File: p.File, Table: "QUEUE", Key: fmt.Sprintf("%s|%d", p.Name, q)}, describe("set a scheduler for the queue", "lossless queue %d has no scheduler", q))
			}
		}
		for q, s := range p.Service {
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
			l.add(grade, s.Location, describe(fmt.Sprintf("set pir in SCHEDULER|%s", s.Scheduler.Name), "queue %d (%s) has strict priority without a rate limit and can starve lossless queues", q, who))
		}
	}
}

// sameThresholds is rule 27.
func sameThresholds(l *inspector) {
	speeds := map[*sonic.WRED][]string{}
	l.eachLosslessQueue(func(p *sonic.Port, q int) {
		if s := p.Service[q]; s != nil && s.WRED != nil && p.Speed > 0 && !slices.Contains(speeds[s.WRED], p.Speed.String()) {
			speeds[s.WRED] = append(speeds[s.WRED], p.Speed.String())
		}
	})
	for _, w := range l.WREDs {
		if list := speeds[w]; len(list) > 1 {
			low, high, _ := wredThresholds(w)
			l.add(Note, w.Location, describe("use a profile for each speed", "thresholds %d and %d B are used at %s", int64(low), int64(high), strings.Join(list, ", ")))
		}
	}
}
