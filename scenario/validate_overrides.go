package scenario

import (
	"slices"

	"github.com/xoff-net/xoff/scheme/flowctl"
)

// ofSwitch moves an error about a key of switch to the override that gave the key.
func (b *builder) ofSwitch(s *setting, err error) error {
	return relocate(err, "switch", b.cfg.Switch.Overrides, s.by)
}

func (b *builder) ofHost(h *hostSetting, err error) error {
	if h.name != "" {
		if moved := h.relocate(err, b.cfg.Hosts.Transports[h.name].Keys); moved != nil {
			return moved
		}
	}
	return relocate(err, "hosts", b.cfg.Hosts.Overrides, h.by)
}

// checkSettings checks what overrides made, as if it stood in switch and hosts.
func (b *builder) checkSettings() error {
	if b.setErr != nil {
		return b.setErr
	}
	for _, s := range slices.Concat(b.set.ofSwitches, b.set.ofPorts) {
		c := *b.cfg
		c.Switch = s.Switch
		if err := first(c.checkSwitch(), c.checkScheduler(), c.checkECN()); err != nil {
			return b.ofSwitch(s, err)
		}
	}
	for _, h := range b.set.transports() {
		c := *b.cfg
		c.Hosts = h.Hosts
		if err := c.checkHosts(); err != nil {
			return b.ofHost(h, err)
		}
	}
	return nil
}

// checkLinks checks what the two ends of a cable must agree on, and that every
// frame that can come fits the ports on its way.
func (b *builder) checkLinks() error {
	for node := b.graph.Hosts; node < b.graph.Nodes(); node++ {
		for i, e := range b.portEnds()[node] {
			here := b.portAt(node, i)
			name := b.portName(node, i)
			largest := max(b.frames.largest[b.senders(e.to)], b.frames.largest[b.senders(node)])
			if here.MTU != 0 && largest > here.MTU {
				return b.ofSwitch(here, atf("switch.mtu", "%s takes frames of %s, but hosts send %s; allowed: %s or more, or a smaller hosts.payload", name, show(here.MTU), show(largest), show(largest)))
			}
			if e.to < b.graph.Hosts {
				continue
			}
			peer := b.portAt(e.to, e.port)
			there := b.portName(e.to, e.port)
			x, errX := flowScheme(here.FlowControl)
			y, errY := flowScheme(peer.FlowControl)
			if err := first(errX, errY, sameDialect(name, x, there, y)); err != nil {
				// The one that an override changed is the one to look at.
				if len(here.by) < len(peer.by) {
					here = peer
				}
				return b.ofSwitch(here, err)
			}
		}
	}
	return nil
}

func (b *builder) portName(node, port int) string {
	name, _ := b.graph.PortNames(node, port, b.portEnds()[node][port].to)
	return name
}

// sameDialect checks that two ports at the ends of a cable understand each other.
func sameDialect(portA string, a flowctl.Scheme, portB string, b flowctl.Scheme) error {
	x, y := flowctl.DialectOf(a), flowctl.DialectOf(b)
	if x == y {
		return nil
	}
	return atf("switch.flow_control", "%s speaks %s but %s at the other end of the cable speaks %s; allowed: flow control that speaks the same at both ends", portA, x, portB, y)
}
