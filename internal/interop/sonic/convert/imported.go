package convert

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// Imported is a scenario made from switch configurations.
type Imported struct {
	Text    []byte   // YAML
	Fabric  []byte   // YAML without workload and run
	Ports   []Port   // in order of switches and ports
	Classes []int    // lossless ones first, then lossy ones
	Pausing int      // number of lossless ones
	Omitted []string // settings without an equivalent in a scenario, one line each
	Assumed []string // ports with assumed hosts, one line for each switch
}

// Port tells where a port of a configuration is in the scenario.
type Port struct {
	Switch, Name, Alias string // in the configuration
	Node                string
	Index               int    // number of the port at the node
	Host                string // host at the port; empty: a switch
	Peer                string // node of that switch
	Rate                units.Rate
}

// Scenario converts switches to a scenario.
func Scenario(name string, switches []*sonic.Completed, wires []sonic.Wire) (*Imported, error) {
	f := &fabric{name: nodeName(name)}
	// Node names can differ from switch names; sort by node name, so that importing an
	// exported fabric gives the same order.
	switches = slices.Clone(switches)
	slices.SortStableFunc(switches, func(a, b *sonic.Completed) int { return sonic.Natural(nodeName(a.Name), nodeName(b.Name)) })
	for _, s := range switches {
		for _, m := range s.Mistakes {
			if m.Kind != sonic.Unportable {
				return nil, m.Location.Errorf("%s; fix: run xoff check to list all mistakes", m.What)
			}
		}
	}
	f.classes(switches)
	if len(f.lossless) == 0 {
		return nil, sonic.Location{File: switches[0].File, Table: "PORT_QOS_MAP"}.Errorf("no switch has lossless priorities (expected pfc_enable, and priority groups with headroom)")
	}
	at := f.nodes(switches)
	f.cables(switches, at, hostTier(switches, wires))
	if err := f.checkNodes(); err != nil {
		return nil, err
	}
	for i, s := range switches {
		if err := f.fillSettings(f.switches[i], s); err != nil {
			return nil, err
		}
	}
	bare := f.yaml(false)
	text := f.yaml(true) // may omit settings, too
	return &Imported{
		Text: text, Fabric: bare, Ports: f.placed(switches), Classes: append(slices.Clone(f.lossless), f.lossy...), Pausing: len(f.lossless),
		Omitted: f.omitted, Assumed: f.assumed,
	}, nil
}

// placed returns the ports with a cable or a host.
func (f *fabric) placed(switches []*sonic.Completed) []Port {
	hosts, peers := map[portIndex]string{}, map[portIndex]string{}
	for i := range f.links {
		c := &f.links[i]
		a, b := portIndex{c.a, c.portA}, portIndex{c.b, c.portB}
		if c.b < 0 {
			hosts[a] = f.hostName(c)
			continue
		}
		peers[a], peers[b] = f.switches[c.b].name, f.switches[c.a].name
	}
	var list []Port
	for i, n := range f.switches {
		for k := range n.ports {
			p := &n.ports[k]
			alias := ""
			if own := switches[i].Port(p.name); own != nil {
				alias = own.Alias
			}
			at := portIndex{i, k}
			list = append(list, Port{switches[i].Name, p.name, alias, n.name, k, hosts[at], peers[at], p.rate})
		}
	}
	return list
}

// classes sorts traffic classes into lossless, lossy and control. A class of a scenario
// is a traffic class whose priority group and queue have the same number.
func (f *fabric) classes(switches []*sonic.Completed) {
	var lossless, used, strict [sonic.Classes]bool
	for _, s := range switches {
		for _, p := range s.Ports {
			for tc := range sonic.Classes {
				used[tc] = used[tc] || len(s.DSCPs(p, tc)) > 0
				g, _ := s.GroupOf(p, tc)
				q, there := s.QueueOf(p, tc)
				if s.LosslessClasses(p).Has(tc) {
					lossless[tc] = true
					if mapped := p.QoS != nil && p.QoS.ToPG != nil; mapped && there && (g != tc || q != tc) {
						f.omit("%s: traffic class %d has priority group %d and queue %d; a scenario uses the same number for all three", s.Name, tc, g, q)
					}
				}
				if there && p.Service[q] != nil && p.Service[q].Scheduler.Strict() {
					strict[tc] = true
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

// portIndex identifies a port of the fabric.
type portIndex struct{ node, port int }

// nodes adds the switches and returns the switch index of each usable port.
func (f *fabric) nodes(switches []*sonic.Completed) map[*sonic.Port]int {
	at := map[*sonic.Port]int{}
	for i, s := range switches {
		n := &node{name: nodeName(s.Name), chip: s.Chip.Name, file: filepath.Base(s.File)}
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

// nodeName turns any text into a valid node name.
func nodeName(name string) string {
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

// cables adds links in the order of ports. A port with a neighbour that is not one of the
// switches has a host. A port without any neighbour gets an assumed host if its switch is in
// the tier of hosts.
func (f *fabric) cables(switches []*sonic.Completed, at map[*sonic.Port]int, tier []bool) {
	index := map[*sonic.Port]portIndex{}
	add := func(p *sonic.Port, rate units.Rate, metres int64) portIndex {
		n := f.switches[at[p]]
		w := portIndex{at[p], len(n.ports)}
		n.ports = append(n.ports, port{name: p.Name, rate: rate, metres: metres})
		index[p] = w
		return w
	}
	for i, s := range switches {
		var assumed, bare []string
		for _, p := range s.Ports {
			if _, cabled := at[p]; !cabled {
				continue
			}
			if _, done := index[p]; done {
				continue
			}
			w := p.Wire
			switch {
			case w == nil && p.Peer == nil && !tier[i]:
				bare = append(bare, p.Name)
				continue
			case w == nil:
				a := add(p, p.Speed, metresOf(p))
				f.links = append(f.links, cable{a.node, a.port, -1, 0, p.Speed, metresOf(p)})
				if p.Peer == nil {
					assumed = append(assumed, p.Name)
				}
				continue
			}
			q := w.B.Port
			if q == p {
				q = w.A.Port
			}
			if _, cabled := at[q]; !cabled {
				f.omit("%s: port %s is cabled to %s, which has no speed", s.Name, p.Name, q.Name)
				continue
			}
			rate, _ := p.Link()
			metres := metresOf(p)
			if own, far := p.Cable, q.Cable; own == nil || far == nil || own.Metres != far.Metres {
				f.omit("%s: the ends of the cable of %s have different lengths; using %d m", s.Name, p.Name, metres)
			}
			if p.Speed != q.Speed {
				f.omit("%s: port %s runs at %s, its peer at %s; using the lower rate", s.Name, p.Name, p.Speed, q.Speed)
			}
			a, b := add(p, rate, metres), add(q, rate, metres)
			f.links = append(f.links, cable{a.node, a.port, b.node, b.port, rate, metres})
		}
		if len(assumed) > 0 {
			f.assumed = append(f.assumed, fmt.Sprintf("%s: %s", s.Name, strings.Join(assumed, ", ")))
		}
		if len(bare) > 0 {
			f.omit("%s: ports without a neighbour get no host, because the switch connects switches: %s", s.Name, strings.Join(bare, ", "))
		}
	}
}

// defaultMetres is the cable length of a port without one.
const defaultMetres = 1

func metresOf(p *sonic.Port) int64 {
	_, metres := p.Link()
	return max(defaultMetres, metres)
}

// checkNodes checks that there are two hosts, that names are unique, that every switch has
// a port, and that the fabric is connected.
func (f *fabric) checkNodes() error {
	n := 0
	for i := range f.links {
		if f.links[i].b < 0 {
			n++
		}
	}
	if n < 2 {
		return fmt.Errorf("%d ports can have hosts (expected at least 2 ports that are not cabled to a switch)", n)
	}
	seen := map[string]bool{}
	for _, s := range f.switches {
		if seen[s.name] {
			return fmt.Errorf("two switches would have the name %s (expected names that differ in letters, digits or _)", s.name)
		}
		seen[s.name] = true
		if len(s.ports) == 0 {
			return fmt.Errorf("%s: no port of %s is up and has a speed (expected at least one)", s.file, s.name)
		}
	}
	return f.connected()
}

// connected checks that every switch can be reached from every other.
func (f *fabric) connected() error {
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
		return fmt.Errorf("%s: there is no path from %s to %s (expected cables in DEVICE_NEIGHBOR, LLDP_ENTRY_TABLE or --cables)", f.switches[i].file, f.switches[0].name, f.switches[i].name)
	}
	return nil
}

// fillSettings fills in the settings of a switch and its ports.
func (f *fabric) fillSettings(n *node, s *sonic.Completed) error {
	set := &n.set
	set.cell = s.Chip.Cell.Bytes()
	if s.Chip.Packet.N < s.Chip.Cell.N {
		set.cell, set.perPacket = 1, s.Chip.Packet.Bytes()-64 // count bytes, plus a fixed charge per frame
	}
	if set.partitions = s.Chip.Partitions.N; set.partitions > int64(len(n.ports)) {
		f.omit("%s: the chip has %d partitions, more than ports", n.name, set.partitions)
		set.partitions = 1
	}
	var pool *sonic.Pool
	by := map[string]*sonic.Port{}
	for _, p := range s.Ports {
		by[p.Name] = p
	}
	for i := range n.ports {
		p := by[n.ports[i].name]
		if first := f.fillPort(&n.ports[i], s, p); first != nil && first.Pool != nil {
			pool = first.Pool
		}
	}
	f.inherit(n)
	if pool != nil {
		if s.SharedPart(pool) == 0 {
			at := pool.Location
			at.Field = "size"
			return at.Errorf("leaves no shared buffer on %s (expected more than headroom pool and minimums); fix: check --chip, or set --memory if the switch computes the size", s.Chip.Name)
		}
		set.pool = pool.Xoff
		set.size = s.SharedPart(pool)*units.Bytes(s.Chip.Partitions.N) + set.pool + n.reserved(len(f.lossless))
	}
	f.fillEgress(n, s, pool)
	f.fillWatchdog(n, s)
	f.omitUnsupported(s)
	return nil
}

// fillPort fills in a port's settings from the lossless profile with the least headroom, and
// returns that profile.
func (f *fabric) fillPort(to *port, s *sonic.Completed, p *sonic.Port) *sonic.Profile {
	set := &to.set
	set.mtu = p.MTU
	set.processing = to.rate.TxTime(sonic.ResponseBytes(to.rate))
	var first *sonic.Profile
	differs := false
	for _, tc := range f.lossless {
		g, ok := s.GroupOf(p, tc)
		if !ok {
			g = tc
		}
		if !s.Lossless(p, g) {
			continue
		}
		profile := p.PG[g].Profile
		differs = differs || first != nil && profile != first
		if first == nil || profile.Xoff < first.Xoff {
			first = profile
		}
	}
	if differs {
		f.omit("%s: %s has more than one lossless profile; using %s for all classes", s.Name, p.Name, first.Name)
	}
	if first != nil {
		set.headroom, set.xon, set.offset = first.Xoff, first.Xon, first.XonOffset
		set.minimum, set.alpha = s.Minimum(first), first.DynamicTh
		set.borrow = s.Chip.PortHeadroom && first.Pool != nil && first.Pool.Xoff > 0
		if !first.HasDynamic {
			f.omit("%s: %s has static_th; using alpha 1", s.Name, first.Name)
		}
		f.fillECN(set, s, p)
	}
	for _, tc := range append(append([]int{}, f.lossless...), f.lossy...) {
		q, ok := s.QueueOf(p, tc)
		if !ok {
			q = tc
		}
		if service := p.Service[q]; service != nil && service.Scheduler != nil && !service.Scheduler.Strict() {
			set.weights[tc] = service.Scheduler.Weight
		}
	}
	return first
}

// fillECN takes the marking thresholds of the first enabled colour of the first lossless
// queue.
func (f *fabric) fillECN(set *portSettings, s *sonic.Completed, p *sonic.Port) {
	q, ok := s.QueueOf(p, f.lossless[0])
	if !ok {
		q = f.lossless[0]
	}
	if p.Service[q] == nil || p.Service[q].WRED == nil {
		return
	}
	w := p.Service[q].WRED
	for i, c := range w.Colour {
		if c.Enabled && w.ECN != "ecn_none" {
			set.kmin, set.kmax, set.pmax = c.Min, c.Max, c.Probability
			if i > 0 || w.ECN != "ecn_all" {
				f.omit("%s: %s marks by colour; using the thresholds of %s frames for all", s.Name, w.Name, sonic.Colours[i])
			}
			return
		}
	}
	if w.ECN == "ecn_none" {
		f.omit("%s: %s drops instead of marking", s.Name, w.Name)
	}
}

// inherit gives ports without lossless priority groups the most common settings: in a
// scenario every port has all classes.
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
	most := mostCommon(have, func(p *port) portSettings { return p.set })
	for i := range n.ports {
		if p := &n.ports[i]; p.set.headroom == 0 {
			f.omit("%s: port %s has no lossless priority group; using the settings of other ports", n.name, p.name)
			own := p.set
			p.set = most
			p.set.processing, p.set.mtu = own.processing, own.mtu
			// The port is not lossless: its cable must not make a finding of the headroom.
			d := delay(p.metres)
			p.set.headroom = max(p.set.headroom, link.Least(&link.Port{Rate: p.rate, DelayIn: d, DelayOut: d, MTU: own.mtu}))
		}
	}
}

// fillEgress fills in the egress pools.
func (f *fabric) fillEgress(n *node, s *sonic.Completed, ingress *sonic.Pool) {
	n.set.alphaLossy = 0
	for _, p := range s.Ports {
		for _, tc := range f.lossless {
			if profile := profileAt(s, p, tc); profile != nil && profile.Pool != nil && profile.Pool != ingress && n.set.egressLossless == 0 {
				n.set.egressLossless = profile.Pool.Size
				if profile.HasStatic && profile.StaticTh > 0 && profile.StaticTh < profile.Pool.Size {
					n.set.egressLimit = profile.StaticTh
				}
				if profile.HasDynamic && profile.DynamicTh < 7 {
					f.omit("%s: dynamic_th of %s; a lossless queue may use its whole pool", s.Name, profile.Name)
				}
			}
		}
		for _, tc := range f.lossy {
			if profile := profileAt(s, p, tc); profile != nil && profile.Pool != nil && n.set.egressLossy == 0 {
				n.set.egressLossy = profile.Pool.Size
				if profile.HasDynamic {
					n.set.alphaLossy = profile.DynamicTh
				} else {
					f.omit("%s: static_th of %s; using alpha 1", s.Name, profile.Name)
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

// fillWatchdog takes the most common watchdog of the ports.
func (f *fabric) fillWatchdog(n *node, s *sonic.Completed) {
	var list []watchdog
	for _, p := range s.Ports {
		if p.Watchdog != nil {
			list = append(list, watchdog{p.Watchdog.Action, s.Watchdog.Poll, p.Watchdog.Detection, p.Watchdog.Restoration})
		}
	}
	if len(list) == 0 {
		return
	}
	w := mostCommon(list, func(w *watchdog) watchdog { return *w })
	for _, o := range list {
		if o != w {
			f.omit("%s: ports have different watchdogs; using the most common one", s.Name)
		}
	}
	if w.poll <= 0 {
		w.poll = 100
	}
	if w.restoration == 0 {
		w.restoration = 60000
		f.omit("%s: the watchdog has no restoration_time; it restores queues after 60 s", s.Name)
	}
	w.detection, w.restoration = max(w.detection, w.poll), max(w.restoration, w.poll)
	n.set.watchdog = w
}

// omitUnsupported records tables and fields without an equivalent.
func (f *fabric) omitUnsupported(s *sonic.Completed) {
	lists := false
	for _, p := range s.Ports {
		lists = lists || p.Ingress != nil || p.Egress != nil
		if p.Asymmetric {
			f.omit("%s: pfc_asym", s.Name)
		}
	}
	if lists {
		f.omit("%s: port limits (BUFFER_PORT_INGRESS_PROFILE_LIST, BUFFER_PORT_EGRESS_PROFILE_LIST)", s.Name)
	}
	for _, p := range s.Pools {
		if p.Ingress && p.Name != "ingress_lossless_pool" {
			f.omit("%s: pool %s; lossy frames are stored in the shared segment", s.Name, p.Name)
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
	if s.RemoteQueues > 0 {
		f.omit("%s: %d queues of other switches of the chassis", s.Name, s.RemoteQueues)
	}
	if len(s.Unread) > 0 {
		f.omit("%s: tables %s", s.Name, strings.Join(s.Unread, ", "))
	}
}

// delay returns the delay of a cable.
func delay(metres int64) units.Time { return sonic.Delay(metres) }
