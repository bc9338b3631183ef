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

// MaxReorder is the maximum number of packets that a receiver keeps out of order.
const MaxReorder = 1 << 22

// TransportNames returns the names of all transports, sorted.
func TransportNames(c *scenario.Config) []string {
	return slices.Sorted(maps.Keys(c.Hosts.Transports))
}

// vary fills in the transports of a group of hosts.
func (h *HostSetting) vary(c *scenario.Config) error {
	names := TransportNames(c)
	h.Number = h.Group * (1 + len(names))
	h.Variants = []*HostSetting{h}
	for i, name := range names {
		v := &HostSetting{Hosts: h.Hosts, By: h.By, Group: h.Group, Name: name, Number: h.Number + 1 + i}
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
	panic(fmt.Sprintf("layout: no transport %q", name)) // the names are validated
}

// relocate changes an error about a key of hosts to refer to the transport that set the key.
// It returns nil if the transport did not.
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

// Transports returns the transports of all groups, by Number.
func (s *Settings) Transports() []*HostSetting {
	if s.transports == nil {
		for _, h := range s.OfHosts {
			s.transports = append(s.transports, h.Variants...)
		}
	}
	return s.transports
}

// wants returns the telemetry that the congestion control of a transport reads, or nil.
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

// Telemetry returns the telemetry that switches write, or nil. All transports use the same; see
// package validate.
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

// AckSize returns the size of an ACK to a sender that reads the given telemetry.
func (h *HostSetting) AckSize(records *telemetry.Spec) units.Bytes {
	if records == nil {
		return h.Ack.Size
	}
	return h.Ack.Size + h.Telemetry.Ack
}

// ErrTimeout is the error for a retransmission timeout that expires before an ACK can arrive.
var ErrTimeout = errors.New("timeout is shorter than the round trip")

// checkTimeouts compares the timeouts with the base RTT.
func (h *HostSetting) checkTimeouts(rtt units.Time) error {
	r := &h.Reliability
	check := func(key string, t units.Time) error {
		if t >= rtt {
			return nil
		}
		return yaml.Atf("hosts.reliability."+key,
			"%w: %s (expected at least %s, the round trip in an empty network)", ErrTimeout, yaml.Show(t), rtt)
	}
	if r.Name == "irn" {
		if err := check("rto_low", r.RTOLow); err != nil {
			return err
		}
	}
	return check("timeout", r.Timeout)
}

var recoveries = map[string]dataplane.Recovery{"go-back-n": dataplane.GoBackN, "sack": dataplane.SACK, "irn": dataplane.IRN}

// defaultReorder is the default receive window of sack, in packets.
const defaultReorder = 16384

// Transport returns the sender's part of a transport. The receiver's part is added later.
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
	t := dataplane.Transport{
		Control: control, Payload: h.Payload, Header: h.HeaderSize(), First: h.Unscheduled, CNP: dataplane.CNPFrame,
		Timeout: r.Timeout, MaxTimeout: r.MaxTimeout,
		Recovery: recoveries[r.Name], MinTimeout: r.MinRTO, LowTimeout: r.RTOLow, LowPackets: uint32(r.Few), Window: uint32(r.Window),
	}
	if h.CNP.Mode == "ack" {
		t.CNP = dataplane.CNPInAck
	}
	if t.Window == 0 {
		t.Window = defaultReorder
		if t.Recovery == dataplane.IRN {
			t.Window = l.bdpPackets(t.Payload+t.Header, rtt)
		}
	}
	return t, nil
}

// bdpPackets returns the bandwidth-delay product of the fastest host in packets, rounded up:
// the window of IRN's BDP-FC.
func (l *Layout) bdpPackets(packet units.Bytes, rtt units.Time) uint32 {
	most := units.Bytes(0)
	for host := range l.Graph.Hosts {
		most = max(most, l.PortEnds()[host][0].Rate.In(rtt))
	}
	return uint32(min(MaxReorder, max(1, (most+packet-1)/packet)))
}

// receivedBy adds the receiver's part to a transport. From is the setting of the sender.
func (l *Layout) receivedBy(t dataplane.Transport, from, receiver *HostSetting) dataplane.Transport {
	h := receiver.Variant(from.Name)
	t.AckSize, t.AckEvery = h.AckSize(from.Records), h.Ack.Every
	if mask, ok := l.Masks[h.Ack.Class]; ok {
		t.AckClass = mask.Lowest()
	} else {
		t.AckClass = dataplane.ClassOfData
	}
	t.AckQueue = t.AckClass
	if q := l.Config.Compat.AckQueue; q != 0 && t.AckClass == dataplane.ClassOfData {
		t.AckQueue = uint8(q)
	}
	t.CNPEvery, t.NackEvery = h.CNP.Interval, h.Reliability.NackInterval
	return t
}
