package rules

import (
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// Verdict is the answer to whether a switch is lossless.
type Verdict string

// Verdicts, best first.
const (
	Lossless        Verdict = "lossless"
	NothingLossless Verdict = "nothing lossless" // no traffic class is lossless
	NotJudged       Verdict = "not judged"       // a decisive input is missing
	NotLossless     Verdict = "not lossless"     // there are errors
)

// Verdicts lists the verdicts, best first.
var Verdicts = []Verdict{Lossless, NothingLossless, NotJudged, NotLossless}

// verdict returns the verdict after all rules have been applied.
func (l *inspector) verdict() Verdict {
	if l.report.Count(Error) > 0 {
		return NotLossless
	}
	for _, s := range l.report.Skipped {
		if s.Decisive {
			return NotJudged
		}
	}
	if !l.anyReached() {
		return NothingLossless
	}
	return Lossless
}

// losslessClasses returns the traffic classes that are lossless on some port.
func (l *inspector) losslessClasses() sonic.Set {
	var set sonic.Set
	for _, p := range l.Ports {
		set |= l.LosslessClasses(p)
	}
	return set
}

// anyReached reports whether frames that enter some port can have a lossless traffic class.
func (l *inspector) anyReached() bool {
	for _, p := range l.Ports {
		for _, tc := range l.LosslessClasses(p).List() {
			if l.Reaches(p, tc) {
				return true
			}
		}
	}
	return false
}

// nothingLossless is rule 31. It is silent if other rules explain why no class is lossless.
func nothingLossless(l *inspector) {
	if l.verdict() != NothingLossless {
		return
	}
	if set := l.losslessClasses(); set != 0 {
		l.add(Warning, sonic.Location{File: l.File, Table: "PORT_QOS_MAP", Key: "all ports", Field: "dscp_to_tc_map"},
			describe("map code points to them in DSCP_TO_TC_MAP", "traffic classes %s are lossless, but no DSCP or 802.1p priority leads to them", numbers(set.List())))
	} else {
		l.add(Warning, sonic.Location{File: l.File, Table: "PORT_QOS_MAP", Key: "all ports", Field: "pfc_enable"},
			describe("set pfc_enable, and give the priority groups a profile with xoff", "no traffic class is lossless on any port"))
	}
}

// portNotMentioned is rule 30. Ports that breakout has added have no QoS at all.
func portNotMentioned(l *inspector) {
	with := 0
	for _, p := range l.Ports {
		if p.QoS != nil && p.QoS.PFC != 0 {
			with++
		}
	}
	if with == 0 {
		return
	}
	for _, p := range l.Ports {
		if p.QoS != nil {
			continue // rule 22
		}
		what, fix := "PORT_QOS_MAP has no entry for the port", "add the port to PORT_QOS_MAP"
		if p.PG == ([sonic.Classes]*sonic.PG{}) && p.Queue == ([sonic.Queues]*sonic.Queue{}) && p.Service == ([sonic.Queues]*sonic.Service{}) {
			what, fix = "no QoS or buffer table mentions the port", "configure QoS for the port (config qos reload), or remove it"
		}
		grade := Warning
		if p.Down {
			grade = Note
		}
		l.add(grade, p.Location, describe(fix, "%s, but %d ports have PFC", what, with))
	}
}

// noSpeed is rule 29.
func noSpeed(l *inspector) {
	for _, p := range l.Ports {
		if p.Speed != 0 {
			continue
		}
		s := describe("set the speed", "the port has no speed, which determines its headroom")
		if p.QoS != nil && p.QoS.PFC != 0 || l.LosslessGroups(p) > 0 {
			l.unjudged(atField(p.Location, "speed"), s)
		} else {
			l.add(Note, atField(p.Location, "speed"), s)
		}
	}
}
