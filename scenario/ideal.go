package scenario

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
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

// idealFCTs returns the completion time of each flow alone in an empty network:
// the model itself, packet by packet, on the routes that the flow takes. Queues
// of the fabric are as long as needed, nothing is marked, and sprayed packets
// wait for each other where they meet, so that none comes out of order. Flows
// whose ways are alike share one computation, the short ones on the way to the
// long.
func (b *builder) idealFCTs() []units.Time {
	flows := b.out.Flows.Flow
	w := newWalker(b)
	var courses []*course
	known := make(map[string]uint32)
	which, order := make([]uint32, len(flows)), make([]uint32, len(flows))
	for i := range flows {
		name := w.walk(uint32(i), &flows[i])
		c, ok := known[string(name)]
		if !ok {
			c = uint32(len(courses))
			known[string(name)] = c
			courses = append(courses, w.course(int(flows[i].Src), int(flows[i].Dst), flows[i].Transport))
		}
		which[i], order[i] = c, uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(which[x], which[y]), cmp.Compare(flows[x].Size, flows[y].Size))
	})
	ideal := make([]units.Time, len(flows))
	var p *pipeline
	for k, i := range order {
		switch {
		case k == 0 || which[i] != which[order[k-1]]:
			p = newPipeline(courses[which[i]])
		case flows[i].Size == flows[order[k-1]].Size:
			ideal[i] = ideal[order[k-1]]
			continue
		}
		ideal[i] = p.fct(flows[i].Size)
	}
	return ideal
}

// roundTrip is how long a full packet of a host takes on one path and an ACK of
// the other host on another.
func (b *builder) roundTrip(h, to *hostSetting, there, back []hopLink) units.Time {
	over, sum := b.cfg.Switch.WireOverhead, units.Time(0)
	for _, l := range there {
		sum += l.rate.TxTime(h.Payload+h.header()+over) + l.delay
	}
	for _, l := range back {
		sum += l.rate.TxTime(to.ackSize(h.records)+over) + l.delay
	}
	return sum
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
			for _, h := range b.hostAt(src).variants {
				longest = max(longest, b.roundTrip(h, b.hostAt(dst).variant(h.name), there, back))
			}
		}
	}
	return longest
}

// portEnd is where a port leads.
type portEnd struct {
	to    int
	port  int // of the peer
	rate  units.Rate
	delay units.Time // to the peer
	back  units.Time // from the peer
	fault units.Time // from when on the link loses frames; 0: never
}

// portEnds returns where each port of each node leads.
func (b *builder) portEnds() [][]portEnd {
	if b.ends == nil {
		b.ends = make([][]portEnd, b.graph.Nodes())
		for i, n := range b.graph.Ports() {
			b.ends[i] = make([]portEnd, n)
		}
		faults := b.firstFaults()
		for i, l := range b.graph.Links {
			b.ends[l.A][l.PortA] = portEnd{l.B, l.PortB, l.Rate, b.delayInto(l.B, l.Delay), b.delayInto(l.A, l.Delay), faults[i]}
			b.ends[l.B][l.PortB] = portEnd{l.A, l.PortA, l.Rate, b.delayInto(l.A, l.Delay), b.delayInto(l.B, l.Delay), faults[i]}
		}
	}
	return b.ends
}

// minFrame is the smallest frame that any node sends.
func (b *builder) minFrame() units.Bytes {
	least := packet.PFCSize
	if size := b.cfg.Compat.PFCSize; size > 0 {
		least = size
	}
	for _, h := range b.set.transports() {
		least = min(least, h.Ack.Size, h.Header+1)
	}
	return least + b.cfg.Switch.WireOverhead
}
