package convert

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
)

// Scenario makes a scenario of switches. Left is what has no counterpart in it.
func Scenario(name string, switches []*sonic.Completed, wires []sonic.Wire) (text []byte, left []string, err error) {
	f := &fabric{name: cleaned(name)}
	// Names may become others; what is exported is imported again in this order.
	switches = slices.Clone(switches)
	slices.SortStableFunc(switches, func(a, b *sonic.Completed) int { return sonic.Natural(cleaned(a.Name), cleaned(b.Name)) })
	for _, s := range switches {
		for _, m := range s.Mistakes {
			if m.Kind != sonic.Odd {
				return nil, nil, m.Place.Errorf("%s (xoff check lists all mistakes)", m.What)
			}
		}
	}
	f.classes(switches)
	if len(f.lossless) == 0 {
		return nil, nil, sonic.Place{File: switches[0].File, Table: "PORT_QOS_MAP"}.Errorf("no switch has lossless priorities; allowed: pfc_enable with priority groups that have headroom")
	}
	at := f.nodes(switches)
	f.cables(switches, wires, at)
	if err := f.hosts(); err != nil {
		return nil, nil, err
	}
	for i, s := range switches {
		if err := f.describe(f.switches[i], s); err != nil {
			return nil, nil, err
		}
	}
	text = f.yaml() // which may leave out something, too
	return text, f.left, nil
}

// classes finds out what traffic classes are for. A class of a scenario is a
// traffic class, with the priority group and the queue of its number.
func (f *fabric) classes(switches []*sonic.Completed) {
	var lossless, used, strict [sonic.Classes]bool
	for _, s := range switches {
		for _, p := range s.Ports {
			for tc := range sonic.Classes {
				used[tc] = used[tc] || len(s.DSCPs(p, tc)) > 0
				g, ok := s.GroupOf(p, tc)
				q, there := s.QueueOf(p, tc)
				if ok && there && s.Lossless(p, g) {
					lossless[tc] = true
					if g != tc || q != tc {
						f.omit("%s: traffic class %d has priority group %d and queue %d: a class of a scenario has one number", s.Name, tc, g, q)
					}
				}
				if there && p.Served[q] != nil && p.Served[q].Scheduler.Strict() {
					strict[tc] = true
				}
			}
			if p.QoS == nil || p.QoS.ToPG == nil { // no map: priority groups have the number of their class
				for g := range sonic.Classes {
					lossless[g] = lossless[g] || s.Lossless(p, g)
				}
			}
		}
	}
	for tc := sonic.Classes - 1; tc >= 0 && len(f.control) == 0; tc-- {
		if strict[tc] && !lossless[tc] {
			f.control = []int{tc}
		}
	}
	for tc := sonic.Classes - 1; tc >= 0 && len(f.control) == 0; tc-- {
		if !lossless[tc] {
			f.control = []int{tc}
		}
	}
	for tc := range sonic.Classes {
		switch {
		case lossless[tc]:
			f.lossless = append(f.lossless, tc)
		case used[tc] && !slices.Contains(f.control, tc):
			f.lossy = append(f.lossy, tc)
		}
	}
}

// where is a port of the fabric.
type where struct{ node, port int }

// nodes numbers switches and those of their ports that can be cabled.
func (f *fabric) nodes(switches []*sonic.Completed) map[*sonic.Port]int {
	at := map[*sonic.Port]int{}
	for i, s := range switches {
		n := &node{name: cleaned(s.Name), chip: s.Chip.Name, file: filepath.Base(s.File)}
		for _, p := range s.Ports {
			switch {
			case p.Speed == 0:
				f.omit("%s: port %s has no speed", s.Name, p.Name)
			case p.Down && p.Peer == nil:
				f.omit("%s: port %s is down", s.Name, p.Name)
			default:
				at[p] = i
			}
		}
		f.switches = append(f.switches, n)
	}
	return at
}

// cleaned makes a name of a node of any text.
func cleaned(name string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, name)
	if out == "" || out[0] >= '0' && out[0] <= '9' || out[0] == '-' || out[0] == '_' {
		out = "s" + out
	}
	return out[:min(len(out), 50)]
}

// cables lists links in the order of ports; what is joined to nothing has a host.
func (f *fabric) cables(switches []*sonic.Completed, wires []sonic.Wire, at map[*sonic.Port]int) {
	other := map[*sonic.Port]*sonic.Wire{}
	for i := range wires {
		other[wires[i].A.Port], other[wires[i].B.Port] = &wires[i], &wires[i]
	}
	index := map[*sonic.Port]where{}
	add := func(p *sonic.Port, rate units.Rate, metres int64) where {
		n := f.switches[at[p]]
		w := where{at[p], len(n.ports)}
		n.ports = append(n.ports, port{name: p.Name, rate: rate, metres: metres})
		index[p] = w
		return w
	}
	for _, s := range switches {
		for _, p := range s.Ports {
			if _, cabled := at[p]; !cabled {
				continue
			}
			if _, done := index[p]; done {
				continue
			}
			w := other[p]
			if w == nil {
				a := add(p, p.Speed, metresOf(p))
				f.links = append(f.links, cable{a.node, a.port, -1, 0, p.Speed, metresOf(p)})
				continue
			}
			q := w.B.Port
			if q == p {
				q = w.A.Port
			}
			if _, cabled := at[q]; !cabled {
				f.omit("%s: port %s leads to %s, which has no speed", s.Name, p.Name, q.Name)
				continue
			}
			metres := w.Metres
			if metres == 0 {
				metres = max(metresOf(p), metresOf(q))
			}
			if metresOf(p) != metresOf(q) {
				f.omit("%s: the cable of %s is %d m long at one end and %d m at the other", s.Name, p.Name, metresOf(p), metresOf(q))
			}
			if p.Speed != q.Speed {
				f.omit("%s: port %s runs at %s, its peer at %s: the slower counts", s.Name, p.Name, p.Speed, q.Speed)
			}
			rate := min(p.Speed, q.Speed)
			a, b := add(p, rate, metres), add(q, rate, metres)
			f.links = append(f.links, cable{a.node, a.port, b.node, b.port, rate, metres})
		}
	}
}

// shortest is the cable of a port that says nothing, in metres.
const shortest = 1

func metresOf(p *sonic.Port) int64 {
	if p.Cable == nil || p.Cable.Metres == 0 {
		return shortest
	}
	return p.Cable.Metres
}

// hosts checks that there is somebody to send.
func (f *fabric) hosts() error {
	n := 0
	for i := range f.links {
		if f.links[i].b < 0 {
			n++
		}
	}
	if n < 2 {
		return fmt.Errorf("%d ports lead to no switch, and so to a host; allowed: at least 2", n)
	}
	seen := map[string]bool{}
	for _, s := range f.switches {
		if seen[s.name] {
			return fmt.Errorf("two switches would be called %s; allowed: names that differ in letters, digits and _", s.name)
		}
		seen[s.name] = true
		if len(s.ports) == 0 {
			return fmt.Errorf("%s: no port of %s is up and has a speed; allowed: at least one", s.file, s.name)
		}
	}
	return f.joined()
}

// joined checks that cables lead from every switch to every other.
func (f *fabric) joined() error {
	next := make([][]int, len(f.switches))
	for i := range f.links {
		if c := &f.links[i]; c.b >= 0 {
			next[c.a], next[c.b] = append(next[c.a], c.b), append(next[c.b], c.a)
		}
	}
	reached := make([]bool, len(f.switches))
	reached[0] = true
	for todo := []int{0}; len(todo) > 0; {
		from := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range next[from] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	if i := slices.Index(reached, false); i >= 0 {
		return fmt.Errorf("%s: no cables lead from %s to %s; allowed: switches that DEVICE_NEIGHBOR, LLDP_ENTRY_TABLE or --cables join", f.switches[i].file, f.switches[0].name, f.switches[i].name)
	}
	return nil
}

// describe fills in the settings of a switch.
func (f *fabric) describe(n *node, s *sonic.Completed) error {
	set := &n.set
	set.cell = s.Chip.Cell.Bytes()
	if s.Chip.Packet.N < s.Chip.Cell.N {
		set.cell, set.perPacket = 1, s.Chip.Packet.Bytes()-64 // bytes count, and a price for each frame
	}
	if set.partitions = s.Chip.Partitions.N; set.partitions > int64(len(n.ports)) {
		f.omit("%s: %d parts of the chip are more than it has ports", n.name, set.partitions)
		set.partitions = 1
	}
	var pool *sonic.Pool
	by := map[string]*sonic.Port{}
	for _, p := range s.Ports {
		by[p.Name] = p
	}
	for i := range n.ports {
		p := by[n.ports[i].name]
		if first := f.portSettings(&n.ports[i], s, p); first != nil && first.Pool != nil {
			pool = first.Pool
		}
		set.mtu = max(set.mtu, p.MTU)
	}
	f.inherit(n)
	if pool != nil {
		if s.SharedPart(pool) == 0 {
			at := pool.Place
			at.Field = "size"
			return at.Errorf("leaves nothing to share on %s; allowed: more than headroom pool and minimums, --memory where the switch computes it, or the right --chip", s.Chip.Name)
		}
		set.pool = pool.Xoff
		set.size = s.SharedPart(pool)*units.Bytes(s.Chip.Partitions.N) + set.pool + n.taken(len(f.lossless))
	}
	f.egress(n, s, pool)
	f.watch(n, s)
	f.leave(s)
	return nil
}

// portSettings are those of the first lossless class; it returns its profile.
func (f *fabric) portSettings(to *port, s *sonic.Completed, p *sonic.Port) *sonic.Profile {
	set := &to.set
	set.processing = to.rate.TxTime(sonic.Response(to.rate))
	var first *sonic.Profile
	for _, tc := range f.lossless {
		g, ok := s.GroupOf(p, tc)
		if !ok {
			g = tc
		}
		if !s.Lossless(p, g) {
			continue
		}
		profile := p.PG[g].Profile
		if first != nil && profile != first {
			f.omit("%s: %s has more than one lossless profile: %s is used for all classes", s.Name, p.Name, first.Name)
			continue
		}
		first = profile
	}
	if first != nil {
		set.headroom, set.xon, set.offset = first.Xoff, first.Xon, first.XonOffset
		set.minimum, set.alpha = s.Minimum(first), first.DynamicTh
		set.borrow = s.Chip.PortHeadroom && first.Pool != nil && first.Pool.Xoff > 0
		if !first.HasDynamic {
			f.omit("%s: %s has static_th: alpha 1 is used", s.Name, first.Name)
		}
		f.marks(set, s, p)
	}
	for _, tc := range append(append([]int{}, f.lossless...), f.lossy...) {
		q, ok := s.QueueOf(p, tc)
		if !ok {
			q = tc
		}
		if served := p.Served[q]; served != nil && served.Scheduler != nil && !served.Scheduler.Strict() {
			set.weights[tc] = served.Scheduler.Weight
		}
	}
	return first
}

// marks takes the thresholds of green frames of the first lossless queue.
func (f *fabric) marks(set *portSettings, s *sonic.Completed, p *sonic.Port) {
	q, ok := s.QueueOf(p, f.lossless[0])
	if !ok {
		q = f.lossless[0]
	}
	if p.Served[q] == nil || p.Served[q].WRED == nil {
		return
	}
	w := p.Served[q].WRED
	for i, c := range w.Colour {
		if c.Enabled && w.ECN != "ecn_none" {
			set.kmin, set.kmax, set.pmax = c.Min, c.Max, c.Probability
			if i > 0 || w.ECN != "ecn_all" {
				f.omit("%s: %s marks by colour: thresholds of %s frames are used for all", s.Name, w.Name, sonic.Colours[i])
			}
			return
		}
	}
	if w.ECN == "ecn_none" {
		f.omit("%s: %s drops instead of marking", s.Name, w.Name)
	}
}

// inherit gives ports without lossless priority groups the settings of the others:
// in a scenario every port has all classes.
func (f *fabric) inherit(n *node) {
	var have []port
	for _, p := range n.ports {
		if p.set.headroom > 0 {
			have = append(have, p)
		}
	}
	if len(have) == 0 || len(have) == len(n.ports) {
		return
	}
	most := usual(have, func(p *port) portSettings { return p.set })
	for i := range n.ports {
		if p := &n.ports[i]; p.set.headroom == 0 {
			f.omit("%s: port %s has no lossless priority group: it is given that of other ports", n.name, p.name)
			processing := p.set.processing
			p.set = most
			p.set.processing = processing
		}
	}
}

// egress takes pools of the egress side.
func (f *fabric) egress(n *node, s *sonic.Completed, ingress *sonic.Pool) {
	n.set.alphaLossy = 0
	for _, p := range s.Ports {
		for _, tc := range f.lossless {
			if profile := profileAt(s, p, tc); profile != nil && profile.Pool != nil && profile.Pool != ingress && n.set.egressLossless == 0 {
				n.set.egressLossless = profile.Pool.Size
				if profile.HasStatic && profile.StaticTh > 0 && profile.StaticTh < profile.Pool.Size {
					n.set.egressLimit = profile.StaticTh
				}
				if profile.HasDynamic && profile.DynamicTh < 7 {
					f.omit("%s: dynamic_th of %s: a lossless queue may have all of its pool", s.Name, profile.Name)
				}
			}
		}
		for _, tc := range f.lossy {
			if profile := profileAt(s, p, tc); profile != nil && profile.Pool != nil && n.set.egressLossy == 0 {
				n.set.egressLossy = profile.Pool.Size
				if profile.HasDynamic {
					n.set.alphaLossy = profile.DynamicTh
				} else {
					f.omit("%s: static_th of %s: alpha 1 is used", s.Name, profile.Name)
				}
			}
		}
	}
}

func profileAt(s *sonic.Completed, p *sonic.Port, tc int) *sonic.Profile {
	if q, ok := s.QueueOf(p, tc); ok && p.Queue[q] != nil {
		return p.Queue[q].Profile
	}
	return nil
}

// watch takes the watchdog of most ports.
func (f *fabric) watch(n *node, s *sonic.Completed) {
	var list []watchdog
	for _, p := range s.Ports {
		if p.Watchdog != nil {
			list = append(list, watchdog{p.Watchdog.Action, s.Watchdog.Poll, p.Watchdog.Detection, p.Watchdog.Restoration})
		}
	}
	if len(list) == 0 {
		return
	}
	w := usual(list, func(w *watchdog) watchdog { return *w })
	for _, o := range list {
		if o != w {
			f.omit("%s: ports have different watchdogs: that of most is used", s.Name)
		}
	}
	if w.poll <= 0 {
		w.poll = 100
	}
	if w.restoration == 0 {
		w.restoration = 60000
		f.omit("%s: queues that the watchdog has stopped are restored after 60 s, not never", s.Name)
	}
	w.detection, w.restoration = max(w.detection, w.poll), max(w.restoration, w.poll)
	n.set.watchdog = w
}

// leave notes tables that have no counterpart.
func (f *fabric) leave(s *sonic.Completed) {
	lists := false
	for _, p := range s.Ports {
		lists = lists || p.Ingress != nil || p.Egress != nil
		if p.Asymmetric {
			f.omit("%s: pfc_asym", s.Name)
		}
	}
	if lists {
		f.omit("%s: limits of ports (BUFFER_PORT_INGRESS_PROFILE_LIST, BUFFER_PORT_EGRESS_PROFILE_LIST)", s.Name)
	}
	for _, p := range s.Pools {
		if p.Ingress && p.Name != "ingress_lossless_pool" {
			f.omit("%s: pool %s: lossy frames are held in the shared segment", s.Name, p.Name)
		}
	}
	for _, x := range s.Schedulers {
		if x.PIR > 0 || x.CIR > 0 {
			f.omit("%s: rates of scheduler %s", s.Name, x.Name)
		}
	}
	for _, p := range s.Profiles {
		if p.Trim {
			f.omit("%s: trimming of %s", s.Name, p.Name)
		}
	}
	if s.Elsewhere > 0 {
		f.omit("%s: %d queues of other switches of the chassis", s.Name, s.Elsewhere)
	}
	if len(s.Unread) > 0 {
		f.omit("%s: tables %s", s.Name, strings.Join(s.Unread, ", "))
	}
}

// delay is that of a cable.
func delay(metres int64) units.Time { return rules.Delay(metres) }
