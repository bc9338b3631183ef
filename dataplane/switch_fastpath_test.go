package dataplane_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// steady is a receiver that allows release shortcuts and counts the releases it is told about.
type steady struct {
	flowctl.Receiver
	margin   units.Bytes
	levels   int64
	paused   packet.ClassMask
	notified int
}

func (r *steady) Paused() packet.ClassMask { return r.paused }
func (r *steady) Shortcuts() flowctl.Shortcuts {
	return flowctl.Shortcuts{Release: true, Margin: r.margin, Levels: r.levels}
}

func (r *steady) Released(now units.Time, a *mmu.Arrival) {
	r.notified++
	r.Receiver.Released(now, a)
}

// steadyScheme gives a port a steady receiver.
type steadyScheme struct {
	flowctl.Scheme
	r *steady
}

func (s steadyScheme) Receiver(p flowctl.Port) flowctl.Receiver {
	s.r.Receiver = s.Scheme.Receiver(p)
	return s.r
}

// 14 ACKs for host 1 and 3 data frames for host 2 arrive on port 0 at once. The first of each
// leaves at once, the second 80 ns later. Then 12 ACKs and 1 data frame are left: 13,000 of
// 20,000 B, so with alpha 1 T is 7000 B.
func TestSteadyReceiver(t *testing.T) {
	dt := must(buffer.Policies.Get("dt"))
	one := units.Ratio{Num: 1, Den: 1}
	for _, c := range []struct {
		name     string
		r        steady
		notified int
	}{
		{"far below", steady{margin: 2000, levels: 2}, 0},
		{"exactly at the margin", steady{margin: 6000, levels: 2}, 0}, // 1000 + 6000 = T
		{"queue too close", steady{margin: 6001, levels: 2}, 1},
		{"port above one level", steady{margin: 2000, levels: 1}, 2}, // 13,000 > 7000, also when the first one leaves
		{"class is OFF", steady{margin: 2000, levels: 2, paused: 1 << class}, 2},
		{"another class is OFF", steady{margin: 2000, levels: 2, paused: 1 << 7}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBenchWith(t, func(port int, pfc flowctl.Scheme) flowctl.Scheme {
				if port > 0 {
					return pfc
				}
				return steadyScheme{pfc, &c.r}
			}, func(s *dataplane.SwitchSpec) {
				s.Policy = func(e buffer.Env) (buffer.Policy, error) {
					return dt.New(&buffer.DTParams{Alpha: one, AlphaLossy: one}, e)
				}
			})
			for i := range uint32(14) {
				p := packet.Packet{Seq: i, To: 1, Size: 1000, Meta: packet.MakeMeta(packet.Ack, 0)}
				b.sw.Arrive(0, 0, &p, nil)
			}
			for i := range uint32(3) {
				b.data(0, 2, i)
			}
			if b.run(80 * units.Nanosecond); c.r.notified != c.notified {
				t.Errorf("notified of %d frames, want %d", c.r.notified, c.notified)
			}
			c.r.paused = 0
			b.end()
		})
	}
}
