package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Story is where the time of a flow went.
type Story struct {
	Flow     int         `json:"flow"`
	Workload string      `json:"workload"`
	Src      string      `json:"src"`
	Dst      string      `json:"dst"`
	Size     units.Bytes `json:"size_bytes"`
	Start    units.Time  `json:"start_ps"`
	Time     units.Time  `json:"time_ps"` // its completion time, or up to the end of the run
	Finished bool        `json:"finished"`
	Ideal    units.Time  `json:"ideal_ps"`
	Parts    []PartSum   `json:"parts"`  // add up to Time; the largest first
	Rounds   int         `json:"rounds"` // round trips that it waited for its window
	Window   units.Time  `json:"window_ps"`
	Places   []Place     `json:"places"` // the same by place, on the way of the last packet
	Losses   []Loss      `json:"losses"`
}

// PartSum is how much of its time a flow spent so.
type PartSum struct {
	Part  Part       `json:"part"`
	Time  units.Time `json:"time_ps"`
	Share float64    `json:"share"`
	Acks  units.Time `json:"acks_ps"`   // of this, ACKs on their way back
	Round units.Time `json:"window_ps"` // of this, in round trips that the window waited for
}

// Place is a part of a flow's time at one place.
type Place struct {
	Where string     `json:"where"`
	Part  Part       `json:"part"`
	Acks  bool       `json:"acks"` // of ACKs on their way back
	Time  units.Time `json:"time_ps"`
	By    []Blame    `json:"by"` // whom it waited for, the longest first
}

// Blame is whom a flow waited for.
type Blame struct {
	Who  string     `json:"who"`
	Root string     `json:"root,omitempty"` // of a pause: where its tree began
	Time units.Time `json:"time_ps"`
}

// Loss is a packet that was sent again.
type Loss struct {
	Packet  uint32     `json:"packet"`
	Sent    units.Time `json:"sent_ps"`
	Noticed units.Time `json:"noticed_ps"`
	By      string     `json:"by"`    // what told the source
	Where   string     `json:"where"` // what is known of the loss
}

// Flow says where the time of a flow went.
func (r *Run) Flow(id int) (*Story, error) {
	steps, err := r.Steps(id)
	if err != nil {
		return nil, err
	}
	f := &r.flows[id]
	s := &Story{Flow: id, Workload: f.workload, Src: r.names[f.src], Dst: r.names[f.dst], Size: f.size, Start: f.start, Time: r.lasted(f),
		Finished: f.fct != none, Ideal: f.ideal, Parts: []PartSum{}, Places: []Place{}, Losses: []Loss{}}
	var parts [numParts]PartSum
	type place struct {
		node, port int
		part       Part
		back       bool
	}
	places := make(map[place]int)
	rounds := make(map[int]bool)
	for _, x := range steps {
		took := x.To - x.From
		p := &parts[x.Part]
		p.Time += took
		if x.Back {
			p.Acks += took
		}
		if x.Round > 0 {
			p.Round += took
			s.Window += took
			rounds[x.Round] = true
		}
		k := place{x.Node, x.Port, x.Part, x.Back}
		at, known := places[k]
		if !known {
			at = len(s.Places)
			places[k] = at
			s.Places = append(s.Places, Place{Where: r.where(x.Node, x.Port), Part: x.Part, Acks: x.Back, By: []Blame{}})
		}
		s.Places[at].add(r.blame(x), took)
		if x.Part == Lost {
			s.Losses = append(s.Losses, r.loss(id, x))
		}
	}
	s.Rounds = len(rounds)
	for i, p := range parts {
		if p.Time > 0 {
			p.Part, p.Share = Part(i), float64(p.Time)/float64(max(1, s.Time))
			s.Parts = append(s.Parts, p)
		}
	}
	slices.SortStableFunc(s.Parts, func(a, b PartSum) int { return cmp.Compare(b.Time, a.Time) })
	slices.SortStableFunc(s.Places, func(a, b Place) int { return cmp.Compare(b.Time, a.Time) })
	for i := range s.Places {
		by := s.Places[i].By
		slices.SortStableFunc(by, func(a, b Blame) int { return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Who, b.Who)) })
	}
	return s, nil
}

func (p *Place) add(b Blame, took units.Time) {
	p.Time += took
	if b.Who == "" {
		return
	}
	i := slices.IndexFunc(p.By, func(x Blame) bool { return x.Who == b.Who && x.Root == b.Root })
	if i < 0 {
		i = len(p.By)
		p.By = append(p.By, b)
	}
	p.By[i].Time += took
}

func (r *Run) where(node, at int) string {
	if at < 0 {
		return r.names[node]
	}
	return r.portName(node, at)
}

// blame says whom a step waited for.
func (r *Run) blame(s Step) Blame {
	switch s.Part {
	case Queueing:
		if s.Behind < 0 {
			return Blame{Who: "control frames of the link"}
		}
		f := &r.flows[s.Behind]
		return Blame{Who: fmt.Sprintf("flow %d (%s, %s to %s)", s.Behind, f.workload, r.names[f.src], r.names[f.dst])}
	case Held:
		p := &r.ports[s.Node][s.Port]
		b := Blame{Who: r.names[p.peer]}
		if s.Pause >= 0 {
			root := &r.pauses[r.pauses[s.Pause].root]
			b.Root = r.origin(root)
		}
		return b
	default:
		return Blame{}
	}
}

// origin is what a tree of pauses began with: the port that could not send, or the host that
// took nothing.
func (r *Run) origin(root *pause) string {
	if r.ports[root.node][root.port].host {
		return r.names[root.node]
	}
	if out := r.contents(End{root.node, root.port, root.class}, root.sent).out; out >= 0 {
		return r.portName(root.node, out)
	}
	return r.portName(root.node, root.port)
}

// loss says what is known about a packet that was sent again.
func (r *Run) loss(id int, s Step) Loss {
	l := Loss{Packet: s.Seq, Sent: s.From, Noticed: s.To, By: map[why]string{whyNack: "the destination", whyTimeout: "a timeout"}[s.by],
		Where: "it was not dropped: it came too late, or after one that was"}
	other := ""
	for i := range r.drops {
		d := &r.drops[i]
		if d.flow != id || d.at < s.From || d.at > s.To {
			continue
		}
		text := fmt.Sprintf("dropped at %s, at %s: %s", r.portName(d.node, d.port), d.at.Human(), d.reason)
		switch {
		case d.kind == packet.Data && d.seq == s.Seq:
			l.Where = text
			return l
		case other == "":
			other = fmt.Sprintf("%s %d was %s", d.kind, d.seq, text)
		}
	}
	if other != "" {
		l.Where = other
	}
	return l
}

// mostly names the place where a flow spent most of its time, but for what it cannot avoid.
func (s *Story) mostly() string {
	for i := range s.Places {
		p := &s.Places[i]
		if p.Part == Serialisation || p.Part == Propagation || 4*p.Time < s.Time {
			continue
		}
		return fmt.Sprintf("%s at %s%s (%.0f %%)", p.Part, p.Where, p.blamed(), 100*float64(p.Time)/float64(s.Time))
	}
	if len(s.Parts) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%s (%.0f %%)", s.Parts[0].Part, 100*s.Parts[0].Share)
}

// blamed names whom a place waited for most.
func (p *Place) blamed() string {
	if len(p.By) == 0 {
		return ""
	}
	b := &p.By[0]
	text := ", behind " + b.Who
	if p.Part == Held {
		text = ", by " + b.Who
		if b.Root != "" && b.Root != b.Who {
			text += " because of " + b.Root
		}
	}
	if more := len(p.By) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
