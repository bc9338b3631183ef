package sim

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Totals sums the counters of all nodes of a run.
type Totals struct {
	Hops         uint64 // data frames and replies that finished a link
	Control      uint64 // control frames that finished a link
	Controls     Controls
	Lost         uint64 // frames lost by links
	Finished     uint64 // completed flows
	Pauses       uint64
	Resumes      uint64
	Refreshes    uint64     // PFC frames that only repeated a pause
	Blocked      units.Time // time during which classes could not send, summed over egress queues
	Marks        uint64
	Forced       uint64 // frames that a deadlock handler sent despite a pause
	Headers      uint64 // bytes of headers carried by PFC frames
	Resent       uint64 // retransmitted data packets
	Timeouts     uint64
	Nacks        uint64
	CNPs         uint64
	Drops        [probe.NumReasons]uint64 // dropped frames, by reason
	Broken       uint64                   // lossless drops that broke a promise
	Depths       dataplane.Depths         // pauses by depth
	PeakUsed     units.Bytes              // largest peak of the bytes stored in a switch
	PeakHeadroom units.Bytes              // largest peak of the headroom bytes stored in a switch
}

// Controls counts the control frames that finished a link and their bytes without wire
// overhead. Its index is the kind of the frame minus packet.PFC.
type Controls [packet.ControlKinds]struct{ Frames, Bytes uint64 }

func (c *Controls) count(p *packet.Packet) {
	k := &c[p.Kind()-packet.PFC]
	k.Frames++
	k.Bytes += uint64(p.Size)
}

// addTo adds the counts of a node to the totals and returns its number of control frames.
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

// Totals returns the totals so far.
func (f *Fast) Totals() Totals {
	t := totals(f.spec, f.nics, f.switches, f.now)
	for _, n := range f.nodes {
		t.Hops += n.frames - n.control.addTo(&t)
	}
	return t
}

// totals sums the counters of nodes, except frames that finished a link.
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
		t.addDepths(n.Depths())
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
		t.addDepths(s.Depths())
		t.PeakUsed = max(t.PeakUsed, s.View().PeakStored())
		t.PeakHeadroom = max(t.PeakHeadroom, s.View().Peak(mmu.Headroom))
	}
	t.Lost = t.Drops[probe.Corrupt]
	return t
}

func (t *Totals) addDepths(d *dataplane.Depths) {
	if d == nil {
		return
	}
	for i, n := range d {
		t.Depths[i] += n
	}
}
