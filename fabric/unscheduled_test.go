package fabric

import (
	"context"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// unscheduledSink counts data packets that leave a host, and those marked as unscheduled.
type unscheduledSink struct {
	probe.Ignore
	sent, first map[uint8]int
}

func (s *unscheduledSink) Depart(now units.Time, port int, p *packet.Packet) {
	if p.Kind() == packet.Data {
		s.sent[p.Class()]++
		if p.Flags&packet.Unscheduled != 0 {
			s.first[p.Class()]++
		}
	}
}

// Each flow has 100 packets of 1000 B. By default the first bandwidth-delay product is
// unscheduled: a packet of 1048 B and an ACK of 64 B take 2 x 0.33536 + 2 x 0.02048 + 4 x 1 =
// 4.71168 us, in which 25 Gbps carry 14,724 B, so 15 packets start within them. hosts.unscheduled
// counts payload: packets 0 to 29 start within 30,000 B, packet 30 within 30,001 B.
func TestUnscheduled(t *testing.T) {
	for _, c := range []struct {
		set       string
		rdma, tcp int
	}{
		{"hosts.unscheduled=0B", 15, 15},
		{"hosts.unscheduled=30000B", 30, 30},
		{"hosts.transports={tcp: {unscheduled: 30001B}}", 15, 31},
		{"hosts.transports={tcp: {unscheduled: 1MB}}", 15, 100},
	} {
		const text = `
topology: {name: one-switch, hosts: 3, host_link: {rate: 25Gbps, delay: 1us}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
  tcp:     {ids: [1], kind: lossy}
hosts: {payload: 1000B, cc: {name: none}, transports: {tcp: {payload: 1000B}}}
workload:
  - {name: rdma, generator: incast, from: host0, senders: 1, size: 100KB, to: host2, class: rdma}
  - {name: tcp, generator: incast, from: host1, senders: 1, size: 100KB, to: host2, class: tcp, transport: tcp}
run: {arrivals: 1us, stop: {when: all_flows_done, at_most: 1ms}}
`
		s := &unscheduledSink{sent: make(map[uint8]int), first: make(map[uint8]int)}
		built, err := New(parse(t, text, c.set), Options{Sink: func(node int) probe.Sink {
			if node >= 2 {
				return nil
			}
			return s
		}})
		if err != nil {
			t.Fatal(err)
		}
		engine, err := sim.NewFast(built.Spec, sim.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if s.sent[3] != 100 || s.sent[1] != 100 || s.first[3] != c.rdma || s.first[1] != c.tcp {
			t.Errorf("%s: of %d and %d packets %d and %d are unscheduled, want %d and %d", c.set, s.sent[3], s.sent[1], s.first[3], s.first[1], c.rdma, c.tcp)
		}
	}
}
