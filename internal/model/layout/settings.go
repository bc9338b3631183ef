package layout

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/topo"
)

// Setting is the configuration of all switches or ports that the same overrides match.
type Setting struct {
	scenario.Switch
	By []int // indexes of the overrides, in order

	flow      flowctl.Scheme // shared by all ports with this setting
	flowError error
}

// Flow returns the flow control, which all ports with this setting share.
func (s *Setting) Flow() (flowctl.Scheme, error) { return s.flow, s.flowError }

// Promises returns the promises of the flow control with its parameters and the policy, or 0 if the
// scheme does not exist.
func (s *Setting) Promises() registry.Promise {
	e, err := flowctl.Schemes.Get(s.FlowControl.Name)
	switch {
	case err != nil:
		return 0
	case s.flowError != nil:
		return e.Promises
	}
	promises := e.Promises &^ s.flow.Properties().Breaks
	if b, ok := s.Policy.Params.(buffer.Breaking); ok {
		promises &^= b.Breaks()
	}
	return promises
}

// RouteSetting is the routing of all switches that the same overrides match.
type RouteSetting struct {
	scenario.Routing
	By []int
}

// HostSetting is one transport of a group of hosts that the same overrides match.
type HostSetting struct {
	scenario.Hosts
	By       []int
	Group    int
	Name     string         // of the transport; empty: the default one
	Number   int            // number of the transport, over all groups
	Variants []*HostSetting // the default transport, then the others by name; only in the default one
	Records  *telemetry.Spec
}

// Settings has the configuration of all switches, ports and hosts after overrides. Those with
// the same overrides share a setting.
type Settings struct {
	switches []*Setting   // by switch
	ports    [][]*Setting // by switch and port
	routing  []*RouteSetting
	hosts    []*HostSetting
	// distinct settings, in order of first use
	OfSwitches, OfPorts []*Setting
	OfHosts             []*HostSetting
	transports          []*HostSetting // see Transports
}

// newSettings applies the overrides of a scenario.
func newSettings(c *scenario.Config, g *topo.Graph) (*Settings, error) {
	s := &Settings{}
	return s, yaml.First(s.forSwitches(c, g), s.forRouting(c, g), s.forHosts(c, g))
}

func (s *Settings) forSwitches(c *scenario.Config, g *topo.Graph) error {
	list := c.Switch.Overrides
	if err := checkPatterns("switch.overrides", list, perSwitchKeys); err != nil {
		return err
	}
	used := make([]bool, len(list))
	perSwitch, ofPort := make(map[string]*Setting), make(map[string]*Setting)
	var to [][]int
	for _, o := range list {
		if o.OnPort() && to == nil {
			to = g.Peers()
		}
	}
	counts := g.Ports()
	for node := g.Hosts; node < g.Nodes(); node++ {
		by := matching(list, used, func(o *scenario.Override) bool { return !o.OnPort() && o.Matches(g.Names[node]) })
		here, fresh, err := settingOf(c, perSwitch, by)
		if err != nil {
			return err
		}
		if fresh {
			s.OfSwitches = append(s.OfSwitches, here)
		}
		s.switches = append(s.switches, here)
		ports := make([]*Setting, counts[node])
		for p := range ports {
			ports[p] = here
			if to == nil {
				continue
			}
			number, neighbour := g.PortNames(node, p, to[node][p])
			here := matching(list, used, func(o *scenario.Override) bool {
				if !o.OnPort() {
					return o.Matches(g.Names[node])
				}
				return o.Matches(number) || o.Matches(neighbour)
			})
			if slices.Equal(here, by) {
				continue
			}
			if err := checkPortPolicy(list, here, ports[p].Policy.Name); err != nil {
				return err
			}
			if ports[p], fresh, err = settingOf(c, ofPort, here); err != nil {
				return err
			}
			if fresh {
				s.OfPorts = append(s.OfPorts, ports[p])
			}
		}
		s.ports = append(s.ports, ports)
	}
	for i, o := range list {
		if !used[i] {
			return noMatch(g, "switch.overrides", i, &o)
		}
	}
	return nil
}

// checkPortPolicy checks that overrides of a port change no more of the policy of its switch than
// the limit of policy static.
func checkPortPolicy(list []scenario.Override, by []int, policy string) error {
	for _, i := range by {
		switch o := &list[i]; {
		case !o.OnPort() || !o.Keys.Has(yaml.Steps("policy")...):
		case policy != perPortPolicy:
			return yaml.Atf(fmt.Sprintf("switch.overrides[%d].policy", i), "policy %s cannot be set for a single port (allowed: limit of policy %s)", policy, perPortPolicy)
		case o.Keys.Has(yaml.Steps("policy", "name")...):
			return yaml.Atf(fmt.Sprintf("switch.overrides[%d].policy.name", i), "a switch has one policy (allowed for a single port: limit)")
		}
	}
	return nil
}

// perPortPolicy is the policy whose parameter may differ between ports.
const perPortPolicy = "static"

// matching returns the indexes of matching overrides and marks them as used.
func matching(list []scenario.Override, used []bool, match func(*scenario.Override) bool) []int {
	var by []int
	for i := range list {
		if match(&list[i]) {
			by = append(by, i)
			used[i] = true
		}
	}
	return by
}

// settingOf returns the setting for a list of overrides; fresh reports whether it is new.
func settingOf(c *scenario.Config, known map[string]*Setting, by []int) (s *Setting, fresh bool, err error) {
	id := fmt.Sprint(by)
	if s, ok := known[id]; ok {
		return s, false, nil
	}
	s = &Setting{Switch: c.Switch, By: by}
	s.Overrides = nil
	for _, choice := range []*scenario.Choice{&s.Policy, &s.FlowControl, &s.Scheduler.Choice, &s.ECN.Choice, &s.Deadlock} {
		choice.Detach()
	}
	for _, i := range by {
		if err := c.Apply(c.Switch.Overrides[i].Keys, fmt.Sprintf("switch.overrides[%d]", i), &s.Switch); err != nil {
			return nil, false, err
		}
	}
	s.flow, s.flowError = FlowScheme(s.FlowControl)
	known[id] = s
	return s, true, nil
}

// forRouting finds the router of each switch.
func (s *Settings) forRouting(c *scenario.Config, g *topo.Graph) error {
	list := c.Routing.Overrides
	if err := checkPatterns("routing.overrides", list, perRouterKeys); err != nil {
		return err
	}
	used := make([]bool, len(list))
	known := make(map[string]*RouteSetting)
	for node := g.Hosts; node < g.Nodes(); node++ {
		by := matching(list, used, func(o *scenario.Override) bool { return o.Matches(g.Names[node]) })
		id := fmt.Sprint(by)
		if known[id] == nil {
			here := &RouteSetting{Routing: c.Routing, By: by}
			here.Detach()
			for _, i := range by {
				if err := c.ApplyRouting(list[i].Keys, fmt.Sprintf("routing.overrides[%d]", i), &here.Routing); err != nil {
					return err
				}
			}
			known[id] = here
		}
		s.routing = append(s.routing, known[id])
	}
	for i, o := range list {
		if !used[i] {
			return noMatch(g, "routing.overrides", i, &o)
		}
	}
	return nil
}

func (s *Settings) forHosts(c *scenario.Config, g *topo.Graph) error {
	list := c.Hosts.Overrides
	if err := checkPatterns("hosts.overrides", list, perHostKeys); err != nil {
		return err
	}
	used := make([]bool, len(list))
	known := make(map[string]*HostSetting)
	for node := range g.Hosts {
		by := matching(list, used, func(o *scenario.Override) bool { return o.Matches(g.Names[node]) })
		id := fmt.Sprint(by)
		here := known[id]
		if here == nil {
			here = &HostSetting{Hosts: c.Hosts, By: by, Group: len(s.OfHosts)}
			here.Overrides = nil
			here.CC.Detach()
			for _, i := range by {
				if err := c.Apply(list[i].Keys, fmt.Sprintf("hosts.overrides[%d]", i), &here.Hosts); err != nil {
					return err
				}
			}
			here.settle(list)
			if err := here.vary(c); err != nil {
				return err
			}
			known[id] = here
			s.OfHosts = append(s.OfHosts, here)
		}
		s.hosts = append(s.hosts, here)
	}
	for i, o := range list {
		if !used[i] {
			return noHostMatch(g, i, &o)
		}
	}
	if n := len(s.OfHosts) * (1 + len(c.Hosts.Transports)); n > maxHostGroups {
		return yaml.Atf("hosts.overrides", "overrides and transports make %d different transports (expected at most %d)", n, maxHostGroups)
	}
	return nil
}

// settle sets the defaults that depend on which keys the overrides set.
func (h *HostSetting) settle(list []scenario.Override) {
	for _, i := range h.By {
		keys := list[i].Keys
		if keys.Has(yaml.Steps("receive")...) {
			h.Receive.Hosts = nil // the pattern selects the hosts
		}
		if keys.Has(yaml.Steps("reliability", "timeout")...) && !keys.Has(yaml.Steps("reliability", "max_timeout")...) {
			h.Reliability.MaxTimeout = max(h.Reliability.MaxTimeout, h.Reliability.Timeout)
		}
	}
}

// maxHostGroups is the maximum number of transports: flows have 8-bit transport numbers.
const maxHostGroups = 256

var matchExamples = map[string]string{
	"switch.overrides": `"leaf*" or "leaf*.port0"`, "routing.overrides": `"leaf*"`, "hosts.overrides": `"host1*"`,
}

// checkPatterns checks the patterns and keys of overrides. It does not check that they match.
func checkPatterns(list string, overrides []scenario.Override, keys func(*scenario.Override) (all, allowed []string, of string)) error {
	for i := range overrides {
		o := &overrides[i]
		at := fmt.Sprintf("%s[%d]", list, i)
		if o.Match == "" {
			return yaml.Atf(at, "override has no match pattern (expected match with a pattern such as %s)", matchExamples[list])
		}
		if err := topo.CheckPattern(o.Match); err != nil {
			return &yaml.Error{Path: at + ".match", Err: err}
		}
		if len(o.Keys.Keys()) == 0 {
			return yaml.Atf(at, "override changes nothing (expected keys besides match)")
		}
		if o.Keys.Has(yaml.Steps("receive", "hosts")...) {
			return yaml.Atf(at+".receive.hosts", "hosts cannot be set here: match selects them (allowed: rate, buffer, xoff)")
		}
		if o.OnPort() && o.Keys.Has(yaml.Steps("ecn", "at")...) {
			return yaml.Atf(at+".ecn.at", "at cannot differ between ports of a switch; fix: set it in an override that matches switches")
		}
		all, allowed, of := keys(o)
		for _, k := range o.Keys.Keys() {
			switch {
			case slices.Contains(allowed, k):
				continue
			case slices.Contains(all, k):
				return yaml.Atf(at+"."+k, "%s cannot be set for %s (allowed: %s)", k, of, strings.Join(allowed, ", "))
			case slices.Contains(allowed, schemeParameters):
				continue
			}
			return &yaml.Error{Path: at, Err: registry.Unknown("key", k, append([]string{"match"}, allowed...)), Key: k}
		}
	}
	return nil
}

// perSwitchKeys returns all keys of switch, those that an override may set, and what it
// matches.
func perSwitchKeys(o *scenario.Override) (all, allowed []string, of string) {
	t := reflect.TypeFor[scenario.Switch]()
	if o.OnPort() {
		return yaml.KeyNames(t), append(yaml.KeysWithin(t, "port"), "policy"), "a single port"
	}
	return yaml.KeyNames(t), yaml.KeysWithin(t, "port", ""), "a single switch"
}

func perHostKeys(*scenario.Override) (all, allowed []string, of string) {
	t := reflect.TypeFor[scenario.Hosts]()
	return yaml.KeyNames(t), yaml.KeysWithin(t, "transport", ""), "a single host"
}

// schemeParameters stands for the keys of the selected scheme, which are checked when they are
// decoded.
const schemeParameters = "parameters of the router"

// perRouterKeys is perSwitchKeys for routing: the name of a router and its parameters.
func perRouterKeys(*scenario.Override) (all, allowed []string, of string) {
	return yaml.KeyNames(reflect.TypeFor[scenario.Routing]()), []string{"name", schemeParameters}, "a single switch"
}

// noMatch returns an error for an override that matches no switch or port.
func noMatch(g *topo.Graph, list string, i int, o *scenario.Override) error {
	what, switches := "switch", topo.Brief(g.Names[g.Hosts:])
	last := g.Nodes() - 1
	number, neighbour := g.PortNames(last, 0, g.Peers()[last][0])
	expected := fmt.Sprintf("%s, or a port such as %s or %s", switches, number, neighbour)
	switch {
	case list == "routing.overrides":
		expected = switches
	case o.OnPort():
		what = "port"
		expected = fmt.Sprintf("SWITCH.portN or SWITCH.to-NEIGHBOUR, such as %s or %s, with switches %s", number, neighbour, switches)
	}
	return yaml.Atf(fmt.Sprintf("%s[%d].match", list, i), "no %s matches %q%s (expected %s)", what, o.Match,
		g.MeantNode(o.Match, g.Hosts, g.Nodes()), expected)
}

func noHostMatch(g *topo.Graph, i int, o *scenario.Override) error {
	return yaml.Atf(fmt.Sprintf("hosts.overrides[%d].match", i), "no host matches %q%s (expected %s)", o.Match,
		g.MeantNode(o.Match, 0, g.Hosts), topo.Brief(g.Names[:g.Hosts]))
}

// OfSwitch changes an error about a key of switch to refer to the override that set the key.
func (l *Layout) OfSwitch(s *Setting, err error) error {
	return relocate(err, "switch", l.Config.Switch.Overrides, s.By)
}

// OfHost changes an error about a key of hosts to refer to the override or transport that set
// the key.
func (l *Layout) OfHost(h *HostSetting, err error) error {
	if h.Name != "" {
		if moved := h.relocate(err, l.Config.Hosts.Transports[h.Name].Keys); moved != nil {
			return moved
		}
	}
	return relocate(err, "hosts", l.Config.Hosts.Overrides, h.By)
}

// relocate changes an error about a key to refer to the last override in by that set the key,
// if there is one.
func relocate(err error, section string, list []scenario.Override, by []int) error {
	e, ok := err.(*yaml.Error)
	if !ok {
		return err
	}
	below, ok := strings.CutPrefix(e.Path, section+".")
	steps, fine := yaml.SplitPath(below)
	if !ok || !fine {
		return err
	}
	for depth := len(steps); depth > 0; depth-- {
		for k := len(by) - 1; k >= 0; k-- {
			if list[by[k]].Keys.Has(steps[:depth]...) {
				return yaml.At(fmt.Sprintf("%s.overrides[%d].%s", section, by[k], below), e.Err)
			}
		}
	}
	return err
}
