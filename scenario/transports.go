package scenario

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/cc"
)

// This file is how flows are carried: the transports of hosts, and telemetry.

// Variant is a transport: what is different from the hosts' own.
type Variant struct{ Keys Patch }

// decodeEntries reads `{cc: {name: cubic}, payload: 1460B}`.
func (v *Variant) decodeEntries(d *decoder, entries []entry, at string) error {
	for _, e := range entries {
		if err := v.Keys.add(d, e, at); err != nil {
			return err
		}
	}
	return nil
}

// part implements selfDecoder: what a variant changes is not known here.
func (v *Variant) part(string) (reflect.Value, bool) { return reflect.Value{}, false }

// perTransport are the keys of hosts that a transport may change.
var perTransport = []string{"payload", "header", "ack", "cnp", "reliability", "cc", "telemetry"}

// maxReorder bounds what a receiver keeps out of order.
const maxReorder = 1 << 22

// transportNames returns the names of all transports in order.
func (c *Config) transportNames() []string { return slices.Sorted(maps.Keys(c.Hosts.Transports)) }

// checkTransports checks what needs no fabric.
func (c *Config) checkTransports() error {
	for _, name := range c.transportNames() {
		at := "hosts.transports." + name
		if !isGroupName(name) {
			return atf(at, "%q cannot name a transport; allowed: a letter, then letters, digits, - and _", name)
		}
		for _, k := range c.Hosts.Transports[name].Keys {
			if slices.Contains(perTransport, k.Key) {
				continue
			}
			if slices.Contains(keyNames(reflect.TypeFor[Hosts]()), k.Key) {
				return atf(at+"."+k.Key, "%s cannot be set for a transport; allowed: %s", k.Key, strings.Join(perTransport, ", "))
			}
			return &Error{at, registry.Unknown("key", k.Key, perTransport), k.Key}
		}
	}
	return nil
}

// checkTransport checks the name of a transport; none is the hosts' own.
func (c *Config) checkTransport(path, name string) error {
	if name == "" {
		return nil
	}
	names := c.transportNames()
	if len(names) == 0 {
		return atf(path, "there is no transport %q; allowed: names in hosts.transports", name)
	}
	return oneOf(path, name, names...)
}

// vary makes the transports of a group of hosts.
func (h *hostSetting) vary(c *Config, p *patcher) error {
	names := c.transportNames()
	h.way = h.group * (1 + len(names))
	h.variants = []*hostSetting{h}
	for i, name := range names {
		v := &hostSetting{Hosts: h.Hosts, by: h.by, group: h.group, name: name, way: h.way + 1 + i}
		v.CC.detach()
		keys := c.Hosts.Transports[name].Keys
		if err := p.apply(keys, "hosts.transports."+name, reflect.ValueOf(&v.Hosts).Elem()); err != nil {
			return err
		}
		if keys.has(steps("reliability", "timeout")) && !keys.has(steps("reliability", "max_timeout")) {
			v.Reliability.MaxTimeout = max(v.Reliability.MaxTimeout, v.Reliability.Timeout)
		}
		h.variants = append(h.variants, v)
	}
	for _, v := range h.variants {
		v.records = v.wants()
	}
	return nil
}

// variant returns a transport of a group of hosts by its name.
func (h *hostSetting) variant(name string) *hostSetting {
	for _, v := range h.variants {
		if v.name == name {
			return v
		}
	}
	panic(fmt.Sprintf("scenario: no transport %q", name)) // Validate has looked
}

// relocate moves an error about a key of hosts to the transport that gave the key,
// nil when it did not.
func (h *hostSetting) relocate(err error, keys Patch) error {
	e, ok := err.(*Error)
	if !ok {
		return nil
	}
	below, ok := strings.CutPrefix(e.Path, "hosts.")
	list, fine := splitPath(below)
	if !ok || !fine {
		return nil
	}
	for depth := len(list); depth > 0; depth-- {
		if keys.has(list[:depth]) {
			return at("hosts.transports."+h.name+"."+below, e.Err)
		}
	}
	return nil
}

// transports returns the transports of all groups, by their numbers.
func (s *settings) transports() []*hostSetting {
	if s.all == nil {
		for _, h := range s.ofHosts {
			s.all = append(s.all, h.variants...)
		}
	}
	return s.all
}

// wants returns what the congestion control of a transport wants switches to
// write; nil: nothing, or it is not valid.
func (h *hostSetting) wants() *telemetry.Spec {
	algorithm, err := cc.Algorithms.Get(h.CC.Name)
	if err != nil {
		return nil
	}
	control, err := algorithm.New(h.CC.Params)
	if err != nil {
		return nil
	}
	reader, ok := control().(cc.Telemetry)
	if !ok {
		return nil
	}
	spec := reader.NeedsTelemetry()
	return &spec
}

// records returns what switches write; nil: nothing. Transports agree, or Validate
// complains.
func (s *settings) records() *telemetry.Spec {
	for _, h := range s.transports() {
		if h.records != nil {
			return h.records
		}
	}
	return nil
}

// header returns the bytes of a data packet that are not payload.
func (h *hostSetting) header() units.Bytes {
	if h.records == nil {
		return h.Header
	}
	return h.Header + h.Telemetry.Header
}

// ackSize returns the size of an ACK for a sender that wants records.
func (h *hostSetting) ackSize(records *telemetry.Spec) units.Bytes {
	if records == nil {
		return h.Ack.Size
	}
	return h.Ack.Size + h.Telemetry.Ack
}

// checkTelemetry checks that switches can write what transports want to read.
func (b *builder) checkTelemetry() error {
	spec := b.set.records()
	if spec == nil {
		return nil
	}
	for _, h := range b.set.transports() {
		if h.records != nil && *h.records != *spec {
			return b.ofHost(h, atf("hosts.cc", "%s reads telemetry in format %s of bytes %s, but others read format %s of bytes %s; allowed: one kind of records in a fabric", h.CC.Name, h.records.Format, h.records.Counter, spec.Format, spec.Counter))
		}
	}
	for _, h := range b.set.transports() {
		if frame := max(h.Payload+h.header(), h.ackSize(spec)); frame > maxFrame {
			return b.ofHost(h, atf("hosts.telemetry", "with room for telemetry a packet has %d bytes; allowed: at most %d", int64(frame), int64(maxFrame)))
		}
	}
	for _, l := range b.graph.Links {
		if l.B >= b.graph.Hosts || l.A >= b.graph.Hosts {
			if err := spec.Format.CheckRate(l.Rate); err != nil {
				return atf("hosts.cc", "link %s-%s: %w", b.graph.Names[l.A], b.graph.Names[l.B], err)
			}
		}
	}
	for _, src := range [2]int{0, b.graph.Hosts - 1} {
		for dst := range b.graph.Hosts {
			if dst != src {
				if n := len(b.path(src, dst)) - 1; n > telemetry.MaxHops {
					return atf("hosts.cc", "from %s to %s there are %d switches; allowed: at most %d with congestion control that reads telemetry", b.graph.Names[src], b.graph.Names[dst], n, telemetry.MaxHops)
				}
			}
		}
	}
	for i, p := range b.cfg.Routing.Pinned {
		if len(p.Via) > telemetry.MaxHops {
			return atf(fmt.Sprintf("routing.pinned[%d].via", i), "there are %d switches; allowed: at most %d with congestion control that reads telemetry", len(p.Via), telemetry.MaxHops)
		}
	}
	return nil
}

// errTimeout is what is wrong with a timeout that comes before any ACK can.
var errTimeout = errors.New("everything would be sent again and again")

// checkTimeouts compares timeouts with the round trip of the fabric.
func (h *hostSetting) checkTimeouts(rtt units.Time) error {
	r := &h.Reliability
	check := func(key string, t units.Time) error {
		if t >= rtt {
			return nil
		}
		return atf("hosts.reliability."+key, "%w: %s is less than the round trip of %s in an empty network; allowed: %s or more", errTimeout, show(t), rtt, rtt)
	}
	if r.Name == "irn" {
		if err := check("rto_low", r.RTOLow); err != nil {
			return err
		}
	}
	return check("timeout", r.Timeout)
}

var recoveries = map[string]dataplane.Recovery{"go-back-n": dataplane.GoBackN, "sack": dataplane.SACK, "irn": dataplane.IRN}

// defaultReorder is the window of TCP in packets, as far as the receiver goes.
const defaultReorder = 16384

// transport is how flows are carried, as their sender knows it.
func (b *builder) transport(h *hostSetting, rtt units.Time) (dataplane.Transport, error) {
	algorithm, err := cc.Algorithms.Get(h.CC.Name)
	if err != nil {
		return dataplane.Transport{}, at("hosts.cc.name", err)
	}
	control, err := algorithm.New(h.CC.Params)
	if err != nil {
		return dataplane.Transport{}, h.CC.wrong("hosts.cc", err)
	}
	r := &h.Reliability
	way := dataplane.Transport{
		Control: control, Payload: h.Payload, Header: h.header(), CNP: dataplane.CNPFrame,
		Timeout: r.Timeout, MaxTimeout: r.MaxTimeout,
		Recovery: recoveries[r.Name], MinTimeout: r.MinRTO, LowTimeout: r.RTOLow, LowPackets: uint32(r.Few), Window: uint32(r.Window),
	}
	if h.CNP.Mode == "ack" {
		way.CNP = dataplane.CNPInAck
	}
	if way.Window == 0 {
		way.Window = defaultReorder
		if way.Recovery == dataplane.IRN {
			way.Window = b.bdpPackets(way.Payload+way.Header, rtt)
		}
	}
	return way, nil
}

// bdpPackets is the bandwidth-delay product of the fastest host, in packets,
// rounded up: the cap of IRN's BDP-FC.
func (b *builder) bdpPackets(packet units.Bytes, rtt units.Time) uint32 {
	most := units.Bytes(0)
	for host := range b.graph.Hosts {
		most = max(most, b.portEnds()[host][0].rate.In(rtt))
	}
	return uint32(min(maxReorder, max(1, (most+packet-1)/packet)))
}

// answer adds to a transport what the receiving host decides. From is the sender's
// view of it.
func (b *builder) answer(way dataplane.Transport, from, receiver *hostSetting) dataplane.Transport {
	h := receiver.variant(from.name)
	way.AckSize, way.AckEvery = h.ackSize(from.records), h.Ack.Every
	if mask, ok := b.masks[h.Ack.Class]; ok {
		way.AckClass = uint8(lowestID(mask))
	} else {
		way.AckClass = dataplane.ClassOfData
	}
	way.AckQueue = way.AckClass
	if q := b.cfg.Compat.AckQueue; q != 0 && way.AckClass == dataplane.ClassOfData {
		way.AckQueue = uint8(q)
	}
	way.CNPEvery, way.NackEvery = h.CNP.Interval, h.Reliability.NackInterval
	return way
}
