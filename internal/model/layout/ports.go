package layout

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
)

// PortEnd is the peer of a port, and the link to it.
type PortEnd struct {
	To    int // peer
	Port  int // port of the peer
	Rate  units.Rate
	Delay units.Time // to the peer
	Back  units.Time // from the peer
	Fault units.Time // when the link first loses frames; 0: never
}

// PortEnds returns the peers of all ports, by node and port.
func (l *Layout) PortEnds() [][]PortEnd {
	if l.ends == nil {
		l.ends = make([][]PortEnd, l.Graph.Nodes())
		for i, n := range l.Graph.Ports() {
			l.ends[i] = make([]PortEnd, n)
		}
		faults := l.FirstFaults()
		for i, c := range l.Graph.Links {
			there, back := l.DelayInto(c.B, c.Delay), l.DelayInto(c.A, c.Delay)
			l.ends[c.A][c.PortA] = PortEnd{c.B, c.PortB, c.Rate, there, back, faults[i]}
			l.ends[c.B][c.PortB] = PortEnd{c.A, c.PortA, c.Rate, back, there, faults[i]}
		}
	}
	return l.ends
}

// DelayInto returns d plus the pipeline latency of the node if it is a switch.
func (l *Layout) DelayInto(node int, d units.Time) units.Time {
	if node >= l.Graph.Hosts {
		d += l.SwitchAt(node).Latency
	}
	return d
}

// PortSpecs returns the specs of the ports of a node.
func (l *Layout) PortSpecs(node int) []link.Port {
	ports := make([]link.Port, len(l.PortEnds()[node]))
	for i := range ports {
		ports[i] = l.PortSpec(node, i)
	}
	return ports
}

// MaxFrame is the largest frame: packets have 16-bit sizes.
const MaxFrame = 65535 * units.Byte

// frameSizes has the largest frame of each host and its smallest lossless frame. The last
// entry is for all hosts together.
type frameSizes struct{ largest, smallest []units.Bytes }

// sizes returns the frame sizes of hosts, from full packets, ACKs and PFC frames.
func (l *Layout) sizes() frameSizes {
	n := l.Graph.Hosts
	f := frameSizes{make([]units.Bytes, n+1), make([]units.Bytes, n+1)}
	f.smallest[n] = MaxFrame
	for i := range n {
		f.largest[i], f.smallest[i] = packet.PFCSize, MaxFrame
		for _, h := range l.HostAt(i).Variants {
			f.largest[i] = max(f.largest[i], h.Payload+h.HeaderSize(), h.AckSize(l.Telemetry()))
			f.smallest[i] = min(f.smallest[i], h.Header+1)
			if mask, ok := l.Masks[h.Ack.Class]; !ok || l.Kinds[mask.Lowest()] == mmu.Lossless {
				f.smallest[i] = min(f.smallest[i], h.Ack.Size)
			}
		}
		f.largest[n], f.smallest[n] = max(f.largest[n], f.largest[i]), min(f.smallest[n], f.smallest[i])
	}
	return f
}

// sender returns the index in frameSizes for frames from a node.
func (l *Layout) sender(node int) int { return min(node, l.Graph.Hosts) }

// LargestFrom returns the largest frame that can come from a node.
func (l *Layout) LargestFrom(node int) units.Bytes { return l.frames.largest[l.sender(node)] }

// PortSpec returns the spec of a port. A host port has the settings of its peer.
func (l *Layout) PortSpec(here, port int) link.Port {
	p := l.portSpec(here, port)
	e := &l.PortEnds()[here][port]
	node, at := e.To, e.Port
	if node < l.Graph.Hosts {
		node, at = here, port
	}
	if scheme, err := l.PortAt(node, at).Flow(); err == nil {
		if grant := scheme.Properties().Grant; grant != nil {
			peer := l.portSpec(e.To, e.Port)
			p.PeerGrant = grant(&peer)
		}
	}
	return p
}

// portSpec is PortSpec without what the peer grants.
func (l *Layout) portSpec(here, port int) link.Port {
	e := &l.PortEnds()[here][port]
	p := link.Port{
		Rate: e.Rate, DelayIn: e.Back, DelayOut: e.Delay,
		MTU: l.LargestFrom(e.To), MTUOut: l.LargestFrom(here), MinFrame: l.frames.smallest[l.sender(e.To)],
		WireOverhead: l.Config.Switch.WireOverhead, Lossless: l.MaskOf(mmu.Lossless), Host: here < l.Graph.Hosts,
		Ports: uint16(len(l.PortEnds()[here])), PeerPorts: uint16(len(l.PortEnds()[e.To])),
	}
	if p.Ports == 2 {
		p.Through = l.PortEnds()[here][1-port].Rate
	}
	node, at := here, port
	if p.Host {
		node, at = e.To, e.Port
	}
	s := l.PortAt(node, at)
	p.PFC, p.Cell, p.Excused = pfcSpec(&s.PFC), s.Buffer.Cell, e.Fault
	p.Tick, p.EveryEnd, p.PFC.Size = l.Config.Compat.Tick, l.Config.Compat.EveryEnd, uint16(l.Config.Compat.PFCSize)
	if !l.PromisesLossless(node, at) {
		p.Excused = 1
	}
	if p.Host {
		p.PeerStore = &link.Store{Cell: s.Buffer.Cell, PerPacket: s.Buffer.PerPacket}
		return p
	}
	p.PeerStore = &link.Store{Cell: p.Cell} // a host uses the cells of its switch
	p.Beyond = l.beyond(e)
	p.ToHost = e.To < l.Graph.Hosts
	p.MTU, p.MTUOut = max(p.MTU, s.MTU), max(p.MTUOut, s.MTU)
	p.PerPacket, p.Pooled = s.Buffer.PerPacket, s.Buffer.HeadroomPool > 0
	if e.To >= l.Graph.Hosts {
		peer := l.PortAt(e.To, e.Port)
		pfc := pfcSpec(&peer.PFC)
		p.Peer = &pfc
		p.PeerStore = &link.Store{Cell: peer.Buffer.Cell, PerPacket: peer.Buffer.PerPacket}
	}
	return p
}

// beyond returns link.Port.Beyond of the port with this end.
func (l *Layout) beyond(e *PortEnd) units.Time {
	if e.To < l.Graph.Hosts || len(l.PortEnds()[e.To]) != 2 {
		return 0
	}
	next := &l.PortEnds()[e.To][1-e.Port]
	if next.To < l.Graph.Hosts {
		return 0
	}
	return next.Delay + next.Back + l.PortAt(next.To, next.Port).PFC.Processing
}

func pfcSpec(p *scenario.PFC) link.PFC {
	return link.PFC{Quanta: uint16(p.Quanta), Indefinite: p.Hold == "indefinite", Processing: p.Processing, Ordered: !p.Coalesce}
}

// PromisesLossless reports whether the flow control of a switch port promises not to drop
// lossless frames. Frames that a deadlock handler drops itself are counted separately
// (probe.Handler), so a handler excuses no other drop.
func (l *Layout) PromisesLossless(node, port int) bool {
	return l.PortAt(node, port).Promises()&registry.Lossless != 0
}

// Traits returns the traits of a scheme, or 0 if it does not exist.
func Traits[N any](t *registry.Table[N], name string) registry.Trait {
	e, err := t.Get(name)
	if err != nil {
		return 0
	}
	return e.Traits
}
