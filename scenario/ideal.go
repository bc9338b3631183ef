package scenario

import (
	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/units"
)

// hopLink is one link of a path.
type hopLink struct {
	rate  units.Rate
	delay units.Time
}

// path follows the routing tables from host to host, taking the first of
// equally good ports. It is nil when the destination cannot be reached.
func (b *builder) path(src, dst int) []hopLink {
	hosts := b.graph.Hosts
	ends := b.portEnds()
	var links []hopLink
	for node, port := src, 0; ; {
		e := ends[node][port]
		links = append(links, hopLink{e.rate, e.delay})
		node = e.to
		if node == dst {
			return links
		}
		if node < hosts || len(links) > b.graph.Nodes() {
			return nil
		}
		ports := b.tables()[node].Set(uint16(dst))
		if len(ports) == 0 {
			return nil
		}
		port = int(ports[0])
	}
}

// idealFCTs returns the completion time of each flow in an empty network: the
// model itself, packet by packet, with the sender at line rate.
func (b *builder) idealFCTs() []units.Time {
	type pair struct{ src, dst uint16 }
	paths := make(map[pair][2][]hopLink)
	ideal := make([]units.Time, len(b.out.Flows.Flow))
	for i := range b.out.Flows.Flow {
		f := &b.out.Flows.Flow[i]
		p, ok := paths[pair{f.Src, f.Dst}]
		if !ok {
			p = [2][]hopLink{b.path(int(f.Src), int(f.Dst)), b.path(int(f.Dst), int(f.Src))}
			paths[pair{f.Src, f.Dst}] = p
		}
		ideal[i] = b.idealFCT(f.Size, p[0], p[1])
	}
	return ideal
}

// idealFCT is the time from the start of a lone flow to the arrival of its last
// ACK. Full packets follow each other at the pace of the slowest link so far;
// the last, shorter one queues behind the one before it, and so does its ACK.
func (b *builder) idealFCT(size units.Bytes, there, back []hopLink) units.Time {
	h := &b.cfg.Hosts
	over := b.cfg.Switch.WireOverhead
	n := (size + h.Payload - 1) / h.Payload
	last := size - (n-1)*h.Payload + h.Header + over
	full := h.Payload + h.Header + over
	var before, sum, slowest units.Time // before: when the packet before the last has left the link
	var arrived, ahead units.Time       // of the last packet and of the one before it
	for _, l := range there {
		t := l.rate.TxTime(full)
		slowest = max(slowest, t)
		sum += t
		begin := arrived
		if n > 1 {
			before = sum + units.Time(n-2)*slowest
			begin = max(arrived, before)
			ahead = before + l.delay
		}
		arrived = begin + l.rate.TxTime(last) + l.delay
		sum += l.delay
	}
	ack := h.Ack.Size + over
	for _, l := range back {
		t := l.rate.TxTime(ack)
		if n > 1 && h.Ack.Every == 1 {
			arrived = max(arrived, ahead+t)
			ahead += t + l.delay
		}
		arrived += t + l.delay
	}
	return arrived
}

// baseRTT is the round trip of a full packet and its ACK on the longest path
// from the first and the last host.
func (b *builder) baseRTT() units.Time {
	longest := units.Time(0)
	for _, src := range [2]int{0, b.graph.Hosts - 1} {
		for dst := range b.graph.Hosts {
			if dst == src {
				continue
			}
			there, back := b.path(src, dst), b.path(dst, src)
			longest = max(longest, b.idealFCT(b.cfg.Hosts.Payload, there, back))
		}
	}
	return longest
}

// portEnd is where a port leads.
type portEnd struct {
	to    int
	rate  units.Rate
	delay units.Time // to the peer
	back  units.Time // from the peer
}

// portEnds returns where each port of each node leads.
func (b *builder) portEnds() [][]portEnd {
	if b.ends == nil {
		b.ends = make([][]portEnd, b.graph.Nodes())
		for i, n := range b.graph.Ports() {
			b.ends[i] = make([]portEnd, n)
		}
		for _, l := range b.graph.Links {
			b.ends[l.A][l.PortA] = portEnd{l.B, l.Rate, b.delayInto(l.B, l.Delay), b.delayInto(l.A, l.Delay)}
			b.ends[l.B][l.PortB] = portEnd{l.A, l.Rate, b.delayInto(l.A, l.Delay), b.delayInto(l.B, l.Delay)}
		}
	}
	return b.ends
}

// minFrame is the smallest frame that any node sends.
func (b *builder) minFrame() units.Bytes {
	h := &b.cfg.Hosts
	return min(h.Ack.Size, h.Header+1, packet.PFCSize) + b.cfg.Switch.WireOverhead
}
