// Package validate checks a decoded scenario: ranges, references between keys, and whether
// schemes, links and buffers fit together. Package fabric validates every scenario with it.
package validate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Limits of single keys. They keep every product in the simulator within 64 bits.
const (
	maxCell     = 4096 * units.Byte
	maxOverhead = 1000 * units.Byte
	maxFlaps    = 1000
)

// Scenario validates a scenario and returns its layout. Errors have the location of the key.
func Scenario(c *scenario.Config) (*layout.Layout, error) { return located(c, true) }

// Fabric validates like Scenario, but does not check Fits.
func Fabric(c *scenario.Config) (*layout.Layout, error) { return located(c, false) }

// Fits returns an error if private segments and headroom exceed the buffer of a switch.
func Fits(l *layout.Layout) error { return l.Config.Locate(fabric{l}.checkBuffers()) }

func located(c *scenario.Config, fits bool) (*layout.Layout, error) {
	l, err := check(c, fits)
	if err != nil {
		return nil, c.Locate(err)
	}
	return l, nil
}

func check(cfg *scenario.Config, fits bool) (*layout.Layout, error) {
	c := checker{cfg}
	g, bad := layout.Graph(cfg)
	if err := yaml.First(c.checkName(), bad, c.checkClasses()); err != nil {
		return nil, err
	}
	err := yaml.First(c.checkSwitch(), c.checkScheduler(), c.checkECN(), c.checkHosts(), c.checkTransports(), c.checkRun(),
		c.checkOutput(), c.checkCompat())
	if err != nil {
		return nil, err
	}
	l, err := layout.New(cfg, g)
	if err != nil {
		return nil, err
	}
	f := fabric{l}
	if err := f.checkSettings(); err != nil {
		return nil, err
	}
	err = yaml.First(
		f.checkSchemes(), f.checkPFC(), f.checkFlow(), f.checkChips(), f.checkDivided(), yaml.When(fits, f.checkBuffers()), f.checkDeadlock(), f.checkLinks(),
		f.checkRouting(), f.checkReceive(),
	)
	if err != nil {
		return nil, err
	}
	return l, yaml.First(f.checkFaults(), f.checkWorkloads(), f.checkProbes())
}

// checker has the checks that need no topology.
type checker struct{ *scenario.Config }

// maxTick is the maximum of compat.tick; simulators round to nanoseconds.
const maxTick = units.Microsecond

func (c checker) checkCompat() error {
	return yaml.First(
		yaml.Within("compat.tick", c.Compat.Tick, 0, maxTick),
		yaml.Within("compat.base_rtt", c.Compat.BaseRTT, 0, units.Second),
		yaml.Within("compat.ack_queue", c.Compat.AckQueue, 0, mmu.Classes-1),
		yaml.Within("compat.pfc_size", c.Compat.PFCSize, 0, 1500),
		yaml.When(c.Compat.NIC != "", yaml.OneOf("compat.nic", c.Compat.NIC, "lists", "scan")),
		yaml.When(c.Compat.Ties != "", yaml.OneOf("compat.ties", c.Compat.Ties, "key", "insertion")),
	)
}

// printable reports whether a name can be used in tables and files.
func printable(s string) bool {
	if !utf8.ValidString(s) || strings.TrimSpace(s) != s || len(s) > 200 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func (c checker) checkName() error {
	if c.Name == "" || !printable(c.Name) || strings.ContainsAny(c.Name, `/\`) { // the folder of results has this name
		return yaml.Atf("name", "%q is not a valid name (expected printable text without slashes or surrounding spaces)", c.Name)
	}
	return nil
}

func (c checker) checkClasses() error {
	if len(c.Classes) == 0 {
		return yaml.Atf("classes", "there are no classes (expected at least one group)")
	}
	var owner [mmu.Classes]string
	for _, name := range c.GroupNames() {
		g := c.Classes[name]
		path := "classes." + name
		if !yaml.Name(name) {
			return yaml.Atf(path, "%q is not a valid group name (expected a letter, then letters, digits, - and _)", name)
		}
		if err := yaml.Words(path, reflect.ValueOf(g)); err != nil {
			return err
		}
		if len(g.IDs) == 0 {
			return yaml.Atf(path+".ids", "the group is empty (expected ids 0 to %d)", mmu.Classes-1)
		}
		for i, id := range g.IDs {
			at := fmt.Sprintf("%s.ids[%d]", path, i)
			if err := yaml.Within(at, id, 0, mmu.Classes-1); err != nil {
				return err
			}
			if owner[id] != "" {
				return yaml.Atf(at, "class %d is also in group %s (expected each class once)", id, owner[id])
			}
			owner[id] = name
		}
	}
	return nil
}

// group checks the name of a group of classes.
func (c checker) group(path, name string) error { return yaml.OneOf(path, name, c.GroupNames()...) }

// sameClass is the value of hosts.ack.class for ACKs in the class of their data.
const sameClass = "same"

func (c checker) ackClass(path, name string) error {
	return yaml.OneOf(path, name, append(c.GroupNames(), sameClass)...)
}

func (c checker) checkSwitch() error {
	s := &c.Switch
	buf, p := &s.Buffer, &s.PFC
	return yaml.First(
		yaml.Words("switch", reflect.ValueOf(*s)),
		yaml.Within("switch.ports", s.Ports, 0, sim.MaxPorts),
		yaml.Within("switch.buffer.size", buf.Size, 1, maxBuffer(s)),
		yaml.Within("switch.buffer.private_per_queue", buf.PrivatePerQueue, 0, mmu.MaxBuffer),
		yaml.Within("switch.buffer.cell", buf.Cell, 1, maxCell),
		yaml.Within("switch.buffer.per_packet", buf.PerPacket, 0, maxCell),
		yaml.Within("switch.buffer.partitions", buf.Partitions, 0, maxParts),
		yaml.Within("switch.buffer.headroom_pool", buf.HeadroomPool, 0, maxBuffer(s)),
		yaml.Within("switch.pfc.quanta", p.Quanta, 1, 65535),
		yaml.Within("switch.pfc.processing", p.Processing, 0, topo.MaxDelay),
		yaml.Within("switch.latency", s.Latency, 0, topo.MaxDelay),
		yaml.Within("switch.wire_overhead", s.WireOverhead, 0, maxOverhead),
		yaml.Within("switch.mtu", s.MTU, 0, layout.MaxFrame),
	)
}

func (c checker) checkScheduler() error {
	s := &c.Switch.Scheduler
	const path = "switch.scheduler"
	_, masks := layout.Classes(c.Config)
	covered := packet.ClassMask(0)
	for _, list := range []struct {
		name   string
		groups []string
	}{{"strict", s.Strict}, {"groups", s.Groups}} {
		for i, g := range list.groups {
			at := fmt.Sprintf("%s.%s[%d]", path, list.name, i)
			if err := c.group(at, g); err != nil {
				return err
			}
			if covered&masks[g] != 0 {
				return yaml.Atf(at, "group %s is listed twice (expected each group once)", g)
			}
			covered |= masks[g]
		}
	}
	for _, name := range c.GroupNames() {
		if covered&masks[name] == 0 && len(s.Groups) > 0 {
			return yaml.Atf(path, "group %s is not scheduled (expected every group in strict or groups)", name)
		}
	}
	return nil
}

func (c checker) checkECN() error {
	e := &c.Switch.ECN
	for i, g := range e.Classes {
		if err := c.group(fmt.Sprintf("switch.ecn.classes[%d]", i), g); err != nil {
			return err
		}
	}
	marked := e.Classes
	if len(marked) == 0 {
		_, marked = c.Groups()
	}
	for _, g := range slices.Sorted(maps.Keys(e.ByClass)) {
		at := "switch.ecn.by_class." + g
		if err := c.group(at, g); err != nil {
			return err
		}
		if !slices.Contains(marked, g) {
			return yaml.Atf(at, "group %s is not marked (allowed: %s)", g, strings.Join(marked, ", "))
		}
	}
	return nil
}

func (c checker) checkHosts() error {
	h := &c.Hosts
	err := yaml.First(
		yaml.Within("hosts.payload", h.Payload, 1, layout.MaxFrame),
		yaml.Within("hosts.header", h.Header, 1, layout.MaxFrame),
	)
	if err != nil {
		return err
	}
	if frame := h.Payload + h.Header; frame > layout.MaxFrame {
		return yaml.Or(yaml.Atf("hosts.payload", "payload and header add up to %d bytes (expected at most %d)", int64(frame),
			int64(layout.MaxFrame)), "hosts.header")
	}
	r := &h.Reliability
	return yaml.First(
		yaml.Within("hosts.ack.every", h.Ack.Every, 1, 65535),
		yaml.Within("hosts.ack.size", h.Ack.Size, 1, layout.MaxFrame),
		c.ackClass("hosts.ack.class", h.Ack.Class),
		yaml.Words("hosts", reflect.ValueOf(*h)),
		yaml.Positive("hosts.cnp.interval", h.CNP.Interval),
		yaml.Within("hosts.unscheduled", h.Unscheduled, 0, layout.MaxFlow),
		yaml.Positive("hosts.reliability.timeout", r.Timeout),
		yaml.Positive("hosts.reliability.min_rto", r.MinRTO),
		yaml.Positive("hosts.reliability.rto_low", r.RTOLow),
		yaml.Within("hosts.reliability.few", r.Few, 0, 1<<20),
		yaml.Within("hosts.reliability.window", r.Window, 0, layout.MaxReorder),
		yaml.Within("hosts.telemetry.header", h.Telemetry.Header, 0, maxOverhead),
		yaml.Within("hosts.telemetry.ack", h.Telemetry.Ack, 0, maxOverhead),
		yaml.Within("hosts.reliability.max_timeout", r.MaxTimeout, r.Timeout, units.MaxTime),
		yaml.Span("hosts.reliability.nack_interval", r.NackInterval),
	)
}

func (c checker) checkRun() error {
	r := &c.Run
	err := yaml.First(
		yaml.Positive("run.arrivals", r.Arrivals),
		yaml.Span("run.measure.from", r.Measure.From),
		yaml.Span("run.measure.to", r.Measure.To),
		yaml.Words("run", reflect.ValueOf(*r)),
		yaml.Positive("run.stop.at_most", r.Stop.AtMost),
	)
	switch {
	case err != nil:
		return err
	case r.Arrivals > r.Stop.AtMost:
		return yaml.Or(yaml.Atf("run.arrivals",
			"flows arrive until %s, but the run ends at %s (expected at most run.stop.at_most)", r.Arrivals, r.Stop.AtMost), "run.stop.at_most")
	case r.Measure.To != 0 && r.Measure.From >= r.Measure.To:
		return yaml.Atf("run.measure.from", "from must be before to: from %s to %s", r.Measure.From, r.Measure.To)
	case r.Measure.From >= r.Arrivals:
		return yaml.Atf("run.measure.from", "no flow starts at or after %s (expected less than run.arrivals, %s)", r.Measure.From, r.Arrivals)
	}
	return nil
}

// maxBuckets is the maximum number of size buckets.
const maxBuckets = 100

func (c checker) checkOutput() error {
	o := &c.Output
	if o.FlowTrace {
		if err := c.Traceable(); err != nil {
			return err
		}
	}
	if err := yaml.OneOf("output.group_by", o.GroupBy, "workload", "class", "none"); err != nil {
		return err
	}
	if len(o.SizeBuckets) > maxBuckets {
		return yaml.Atf("output.size_buckets", "there are %d buckets (expected at most %d)", len(o.SizeBuckets), maxBuckets)
	}
	for i, b := range o.SizeBuckets {
		path := fmt.Sprintf("output.size_buckets[%d]", i)
		if err := yaml.Within(path, b, 1, layout.MaxFlow); err != nil {
			return err
		}
		if i > 0 && b <= o.SizeBuckets[i-1] {
			return yaml.Atf(path, "%s is not larger than %s (expected increasing sizes)", b, o.SizeBuckets[i-1])
		}
	}
	return nil
}

// checkTransports checks the names and keys of transports.
func (c checker) checkTransports() error {
	for _, name := range layout.TransportNames(c.Config) {
		at := "hosts.transports." + name
		if !yaml.Name(name) {
			return yaml.Atf(at, "%q is not a valid name of a transport (expected a letter, then letters, digits, - and _)", name)
		}
		t := reflect.TypeFor[scenario.Hosts]()
		allowed := yaml.KeysWithin(t, "transport")
		for _, k := range c.Hosts.Transports[name].Keys.Keys() {
			switch {
			case slices.Contains(allowed, k):
			case slices.Contains(yaml.KeyNames(t), k):
				return yaml.Atf(at+"."+k, "%s cannot be set for a transport (allowed: %s)", k, strings.Join(allowed, ", "))
			default:
				return &yaml.Error{Path: at, Err: registry.Unknown("key", k, allowed), Key: k}
			}
		}
	}
	return nil
}

// checkTransport checks that a transport exists. An empty name is the default transport.
func (c checker) checkTransport(path, name string) error {
	if name == "" {
		return nil
	}
	names := layout.TransportNames(c.Config)
	if len(names) == 0 {
		return yaml.Atf(path, "there is no transport %q (expected a name in hosts.transports)", name)
	}
	return yaml.OneOf(path, name, names...)
}
