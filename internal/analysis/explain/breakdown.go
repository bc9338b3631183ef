package explain

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// Breakdown divides the time of a flow into parts.
type Breakdown struct {
	Flow     int         `json:"flow"`
	Workload string      `json:"workload"`
	Src      string      `json:"src"`
	Dst      string      `json:"dst"`
	Size     units.Bytes `json:"size_bytes"`
	Start    units.Time  `json:"start_ps"`
	Time     units.Time  `json:"time_ps"` // FCT, or up to the end of the run
	Finished bool        `json:"finished"`
	Ideal    units.Time  `json:"ideal_ps"`
	Parts    []PartSum   `json:"parts"`     // sum to Time; largest first
	Rounds   int         `json:"rounds"`    // round trips in which the window was full
	Window   units.Time  `json:"window_ps"` // time of these round trips
	Sites    []Site      `json:"places"`    // parts by port or host; sum to Time
	Losses   []Loss      `json:"losses"`
}

// PartSum is the time that a flow spent in one part.
type PartSum struct {
	Part  Part       `json:"part"`
	Time  units.Time `json:"time_ps"`
	Share float64    `json:"share"`
	Acks  units.Time `json:"acks_ps"`   // time of ACKs, included in Time
	Round units.Time `json:"window_ps"` // time with a full window, included in Time
}

// Site is the time that a flow spent in one part at one port or host.
type Site struct {
	Where string     `json:"where"`
	Part  Part       `json:"part"`
	Acks  bool       `json:"acks"` // the frames are ACKs
	Time  units.Time `json:"time_ps"`
	By    []Blame    `json:"by"` // what it waited for, longest first
}

// Blame is a flow or node that a flow waited for.
type Blame struct {
	Who  string     `json:"who"`
	Root string     `json:"root,omitempty"` // of a pause: the origin of its tree
	Time units.Time `json:"time_ps"`
}

// Loss is a packet that was retransmitted.
type Loss struct {
	Packet  uint32     `json:"packet"`
	Sent    units.Time `json:"sent_ps"`
	Noticed units.Time `json:"noticed_ps"` // when the source detected the loss
	By      string     `json:"by"`         // what reported it to the source
	Where   string     `json:"where"`      // what is known about the loss
}

// Flow breaks down the time of a flow.
func (r *Run) Flow(id int) (*Breakdown, error) {
	steps, err := r.Steps(id)
	if err != nil {
		return nil, err
	}
	f := &r.flows[id]
	s := &Breakdown{Flow: id, Workload: f.workload, Src: r.names[f.src], Dst: r.names[f.dst], Size: f.size, Start: f.start, Time: r.duration(f),
		Finished: f.fct != none, Ideal: f.ideal, Parts: []PartSum{}, Sites: []Site{}, Losses: []Loss{}}
	var parts [numParts]PartSum
	sites := siteSums{run: r}
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
		sites.add(x)
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
	s.Sites = sites.sorted()
	return s, nil
}

// siteSums sums up steps by site.
type siteSums struct {
	run   *Run
	list  []Site
	index map[siteKey]int
	by    map[blameKey]int // index in By
}

type blameKey struct {
	site  int
	blame Blame // without its time
}

type siteKey struct {
	node, port int
	part       Part
	back       bool
}

func (s *siteSums) add(x Step) {
	k := siteKey{x.Node, x.Port, x.Part, x.Back}
	at, known := s.index[k]
	if !known {
		if s.index == nil {
			s.index, s.by = make(map[siteKey]int), make(map[blameKey]int)
		}
		at = len(s.list)
		s.index[k] = at
		s.list = append(s.list, Site{Where: s.run.where(x.Node, x.Port), Part: x.Part, Acks: x.Back, By: []Blame{}})
	}
	site, took := &s.list[at], x.To-x.From
	site.Time += took
	if b := s.run.blame(x); b.Who != "" {
		k := blameKey{at, b}
		i, known := s.by[k]
		if !known {
			i = len(site.By)
			s.by[k] = i
			site.By = append(site.By, b)
		}
		site.By[i].Time += took
	}
}

// sorted returns the sites, longest first.
func (s *siteSums) sorted() []Site {
	slices.SortStableFunc(s.list, func(a, b Site) int { return cmp.Compare(b.Time, a.Time) })
	for i := range s.list {
		by := s.list[i].By
		slices.SortStableFunc(by, func(a, b Blame) int { return cmp.Or(cmp.Compare(b.Time, a.Time), strings.Compare(a.Who, b.Who)) })
	}
	return append([]Site{}, s.list...)
}

func (r *Run) where(node, at int) string {
	if at < 0 {
		return r.names[node]
	}
	return r.portName(node, at)
}

// blame returns what a step waited for.
func (r *Run) blame(s Step) Blame {
	switch s.Part {
	case Queueing:
		if s.Behind < 0 {
			return Blame{Who: "control frames"}
		}
		f := &r.flows[s.Behind]
		return Blame{Who: fmt.Sprintf("flow %d (%s, %s to %s)", s.Behind, f.workload, r.names[f.src], r.names[f.dst])}
	case Paused:
		p := &r.ports[s.Node][s.Port]
		b := Blame{Who: r.names[p.peer]}
		if s.Pause >= 0 {
			b.Root = r.origin(r.pauses[s.Pause].root)
		}
		return b
	default:
		return Blame{}
	}
}

// origin names the origin of a pause tree: the congested egress port, or the host that did not
// accept frames.
func (r *Run) origin(of int) string {
	root := &r.pauses[of]
	if r.ports[root.node][root.port].host {
		return r.names[root.node]
	}
	if out := r.rootPorts()[of]; out >= 0 {
		return r.portName(root.node, int(out))
	}
	return r.portName(root.node, root.port)
}

// loss returns what is known about the loss of a retransmitted packet.
func (r *Run) loss(id int, s Step) Loss {
	l := Loss{Packet: s.Seq, Sent: s.From, Noticed: s.To, By: map[why]string{whyNack: "the destination", whyTimeout: "a timeout"}[s.by],
		Where: "not dropped: it arrived too late, or after a dropped packet"}
	other := ""
	if r.dropsOf == nil {
		r.dropsOf = make(map[int32][]int32)
		for i := range r.drops {
			flow := int32(r.drops[i].flow)
			r.dropsOf[flow] = append(r.dropsOf[flow], int32(i))
		}
	}
	drops := r.dropsOf[int32(id)]
	first := sort.Search(len(drops), func(i int) bool { return r.drops[drops[i]].at >= s.From })
	for _, i := range drops[first:] {
		d := &r.drops[i]
		if d.at > s.To {
			break
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

// mostly describes the site at which a flow spent most of its time, except serialisation and
// propagation.
func (s *Breakdown) mostly() string {
	for i := range s.Sites {
		p := &s.Sites[i]
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

// blamed describes what a site waited for most, or returns "".
func (p *Site) blamed() string {
	if len(p.By) == 0 {
		return ""
	}
	b := &p.By[0]
	text := " behind " + b.Who
	if p.Part == Paused {
		text = " by " + b.Who
		if b.Root != "" && b.Root != b.Who {
			text += " because of " + b.Root
		}
	}
	if more := len(p.By) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
