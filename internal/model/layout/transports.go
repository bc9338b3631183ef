package layout

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
)

// This file is how flows are carried: the transports of hosts, and telemetry.

// MaxReorder bounds what a receiver keeps out of order.
const MaxReorder = 1 << 22

// TransportNames returns the names of all transports in order.
func TransportNames(c *scenario.Config) []string {
	return slices.Sorted(maps.Keys(c.Hosts.Transports))
}

// vary makes the transports of a group of hosts.
func (h *HostSetting) vary(c *scenario.Config) error {
	names := TransportNames(c)
	h.Way = h.Group * (1 + len(names))
	h.Variants = []*HostSetting{h}
	for i, name := range names {
		v := &HostSetting{Hosts: h.Hosts, By: h.By, Group: h.Group, Name: name, Way: h.Way + 1 + i}
		v.CC.Detach()
		keys := c.Hosts.Transports[name].Keys
		if err := c.Apply(keys, "hosts.transports."+name, &v.Hosts); err != nil {
			return err
		}
		if keys.Has(yaml.Steps("reliability", "timeout")...) && !keys.Has(yaml.Steps("reliability", "max_timeout")...) {
			v.Reliability.MaxTimeout = max(v.Reliability.MaxTimeout, v.Reliability.Timeout)
		}
		h.Variants = append(h.Variants, v)
	}
	for _, v := range h.Variants {
		v.Records = v.wants()
	}
	return nil
}

// Variant returns a transport of a group of hosts by its name.
func (h *HostSetting) Variant(name string) *HostSetting {
	for _, v := range h.Variants {
		if v.Name == name {
			return v
		}
	}
	panic(fmt.Sprintf("scenario: no transport %q", name)) // Validate has looked
}

// relocate moves an error about a key of hosts to the transport that gave the key,
// nil when it did not.
func (h *HostSetting) relocate(err error, keys scenario.Patch) error {
	e, ok := err.(*yaml.Error)
	if !ok {
		return nil
	}
	below, ok := strings.CutPrefix(e.Path, "hosts.")
	list, fine := yaml.SplitPath(below)
	if !ok || !fine {
		return nil
	}
	for depth := len(list); depth > 0; depth-- {
		if keys.Has(list[:depth]...) {
			return yaml.At("hosts.transports."+h.Name+"."+below, e.Err)
		}
	}
	return nil
}

// Transports returns the transports of all groups, by their numbers.
func (s *Settings) Transports() []*HostSetting {
	if s.ways == nil {
		for _, h := range s.OfHosts {
			s.ways = append(s.ways, h.Variants...)
		}
	}
	return s.ways
}

// wants returns what the congestion control of a transport wants switches to
// write; nil: nothing, or it is not valid.
func (h *HostSetting) wants() *telemetry.Spec {
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

// Telemetry returns what switches write; nil: nothing. Transports agree, or Validate
// complains.
func (s *Settings) Telemetry() *telemetry.Spec {
	for _, h := range s.Transports() {
		if h.Records != nil {
			return h.Records
		}
	}
	return nil
}

// HeaderSize returns the bytes of a data packet that are not payload.
func (h *HostSetting) HeaderSize() units.Bytes {
	if h.Records == nil {
		return h.Header
	}
	return h.Header + h.Telemetry.Header
}

// AckSize returns the size of an ACK for a sender that wants records.
func (h *HostSetting) AckSize(records *telemetry.Spec) units.Bytes {
	if records == nil {
		return h.Ack.Size
	}
	return h.Ack.Size + h.Telemetry.Ack
}

// ErrTimeout is what is wrong with a timeout that comes before any ACK can.
var ErrTimeout = errors.New("everything would be sent again and again")

// checkTimeouts compares timeouts with the round trip of the fabric.
func (h *HostSetting) checkTimeouts(rtt units.Time) error {
	r := &h.Reliability
	check := func(key string, t units.Time) error {
		if t >= rtt {
			return nil
		}
		return yaml.Atf("hosts.reliability."+key,
			"%w: %s is less than the round trip of %s in an empty network; allowed: %s or more", ErrTimeout, yaml.Show(t), rtt, rtt)
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

// Transport is how flows are carried, as their sender knows it.
func (l *Layout) Transport(h *HostSetting, rtt units.Time) (dataplane.Transport, error) {
	algorithm, err := cc.Algorithms.Get(h.CC.Name)
	if err != nil {
		return dataplane.Transport{}, yaml.At("hosts.cc.name", err)
	}
	control, err := algorithm.New(h.CC.Params)
	if err != nil {
		return dataplane.Transport{}, h.CC.Wrong("hosts.cc", err)
	}
	r := &h.Reliability
	way := dataplane.Transport{
		Control: control, Payload: h.Payload, Header: h.HeaderSize(), CNP: dataplane.CNPFrame,
		Timeout: r.Timeout, MaxTimeout: r.MaxTimeout,
		Recovery: recoveries[r.Name], MinTimeout: r.MinRTO, LowTimeout: r.RTOLow, LowPackets: uint32(r.Few), Window: uint32(r.Window),
	}
	if h.CNP.Mode == "ack" {
		way.CNP = dataplane.CNPInAck
	}
	if way.Window == 0 {
		way.Window = defaultReorder
		if way.Recovery == dataplane.IRN {
			way.Window = l.bdpPackets(way.Payload+way.Header, rtt)
		}
	}
	return way, nil
}

// bdpPackets is the bandwidth-delay product of the fastest host, in packets,
// rounded up: the cap of IRN's BDP-FC.
func (l *Layout) bdpPackets(packet units.Bytes, rtt units.Time) uint32 {
	most := units.Bytes(0)
	for host := range l.Graph.Hosts {
		most = max(most, l.PortEnds()[host][0].Rate.In(rtt))
	}
	return uint32(min(MaxReorder, max(1, (most+packet-1)/packet)))
}

// answer adds to a transport what the receiving host decides. From is the sender's
// view of it.
func (l *Layout) answer(way dataplane.Transport, from, receiver *HostSetting) dataplane.Transport {
	h := receiver.Variant(from.Name)
	way.AckSize, way.AckEvery = h.AckSize(from.Records), h.Ack.Every
	if mask, ok := l.Masks[h.Ack.Class]; ok {
		way.AckClass = mask.Lowest()
	} else {
		way.AckClass = dataplane.ClassOfData
	}
	way.AckQueue = way.AckClass
	if q := l.Config.Compat.AckQueue; q != 0 && way.AckClass == dataplane.ClassOfData {
		way.AckQueue = uint8(q)
	}
	way.CNPEvery, way.NackEvery = h.CNP.Interval, h.Reliability.NackInterval
	return way
}
