package check

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Limits of the evidence of a finding.
const (
	detailed = 3 // loops with every hop
	shown    = 5 // sets of failed links
)

// Evidence returns the details of a finding as indented lines: loops with their hops, and sets of
// failed links with what they cause.
func (f *Finding) Evidence() []string {
	e := &evidence{}
	e.cycles("", f.Cycles, f.More, detailed)
	for i, b := range f.Failures {
		if i == shown {
			e.line("and others (--json lists up to 100)")
			break
		}
		e.line("if %s", fails(b.Links))
		e.cycles("  ", b.Cycles[:1], len(b.Cycles) > 1, 1-min(i, 1))
	}
	for i, cut := range f.CutOffs {
		if i == shown {
			e.line("and others (--json lists all)")
			break
		}
		e.line("if %s: %s", fails(cut.Links), brief(cut.Hosts))
	}
	return e.lines
}

type evidence struct{ lines []string }

func (e *evidence) line(format string, args ...any) {
	e.lines = append(e.lines, fmt.Sprintf(format, args...))
}

func fails(links []string) string {
	if len(links) == 1 {
		return links[0] + " fails"
	}
	return list(links) + " fail"
}

// cycles adds the switches of loops, and the hops of the first ones.
func (e *evidence) cycles(indent string, list []Cycle, more bool, hops int) {
	for i, c := range list {
		var names []string
		for _, h := range c.Hops {
			names = append(names, h.Switch)
		}
		e.line("%sloop %s -> %s", indent, strings.Join(names, " -> "), names[0])
		if i >= hops {
			continue
		}
		for _, h := range c.Hops {
			extra := ""
			switch {
			case h.Cause.Flow:
				extra += ", route of a flow"
			case h.Cause.Pinned:
				extra += ", pinned"
			}
			if h.Valley {
				extra += ", valley: down, then up"
			}
			if h.Cause.Classes != nil {
				extra += ", " + ClassNames(h.Cause.Classes)
			}
			e.line("%s  %s: frames from %s wait for %s (%s to %s%s)", indent, h.In, h.From, h.To, h.Cause.From,
				h.Cause.To, extra)
		}
	}
	if more {
		e.line("%sand others", indent)
	}
}

// Coverage returns what was checked, in sentences.
func (r *Report) Coverage() []string {
	e := &evidence{}
	e.line("checked buffer dependencies: %s", units.Thousands(uint64(r.Dependencies)))
	switch f := r.Failures; {
	case r.Skipped != "":
		e.line("link failures not checked: %s", r.Skipped)
	case f == nil || f.Links == 0:
	case f.AtMost == 1:
		e.line("checked failures of single links: %d; %d cause cycles", f.Links, f.Cyclic)
	default:
		e.line("checked sets of up to %d failed links: %s, of %d links; %d cause cycles that no smaller set causes",
			f.AtMost, units.Thousands(f.Sets), f.Links, f.Cyclic)
	}
	if text := r.Storm.text(); text != "" {
		e.line("%s", text)
	}
	return e.lines
}

// text describes how far the pauses of a stuck host spread.
func (s *Storm) text() string {
	switch {
	case s == nil:
		return ""
	case len(s.Paused) == 0:
		return "a stuck host pauses no other host"
	}
	flows := ""
	if s.OfFlows > 0 {
		flows = fmt.Sprintf(", %d of %d flows", s.Flows, s.OfFlows)
	}
	return fmt.Sprintf("worst stuck host: %s pauses %d of %d other hosts, %d of %d ports between switches%s", s.Host,
		len(s.Paused), s.Hosts, len(s.Ports), s.OfPorts, flows)
}
