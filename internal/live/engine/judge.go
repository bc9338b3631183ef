package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
)

// Report is the lateness of a run, and what it means for the results.
type Report struct {
	Events uint64     `json:"events"`
	P50    units.Time `json:"p50_ps"`
	P99    units.Time `json:"p99_ps"`
	Worst  units.Time `json:"worst_ps"`
	// The worst lateness of each kind: the end of a transmission, a frame, any other timer.
	Wire  units.Time `json:"worst_wire_ps"`
	Frame units.Time `json:"worst_frame_ps"`
	Timer units.Time `json:"worst_timer_ps"`
	// HalfFrame is half the serialisation time of a full frame on the fastest link.
	HalfFrame units.Time `json:"half_frame_ps"`
	// Behind is how long, of Ran, some event was late by more than HalfFrame.
	Behind units.Time `json:"behind_ps"`
	Ran    units.Time `json:"ran_ps"`
	// Costs is how much longer an upstream may have sent because of lateness. Spare is how much
	// longer the headroom of every queue would have sufficed.
	Costs units.Time `json:"headroom_costs_ps"`
	Spare units.Time `json:"headroom_spare_ps"`
	// Rejected counts frames from outside that were rejected, by reason; nil if there are none.
	Rejected map[string]uint64 `json:"not_taken,omitempty"`
	// Unsent are the ports that could not send frames.
	Unsent []Unsent `json:"not_sent,omitempty"`
	// Vanished are the ports whose peer in another process fell silent before the end.
	Vanished []Vanished `json:"vanished,omitempty"`
}

// Unsent counts the frames that a port could not send, for one reason.
type Unsent struct {
	Port   string `json:"port"`
	Error  string `json:"error"`
	Frames uint64 `json:"frames"`
}

// Vanished is a node of another process that fell silent.
type Vanished struct {
	Node   string     `json:"node"`
	Port   string     `json:"port"` // the port of this process that leads to it
	Silent units.Time `json:"silent_ps"`
}

// halfFrame returns half the serialisation time of a full frame on the fastest link.
func (e *Engine) halfFrame() units.Time {
	half := units.Never
	for i, n := range e.nodes {
		for port := range n.wires {
			if p, w := e.net.Port(i, port), e.net.Wire(i, port); n.here && w.Rate != 0 {
				half = min(half, w.Rate.TxTime(max(p.MTU, p.MTUOut)+p.WireOverhead)/2)
			}
		}
	}
	return half
}

// Report returns the report of the run so far.
func (e *Engine) Report() *Report {
	l := &e.late
	r := &Report{
		Events: l.Events(), P50: l.Quantile(0.5), P99: l.Quantile(0.99), Worst: l.Worst(),
		Wire: l.worst[LateWire], Frame: l.worst[LateFrame], Timer: l.worst[LateTimer],
		HalfFrame: l.slack, Behind: l.Behind(), Ran: e.now, Costs: l.Costs(), Spare: units.MaxTime,
	}
	for i, n := range e.nodes {
		if !n.here {
			continue
		}
		for port := range n.wires {
			p, w := e.net.Port(i, port), e.net.Wire(i, port)
			if w.Rate == 0 {
				continue
			}
			if sw := e.net.Switch(i); sw != nil && p.Lossless != 0 {
				spare := max(0, sw.Headroom(port)/p.Queues()-link.Exact(p))
				r.Spare = min(r.Spare, w.Rate.TxTime(spare))
			}
		}
	}
	if c, ok := e.opts.Wires.(interface{ Rejected() map[string]uint64 }); ok {
		r.Rejected = c.Rejected()
	}
	if e.bridge != nil {
		r.Rejected = e.bridge.addTo(r.Rejected)
	}
	if e.impossible > 0 {
		r.Rejected = maps.Clone(r.Rejected)
		if r.Rejected == nil {
			r.Rejected = make(map[string]uint64)
		}
		r.Rejected["live: acknowledges packets that were never sent, or is otherwise impossible"] = e.impossible
	}
	e.addWires(r)
	return r
}

// addWires adds the frames that could not be sent and the peers that vanished.
func (e *Engine) addWires(r *Report) {
	unsent := func(from, to int, all rejected) {
		for _, why := range slices.Sorted(maps.Keys(all)) {
			r.Unsent = append(r.Unsent, Unsent{e.portName(from, to), why, all[why]})
		}
	}
	if s, ok := e.opts.Wires.(*Sockets); ok {
		for _, p := range s.ports {
			unsent(p.here.Node, p.peer.Node, p.out.unsent)
		}
		s.silent(e.now, func(p *socketPort) {
			r.Vanished = append(r.Vanished, Vanished{e.name(p.peer.Node), e.portName(p.here.Node, p.peer.Node), e.now - p.heard})
		})
	}
	if e.bridge != nil {
		for _, h := range e.bridge.hosts {
			unsent(h.peer.Node, h.n.index, h.out.unsent)
		}
	}
}

// name returns the name of a node.
func (e *Engine) name(node int) string {
	if hosts := e.spec.Hosts; node < len(hosts) {
		return hosts[node].Name
	}
	return e.spec.Switches[node-len(e.spec.Hosts)].Name
}

// portName returns the name of a port by its neighbour.
func (e *Engine) portName(from, to int) string { return e.name(from) + ".to-" + e.name(to) }

// WireVerdict returns which peers vanished and which ports could not send, or "".
func (r *Report) WireVerdict() string {
	var parts []string
	if len(r.Vanished) > 0 {
		var nodes, ports []string
		silent := units.Time(0)
		for _, v := range r.Vanished {
			nodes, ports, silent = append(nodes, v.Node), append(ports, v.Port), max(silent, v.Silent)
		}
		slices.Sort(nodes)
		parts = append(parts, fmt.Sprintf("%s vanished: no frame on %s for the last %s of %s (expected one every %s)",
			strings.Join(slices.Compact(nodes), ", "), strings.Join(ports, ", "), silent.Human(), r.Ran.Human(), repeatEvery.Human()))
	}
	for _, u := range r.Unsent {
		parts = append(parts, fmt.Sprintf("%d frames could not be sent on %s: %s", u.Frames, u.Port, u.Error))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "; the results lack these frames; fix: restore the wire or the other process, and repeat the run"
}

// LatenessVerdict returns why lateness may have changed the results of a run, or "". Broken is
// the number of dropped lossless frames.
func (r *Report) LatenessVerdict(broken uint64) string {
	if broken > 0 && r.Costs > r.Spare {
		return fmt.Sprintf("%d lossless frames were dropped, but events were up to %s late: an upstream may have sent for %s longer, "+
			"and the headroom suffices for %s; the machine may have caused the drops", broken, r.Worst.Human(), r.Costs.Human(), r.Spare.Human())
	}
	if r.P99 > r.HalfFrame {
		return fmt.Sprintf("1 of 100 events was more than %s late, and half a frame takes %s: times may be inaccurate; "+
			"fix: reduce the load on this machine, or lower the rates", r.P99.Human(), r.HalfFrame.Human())
	}
	if r.Behind > r.Ran/100 {
		return fmt.Sprintf("for %s of %s, events were late by more than half a frame, %s: times may be inaccurate; "+
			"fix: reduce the load on this machine, or lower the rates", r.Behind.Human(), r.Ran.Human(), r.HalfFrame.Human())
	}
	return ""
}
