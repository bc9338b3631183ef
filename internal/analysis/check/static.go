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
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// Budget is the division of the buffer of identical switches.
type Budget struct {
	Switches []string    `json:"switches"`
	Size     units.Bytes `json:"size_bytes"`
	Ports    int         `json:"ports"` // ports for which buffer is reserved
	Private  units.Bytes `json:"private_bytes"`
	Headroom units.Bytes `json:"headroom_bytes"`
	Shared   units.Bytes `json:"shared_bytes"`          // the rest; not positive: overcommitted
	Needed   units.Bytes `json:"needed_headroom_bytes"` // headroom if every queue that is short had enough
	Exact    units.Bytes `json:"exact_headroom_bytes"`  // headroom if every queue had exactly enough
}

// Gap describes headroom that is too small.
type Gap struct {
	Have  units.Bytes `json:"have_bytes"` // headroom of a queue
	Need  units.Bytes `json:"need_bytes"`
	Short units.Bytes `json:"short_bytes"` // Need - Have
	Least units.Bytes `json:"least_bytes"` // smallest headroom that is no problem; Need unless the scheme has another bound
	Rate  string      `json:"rate"`
	Delay string      `json:"delay"`      // from the peer, including the pipeline
	Back  string      `json:"delay_back"` // to the peer
	// Processing is the time that the peer takes to act on a PAUSE.
	Processing string      `json:"processing"`
	MTU        units.Bytes `json:"mtu_bytes"`
	MinFrame   units.Bytes `json:"min_frame_bytes"` // frame that wastes most of its cells
}

// conditions describes the numbers that determine how much arrives after a pause is due.
func (g *Gap) conditions() string {
	delay := g.Delay + " each way"
	if g.Back != g.Delay {
		delay = fmt.Sprintf("%s to the peer and %s back", g.Back, g.Delay)
	}
	if g.Processing != units.Time(0).String() {
		delay += ", " + g.Processing + " to act on a pause"
	}
	return fmt.Sprintf("%s, %s, frames of %d B", g.Rate, delay, g.MTU)
}

// grade returns the level of a gap and its description: which bound decides, and the others
// with their assumptions.
func (g *Gap) grade() (Level, string) {
	if g.Least == g.Need {
		return Problem, fmt.Sprintf("but %d B can arrive after a pause is due (%s): %d B short, frames can be dropped", g.Need, g.conditions(), g.Short)
	}
	decides := fmt.Sprintf("%d B that arrive after a pause is due if the peer reacts at once (cable and one frame of %d B)", g.Least, g.MTU)
	worst := fmt.Sprintf("the worst case is %d B (%s; frames of %d B waste cells)", g.Need, g.conditions(), g.MinFrame)
	if g.Have < g.Least {
		return Problem, fmt.Sprintf("less than the %s: %d B short, frames are dropped; %s", decides, g.Least-g.Have, worst)
	}
	return Note, fmt.Sprintf("enough for the %s; %s", decides, worst)
}

// gap compares the headroom of a queue with what it needs.
func gap(p *surveyedPort, size *flowctl.Sizing) Gap {
	have := size.Queue(&p.Spec)
	if size.Usable != nil {
		have = size.Usable(&p.Spec)
	}
	processing := p.Spec.PFC.Processing
	if p.Spec.Peer != nil {
		processing = p.Spec.Peer.Processing
	}
	need := link.Needed(&p.Spec)
	worst, _ := p.Spec.Worst()
	least := need
	if size.Least != nil {
		least = size.Least(&p.Spec)
	}
	return Gap{have, need, need - have, least, p.Spec.Rate.String(), p.Spec.DelayIn.String(), p.Spec.DelayOut.String(), processing.String(), p.Spec.MTU, worst}
}

// private returns the size of the private segments of all ports of a switch, and of the port
// with the largest.
func (c *checker) private(s *surveyedSwitch) (all, most units.Bytes) {
	for i := range s.Ports {
		size := dataplane.PrivateSize(s.Ports[i].Scheme, c.Kinds, s.Buffer.PrivatePerQueue)
		all, most = all+size, max(most, size)
	}
	return all, most
}

// budget divides the buffer of a switch for the given lossless classes.
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

// minShared is the percentage of a buffer that should be shared; a smaller share is a note.
const minShared = 10

// buffers fills in the budgets and reports buffers that are overcommitted, or almost.
func (c *checker) buffers() {
	lossless := c.lossless()
	var first []*surveyedSwitch // by budget: its first switch
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
				Level: Problem, Kind: KindBuffer, Where: b.Switches, Buffer: b,
				What: fmt.Sprintf("%s: the buffer is overcommitted: headroom (%d B) and private segments (%d B) of %d ports need %d of %d B, at least %d B too much", brief(b.Switches), b.Headroom, b.Private, b.Ports, taken, b.Size, taken-b.Size+1),
				Fix:  c.fixOvercommit(first[i], b, lossless),
			})
		case b.Shared*100 < b.Size*minShared:
			c.add(Finding{
				Level: Note, Kind: KindBuffer, Where: b.Switches, Buffer: b,
				What: fmt.Sprintf("%s: headroom and private segments leave only %d of %d B (%.1f %%) to share: queues pause early", brief(b.Switches), b.Shared, b.Size, 100*float64(b.Shared)/float64(b.Size)),
				Fix:  c.fixLittleShared(first[i], b, lossless),
			})
		}
	}
}

// fixLittleShared describes how to enlarge the shared segment.
func (c *checker) fixLittleShared(s *surveyedSwitch, b *Budget, lossless packet.ClassMask) string {
	fix := "use a larger buffer"
	if lossless.Count() > 1 {
		fix += ", or fewer lossless classes"
	}
	if b.Ports > len(s.Ports) {
		fix += ", or reserve headroom for cabled ports only (switch.buffer.reserve_for: cabled)"
	}
	return fix + "; `xoff headroom` calculates the effect"
}

// fixOvercommit describes configurations that would fit into the buffer.
func (c *checker) fixOvercommit(s *surveyedSwitch, b *Budget, lossless packet.ClassMask) string {
	fix := fmt.Sprintf("use a buffer of more than %d B", b.Private+b.Headroom)
	if b.Exact < b.Headroom && b.Size-b.Private > b.Exact {
		for i := range s.Ports {
			if size := s.Ports[i].Scheme.Properties().Sizing; size.Queue != nil {
				fix += fmt.Sprintf(", or %s, which needs %d B", size.Enough, b.Exact)
				break
			}
		}
	}
	fewer := lossless
	for fewer &= fewer - 1; fewer != 0; fewer &= fewer - 1 { // drop the lowest class
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

// headroom reports lossless queues whose headroom cannot store everything that arrives after
// a pause is due. The bound of the flow control decides between a problem and a note.
func (c *checker) headroom() {
	type kind struct {
		gap     Gap
		keys    string // settings that fix it
		pattern string
	}
	var found portsBy[kind]
	inspect := func(p *surveyedPort) {
		size := p.Scheme.Properties().Sizing
		if size.Queue == nil || p.Spec.Lossless == 0 {
			return
		}
		k := kind{gap(p, &size), size.Enough, family(c.Graph.Names[p.Node]) + family(c.Graph.Names[p.Peer])}
		if k.gap.Short <= 0 {
			return
		}
		found.add(k, p)
	}
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			inspect(&c.Switches[i].Ports[k])
		}
	}
	for i := range c.Slow {
		inspect(&c.Slow[i])
	}
	for k, ports := range found.all() {
		lossless := ports[0].Spec.Lossless
		level, text := k.gap.grade()
		what := fmt.Sprintf("%s: headroom is %d B per queue of %s, %s", c.portNames(ports), k.gap.Have, classes(lossless), text)
		c.add(Finding{
			Level: level, Kind: KindHeadroom, Where: c.where(ports), Classes: classIDs(lossless), Headroom: &k.gap, What: what,
			Fix: c.fixHeadroom(ports, k.gap.Need, k.keys), Advice: c.adviseHeadroom(&k.gap, k.keys, ports),
		})
	}
}

// advice reports the advice that flow control schemes give about their ports.
func (c *checker) advice() {
	type kind struct{ what, fix string }
	var found portsBy[kind]
	for i := range c.Switches {
		for n := range c.Switches[i].Ports {
			p := &c.Switches[i].Ports[n]
			advise := p.Scheme.Properties().Advise
			if advise == nil || p.Spec.Lossless == 0 {
				continue
			}
			what, fix := advise(&p.Spec)
			if what == "" {
				continue
			}
			found.add(kind{what, fix}, p)
		}
	}
	for k, ports := range found.all() {
		c.add(Finding{
			Level: Note, Kind: KindHeadroom, Where: c.where(ports), Classes: classIDs(ports[0].Spec.Lossless),
			What: fmt.Sprintf("%s: %s", c.portNames(ports), k.what), Fix: k.fix,
		})
	}
}

// fixHeadroom describes how to give ports enough headroom, and whether the buffer is large
// enough for it.
func (c *checker) fixHeadroom(ports []*surveyedPort, need units.Bytes, keys string) string {
	fix := "set " + strings.Replace(keys, "exact", fmt.Sprintf("exact (or %dB)", need), 1)
	if ports[0].Node < c.Graph.Hosts {
		return fix + " in switch.flow_control, which also applies to hosts"
	}
	switch p := c.pattern(ports); {
	case p != "":
		fix += fmt.Sprintf(", for these ports only: switch.overrides: [{match: %q, flow_control: {%s}}]", p, keys)
	case len(c.Config.Switch.Overrides) > 0:
		fix += " in switch.flow_control, and in switch.overrides that set it"
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
		return fix + fmt.Sprintf("; %s then needs %d B more buffer", where, 1-worst)
	}
	return fix + fmt.Sprintf("; %s then has %d B left to share", where, worst)
}

// recoversLosses reports whether a transport retransmits single packets, so that drops in a
// lossless class are tolerable.
func recoversLosses(reliability string) bool { return reliability == "irn" || reliability == "sack" }

// classes reports classes that ports treat differently, and classes that are used badly. The
// kind of a class is the same in the whole fabric; flow control, ECN and MTU can differ.
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
			pronoun := "it"
			if idle.Count() > 1 {
				pronoun = "them"
			}
			c.add(Finding{
				Level: Note, Kind: KindClasses, Classes: classIDs(idle),
				What: fmt.Sprintf("%s: lossless, but no workload uses %s; the headroom takes %d B at %s", classes(idle), pronoun, saved, who),
				Fix:  "remove unused entries from classes, or make them lossy",
			})
		}
	}
	if acks := c.acksIn(lossless); acks != 0 {
		c.add(Finding{
			Level: Note, Kind: KindClasses, Classes: classIDs(acks),
			What: fmt.Sprintf("ACKs travel in lossless %s: pauses delay them, and they queue behind data", classes(acks)),
			Fix:  "set hosts.ack.class to a group of kind control",
		})
	}
	for _, u := range c.Uses {
		if lossy := mmu.ClassesOf(c.Kinds, mmu.Lossy) & u.Classes; lossy != 0 && slices.Contains(u.Reliability, "go-back-n") {
			c.add(Finding{
				Level: Note, Kind: KindClasses, Where: []string{u.Workload}, Classes: classIDs(lossy),
				What: fmt.Sprintf("workload %s: go-back-n in lossy %s: after each drop, all later packets are retransmitted", u.Workload, classes(lossy)),
				Fix:  "use a lossless class, or a transport with sack or irn (hosts.transports)",
			})
		}
		c.unmarked(&u)
	}
	c.mtus()
}

// lossyHops reports ports that can drop frames of lossless classes, and cables that are
// lossless in one direction only.
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
			if p.Peer >= c.Graph.Hosts && c.peer(p).Promises&registry.Lossless != 0 {
				half = append(half, c.portByPeer(p))
			}
		}
	}
	if len(bad) == 0 {
		return
	}
	level := Problem
	if c.allRecover(lossless) {
		level = Note
	}
	where := fmt.Sprintf("flow control %s on every port", bad[0].FlowControl)
	if len(good) > 0 {
		where = fmt.Sprintf("flow control %s at %s", bad[0].FlowControl, c.portNames(bad))
	}
	what := fmt.Sprintf("%s: lossless at hosts, but not in the fabric: %s drops frames that do not fit", classes(lossless), where)
	if level == Note {
		what += ", and transports recover from the drops"
	}
	fix := "flow_control: {name: pfc} on every port that these classes use, or kind: lossy with hosts.reliability irn or sack"
	if props := bad[0].Scheme.Properties(); props.Breaks&registry.Lossless != 0 && props.Sizing.Queue != nil {
		fix = props.Sizing.Enough + ", or " + fix
	}
	if b, ok := c.Config.Switch.Policy.Params.(buffer.Breaking); ok && b.Breaks()&registry.Lossless != 0 {
		fix = "parameters of switch.policy that keep lossless frames (`xoff list policy " + c.Config.Switch.Policy.Name + "`), or " + fix
	}
	c.add(Finding{
		Level: level, Kind: KindClasses, Where: c.where(bad), Classes: classIDs(lossless), What: what, Fix: "set " + fix,
	})
	if len(half) > 0 {
		c.add(Finding{
			Level: level, Kind: KindClasses, Where: half, Classes: classIDs(lossless),
			What: fmt.Sprintf("%s lossless in one direction only: %s drops frames, but the peer pauses", count(len(half), "cable is", "cables are"), brief(half)),
			Fix:  "use the same flow control at both ends",
		})
	}
}

func (c *checker) peer(p *surveyedPort) *surveyedPort {
	return &c.Switches[p.Peer-c.Graph.Hosts].Ports[p.PeerPort]
}

// allRecover reports whether the transports of all workloads in lossless classes recover from
// losses.
func (c *checker) allRecover(lossless packet.ClassMask) bool {
	for _, u := range c.Uses {
		if u.Classes&lossless != 0 && slices.ContainsFunc(u.Reliability, func(r string) bool { return !recoversLosses(r) }) {
			return false
		}
	}
	return len(c.Uses) > 0
}

// unmarked reports classes whose congestion control needs marks that some port does not set.
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
	if nowhere &= c.lossless(); nowhere != 0 { // a lossy class has drops as a signal
		c.add(Finding{
			Level: Problem, Kind: KindECN, Where: []string{u.Workload}, Classes: classIDs(nowhere),
			What: fmt.Sprintf("workload %s: %s needs congestion marks, but no port marks frames of %s: it never slows down", u.Workload, u.NeedMarks[0], classes(nowhere)),
			Fix:  "set a marker in switch.ecn and add these classes to switch.ecn.classes, or use congestion control that needs no marks",
		})
		return
	}
	c.add(Finding{
		Level: Note, Kind: KindECN, Where: c.where(ports), Classes: classIDs(missing),
		What: fmt.Sprintf("workload %s: %s needs congestion marks, but %s no frames of %s", u.Workload, u.NeedMarks[0], count(len(ports), "port marks", "ports mark"), classes(missing)),
		Fix:  "set a marker in switch.ecn and add these classes to switch.ecn.classes",
	})
}

// mtus reports cables whose two ends have different MTUs.
func (c *checker) mtus() {
	var names []string
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			if p := &c.Switches[i].Ports[k]; p.Peer > p.Node && c.peer(p).MTU != p.MTU {
				names = append(names, c.portByPeer(p))
			}
		}
	}
	if len(names) > 0 {
		c.add(Finding{
			Level: Note, Kind: KindClasses, Where: names,
			What: fmt.Sprintf("the MTU differs between the ends of %s: %s", count(len(names), "cable", "cables"), brief(names)),
			Fix:  "use the same switch.mtu at both ends",
		})
	}
}
