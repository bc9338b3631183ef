package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
)

// Budget is what becomes of the buffer of alike switches.
type Budget struct {
	Switches []string    `json:"switches"`
	Size     units.Bytes `json:"size_bytes"`
	Ports    int         `json:"ports"` // for which buffer is set aside
	Private  units.Bytes `json:"private_bytes"`
	Headroom units.Bytes `json:"headroom_bytes"`
	Shared   units.Bytes `json:"shared_bytes"`          // what is left; negative: promised twice
	Needed   units.Bytes `json:"needed_headroom_bytes"` // with as much as is needed where it is short
	Exact    units.Bytes `json:"exact_headroom_bytes"`  // with as much as is needed everywhere
}

// Gap is headroom that does not suffice.
type Gap struct {
	Have  units.Bytes `json:"have_bytes"` // per queue
	Need  units.Bytes `json:"need_bytes"`
	Short units.Bytes `json:"short_bytes"`
	Rate  string      `json:"rate"`
	Delay string      `json:"delay"` // from the neighbour, pipeline included
	Back  string      `json:"delay_back"`
	// Processing is how long the neighbour takes to act on a PAUSE.
	Processing string      `json:"processing"`
	MTU        units.Bytes `json:"mtu_bytes"`
}

// journey says what makes frames arrive after a pause is due.
func (g *Gap) journey() string {
	way := g.Delay + " each way"
	if g.Back != g.Delay {
		way = fmt.Sprintf("%s there and %s back", g.Back, g.Delay)
	}
	if g.Processing != units.Time(0).String() {
		way += ", " + g.Processing + " to act on a pause"
	}
	return fmt.Sprintf("%s, %s, frames of %d B", g.Rate, way, g.MTU)
}

// gap holds the headroom of a queue against what it needs.
func gap(p *surveyedPort, have units.Bytes) Gap {
	processing := p.Spec.PFC.Processing
	if p.Spec.Peer != nil {
		processing = p.Spec.Peer.Processing
	}
	need := link.Needed(&p.Spec)
	return Gap{have, need, need - have, p.Spec.Rate.String(), p.Spec.DelayIn.String(), p.Spec.DelayOut.String(), processing.String(), p.Spec.MTU}
}

// private adds up the private segments of the ports of a switch, and returns the most
// that one of them has.
func (c *checker) private(s *surveyedSwitch) (all, most units.Bytes) {
	for i := range s.Ports {
		part := dataplane.PrivateSize(s.Ports[i].Scheme, c.Kinds, s.Buffer.PrivatePerQueue)
		all, most = all+part, max(most, part)
	}
	return all, most
}

// budget divides the buffer of a switch, for a mask of lossless classes.
func (c *checker) budget(s *surveyedSwitch, lossless packet.ClassMask) Budget {
	b := Budget{Size: s.Buffer.Size, Ports: len(s.Ports)}
	var most, mostNeeded, mostExact units.Bytes
	for i := range s.Ports {
		spec := s.Ports[i].Spec
		spec.Lossless = lossless
		reserve := s.Ports[i].Scheme.Reserve(&spec)
		exact := reserve
		if size := s.Ports[i].Scheme.Properties().Sizing; size.Queue != nil {
			exact = size.Port(&spec)
		}
		needed := max(reserve, exact)
		b.Headroom, b.Needed, b.Exact = b.Headroom+reserve, b.Needed+needed, b.Exact+exact
		most, mostNeeded, mostExact = max(most, reserve), max(mostNeeded, needed), max(mostExact, exact)
	}
	if s.Buffer.ReserveFor == "chip" {
		spare := units.Bytes(max(0, s.Chip-len(s.Ports)))
		b.Ports += int(spare)
		b.Headroom, b.Needed, b.Exact = b.Headroom+spare*most, b.Needed+spare*mostNeeded, b.Exact+spare*mostExact
	}
	private, most := c.private(s)
	b.Private = private + units.Bytes(b.Ports-len(s.Ports))*most
	b.Headroom += s.Buffer.HeadroomPool
	b.Shared = b.Size - b.Private - b.Headroom
	return b
}

// little is the part of a buffer below which it is said that little is left.
const little = 10 // per cent

// buffers checks that what is set aside fits, and what it leaves.
func (c *checker) buffers() {
	lossless := c.lossless()
	var first []*surveyedSwitch // of each budget
	for i := range c.Switches {
		s := &c.Switches[i]
		b := c.budget(s, lossless)
		same := slices.IndexFunc(c.report.Budgets, func(o Budget) bool {
			return o.Size == b.Size && o.Ports == b.Ports && o.Private == b.Private && o.Headroom == b.Headroom && o.Needed == b.Needed && o.Exact == b.Exact &&
				family(o.Switches[0]) == family(c.Graph.Names[s.Node])
		})
		if same < 0 {
			same = len(c.report.Budgets)
			c.report.Budgets = append(c.report.Budgets, b)
			first = append(first, s)
		}
		at := &c.report.Budgets[same]
		at.Switches = append(at.Switches, c.Graph.Names[s.Node])
	}
	for i := range c.report.Budgets {
		b := &c.report.Budgets[i]
		taken := b.Private + b.Headroom
		switch {
		case b.Shared <= 0:
			c.add(Finding{
				Level: Problem, Kind: OfBuffer, Where: b.Switches, Buffer: b,
				What: fmt.Sprintf("%s: the buffer is promised twice: headroom (%d B) and private segments (%d B) of %d ports take %d of %d B, %d too many", brief(b.Switches), b.Headroom, b.Private, b.Ports, taken, b.Size, taken-b.Size+1),
				Fix:  c.smaller(first[i], b, lossless),
			})
		case b.Shared*100 < b.Size*little:
			c.add(Finding{
				Level: Note, Kind: OfBuffer, Where: b.Switches, Buffer: b,
				What: fmt.Sprintf("%s: headroom and private segments leave %d of %d B to share (%.1f %%): queues are paused early", brief(b.Switches), b.Shared, b.Size, 100*float64(b.Shared)/float64(b.Size)),
				Fix:  c.larger(first[i], b, lossless),
			})
		}
	}
}

// larger says how more would be left.
func (c *checker) larger(s *surveyedSwitch, b *Budget, lossless packet.ClassMask) string {
	fix := "a larger buffer"
	if lossless.Count() > 1 {
		fix += ", fewer lossless classes"
	}
	if b.Ports > len(s.Ports) {
		fix += ", headroom for cabled ports only (switch.buffer.reserve_for: cabled)"
	}
	return fix + "; xoff headroom shows what would be left"
}

// smaller says what would fit.
func (c *checker) smaller(s *surveyedSwitch, b *Budget, lossless packet.ClassMask) string {
	fix := fmt.Sprintf("a buffer of more than %d B", b.Private+b.Headroom)
	if b.Exact < b.Headroom && b.Size-b.Private > b.Exact {
		for i := range s.Ports {
			if size := s.Ports[i].Scheme.Properties().Sizing; size.Queue != nil {
				fix += fmt.Sprintf(", or %s, which takes %d B", size.Enough, b.Exact)
				break
			}
		}
	}
	fewer := lossless
	for fewer &= fewer - 1; fewer != 0; fewer &= fewer - 1 { // without the lowest class
		if c.budget(s, fewer).Shared > 0 {
			break
		}
	}
	if fewer != 0 {
		fix += ", or at most " + count(fewer.Count(), "lossless class", "lossless classes")
	}
	cabled := *s
	cabled.Buffer.ReserveFor = "cabled"
	if b.Ports > len(s.Ports) && c.budget(&cabled, lossless).Shared > 0 {
		fix += ", or switch.buffer.reserve_for: cabled"
	}
	return fix
}

// headroom checks that every lossless queue can take what is in flight when it is
// paused.
func (c *checker) headroom() {
	type kind struct {
		gap     Gap
		keys    string // that would mend it
		pattern string
	}
	var found alike[kind]
	look := func(p *surveyedPort) {
		size := p.Scheme.Properties().Sizing
		if size.Queue == nil || p.Spec.Lossless == 0 {
			return
		}
		k := kind{gap(p, size.Queue(&p.Spec)), size.Enough, family(c.Graph.Names[p.Node]) + family(c.Graph.Names[p.Peer])}
		if k.gap.Short <= 0 {
			return
		}
		found.add(k, p)
	}
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			look(&c.Switches[i].Ports[k])
		}
	}
	for i := range c.Slow {
		look(&c.Slow[i])
	}
	for k, ports := range found.all() {
		lossless := ports[0].Spec.Lossless
		c.add(Finding{
			Level: Problem, Kind: OfHeadroom, Where: c.where(ports), Classes: numbers(lossless),
			Headroom: &k.gap,
			What: fmt.Sprintf("%s: %d B of headroom per queue of %s, but %d B can arrive after a pause is due (%s): %d B short, frames can be lost",
				c.ports(ports), k.gap.Have, classes(lossless), k.gap.Need, k.gap.journey(), k.gap.Short),
			Fix: c.enough(ports, k.gap.Need, k.keys),
		})
	}
}

// advice passes on what flow control has to say about its ports.
func (c *checker) advice() {
	type kind struct{ what, better string }
	var found alike[kind]
	for i := range c.Switches {
		for n := range c.Switches[i].Ports {
			p := &c.Switches[i].Ports[n]
			advise := p.Scheme.Properties().Advise
			if advise == nil || p.Spec.Lossless == 0 {
				continue
			}
			what, better := advise(&p.Spec)
			if what == "" {
				continue
			}
			found.add(kind{what, better}, p)
		}
	}
	for k, ports := range found.all() {
		c.add(Finding{
			Level: Note, Kind: OfHeadroom, Where: c.where(ports), Classes: numbers(ports[0].Spec.Lossless),
			What: fmt.Sprintf("%s: %s", c.ports(ports), k.what), Fix: k.better,
		})
	}
}

// enough says how to give ports the headroom that they need, and whether there is
// buffer for it.
func (c *checker) enough(ports []*surveyedPort, need units.Bytes, keys string) string {
	fix := strings.Replace(keys, "exact", fmt.Sprintf("exact (or %dB)", need), 1)
	if ports[0].Node < c.Graph.Hosts {
		return fix + " in switch.flow_control, which hosts follow"
	}
	switch p := c.pattern(ports); {
	case p != "":
		fix += fmt.Sprintf(", for these ports alone: switch.overrides: [{match: %q, flow_control: {%s}}]", p, keys)
	case len(c.Config.Switch.Overrides) > 0:
		fix += " in switch.flow_control, and in switch.overrides where these say otherwise"
	default:
		fix += " in switch.flow_control"
	}
	worst, where := units.Bytes(0), ""
	for i, b := range c.report.Budgets {
		left := b.Size - b.Private - b.Needed
		if slices.ContainsFunc(ports, func(p *surveyedPort) bool { return slices.Contains(b.Switches, c.Graph.Names[p.Node]) }) && (where == "" || left < worst) {
			worst, where = left, c.report.Budgets[i].Switches[0]
		}
	}
	if worst <= 0 {
		return fix + fmt.Sprintf("; %s would need %d B more buffer for that", where, 1-worst)
	}
	return fix + fmt.Sprintf("; %s would have %d B left to share", where, worst)
}

// resends tells whether a transport recovers single losses, so that a class called
// lossless may lose frames.
func resends(reliability string) bool { return reliability == "irn" || reliability == "sack" }

// classes checks that classes are treated alike on their way. Kinds of classes are
// those of the whole fabric, so what can differ is what ports do for them.
func (c *checker) classes() {
	lossless := c.lossless()
	if lossless != 0 {
		c.lossyHops(lossless)
	}
	used := packet.ClassMask(0)
	for _, u := range c.Uses {
		used |= u.Classes | u.Ack
	}
	if idle := lossless &^ used; idle != 0 && len(c.Uses) > 0 {
		var saved units.Bytes
		var who string
		for i := range c.Switches {
			s := &c.Switches[i]
			if d := c.budget(s, lossless).Headroom - c.budget(s, lossless&^idle).Headroom; d > saved {
				saved, who = d, c.Graph.Names[s.Node]
			}
		}
		if saved > 0 {
			c.add(Finding{
				Level: Note, Kind: OfClasses, Classes: numbers(idle),
				What: fmt.Sprintf("%s: lossless, but used by no workload; headroom for that takes %d B of %s", classes(idle), saved, who),
				Fix:  "take what is not used out of classes, or make it lossy",
			})
		}
	}
	if acks := c.acksIn(lossless); acks != 0 {
		c.add(Finding{
			Level: Note, Kind: OfClasses, Classes: numbers(acks),
			What: fmt.Sprintf("ACKs travel in lossless %s: a pause holds them up, and they wait behind data", classes(acks)),
			Fix:  "hosts.ack.class: a group of kind control",
		})
	}
	for _, u := range c.Uses {
		if lossy := mmu.ClassesOf(c.Kinds, mmu.Lossy) & u.Classes; lossy != 0 && slices.Contains(u.Reliability, "go-back-n") {
			c.add(Finding{
				Level: Note, Kind: OfClasses, Where: []string{u.Workload}, Classes: numbers(lossy),
				What: fmt.Sprintf("workload %s: go-back-n in lossy %s: every drop repeats all that followed", u.Workload, classes(lossy)),
				Fix:  "a lossless class, or a transport with sack or irn (hosts.transports)",
			})
		}
		c.unmarked(&u)
	}
	c.mtus()
}

// lossyHops finds ports that do not keep lossless classes lossless, and cables of
// which one end does.
func (c *checker) lossyHops(lossless packet.ClassMask) {
	var bad, good []*surveyedPort
	var half []string
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			p := &c.Switches[i].Ports[k]
			if p.Promises&registry.Lossless != 0 {
				good = append(good, p)
				continue
			}
			bad = append(bad, p)
			if p.Peer >= c.Graph.Hosts && c.otherEnd(p).Promises&registry.Lossless != 0 {
				half = append(half, c.toward(p))
			}
		}
	}
	if len(bad) == 0 {
		return
	}
	level := Problem
	if c.recovers(lossless) {
		level = Note
	}
	where := fmt.Sprintf("flow control %s on every port", bad[0].FlowControl)
	if len(good) > 0 {
		where = fmt.Sprintf("flow control %s at %s", bad[0].FlowControl, c.ports(bad))
	}
	what := fmt.Sprintf("%s: lossless for hosts, but not on the way: %s drops what does not fit", classes(lossless), where)
	if level == Note {
		what += ", and transports recover from that"
	}
	fix := "flow_control: {name: pfc} on every port that these classes pass, or kind: lossy with hosts.reliability irn or sack"
	if of := bad[0].Scheme.Properties(); of.Breaks&registry.Lossless != 0 && of.Sizing.Queue != nil {
		fix = of.Sizing.Enough + ", or " + fix
	}
	c.add(Finding{
		Level: level, Kind: OfClasses, Where: c.where(bad), Classes: numbers(lossless), What: what, Fix: fix,
	})
	if len(half) > 0 {
		c.add(Finding{
			Level: level, Kind: OfClasses, Where: half, Classes: numbers(lossless),
			What: fmt.Sprintf("%s lossless in one direction only: %s drops what its neighbour would hold back", count(len(half), "cable is", "cables are"), brief(half)),
			Fix:  "the same flow control at both ends",
		})
	}
}

func (c *checker) otherEnd(p *surveyedPort) *surveyedPort {
	return &c.Switches[p.Peer-c.Graph.Hosts].Ports[p.PeerPort]
}

// recovers tells whether all that use lossless classes recover from losses.
func (c *checker) recovers(lossless packet.ClassMask) bool {
	for _, u := range c.Uses {
		if u.Classes&lossless != 0 && slices.ContainsFunc(u.Reliability, func(r string) bool { return !resends(r) }) {
			return false
		}
	}
	return len(c.Uses) > 0
}

// unmarked finds classes that wait for marks which some port does not give.
func (c *checker) unmarked(u *use) {
	if len(u.NeedMarks) == 0 {
		return
	}
	var ports []*surveyedPort
	missing, nowhere := packet.ClassMask(0), u.Classes
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			p := &c.Switches[i].Ports[k]
			nowhere &^= p.ECN
			if lacks := u.Classes &^ p.ECN; lacks != 0 {
				ports, missing = append(ports, p), missing|lacks
			}
		}
	}
	if missing == 0 {
		return
	}
	if nowhere &= c.lossless(); nowhere != 0 { // a lossy class drops instead
		c.add(Finding{
			Level: Problem, Kind: OfECN, Where: []string{u.Workload}, Classes: numbers(nowhere),
			What: fmt.Sprintf("workload %s: %s slows down by congestion marks, but no port marks frames of %s: it never does", u.Workload, u.NeedMarks[0], classes(nowhere)),
			Fix:  "switch.ecn with a marker, and these classes in switch.ecn.classes; or congestion control that needs no marks, or none",
		})
		return
	}
	c.add(Finding{
		Level: Note, Kind: OfECN, Where: c.where(ports), Classes: numbers(missing),
		What: fmt.Sprintf("workload %s: %s waits for congestion marks, but %s no frames of %s", u.Workload, u.NeedMarks[0], count(len(ports), "port marks", "ports mark"), classes(missing)),
		Fix:  "switch.ecn with a marker, and these classes in switch.ecn.classes",
	})
}

// mtus finds cables whose ends are set up for different frames.
func (c *checker) mtus() {
	var names []string
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			if p := &c.Switches[i].Ports[k]; p.Peer > p.Node && c.otherEnd(p).MTU != p.MTU {
				names = append(names, c.toward(p))
			}
		}
	}
	if len(names) > 0 {
		c.add(Finding{
			Level: Note, Kind: OfClasses, Where: names,
			What: fmt.Sprintf("the MTU differs at the two ends of %s: %s", count(len(names), "cable", "cables"), brief(names)),
			Fix:  "the same switch.mtu at both ends",
		})
	}
}
