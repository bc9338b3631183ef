package htsim

import (
	"fmt"
	"strings"
)

// firing is the state of the check of triggers.
type firing struct {
	*trafficReader
	index   map[uint32]int32 // of a trigger, by id
	fires   []int32          // by trigger: connections that fire it
	fired   []int32          // by trigger: connections that fired it so far
	first   []int32          // by trigger: index of its first connection in targets; one more at the end
	targets []int32          // connections by their trigger
	started []bool           // by connection
	causes  [][]Event        // by trigger
	shots   map[int32]Event  // what started a connection of a multishot trigger
}

// Event is the end of a connection: the last byte is acknowledged at its source, or has
// arrived at its destination.
type Event struct {
	Connection int32 // index in Traffic.Connections
	Sent       bool  // acknowledged at the source
}

func newFiring(p *trafficReader) *firing {
	t := p.traffic
	f := &firing{trafficReader: p, index: make(map[uint32]int32, len(t.Triggers)), fires: make([]int32, len(t.Triggers)),
		fired: make([]int32, len(t.Triggers)), first: make([]int32, len(t.Triggers)+1), targets: make([]int32, len(t.Connections)),
		started: make([]bool, len(t.Connections)), causes: make([][]Event, len(t.Triggers)), shots: make(map[int32]Event)}
	for i, g := range t.Triggers {
		if _, known := f.index[g.ID]; !known {
			f.index[g.ID] = int32(i)
		}
	}
	return f
}

// Causes returns a function with the events that must all happen before a connection starts;
// nil if it has a start time. Connections of a multishot trigger have one event each, in an
// order that causality allows. The traffic must be as ReadTraffic returns it.
func (t *Traffic) Causes() (func(connection int) []Event, error) {
	f := newFiring(&trafficReader{lines: newLines("", nil), traffic: t})
	if err := f.connect(); err != nil {
		return nil, err
	}
	f.run()
	return func(connection int) []Event {
		id := t.Connections[connection].Trigger
		if id == 0 {
			return nil
		}
		i := f.index[id]
		if t.Triggers[i].Kind == MultiShot {
			return []Event{f.shots[int32(connection)]}
		}
		return f.causes[i]
	}, nil
}

// triggers checks ids and lets connections complete until no more start. A connection that
// never starts is an error: its trigger waits for itself, or fires too rarely.
func (p *trafficReader) triggers() error {
	t := p.traffic
	f := newFiring(p)
	for i, g := range t.Triggers {
		if old := int(f.index[g.ID]); old != i {
			return p.at(g.Line, "trigger %d is defined twice (first in line %d)", g.ID, t.Triggers[old].Line)
		}
	}
	if err := f.connect(); err != nil {
		return err
	}
	for i, g := range t.Triggers {
		switch {
		case f.fires[i] > 0 && len(f.of(int32(i))) == 0:
			return p.at(g.Line, "trigger %d starts no connection", g.ID)
		case g.Kind == OneShot && f.fires[i] > 1:
			return p.at(g.Line, "oneshot trigger %d fires %d times (expected once); fix: use a barrier", g.ID, f.fires[i])
		case g.Kind == Barrier && f.fires[i] > g.Count:
			return p.at(g.Line, "barrier %d fires %d times (expected its count, %d)", g.ID, f.fires[i], g.Count)
		}
	}
	f.run()
	for i, c := range t.Connections {
		if !f.started[i] {
			return p.at(c.Line, "connection never starts: %s", f.why(f.index[c.Trigger]))
		}
	}
	return p.flowIDs()
}

// of returns the connections that a trigger starts.
func (f *firing) of(trigger int32) []int32 { return f.targets[f.first[trigger]:f.first[trigger+1]] }

// connect checks the triggers of connections, counts what fires them and lists what they
// start.
func (f *firing) connect() error {
	for _, c := range f.traffic.Connections {
		for _, id := range []uint32{c.Trigger, c.SendDone, c.RecvDone} {
			if _, known := f.index[id]; id != 0 && !known {
				return f.at(c.Line, "trigger %d is unknown (expected a line: trigger id %d ...)", id, id)
			}
		}
		if c.Trigger != 0 {
			f.first[f.index[c.Trigger]+1]++
		}
		for _, id := range []uint32{c.SendDone, c.RecvDone} {
			if id != 0 {
				f.fires[f.index[id]]++
			}
		}
	}
	for i := range f.fires {
		f.first[i+1] += f.first[i]
	}
	for i, c := range f.traffic.Connections {
		if c.Trigger != 0 {
			// first moves to the end of each list, which is where the next one begins.
			at := &f.first[f.index[c.Trigger]]
			f.targets[*at] = int32(i)
			*at++
		}
	}
	copy(f.first[1:], f.first)
	f.first[0] = 0
	return nil
}

// run lets connections complete until no more start.
func (f *firing) run() {
	var ready []int32
	start := func(list ...int32) {
		for _, i := range list {
			f.started[i] = true
			ready = append(ready, i)
		}
	}
	for i, c := range f.traffic.Connections {
		if c.Trigger == 0 {
			start(int32(i))
		}
	}
	for len(ready) > 0 {
		at := ready[len(ready)-1]
		c := f.traffic.Connections[at]
		ready = ready[:len(ready)-1]
		for k, id := range [...]uint32{c.SendDone, c.RecvDone} {
			if id == 0 {
				continue
			}
			i, event := f.index[id], Event{at, k == 0}
			f.causes[i] = append(f.causes[i], event)
			g, targets := f.traffic.Triggers[i], f.of(i)
			f.fired[i]++
			switch {
			case g.Kind == MultiShot && int(f.fired[i]) <= len(targets):
				f.shots[targets[f.fired[i]-1]] = event
				start(targets[f.fired[i]-1])
			case g.Kind == OneShot, g.Kind == Barrier && f.fired[i] == g.Count:
				start(targets...)
			}
		}
	}
}

// flowIDs checks that a flow id is used once, or by messages between the same nodes.
func (p *trafficReader) flowIDs() error {
	first := make(map[uint32]int)
	for i, c := range p.traffic.Connections {
		if c.ID == 0 {
			continue
		}
		j, known := first[c.ID]
		if !known {
			first[c.ID] = i
			continue
		}
		o := p.traffic.Connections[j]
		switch {
		case !c.Message || !o.Message:
			return p.at(c.Line, "id %d is used twice (first in line %d); fix: add msg if both are messages of one flow", c.ID, o.Line)
		case c.Src != o.Src || c.Dst != o.Dst:
			return p.at(c.Line, "messages of flow %d have different ends: %d->%d, %d->%d in line %d", c.ID, c.Src, c.Dst, o.Src, o.Dst, o.Line)
		}
	}
	return nil
}

// why explains that a trigger does not start its connections. It follows the connections
// that should fire it until it meets a trigger again, or one that fires too rarely.
func (f *firing) why(trigger int32) string {
	waits := make([]int32, len(f.fires)) // trigger that must fire first
	for i, c := range f.traffic.Connections {
		if !f.started[i] {
			for _, id := range []uint32{c.SendDone, c.RecvDone} {
				if id != 0 {
					waits[f.index[id]] = f.index[c.Trigger]
				}
			}
		}
	}
	seen := make([]int, len(f.fires)) // position in path + 1
	var path []uint32
	for {
		g := f.traffic.Triggers[trigger]
		if at := seen[trigger]; at > 0 {
			return cycle(path[at-1:])
		}
		need := 1
		switch g.Kind {
		case Barrier:
			need = int(g.Count)
		case MultiShot:
			need = len(f.of(trigger))
		}
		if int(f.fires[trigger]) < need {
			return fmt.Sprintf("%s trigger %d fires %d times (expected %d)", g.Kind, g.ID, f.fires[trigger], need)
		}
		path = append(path, g.ID)
		seen[trigger] = len(path)
		trigger = waits[trigger]
	}
}

func cycle(ids []uint32) string {
	const shown = 8
	var s strings.Builder
	fmt.Fprintf(&s, "trigger %d waits for itself: triggers", ids[0])
	for i := range ids {
		if i == shown {
			fmt.Fprintf(&s, " ... (%d in all)", len(ids))
			break
		}
		fmt.Fprintf(&s, " %d ->", ids[len(ids)-1-i])
	}
	fmt.Fprintf(&s, " %d", ids[len(ids)-1])
	return s.String()
}
