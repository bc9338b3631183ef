package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// printer writes lines and remembers the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) linef(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
}

// Text writes an explanation as text.
func (e *Explanation) Text(w io.Writer) error {
	p := &printer{w: w}
	p.linef("%s", e.Headline)
	for i, c := range e.Causes {
		p.linef("")
		p.linef("%d. %s at %s", i+1, c.Kind, c.Where)
		if i > 0 { // the headline describes the first one
			p.linef("   %s", c.What)
		}
		for _, l := range c.Lines(i == 0) {
			p.linef("   %s", l)
		}
	}
	if e.More > 0 {
		p.linef("")
		p.linef("... and %s more causes with less effect", units.Thousands(uint64(e.More)))
	}
	for _, part := range e.Sections() {
		p.linef("")
		p.linef("%s", part.Heading)
		for _, l := range part.Lines {
			p.linef("   %s", l)
		}
	}
	return p.err
}

// Section is a part of an explanation as lines of text.
type Section struct {
	Heading string
	Lines   []string
}

// Sections returns the parts of an explanation other than causes.
func (e *Explanation) Sections() []Section {
	var list []Section
	add := func(heading string, lines []string) {
		if len(lines) > 0 {
			list = append(list, Section{heading, lines})
		}
	}
	var lines []string
	for i, d := range e.Deadlocks {
		for k, q := range d.Loop {
			lines = append(lines, fmt.Sprintf("deadlock %d, %d of %d: %s, paused since %s, %s queued", i, k+1, len(d.Loop), q.Queue, q.Paused.Human(), q.Bytes.Human()))
		}
	}
	add("deadlocks", lines)
	lines = nil
	for _, d := range e.Drops[:min(len(e.Drops), maxLines)] {
		lines = append(lines, d.line())
	}
	add("drops", lines)
	lines = nil
	for _, f := range e.Faults {
		text := fmt.Sprintf("%s from %s to %s: %s", f.What, f.From.Human(), f.To.Human(), plural(f.Pauses, "pause"))
		text += fmt.Sprintf(" during the fault, %s in an equally long time before", units.Thousands(uint64(f.Before)))
		if f.Lost > 0 {
			text += fmt.Sprintf("; %s lost", plural(f.Lost, "frame"))
		}
		lines = append(lines, text)
	}
	add("faults and their effects", lines)
	lines = nil
	for _, s := range e.Stragglers {
		lines = append(lines, fmt.Sprintf("%s %d waited for flow %d, %s to %s: %s instead of %s, mostly %s", s.Workload, s.Operation, s.Flow, s.Src, s.Dst,
			s.Took.Human(), s.Ideal.Human(), s.Mostly))
	}
	add("stragglers of operations", lines)
	lines = nil
	for _, s := range e.Slowest {
		lines = append(lines, fmt.Sprintf("flow %d (%s), %s to %s: %s, slowdown %.1f, mostly %s", s.Flow, s.Of, s.Src, s.Dst,
			s.FCT.Human(), s.Slowdown, s.Mostly))
	}
	add("slowest flows (--flow N shows details)", lines)
	return list
}

func (d *Drops) line() string {
	text := fmt.Sprintf("%s: %s of %s (%s), %s to %s; at the first drop: %s in the queue", d.Queue, plural(d.Frames, "frame"), plural(d.Flows, "flow"),
		d.Reason, d.First.Human(), d.Last.Human(), d.Queued.Human())
	if d.Threshold >= 0 {
		text += fmt.Sprintf(", threshold %s", d.Threshold.Human())
	}
	if d.Reserved > 0 {
		text += fmt.Sprintf(", headroom %s of %s", d.Headroom.Human(), d.Reserved.Human())
	}
	return text + fmt.Sprintf(", %s in the buffer", d.Stored.Human())
}

// minorShare is the share of paused time below which a cause is described briefly.
const minorShare = 0.05

// Lines returns the details of a cause; only the first line for a minor cause that is not the
// main one.
func (c *Cause) Lines(main bool) []string {
	t := c.Worst
	if t == nil {
		return nil
	}
	list := []string{fmt.Sprintf("%s in %s, up to %d deep, paused %s (%s at hosts) for %s in total: %.1f %% of all paused time",
		plural(c.Pauses, "pause"), plural(c.Trees, "tree"), c.Depth, plural(c.Ports, "port"), units.Thousands(uint64(c.Hosts)), c.Paused.Human(), 100*c.Share)}
	if c.Share < minorShare && !main {
		return list
	}
	cause := fmt.Sprintf("worst tree: %s paused at %s", t.Root, t.Sent.Human())
	if t.Threshold >= 0 {
		cause += fmt.Sprintf(": %s in the queue, threshold %s", t.Queue.Human(), t.Threshold.Human())
		if t.Reserved > 0 {
			cause += fmt.Sprintf(", headroom %s of %s", t.Headroom.Human(), t.Reserved.Human())
		}
		cause += fmt.Sprintf(", %s in the buffer", t.Stored.Human())
	}
	list = append(list, cause)
	for _, l := range t.Lines {
		list = append(list, "  "+l)
	}
	if len(t.Workloads) > 0 {
		var parts []string
		for _, s := range t.Workloads {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", s.Workload, 100*s.Share))
		}
		list = append(list, fmt.Sprintf("filled by (%s): %s", t.FilledBytes.Human(), strings.Join(parts, ", ")))
		for _, s := range t.Filled {
			list = append(list, fmt.Sprintf("  flow %d (%s), %s to %s: %s, %.0f %%", s.Flow, s.Workload, s.Src, s.Dst, s.Bytes.Human(), 100*s.Share))
		}
	}
	if m := c.Marks; m != nil {
		list = append(list, m.line())
	}
	if c.VictimFlows > 0 {
		list = append(list, fmt.Sprintf("victims: %s not using %s", plural(c.VictimFlows, "flow"), c.Where))
	}
	for _, v := range c.Victims {
		text := fmt.Sprintf("  flow %d (%s), %s to %s: paused for %s", v.Flow, v.Workload, v.Src, v.Dst, v.Paused.Human())
		if v.FCT > 0 {
			text += fmt.Sprintf(", which took %s of its FCT of %s", v.Cost.Human(), v.FCT.Human())
		} else {
			text += "; it did not finish"
		}
		list = append(list, text)
	}
	return list
}

func (m *Marks) line() string {
	if !m.On {
		return "ECN: this port marks no frames; congestion control: " + m.Control
	}
	return fmt.Sprintf("ECN: %s of %s were marked in the %s before the first pause; marking starts at %s, the queue was %s; congestion control: %s",
		units.Thousands(uint64(m.Marked)), plural(m.Frames, "frame"), markWindow.Human(), m.Floor.Human(), m.Queue.Human(), m.Control)
}

// Text writes a breakdown as text.
func (s *Breakdown) Text(w io.Writer) error {
	p := &printer{w: w}
	state := "took"
	if !s.Finished {
		state = "did not finish in"
	}
	p.linef("flow %d (%s), %s to %s, %s: %s %s (%d ps), ideal %s; mostly %s", s.Flow, s.Workload, s.Src, s.Dst, s.Size.Human(), state,
		s.Time.Human(), int64(s.Time), s.Ideal.Human(), s.mostly())
	p.linef("")
	p.linef("%-20s %18s %7s %18s %18s", "part", "ps", "share", "ACKs", "full window")
	sum := units.Time(0)
	for _, x := range s.Parts {
		p.linef("%-20s %18s %5.1f %% %18s %18s", x.Part, thousands(x.Time), 100*x.Share, thousands(x.Acks), thousands(x.Round))
		sum += x.Time
	}
	p.linef("%-20s %18s", "total", thousands(sum))
	if s.Rounds > 0 {
		p.linef("")
		p.linef("the window was full for %s, in %s", s.Window.Human(), plural(s.Rounds, "round trip"))
	}
	p.linef("")
	p.linef("%18s  %s", "ps", "where")
	rest, more := units.Time(0), 0
	for _, x := range s.Sites {
		if 500*x.Time < s.Time {
			rest += x.Time
			more++
			continue
		}
		acks := ""
		if x.Acks {
			acks = " (ACKs)"
		}
		p.linef("%18s  %s at %s%s", thousands(x.Time), x.Part, x.Where, acks)
		for _, l := range x.lines() {
			p.linef("%18s    %s", "", l)
		}
	}
	if more > 0 {
		p.linef("%18s  in %d smaller parts", thousands(rest), more)
	}
	for i, l := range s.Losses {
		if i == 0 {
			p.linef("")
			p.linef("retransmissions")
		}
		if i == maxLines {
			p.linef("   ... and %d more", len(s.Losses)-i)
			break
		}
		p.linef("   packet %d, sent at %s, loss detected at %s by %s: %s", l.Packet, l.Sent.Human(), l.Noticed.Human(), l.By, l.Where)
	}
	return p.err
}

// lines describes what a site waited for, and how long.
func (p *Site) lines() []string {
	var list []string
	rest := p.Time
	for i, b := range p.By {
		if i == maxShown {
			return append(list, fmt.Sprintf("and %d more: %s", len(p.By)-i, rest.Human()))
		}
		text := b.Who
		if b.Root != "" && b.Root != b.Who {
			text += ", because of " + b.Root
		}
		list = append(list, fmt.Sprintf("%s: %s", text, b.Time.Human()))
		rest -= b.Time
	}
	return list
}

func thousands(t units.Time) string { return units.Thousands(uint64(t)) }
