package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Bounds of what can be simulated. They keep every product of the model within
// 64 bits.
const (
	minRate     = topo.MinRate
	maxRate     = topo.MaxRate
	maxDelay    = topo.MaxDelay
	maxFrame    = 65535 * units.Byte
	maxCell     = 4096 * units.Byte
	maxOverhead = 1000 * units.Byte
	maxQuantum  = units.GiB
	maxFlow     = 100 * units.GB
	maxFlows    = 50_000_000
	maxShare    = 10.0
	maxFlaps    = 1000
)

// Validate checks a scenario beyond what decoding can: ranges, names that refer
// to each other, what fits into what.
func Validate(c *Config) error { return c.validate(true) }

// validate is Validate; without fits, what is set aside may be more than there is.
func (c *Config) validate(fits bool) error {
	err := first(c.checkName(), c.checkTopology(), c.checkClasses())
	if err == nil {
		err = first(c.checkSwitch(), c.checkScheduler(), c.checkECN(), c.checkHosts(), c.checkTransports(), c.checkRun(), c.checkOutput(), c.checkCompat())
	}
	if err == nil {
		// From here on the fabric can be generated.
		b := newBuilder(c, BuildOptions{})
		if err = b.checkSettings(); err == nil {
			err = first(b.checkSchemes(), b.checkPFC(), b.checkChips(), when(fits, b.checkBuffers()), b.checkDeadlock(), b.checkLinks(), b.checkRouting(), b.checkReceive())
		}
		if err == nil {
			err = first(b.checkFaults(), b.checkWorkloads(), b.checkProbes())
		}
	}
	return c.Locate(err)
}

// maxTick is more than any simulator rounds times by.
const maxTick = units.Microsecond

func (c *Config) checkCompat() error {
	return first(
		within("compat.tick", c.Compat.Tick, 0, maxTick), within("compat.base_rtt", c.Compat.BaseRTT, 0, units.Second), within("compat.ack_queue", c.Compat.AckQueue, 0, mmu.Classes-1),
		within("compat.pfc_size", c.Compat.PFCSize, 0, 1500), when(c.Compat.NIC != "", oneOf("compat.nic", c.Compat.NIC, "lists", "scan")),
		when(c.Compat.Ties != "", oneOf("compat.ties", c.Compat.Ties, "key", "insertion")),
	)
}

// within checks a range, both ends allowed.
func within[T cmp.Ordered](path string, v, lo, hi T) error {
	switch {
	case v < lo:
		return atf(path, "%s is too small; allowed: %s to %s", show(v), show(lo), show(hi))
	case v > hi:
		return atf(path, "%s is too large; allowed: %s to %s", show(v), show(lo), show(hi))
	}
	return nil
}

// show prints a bound as one would write it.
func show(v any) string {
	switch t := v.(type) {
	case units.Time:
		if t == 0 || t == units.MaxTime {
			return strconv.FormatInt(int64(t/units.Second), 10) + "s"
		}
	case units.Bytes:
		if t%units.KB != 0 && t%units.KiB != 0 {
			return strconv.FormatInt(int64(t), 10) + "B"
		}
	}
	return fmt.Sprint(v)
}

// span checks a time that may be zero.
func span(path string, t units.Time) error { return within(path, t, 0, units.MaxTime) }

// positive checks a time that must not be zero.
func positive(path string, t units.Time) error {
	if t > 0 && t <= units.MaxTime {
		return nil
	}
	size := "small"
	if t > 0 {
		size = "large"
	}
	return atf(path, "%s is too %s; allowed: more than 0s, at most %s", show(t), size, show(units.MaxTime))
}

// oneOf checks a word.
func oneOf(path, word string, allowed ...string) error {
	for _, a := range allowed {
		if word == a {
			return nil
		}
	}
	return atf(path, "%q is unknown%s; allowed: %s", word, registry.DidYouMean(word, allowed), strings.Join(allowed, ", "))
}

// when runs a check that matters under a condition only.
func when(condition bool, check error) error {
	if condition {
		return check
	}
	return nil
}

// printable reports whether a name can stand in a table and in a file.
func printable(s string) bool {
	if !utf8.ValidString(s) || strings.TrimSpace(s) != s || len(s) > 200 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func (c *Config) checkName() error {
	if c.Name == "" || !printable(c.Name) || strings.ContainsAny(c.Name, `/\`) { // results go to a folder of that name
		return atf("name", "%q is not a name; allowed: printable text without slashes and without spaces around it", c.Name)
	}
	return nil
}

func (c *Config) checkClasses() error {
	if len(c.Classes) == 0 {
		return atf("classes", "there are none; allowed: at least one group")
	}
	var owner [mmu.Classes]string
	for _, name := range c.groupNames() {
		g := c.Classes[name]
		path := "classes." + name
		if !isGroupName(name) {
			return atf(path, "%q cannot name a group; allowed: a letter, then letters, digits, - and _", name)
		}
		if err := checkWords(path, reflect.ValueOf(g)); err != nil {
			return err
		}
		if len(g.IDs) == 0 {
			return atf(path+".ids", "the group is empty; allowed: ids 0 to %d", mmu.Classes-1)
		}
		for i, id := range g.IDs {
			at := fmt.Sprintf("%s.ids[%d]", path, i)
			if err := within(at, id, 0, mmu.Classes-1); err != nil {
				return err
			}
			if owner[id] != "" {
				return atf(at, "class %d is in group %s already; allowed: each class once", id, owner[id])
			}
			owner[id] = name
		}
	}
	return nil
}

func isGroupName(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '-' || r == '_')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// group checks the name of a group of classes.
func (c *Config) group(path, name string) error { return oneOf(path, name, c.groupNames()...) }

// sameClass is the class of ACKs that travel in the class of their data.
const sameClass = "same"

func (c *Config) ackClass(path, name string) error {
	return oneOf(path, name, append(c.groupNames(), sameClass)...)
}

func (c *Config) checkSwitch() error {
	s := &c.Switch
	b, p := &s.Buffer, &s.PFC
	return first(
		checkWords("switch", reflect.ValueOf(*s)),
		within("switch.ports", s.Ports, 0, sim.MaxPorts),
		within("switch.buffer.size", b.Size, 1, mmu.MaxBuffer),
		within("switch.buffer.private_per_queue", b.PrivatePerQueue, 0, mmu.MaxBuffer),
		within("switch.buffer.cell", b.Cell, 1, maxCell),
		within("switch.pfc.quanta", p.Quanta, 1, 65535),
		within("switch.pfc.processing", p.Processing, 0, maxDelay),
		within("switch.latency", s.Latency, 0, maxDelay),
		within("switch.wire_overhead", s.WireOverhead, 0, maxOverhead),
		within("switch.mtu", s.MTU, 0, maxFrame),
	)
}

func (c *Config) checkScheduler() error {
	s := &c.Switch.Scheduler
	const path = "switch.scheduler"
	if len(s.DWRR) > 0 && len(s.RR) > 0 {
		return atf(path+".rr", "a port serves its groups by dwrr or by rr; allowed: one of the two")
	}
	_, masks := c.classes()
	covered, weighted := uint8(0), uint8(0)
	for _, list := range []struct {
		name   string
		groups []string
	}{{"strict", s.Strict}, {"dwrr", s.DWRR}, {"rr", s.RR}} {
		for i, g := range list.groups {
			at := fmt.Sprintf("%s.%s[%d]", path, list.name, i)
			if err := c.group(at, g); err != nil {
				return err
			}
			if covered&masks[g] != 0 {
				return atf(at, "group %s is scheduled already; allowed: each group once", g)
			}
			covered |= masks[g]
			if list.name == "dwrr" {
				weighted |= masks[g]
			}
		}
	}
	for _, name := range c.groupNames() {
		if covered&masks[name] == 0 {
			return atf(path, "group %s is not scheduled; allowed: every group in strict, dwrr or rr", name)
		}
	}
	for id := range mmu.Classes {
		if q, ok := s.Quanta[id]; ok {
			at := fmt.Sprintf("%s.quanta.%d", path, id)
			if weighted&(1<<id) == 0 {
				return atf(at, "class %d is not served by dwrr; allowed: ids of the groups in dwrr", id)
			}
			if err := within(at, q, 1, maxQuantum); err != nil {
				return err
			}
		}
	}
	for id := range s.Quanta {
		if id < 0 || id >= mmu.Classes {
			return atf(path+".quanta", "there is a class out of range; allowed: 0 to %d", mmu.Classes-1)
		}
	}
	return when(len(s.DWRR) > 0, within(path+".quantum", s.Quantum, 1, maxQuantum))
}

func (c *Config) checkECN() error {
	e := &c.Switch.ECN
	for i, g := range e.Classes {
		if err := c.group(fmt.Sprintf("switch.ecn.classes[%d]", i), g); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) checkHosts() error {
	h := &c.Hosts
	err := first(
		within("hosts.payload", h.Payload, 1, maxFrame),
		within("hosts.header", h.Header, 1, maxFrame),
	)
	if err != nil {
		return err
	}
	if frame := h.Payload + h.Header; frame > maxFrame {
		return atf("hosts.payload", "with its header a packet has %d bytes; allowed: at most %d", int64(frame), int64(maxFrame))
	}
	r := &h.Reliability
	return first(
		within("hosts.ack.every", h.Ack.Every, 1, 65535),
		within("hosts.ack.size", h.Ack.Size, 1, maxFrame),
		c.ackClass("hosts.ack.class", h.Ack.Class),
		checkWords("hosts", reflect.ValueOf(*h)),
		positive("hosts.cnp.interval", h.CNP.Interval),
		positive("hosts.reliability.timeout", r.Timeout),
		positive("hosts.reliability.min_rto", r.MinRTO),
		positive("hosts.reliability.rto_low", r.RTOLow),
		within("hosts.reliability.few", r.Few, 0, 1<<20),
		within("hosts.reliability.window", r.Window, 0, maxReorder),
		within("hosts.telemetry.header", h.Telemetry.Header, 0, maxOverhead),
		within("hosts.telemetry.ack", h.Telemetry.Ack, 0, maxOverhead),
		within("hosts.reliability.max_timeout", r.MaxTimeout, r.Timeout, units.MaxTime),
		span("hosts.reliability.nack_interval", r.NackInterval),
	)
}

func (c *Config) checkRun() error {
	r := &c.Run
	err := first(
		positive("run.arrivals", r.Arrivals),
		span("run.measure.from", r.Measure.From),
		span("run.measure.to", r.Measure.To),
		checkWords("run", reflect.ValueOf(*r)),
		positive("run.stop.at_most", r.Stop.AtMost),
	)
	switch {
	case err != nil:
		return err
	case r.Arrivals > r.Stop.AtMost:
		return atf("run.arrivals", "flows arrive for %s but the run ends after %s; allowed: at most run.stop.at_most", r.Arrivals, r.Stop.AtMost)
	case r.Measure.To != 0 && r.Measure.From >= r.Measure.To:
		return atf("run.measure.from", "from %s to %s is no time; allowed: from before to", r.Measure.From, r.Measure.To)
	case r.Measure.From >= r.Arrivals:
		return atf("run.measure.from", "no flow starts at or after %s; allowed: less than run.arrivals, %s", r.Measure.From, r.Arrivals)
	}
	return nil
}

// maxBuckets bounds the statistics that are kept per group of flows.
const maxBuckets = 100

func (c *Config) checkOutput() error {
	o := &c.Output
	if o.FlowTrace {
		if err := c.Traceable(); err != nil {
			return err
		}
	}
	if err := oneOf("output.group_by", o.GroupBy, "workload", "class", "none"); err != nil {
		return err
	}
	if len(o.SizeBuckets) > maxBuckets {
		return atf("output.size_buckets", "there are %d buckets; allowed: at most %d", len(o.SizeBuckets), maxBuckets)
	}
	for i, b := range o.SizeBuckets {
		path := fmt.Sprintf("output.size_buckets[%d]", i)
		if err := within(path, b, 1, maxFlow); err != nil {
			return err
		}
		if i > 0 && b <= o.SizeBuckets[i-1] {
			return atf(path, "%s does not come after %s; allowed: rising sizes", b, o.SizeBuckets[i-1])
		}
	}
	return nil
}
