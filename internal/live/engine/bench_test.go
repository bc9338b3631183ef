package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/sim"
)

// line is one flow between two hosts through a switch.
const line = `
topology: {name: one-switch, hosts: 2, host_link: {rate: 1Gbps, delay: 10us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
switch: {buffer: {size: 4MB}, flow_control: {name: pfc, headroom: 100KB}}
hosts: {cc: {name: none}, payload: %dB, header: 46B, ack: {every: 64}, reliability: {timeout: 10s, max_timeout: 20s}}
workload: [{name: a, generator: flows, flows: [{from: host0, to: host1, size: 30GB}], class: 1}]
run: {arrivals: 1ms, stop: {when: time, at_most: 1800s}}
`

// BenchmarkHop measures a hop from node to node, in data plane and engine, with packets in memory
// and with encoded frames.
func BenchmarkHop(b *testing.B) {
	for _, size := range []int{64, 1500} {
		for _, wires := range []string{"memory", "frames"} {
			b.Run(fmt.Sprintf("%d B, %s", size, wires), func(b *testing.B) {
				x := built(b, fmt.Sprintf(line, size-46))
				for _, s := range x.Spec.Switches {
					s.Checks = nil
				}
				for _, h := range x.Spec.Hosts {
					h.Checks = nil
				}
				o := Options{Clock: &Manual{}}
				if wires == "frames" {
					f := NewFrames(x.Spec)
					o.Wires = f
				}
				e, err := New(x.Spec, o)
				if err != nil {
					b.Fatal(err)
				}
				if o.Wires != nil {
					_ = o.Wires.Open(context.Background(), e)
				}
				for _, n := range e.nodes {
					n.data.Start(0)
				}
				at := units.Millisecond
				e.runTo(at)
				b.ReportAllocs()
				b.ResetTimer()
				for before := e.Totals().Hops; e.Totals().Hops-before < uint64(b.N); {
					at += units.Millisecond
					e.runTo(at)
				}
			})
		}
	}
}

// sink counts delivered frames.
type sink struct{ n int }

func (s *sink) Deliver(sim.End, *packet.Packet, packet.Ext, units.Time) { s.n++ }

// BenchmarkUDP measures a hop over UDP at both ends: encoding, sending, receiving, decoding.
func BenchmarkUDP(b *testing.B) {
	for _, size := range []int{64, 1500} {
		b.Run(fmt.Sprintf("%d B", size), func(b *testing.B) {
			x := built(b, fmt.Sprintf(line, size-46))
			u, err := NewUDP(x.Spec, nil, nil, nil, false)
			if err != nil {
				b.Fatal(err)
			}
			benchmarkSockets(b, x, u, size)
		})
	}
}

// benchmarkSockets sends frames of a size from one end of a cable to the other, 32 at a time.
func benchmarkSockets(b *testing.B, x *fabric.Fabric, u *Sockets, size int) {
	b.Helper()
	to := &sink{}
	if err := u.Open(context.Background(), to); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = u.Close() }()
	p := packet.Packet{Hash: x.Flows.Flow[0].Hash, To: 1, Size: uint16(size), Meta: packet.MakeMeta(packet.Data, 1)}
	b.ResetTimer()
	for sent := 0; to.n < b.N; {
		for range 32 {
			u.Send(x.Spec.Cables[0].A, &p, nil, 0)
			sent++
		}
		u.Flush()
		for to.n < sent {
			if s := u.Rejected(); len(s) > 0 {
				b.Fatal(s)
			}
			u.Poll(0)
		}
	}
}
