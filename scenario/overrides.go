package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/topo"
)

// Override changes keys of the switches, ports or hosts that its pattern matches.
type Override struct {
	Match string // a glob, as path.Match reads it
	Keys  Patch
}

// decodeEntries reads `{match: "leaf*", buffer: {size: 32MiB}}`.
func (o *Override) decodeEntries(d *decoder, entries []entry, at string) error {
	rest, err := take(entries, "match", func(e entry) error {
		d.note(join(at, "match"), e)
		return d.value(e.node, join(at, "match"), reflect.ValueOf(&o.Match).Elem())
	})
	if err != nil {
		return err
	}
	for _, e := range rest {
		if err := o.Keys.add(d, e, at); err != nil {
			return err
		}
	}
	return nil
}

// part implements selfDecoder: what an override changes is not known here.
func (o *Override) part(string) (reflect.Value, bool) { return reflect.Value{}, false }

// onPort reports whether the pattern is one of ports: SWITCH.portN or
// SWITCH.to-NODE.
func (o *Override) onPort() bool { return topo.OfPorts(o.Match) }

func (o *Override) matches(name string) bool { return topo.Match(o.Match, name) }

// What overrides may change. The other keys of switch and hosts are of the whole
// fabric.
var (
	notPerSwitch = []string{"overrides", "wire_overhead"}
	perPort      = []string{"flow_control", "pfc", "scheduler", "ecn", "mtu"}
	notPerHost   = []string{"overrides", "transports"}
)

// setting is how the switches or ports are set up that the same overrides match.
type setting struct {
	Switch
	by []int // the overrides, in order
}

// hostSetting is the same for hosts. Hosts of one group are alike.
type hostSetting struct {
	Hosts
	by       []int
	group    int
	name     string         // of the transport; empty: the hosts' own
	way      int            // number of the transport among those of all groups
	variants []*hostSetting // itself, then the other transports by name
	records  *telemetry.Spec
}

// settings holds what overrides make of the switches, ports and hosts of a
// fabric. Alike ones share an entry.
type settings struct {
	switches []*setting   // by node, from the first switch on
	ports    [][]*setting // the same, by port
	hosts    []*hostSetting
	// distinct ones, in the order of their first use
	ofSwitches, ofPorts []*setting
	ofHosts             []*hostSetting
	all                 []*hostSetting // see transports
}

// newSettings applies the overrides of a scenario to a fabric. In case of an error
// everything is set up as if there were none.
func newSettings(c *Config, g *topo.Graph) (*settings, error) {
	s, err := applyOverrides(c, g)
	if err != nil {
		plain := *c
		plain.Switch.Overrides, plain.Hosts.Overrides, plain.Hosts.Transports = nil, nil, nil
		s, _ = applyOverrides(&plain, g)
	}
	return s, err
}

func applyOverrides(c *Config, g *topo.Graph) (*settings, error) {
	s := &settings{}
	if err := s.forSwitches(c, g); err != nil {
		return nil, err
	}
	if err := s.forHosts(c, g); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *settings) forSwitches(c *Config, g *topo.Graph) error {
	list := c.Switch.Overrides
	if err := checkPatterns("switch.overrides", list, perSwitchKeys); err != nil {
		return err
	}
	used := make([]bool, len(list))
	perSwitch, ofPort := make(map[string]*setting), make(map[string]*setting)
	var to [][]int
	for _, o := range list {
		if o.onPort() && to == nil {
			to = g.Peers()
		}
	}
	counts := g.Ports()
	for node := g.Hosts; node < g.Nodes(); node++ {
		by := matching(list, used, func(o *Override) bool { return !o.onPort() && o.matches(g.Names[node]) })
		here, fresh, err := settingOf(c, perSwitch, by)
		if err != nil {
			return err
		}
		if fresh {
			s.ofSwitches = append(s.ofSwitches, here)
		}
		s.switches = append(s.switches, here)
		ports := make([]*setting, counts[node])
		for p := range ports {
			ports[p] = here
			if to == nil {
				continue
			}
			number, neighbour := g.PortNames(node, p, to[node][p])
			here := matching(list, used, func(o *Override) bool {
				if !o.onPort() {
					return o.matches(g.Names[node])
				}
				return o.matches(number) || o.matches(neighbour)
			})
			if slices.Equal(here, by) {
				continue
			}
			if ports[p], fresh, err = settingOf(c, ofPort, here); err != nil {
				return err
			}
			if fresh {
				s.ofPorts = append(s.ofPorts, ports[p])
			}
		}
		s.ports = append(s.ports, ports)
	}
	for i, o := range list {
		if !used[i] {
			return noMatch(g, i, &o)
		}
	}
	return nil
}

// matching returns the overrides that match and notes that they are used.
func matching(list []Override, used []bool, match func(*Override) bool) []int {
	var by []int
	for i := range list {
		if match(&list[i]) {
			by = append(by, i)
			used[i] = true
		}
	}
	return by
}

// settingOf returns the setting that a list of overrides makes of the common one;
// fresh says that it is the first of its kind.
func settingOf(c *Config, known map[string]*setting, by []int) (s *setting, fresh bool, err error) {
	id := fmt.Sprint(by)
	if s, ok := known[id]; ok {
		return s, false, nil
	}
	s = &setting{Switch: c.Switch, by: by}
	s.Overrides = nil
	for _, choice := range []*Choice{&s.Policy, &s.FlowControl, &s.ECN.Choice, &s.Deadlock} {
		choice.detach()
	}
	p := newPatcher(c.source)
	for _, i := range by {
		o := &c.Switch.Overrides[i]
		if err := p.apply(o.Keys, fmt.Sprintf("switch.overrides[%d]", i), reflect.ValueOf(&s.Switch).Elem()); err != nil {
			return nil, false, err
		}
		s.chooseLists(o.Keys)
	}
	known[id] = s
	return s, true, nil
}

// chooseLists keeps to the rule that who lists groups lists all of them: the
// lists of a scheduler that an override does not give are empty.
func (s *setting) chooseLists(keys Patch) {
	given := func(list string) bool { return keys.has(steps("scheduler", list)) }
	if !given("strict") && !given("dwrr") && !given("rr") {
		return
	}
	for name, list := range map[string]*[]string{"strict": &s.Scheduler.Strict, "dwrr": &s.Scheduler.DWRR, "rr": &s.Scheduler.RR} {
		if !given(name) {
			*list = nil
		}
	}
	if len(s.Scheduler.DWRR) == 0 && !given("quanta") {
		s.Scheduler.Quanta = nil
	}
}

// detach gives a choice parameters of its own.
func (c *Choice) detach() {
	if c.Params == nil {
		return
	}
	own := reflect.New(reflect.TypeOf(c.Params).Elem())
	own.Elem().Set(reflect.ValueOf(c.Params).Elem())
	c.Params = own.Interface()
}

func (s *settings) forHosts(c *Config, g *topo.Graph) error {
	list := c.Hosts.Overrides
	if err := checkPatterns("hosts.overrides", list, perHostKeys); err != nil {
		return err
	}
	used := make([]bool, len(list))
	known := make(map[string]*hostSetting)
	for node := range g.Hosts {
		by := matching(list, used, func(o *Override) bool { return o.matches(g.Names[node]) })
		id := fmt.Sprint(by)
		here := known[id]
		if here == nil {
			here = &hostSetting{Hosts: c.Hosts, by: by, group: len(s.ofHosts)}
			here.Overrides = nil
			here.CC.detach()
			p := newPatcher(c.source)
			for _, i := range by {
				if err := p.apply(list[i].Keys, fmt.Sprintf("hosts.overrides[%d]", i), reflect.ValueOf(&here.Hosts).Elem()); err != nil {
					return err
				}
			}
			here.settle(list)
			if err := here.vary(c, p); err != nil {
				return err
			}
			known[id] = here
			s.ofHosts = append(s.ofHosts, here)
		}
		s.hosts = append(s.hosts, here)
	}
	for i, o := range list {
		if !used[i] {
			return noHostMatch(g, i, &o)
		}
	}
	if n := len(s.ofHosts) * (1 + len(c.Hosts.Transports)); n > maxHostGroups {
		return atf("hosts.overrides", "they make %d kinds of hosts, or of transports; allowed: at most %d", n, maxHostGroups)
	}
	return nil
}

// settle chooses what depends on which keys overrides give.
func (h *hostSetting) settle(list []Override) {
	for _, i := range h.by {
		keys := list[i].Keys
		if keys.has(steps("receive")) {
			h.Receive.Hosts = nil // the pattern says which hosts are slow
		}
		if keys.has(steps("reliability", "timeout")) && !keys.has(steps("reliability", "max_timeout")) {
			h.Reliability.MaxTimeout = max(h.Reliability.MaxTimeout, h.Reliability.Timeout)
		}
	}
}

// steps is a path of keys.
func steps(keys ...string) []step {
	var list []step
	for _, k := range keys {
		list = append(list, step{k, -1})
	}
	return list
}

// settleOverrides writes into overrides what follows from their keys and from
// what the file left open: a chip whose ports are known reserves for all of them.
func (c *Config) settleOverrides() {
	if c.source.has("switch.buffer.reserve_for") {
		return
	}
	for i := range c.Switch.Overrides {
		o := &c.Switch.Overrides[i]
		if !o.Keys.has(steps("ports")) || o.Keys.has(steps("buffer", "reserve_for")) {
			continue
		}
		buf, at := o.Keys.get("buffer")
		chip, _ := buf.(Patch)
		chip = append(slices.Clone(chip), PatchKey{"reserve_for", "chip"})
		if o.Keys = slices.Clone(o.Keys); at < 0 {
			o.Keys = append(o.Keys, PatchKey{"buffer", chip})
		} else if _, ok := buf.(Patch); ok {
			o.Keys[at].Value = chip
		}
	}
}

// maxHostGroups is how many transports a flow can name.
const maxHostGroups = 256

// checkPatterns checks what needs no fabric.
func checkPatterns(list string, overrides []Override, keys func(*Override) (all, allowed []string, of string)) error {
	for i := range overrides {
		o := &overrides[i]
		at := fmt.Sprintf("%s[%d]", list, i)
		if o.Match == "" {
			return atf(at, "it is not said what this changes; allowed: match with a pattern such as %s", map[bool]string{true: `"leaf*" or "leaf*.port0"`, false: `"host1*"`}[list == "switch.overrides"])
		}
		if err := topo.CheckPattern(o.Match); err != nil {
			return &Error{Path: at + ".match", Err: err}
		}
		if len(o.Keys) == 0 {
			return atf(at, "nothing is changed; allowed: keys beside match")
		}
		if o.Keys.has(steps("receive", "hosts")) {
			return atf(at+".receive.hosts", "match says which hosts this is for; allowed: rate, buffer, xoff")
		}
		if o.onPort() && o.Keys.has(steps("ecn", "at")) {
			return atf(at+".ecn.at", "a switch marks at the same place on all its ports; allowed: at in an override of switches")
		}
		all, allowed, of := keys(o)
		for _, k := range o.Keys {
			if !slices.Contains(allowed, k.Key) {
				if slices.Contains(all, k.Key) {
					return atf(at+"."+k.Key, "%s cannot be set for %s; allowed: %s", k.Key, of, strings.Join(allowed, ", "))
				}
				return &Error{at, registry.Unknown("key", k.Key, append([]string{"match"}, allowed...)), k.Key}
			}
		}
	}
	return nil
}

// perSwitchKeys returns the keys of switch, those that an override may change,
// and of what.
func perSwitchKeys(o *Override) (all, allowed []string, of string) {
	all = keyNames(reflect.TypeOf(Switch{}))
	if o.onPort() {
		return all, perPort, "a single port"
	}
	return all, without(all, notPerSwitch), "a single switch"
}

func perHostKeys(*Override) (all, allowed []string, of string) {
	all = keyNames(reflect.TypeOf(Hosts{}))
	return all, without(all, notPerHost), "a single host"
}

func without(words, not []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(not, w) })
}

// noMatch says that an override of switches or ports does nothing.
func noMatch(g *topo.Graph, i int, o *Override) error {
	what, switches := "switch", topo.Brief(g.Names[g.Hosts:])
	last := g.Nodes() - 1
	number, neighbour := g.PortNames(last, 0, g.Peers()[last][0])
	allowed := fmt.Sprintf("%s, or a port such as %s or %s", switches, number, neighbour)
	if o.onPort() {
		what = "port"
		allowed = fmt.Sprintf("SWITCH.portN or SWITCH.to-NEIGHBOUR, such as %s or %s, with switches %s", number, neighbour, switches)
	}
	return atf(fmt.Sprintf("switch.overrides[%d].match", i), "no %s matches %q%s; allowed: %s", what, o.Match, g.MeantNode(o.Match, g.Hosts, g.Nodes()), allowed)
}

func noHostMatch(g *topo.Graph, i int, o *Override) error {
	return atf(fmt.Sprintf("hosts.overrides[%d].match", i), "no host matches %q%s; allowed: %s", o.Match, g.MeantNode(o.Match, 0, g.Hosts), topo.Brief(g.Names[:g.Hosts]))
}

// relocate moves an error about a key of switch or hosts to the override that gave
// the key, if one of by did: the last one counts.
func relocate(err error, section string, list []Override, by []int) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	below, ok := strings.CutPrefix(e.Path, section+".")
	steps, fine := splitPath(below)
	if !ok || !fine {
		return err
	}
	for depth := len(steps); depth > 0; depth-- {
		for k := len(by) - 1; k >= 0; k-- {
			if list[by[k]].Keys.has(steps[:depth]) {
				return at(fmt.Sprintf("%s.overrides[%d].%s", section, by[k], below), e.Err)
			}
		}
	}
	return err
}
