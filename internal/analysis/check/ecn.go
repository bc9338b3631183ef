package check

import (
	"fmt"
	"math"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scheme/mark"
)

// Late describes a queue that PFC pauses before it marks frames.
type Late struct {
	Marks units.Bytes `json:"marks_above_bytes"`  // queue length above which frames are marked
	Reach units.Bytes `json:"reach_bytes"`        // longest queue before the first pause, for any number of feeding ports
	From  int         `json:"marks_from_ports"`   // smallest number of feeding ports for which marks come first; 0: none
	Alone units.Bytes `json:"reach_of_one_bytes"` // longest queue before the first pause with one feeding port
}

// lateMarks finds ports at which marks come after pauses, for classes whose congestion
// control needs marks. There, PFC acts before congestion control can.
func (c *checker) lateMarks() {
	wanted := packet.ClassMask(0)
	for _, u := range c.Uses {
		if len(u.NeedMarks) > 0 {
			wanted |= u.Classes
		}
	}
	if wanted &= c.lossless(); wanted == 0 {
		return
	}
	type kind struct {
		late    Late
		classes packet.ClassMask
		others  int
	}
	var found portsBy[kind]
	for i := range c.Switches {
		s := &c.Switches[i]
		known := make(map[units.Bytes]Late) // by threshold of marks
		for k := range s.Ports {
			p := &s.Ports[k]
			marked := wanted & p.ECN
			if marked == 0 || !p.Pauses || !s.congests(k) {
				continue
			}
			m, err := layout.Marker(&c.l.PortAt(p.Node, p.Port).ECN, p.Spec.Rate)
			if err != nil {
				panic(err) // validated before
			}
			late, ok := known[m.Floor()]
			if !ok {
				late = c.late(s, k, marked, m)
				known[m.Floor()] = late
			}
			if late.From == 1 || late.From == 2 {
				continue
			}
			found.add(kind{late, marked, len(s.Ports) - 1}, p)
		}
	}
	least := Late{Alone: math.MaxInt64}
	for k := range found.all() {
		least.Alone = min(least.Alone, k.late.Alone)
	}
	for k, ports := range found.all() {
		late := k.late
		what := fmt.Sprintf("%s: frames of %s are marked above %d B, but PFC pauses first: even with all other ports (%d) sending to it, the queue reaches only %d B",
			c.portNames(ports), classes(k.classes), late.Marks, k.others, late.Reach)
		if late.From > 0 {
			what = fmt.Sprintf("%s: frames of %s are marked above %d B, which the queue reaches before PFC pauses only if at least %d ports send to it; with one port it reaches %d B",
				c.portNames(ports), classes(k.classes), late.Marks, late.From, late.Alone)
		}
		c.add(Finding{
			Level: Note, Kind: KindECN, Where: c.where(ports), Classes: classIDs(k.classes), Late: &late, What: what, Advice: c.adviseMarks(least, ports),
			Fix: fmt.Sprintf("lower the threshold of switch.ecn below %d B, raise the threshold of switch.policy, or enlarge the shared buffer", late.Alone),
		})
	}
}

// congests reports whether the other ports can together exceed the rate of port out.
func (s *surveyedSwitch) congests(out int) bool {
	sum := units.Rate(0)
	for i := range s.Ports {
		if i != out {
			sum += s.Ports[i].Spec.Rate
		}
	}
	return sum > s.Ports[out].Spec.Rate
}

// late compares marks and pauses at the egress queue of port out, for the lowest marked class.
func (c *checker) late(s *surveyedSwitch, out int, marked packet.ClassMask, m mark.Marker) Late {
	l := Late{Marks: m.Floor()}
	class := marked.Lowest()
	for n := 1; n < len(s.Ports); n++ {
		reach, marks := c.reach(s, out, class, n, l.Marks)
		if n == 1 {
			l.Alone = reach
		}
		if l.Reach = max(l.Reach, reach); marks {
			l.From = n
			break
		}
	}
	return l
}

// reach fills the egress queue of port out from n other ports in turn. It returns the queue's
// length and true once it exceeds limit, or false once the buffer policy requires a pause.
// Flow control that pauses below the policy's threshold would stop earlier.
func (c *checker) reach(s *surveyedSwitch, out int, class uint8, n int, limit units.Bytes) (units.Bytes, bool) {
	f := c.trialBuffer(s)
	if f == nil {
		return 0, true // overcommitted, which is another finding
	}
	for turn := 0; ; turn++ {
		in := (out + 1 + turn%n) % len(s.Ports)
		a := &mmu.Arrival{In: in, Out: out, Class: class, Bytes: s.Ports[in].Spec.MTU, Kind: mmu.Lossless}
		segment, ok := f.admit(a)
		if !ok {
			return f.view.Egress(out, class), false
		}
		f.charge(a, segment)
		queue := f.view.Egress(out, class)
		if queue > limit {
			return queue, true
		}
		if q, xoff := f.policy.Level(0, f.view, in, class); q > xoff {
			return queue, false
		}
	}
}
