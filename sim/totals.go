package sim

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Totals sums what happened in a run.
type Totals struct {
	Hops      uint64 // data frames and replies that finished a link
	Control   uint64 // control frames that finished a link
	Controls  Controls
	Lost      uint64 // frames that links damaged
	Finished  uint64 // flows
	Pauses    uint64
	Resumes   uint64
	Refreshes uint64
	Blocked   units.Time // summed over egress queues
	Marks     uint64
	Forced    uint64
	Headers   uint64 // bytes of headers that rode on PFC frames
	Resent    uint64
	Timeouts  uint64
	Nacks     uint64
	CNPs      uint64
	Drops     [probe.NumReasons]uint64
	Broken    uint64           // of the lossless drops, those that broke a promise
	Depths    dataplane.Depths // pauses, by how deep the chain was that led to them
	PeakUsed  units.Bytes      // of the fullest switch
	PeakHead  units.Bytes      // headroom of the switch that used most
}

// Controls counts the control frames that finished a link, and their bytes without what
// a frame takes on the wire beside them, by kind from packet.PFC on.
type Controls [packet.ControlKinds]struct{ Frames, Bytes uint64 }

func (c *Controls) count(p *packet.Packet) {
	k := &c[p.Kind()-packet.PFC]
	k.Frames++
	k.Bytes += uint64(p.Size)
}

// addTo adds what a node counted to the sums of a run and returns how many frames it was.
func (c *Controls) addTo(t *Totals) uint64 {
	n := uint64(0)
	for i, k := range c {
		n += k.Frames
		t.Controls[i].Frames += k.Frames
		t.Controls[i].Bytes += k.Bytes
	}
	t.Control += n
	return n
}

// Totals returns the sums so far.
func (f *Fast) Totals() Totals {
	t := totals(f.spec, f.nics, f.switches, f.now)
	for _, n := range f.nodes {
		t.Hops += n.frames - n.control.addTo(&t)
	}
	return t
}

func totals(spec *Spec, nics []*dataplane.NIC, switches []*dataplane.Switch, now units.Time) Totals {
	var t Totals
	add := func(s dataplane.PortStats) {
		for c := range s.Pauses {
			t.Pauses += s.Pauses[c]
			t.Resumes += s.Resumes[c]
			t.Blocked += s.Blocked[c]
		}
		t.Refreshes += s.Refreshes
		t.Forced += s.Forced
		t.Headers += s.HeaderBytes
		t.Broken += s.Broken
		for c := range s.Drops {
			t.Marks += s.Marks[c]
			for r, n := range s.Drops[c] {
				t.Drops[r] += uint64(n)
			}
		}
	}
	for i, n := range nics {
		add(n.PortStats(0, now))
		t.deepen(n.Depths())
		s := &nics[i].Stats
		t.Finished += s.Finished
		t.Resent += s.Resent
		t.Timeouts += s.Timeouts
		t.Nacks += s.Nacks
		t.CNPs += s.CNPs
	}
	for i, s := range switches {
		for p := range spec.Switches[i].Ports {
			add(s.PortStats(p, now))
		}
		t.deepen(s.Depths())
		t.PeakUsed = max(t.PeakUsed, s.View().PeakStored())
		t.PeakHead = max(t.PeakHead, s.View().Peak(mmu.Headroom))
	}
	t.Lost = t.Drops[probe.Corrupt]
	return t
}

func (t *Totals) deepen(d *dataplane.Depths) {
	for i, n := range d {
		t.Depths[i] += n
	}
}
