package engine

import (
	"errors"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/record/capture"
	"github.com/xoff-net/xoff/sim"
)

// Reasons to reject frames, besides the errors of package frame.
var (
	errPorts    = errors.New("live: addresses of other ports")
	errFlow     = errors.New("live: unknown flow, or a flow with other endpoints")
	errMismatch = errors.New("live: does not match its flow")
)

// codec encodes packets as frames and decodes them. Both ends know the scenario, so frames omit
// what the flow determines: the Pinned flag and part of the hash. The rest is compared with the
// flow.
type codec struct {
	flows *dataplane.Flows
	hosts []*dataplane.NICSpec
	f     frame.Frame // the last decoded frame
	m     frame.Message
}

func macOf(e sim.End) frame.MAC { return frame.PortMAC(uint32(e.Node), uint16(e.Port)) }

// encode appends the frame of a packet between two ports. It returns false if the packet should
// belong to a flow, but does not.
func (c *codec) encode(b []byte, from, to sim.End, p *packet.Packet, ext packet.Ext, due uint64) ([]byte, bool) {
	m := &c.m
	if !p.OfFlow() {
		m = nil
	} else if !capture.MessageOf(c.flows, c.hosts, p.Flow, m) {
		return b, false
	}
	return frame.AppendTrailer(frame.Append(b, macOf(from), macOf(to), p, ext, m), p, ext, m, due), true
}

// decode decodes a frame from a wire between two ports into c.f.
func (c *codec) decode(b []byte, from, to sim.End) error {
	f := &c.f
	if err := f.Decode(b); err != nil {
		return err
	}
	p := &f.Packet
	if p.Kind() == packet.Foreign {
		return nil // it has addresses of real hosts
	}
	if f.From != macOf(from) || (!f.Hello && !p.Control() && f.To != macOf(to)) {
		return errPorts
	}
	if f.Hello || !p.OfFlow() {
		return nil
	}
	return c.complete()
}

// complete adds the fields that the flow determines, and compares the others with the flow.
func (c *codec) complete() error {
	f, m := &c.f, &c.m
	p := &f.Packet
	if !capture.MessageOf(c.flows, c.hosts, p.Flow, m) {
		return errFlow
	}
	flow := &c.flows.Flow[p.Flow]
	src, dst, hash := m.Src, m.Dst, flow.Hash
	if p.Kind() != packet.Data {
		src, dst, hash = dst, src, dataplane.ReplyHash(hash)
	}
	tcp := m.TCP && (p.Kind() == packet.Data || p.Kind() == packet.Ack)
	if f.Src != src || f.Dst != dst || (f.TCP != nil) != tcp {
		return errFlow
	}
	if tcp && !f.Trailed {
		if err := f.Number(m.Payload); err != nil {
			return err
		}
	}
	const hashBits = 1<<14 - 1 // part of the hash in the source port of RoCE
	if !tcp && (p.Hash^hash)&hashBits != 0 {
		return errMismatch
	}
	packets := uint32((m.Size + m.Payload - 1) / m.Payload)
	size, most := c.hosts[flow.Src].Transports[flow.Transport].AckSize, packets
	if p.Kind() == packet.Data {
		payload := min(m.Payload, m.Size-units.Bytes(p.Seq)*m.Payload)
		size, most = payload+m.Header, packets-1
		if units.Bytes(f.Payload) != payload {
			return errMismatch
		}
	}
	if p.Seq > most || f.Trailed && units.Bytes(p.Size) != size {
		return errMismatch
	}
	p.Size, p.Hash = uint16(size), hash
	p.Flags &^= packet.Pinned
	if flow.Pinned {
		p.Flags |= packet.Pinned
	}
	return nil
}
