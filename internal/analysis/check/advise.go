package check

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	patch "github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/mark"
)

// Advice is a value that a rule sets in a scenario.
type Advice struct {
	Key    string `json:"key"`   // key of the scenario, as for --set
	Now    string `json:"now"`   // present value
	Value  string `json:"value"` // value that meets the rule
	Rule   string `json:"rule"`
	Source string `json:"source"` // where the rule is published
}

// Advice returns the advice of all findings. Of several for one key, the first counts.
func (r *Report) Advice() []Advice {
	var list []Advice
	known := make(map[string]bool)
	for _, f := range r.Findings {
		for _, a := range f.Advice {
			if !known[a.Key] {
				list = append(list, a)
			}
			known[a.Key] = true
		}
	}
	return list
}

// WriteAdvice writes advice as keys of a scenario, with its rules as comments. Keys of list items,
// which such a patch cannot name, are comments for --set.
func WriteAdvice(w io.Writer, name string, list []Advice) error {
	var out strings.Builder
	fmt.Fprintf(&out, "# Advice for %s: %s.\n", name, count(len(list), "value", "values"))
	var keys patch.Patch
	for _, a := range list {
		fmt.Fprintf(&out, "#\n# %s: %s, now %s.\n#   rule: %s\n#   source: %s\n", a.Key, a.Value, a.Now, a.Rule,
			a.Source)
		steps, ok := patch.SplitPath(a.Key)
		var path []string
		for _, s := range steps {
			ok = ok && s.Index < 0
			path = append(path, s.Key)
		}
		if !ok || strings.HasPrefix(a.Key, "workload.") {
			fmt.Fprintf(&out, "#   apply: --set %s=%s\n", a.Key, a.Value)
			continue
		}
		keys = keys.Set(a.Value, path...)
	}
	if len(keys.Keys()) > 0 {
		text, err := yaml.Marshal(keys.Plain())
		if err != nil {
			return err
		}
		out.WriteString(strings.ReplaceAll(string(text), `"`, "")) // values are numbers with units, or words
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// fixBy returns the sentence that says how to follow advice.
func fixBy(list ...Advice) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, fmt.Sprintf("%s: %s", a.Key, a.Value))
	}
	return fmt.Sprintf("set %s (%s; %s)", strings.Join(parts, ", "), list[0].Rule, list[0].Source)
}

// ratioBelow returns the largest power of two that is at most v, as a fraction.
func ratioBelow(v float64) string {
	e := int(math.Floor(math.Log2(v)))
	if e >= 0 {
		return fmt.Sprint(int64(1) << min(e, 62))
	}
	return fmt.Sprintf("1/%d", int64(1)<<min(-e, 62))
}

// ratioAbove returns the smallest power of two that is at least v, as a fraction.
func ratioAbove(v float64) string { return ratioBelow(math.Exp2(math.Ceil(math.Log2(v)))) }

// adviseMarks returns the thresholds that mark frames before PFC pauses, for ports whose queue
// reaches late.Alone with one feeding port; nil if a port cannot have them.
//
// A sender reacts a round trip after a mark, so every frame is marked from half of that queue on,
// and the first ones from an eighth on.
func (c *checker) adviseMarks(late Late, ports []*surveyedPort) []Advice {
	const rule = "mark every frame at half of the queue that one feeding port builds before it is paused"
	const source = "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015, section 4"
	if c.overridden("ecn", ports) {
		return nil
	}
	all := max(late.Alone/2, c.busy(ports[0])) / 1000 * 1000
	if all >= late.Alone {
		return nil // no threshold is low enough for PFC and high enough for the link
	}
	switch p := c.Config.Switch.ECN.Params.(type) {
	case *mark.REDParams:
		if all < 8000 {
			return nil
		}
		return []Advice{
			{"switch.ecn.kmin", p.KMin.String(), (all / 4).String(), rule, source},
			{"switch.ecn.kmax", p.KMax.String(), all.String(), rule, source},
		}
	case *mark.StepParams:
		if all < 2000 {
			return nil
		}
		return []Advice{{"switch.ecn.k", p.K.String(), all.String(), rule, source}}
	}
	return nil
}

// earlyMarks finds ports that mark so early that a single DCTCP flow cannot keep them busy.
//
// With N flows the queue falls sqrt(2 N (C RTT + K)) / 2 packets below its peak, K + N. Its lowest
// point is above zero for every N if K > C RTT / 7.
func (c *checker) earlyMarks() {
	classesOf := c.ofDCTCP()
	if classesOf == 0 {
		return
	}
	const rule = "K is above rate x round trip / 7"
	const source = "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, equation 13"
	type kind struct {
		marks, need units.Bytes
		classes     packet.ClassMask
	}
	var found portsBy[kind]
	most := units.Bytes(0)
	for i := range c.Switches {
		for n := range c.Switches[i].Ports {
			p := &c.Switches[i].Ports[n]
			marked := classesOf & p.ECN
			if marked == 0 {
				continue
			}
			m, err := layout.Marker(&c.l.PortAt(p.Node, p.Port).ECN, p.Spec.Rate)
			if err != nil {
				panic(err) // validated before
			}
			top, ok := m.(mark.Certain)
			need := c.busy(p)
			if !ok || top.Ceiling() >= need || c.overridden("ecn", []*surveyedPort{p}) {
				continue
			}
			most = max(most, need)
			found.add(kind{top.Ceiling(), need, marked}, p)
		}
	}
	value := ((most + 999) / 1000 * 1000).String()
	for k, ports := range found.all() {
		var advice []Advice
		switch p := c.Config.Switch.ECN.Params.(type) {
		case *mark.REDParams:
			advice = []Advice{{"switch.ecn.kmax", p.KMax.String(), value, rule, source}}
		case *mark.StepParams:
			advice = []Advice{{"switch.ecn.k", p.K.String(), value, rule, source}}
		default:
			continue
		}
		c.add(Finding{
			Level: Note, Kind: KindECN, Where: c.where(ports), Classes: classIDs(k.classes), Advice: advice,
			What: fmt.Sprintf("%s: every frame of %s is marked above %d B, but DCTCP keeps a link busy only above %d B (round trip %s)", c.portNames(ports), classes(k.classes), k.marks, k.need, c.l.BaseRTT()),
			Fix:  fixBy(advice...),
		})
	}
}

// ofDCTCP returns the classes of workloads that use DCTCP.
func (c *checker) ofDCTCP() packet.ClassMask {
	mask := packet.ClassMask(0)
	for _, u := range c.Uses {
		if slices.Contains(u.NeedMarks, "dctcp") {
			mask |= u.Classes
		}
	}
	return mask
}

// busy returns the threshold of marks above which DCTCP keeps a port busy; 0 without DCTCP.
func (c *checker) busy(p *surveyedPort) units.Bytes {
	if c.ofDCTCP() == 0 {
		return 0
	}
	return units.Bytes(float64(p.Spec.Rate) / 8 * c.l.BaseRTT().Seconds() / 7)
}

// legitimate returns the longest pause that congestion alone causes, and its parts: the number of
// switches on the longest path, the largest shared segment, and the slowest rate at which it
// drains. It returns 0 if nothing bounds it.
//
// A queue stays paused until the queues below it have drained. The last switch drains its shared
// segment S at the rate r of a class of the slowest host: S/r. Each switch above waits for the one
// below and then drains its own: d switches take d S/r.
func (c *checker) legitimate() (longest units.Time, depth int, shared units.Bytes, drain units.Rate) {
	for i := range c.report.Budgets {
		shared = max(shared, c.report.Budgets[i].Shared)
	}
	share := c.share()
	for host := range c.Graph.Hosts {
		e := c.l.PortEnds()[host][0]
		r := e.Rate
		if receive := c.l.Receive(host).Rate; receive > 0 {
			r = min(r, receive)
		}
		if drain == 0 || r < drain {
			drain = r
		}
	}
	drain = units.Rate(float64(drain) * share)
	for dst := 1; dst < c.Graph.Hosts; dst++ {
		depth = max(depth, len(c.l.Path(0, dst))-1)
	}
	if shared <= 0 || drain <= 0 || depth == 0 {
		return 0, 0, 0, 0
	}
	return units.Time(depth) * drain.TxTime(shared), depth, shared, drain
}

// share returns the smallest share of a port that a lossless class has when all classes of the
// workloads are busy.
func (c *checker) share() float64 {
	used, lossless := packet.ClassMask(0), c.lossless()
	for _, u := range c.Uses {
		used |= u.Classes
	}
	if used&lossless == 0 {
		return 1
	}
	n := 0
	for class := range used.All() {
		if c.Kinds[class] == mmu.Lossless || c.Kinds[class] == mmu.Lossy {
			n++
		}
	}
	return 1 / float64(max(n, 1))
}

// watchdogs checks the times of PFC watchdogs.
func (c *checker) watchdogs() {
	longest, depth, shared, drain := c.legitimate()
	if longest == 0 {
		return
	}
	type kind struct{ detection, restoration, polling units.Time }
	names := make(map[kind][]string)
	var order []kind
	for i := range c.Switches {
		s := &c.Switches[i]
		p, ok := c.l.SwitchAt(s.Node).Deadlock.Params.(*deadlock.WatchdogParams)
		if !ok || s.Deadlock != "watchdog" || p.Action == "alert" {
			continue
		}
		k := kind{p.Detection, p.Restoration, p.Polling}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], c.Graph.Names[s.Node])
	}
	const source = "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.3; SONiC, PFC watchdog"
	for _, k := range order {
		// A pause may begin just after a poll: round up to polls, and add one.
		least := (longest/k.polling + 2) * k.polling
		pause := fmt.Sprintf("congestion alone can pause a queue for %s (%s drain %d B each at %s)", longest.Human(),
			count(depth, "switch", "switches"), shared, drain)
		if k.detection <= longest {
			a := Advice{"switch.deadlock.detection", k.detection.String(), least.String(),
				"detection is longer than the longest pause that congestion causes", source}
			c.add(Finding{
				Level: Warning, Kind: KindWatchdog, Where: names[k], Advice: []Advice{a},
				What: fmt.Sprintf("%s: the watchdog acts on queues that are paused for %s, but %s: it drops or forwards traffic without a storm", brief(names[k]), k.detection, pause),
				Fix:  fixBy(a),
			})
		}
		if k.restoration <= longest {
			a := Advice{"switch.deadlock.restoration", k.restoration.String(), max(least, k.detection).String(),
				"restoration is longer than the longest pause that congestion causes, and at least detection", source}
			c.add(Finding{
				Level: Warning, Kind: KindWatchdog, Where: names[k], Advice: []Advice{a},
				What: fmt.Sprintf("%s: the watchdog restores a queue after %s without a pause, but %s: a host that pauses on and off is restored between its pauses, and stops the fabric again", brief(names[k]), k.restoration, pause),
				Fix:  fixBy(a),
			})
		}
	}
}

// alphas checks the alpha of Dynamic Thresholds for ports with PFC.
//
// A paused ingress queue drains while its RESUME travels: it needs X = rate x (delay there and back
// + reaction) + a frame for its egress to stay busy. Alone it holds S alpha / (1 + alpha), so
// alpha >= X / (S - X). If n queues are full, S / (1 + n alpha) stays free for another one, so
// alpha <= (S/X - 1) / n.
func (c *checker) alphas() {
	type kind struct {
		alpha       string
		need, holds units.Bytes
		n           int // full queues; 0: alpha is too small
		value       string
	}
	var found portsBy[kind]
	lossless := c.lossless()
	for i := range c.Switches {
		s := &c.Switches[i]
		p, ok := c.l.SwitchAt(s.Node).Policy.Params.(*buffer.DTParams)
		b := c.budget(s, lossless)
		if !ok || lossless == 0 || b.Shared <= 0 || p.Alpha.Den == 0 || len(s.Ports) < 3 {
			continue
		}
		alpha := float64(p.Alpha.Num) / float64(p.Alpha.Den)
		if alpha <= 0 {
			continue
		}
		for n := range s.Ports {
			port := &s.Ports[n]
			if port.Scheme.Properties().Sizing.Queue == nil || port.Spec.Lossless == 0 || port.Joins { // DSH has its own thresholds
				continue
			}
			out := units.Rate(0) // fastest egress of the queue
			for m := range s.Ports {
				if m != n {
					out = max(out, s.Ports[m].Spec.Rate)
				}
			}
			reaction := port.Spec.PFC.Processing
			if port.Spec.Peer != nil {
				reaction = port.Spec.Peer.Processing
			}
			x := float64(min(out, port.Spec.Rate))/8*(port.Spec.DelayIn+port.Spec.DelayOut+reaction).Seconds() + float64(port.Spec.MTU)
			shared := float64(b.Shared)
			others := len(s.Ports) - 2
			text, _ := p.Alpha.MarshalText() // validated before
			k := kind{alpha: string(text), need: units.Bytes(x)}
			switch least, most := x/(shared-x), (shared/x-1)/float64(others); {
			case x >= shared:
				continue // no alpha suffices: the buffer is too small for the link
			case alpha < least:
				k.holds, k.value = units.Bytes(shared*alpha/(1+alpha)), ratioAbove(least)
			case alpha > most && most > least:
				k.holds, k.n, k.value = units.Bytes(shared/(1+float64(others)*alpha)), others, ratioBelow(most)
			default:
				continue
			}
			found.add(k, port)
		}
	}
	for k, ports := range found.all() {
		a := Advice{
			Key: "switch.policy.alpha", Now: k.alpha, Value: k.value, Rule: "a queue alone holds what arrives too late after a RESUME to keep its egress busy",
			Source: "Choudhury and Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, 1998; IEEE 802.1Qbb",
		}
		what := fmt.Sprintf("%s: with alpha %s, PFC pauses a queue at %d B, but it drains %d B until traffic arrives again after a RESUME: its egress runs dry", c.portNames(ports), k.alpha, k.holds, k.need)
		if k.n > 0 {
			a.Rule = "full queues of all other ports leave room for one more"
			what = fmt.Sprintf("%s: with alpha %s, %d full queues of other ports leave %d B of the shared buffer, but a queue needs %d B: PFC pauses ports that are not congested", c.portNames(ports), k.alpha, k.n, k.holds, k.need)
		}
		c.add(Finding{Level: Note, Kind: KindAlpha, Where: c.where(ports), Classes: classIDs(lossless), What: what,
			Fix: fixBy(a), Advice: []Advice{a}})
	}
}

// adviseHeadroom returns the headroom that ports need, or nil if it has other keys.
func (c *checker) adviseHeadroom(g *Gap, keys string, ports []*surveyedPort) []Advice {
	if keys != "headroom: exact" || c.overridden("flow_control", ports) {
		return nil
	}
	return []Advice{{
		Key: "switch.flow_control.headroom", Now: g.Have.String(), Value: "exact", Rule: "headroom stores everything that arrives after a pause is due",
		Source: "IEEE 802.1Qbb; DSH, equation 1",
	}}
}

// overridden reports whether an override sets a key of one of the ports, so that the key of
// switch does not apply.
func (c *checker) overridden(key string, ports []*surveyedPort) bool {
	return slices.ContainsFunc(ports, func(p *surveyedPort) bool {
		node, port := p.Node, p.Port
		if node < c.Graph.Hosts {
			node, port = p.Peer, p.PeerPort
		}
		return slices.ContainsFunc(c.l.PortAt(node, port).By, func(i int) bool {
			return slices.Contains(c.Config.Switch.Overrides[i].Keys.Keys(), key)
		})
	})
}
