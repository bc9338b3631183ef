package cc

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// ackStream is a steady flow over four hops with an ACK every 84 ns.
type ackStream struct {
	c    Control
	spec telemetry.Spec
	int  bool
	ack  Ack
	ext  packet.Ext
	now  units.Time
	rec  [4]telemetry.Record
}

func newAckStream(t testing.TB, name, preset string) *ackStream {
	s := &ackStream{c: build(t, name, preset)}
	if n, ok := s.c.(Telemetry); ok {
		s.spec, s.int = n.NeedsTelemetry(), true
	}
	s.c.Start(0, rack())
	s.ack = Ack{Bytes: 1000, Next: 50}
	for i := range s.rec {
		s.rec[i] = telemetry.Record{Rate: 100 * units.Gbps, Tag: uint32(i)}
	}
	s.ext = make(packet.Ext, 0, telemetry.MaxWords)
	return s
}

// write writes the records of switches. It is not measured, but records must change.
func (s *ackStream) write() {
	s.now += 84 * units.Nanosecond
	s.ack.Seq++
	s.ack.Next++
	s.ack.RTT = 5*units.Microsecond + units.Time(s.ack.Seq%7)*units.Nanosecond
	s.ack.CE = s.ack.Seq%64 == 0
	if !s.int {
		return
	}
	ext := s.ext[:0]
	for i := range s.rec {
		s.rec[i].Time, s.rec[i].Bytes, s.rec[i].Queue = s.now, s.rec[i].Bytes+1000, units.Bytes(s.ack.Seq%32)*1000
		ext = s.spec.Format.Append(ext, &s.rec[i])
	}
	s.ack.Telemetry = ext
}

func (s *ackStream) event() {
	s.c.OnSend(s.now, 1090)
	s.c.OnAck(s.now, &s.ack)
	s.c.Rate(s.now)
	s.c.Window(s.now)
}

var streams = []struct{ name, preset string }{
	{"dcqcn", "hpcc-sim"}, {"hpcc", "paper"}, {"hpcc", "hpcc-sim"}, {"powertcp", "paper"}, {"powertcp", "hpcc-sim"},
	{"theta-powertcp", "paper"}, {"timely", "paper"}, {"newreno", ""}, {"cubic", ""}, {"dctcp", ""},
}

func TestNoAllocations(t *testing.T) {
	for _, a := range streams {
		s := newAckStream(t, a.name, a.preset)
		if n := testing.AllocsPerRun(1000, func() {
			s.write()
			s.event()
			s.c.OnCNP(s.now)
			s.c.OnLoss(s.now, s.ack.Seq%2 == 0)
		}); n != 0 {
			t.Errorf("%s: %v allocations per ACK", a.name, n)
		}
	}
}

// BenchmarkOnAck measures the cost of one packet at its sender: OnSend, OnAck, Rate and
// Window, with records of four hops for telemetry-based controls.
func BenchmarkOnAck(b *testing.B) {
	for _, a := range streams {
		b.Run(strings.TrimSuffix(a.name+"-"+a.preset, "-"), func(b *testing.B) {
			s := newAckStream(b, a.name, a.preset)
			var acks [64]Ack
			var times [64]units.Time
			for i := range acks {
				s.write()
				acks[i], times[i] = s.ack, s.now
				acks[i].Telemetry = append(packet.Ext(nil), s.ack.Telemetry...)
			}
			for i := 0; b.Loop(); i++ {
				s.ack, s.now = acks[i%64], times[i%64]
				s.ack.Seq += uint32(i) &^ 63 // a new lap of the same feedback
				s.ack.Next += uint32(i) &^ 63
				s.event()
			}
		})
	}
}
