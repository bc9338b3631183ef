package check

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scheme/mark"
)

// Late is a queue whose frames are marked after PFC has paused who fills it.
type Late struct {
	Marks units.Bytes `json:"marks_above_bytes"`  // queue up to which nothing is marked
	Reach units.Bytes `json:"reach_bytes"`        // longest one when a first pause is due, with all other ports feeding it
	From  int         `json:"marks_from_ports"`   // feeding it, for a mark to come first; 0: never
	Alone units.Bytes `json:"reach_of_one_bytes"` // as Reach, with one port feeding it
}

// lateMarks finds ports at which congestion marks come after pauses, for classes whose
// congestion control needs marks: it slows nobody down then before PFC does.
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
	var found alike[kind]
	for i := range c.Switches {
		s := &c.Switches[i]
		known := make(map[units.Bytes]Late) // by threshold of marks
		for k := range s.Ports {
			p := &s.Ports[k]
			marked := wanted & p.ECN
			if marked == 0 || !p.Holds || !s.congests(k) {
				continue
			}
			m, err := layout.Marker(&c.l.PortAt(p.Node, p.Port).ECN, p.Spec.Rate)
			if err != nil {
				panic(err) // validate has looked
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
	for k, ports := range found.all() {
		of := k.late
		what := fmt.Sprintf("%s: frames of %s are marked above %d B, but PFC pauses first: a queue that all other %d ports feed has at most %d B by then",
			c.ports(ports), classes(k.classes), of.Marks, k.others, of.Reach)
		if of.From > 0 {
			what = fmt.Sprintf("%s: frames of %s are marked above %d B, which a queue reaches before PFC pauses only if at least %d ports feed it; from one port it is %d B",
				c.ports(ports), classes(k.classes), of.Marks, of.From, of.Alone)
		}
		c.add(Finding{
			Level: Note, Kind: OfECN, Where: c.where(ports), Classes: numbers(k.classes), Late: &of, What: what,
			Fix: fmt.Sprintf("a lower threshold of switch.ecn (below %d B), a larger threshold of switch.policy, or more buffer to share", of.Alone),
		})
	}
}

// congests tells whether other ports can bring more to one than it sends.
func (s *surveyedSwitch) congests(out int) bool {
	sum := units.Rate(0)
	for i := range s.Ports {
		if i != out {
			sum += s.Ports[i].Spec.Rate
		}
	}
	return sum > s.Ports[out].Spec.Rate
}

// late looks at the queue of a port in the lowest of some classes.
func (c *checker) late(s *surveyedSwitch, out int, marked packet.ClassMask, m mark.Marker) Late {
	l := Late{Marks: m.Floor()}
	class := marked.Lowest()
	for n := 1; n < len(s.Ports); n++ {
		reach, first := c.reach(s, out, class, n, l.Marks)
		if n == 1 {
			l.Alone = reach
		}
		if l.Reach = max(l.Reach, reach); first {
			l.From = n
			break
		}
	}
	return l
}

// reach fills the egress queue of a port from n others in turn, until it is longer than
// a limit (true) or one of them would have to be paused, by the buffer policy. Flow
// control that pauses earlier than the policy's threshold makes it shorter.
func (c *checker) reach(s *surveyedSwitch, out int, class uint8, n int, limit units.Bytes) (units.Bytes, bool) {
	f := c.empty(s)
	if f == nil {
		return 0, true // promised twice, which is said elsewhere
	}
	for turn := 0; ; turn++ {
		in := (out + 1 + turn%n) % len(s.Ports)
		a := &mmu.Arrival{In: in, Out: out, Class: class, Bytes: s.Ports[in].Spec.MTU, Kind: mmu.Lossless}
		segment, ok := f.place(a)
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
