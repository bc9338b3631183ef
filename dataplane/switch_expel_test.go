package dataplane_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

const lossy = 2

// drops is a sink that records expelled frames and the bytes stored after each.
type drops struct {
	probe.Ignore
	node  probe.Node
	seqs  []uint32
	after []units.Bytes
}

func (d *drops) Attach(n probe.Node) { d.node = n }

func (d *drops) Drop(_ units.Time, _ int, p *packet.Packet, why probe.Reason) {
	if why == probe.Expelled {
		d.seqs, d.after = append(d.seqs, p.Seq), append(d.after, d.node.View().Stored())
	}
}

// newExpelling returns a bench with the policy occamy: 20,000 B shared, a memory that reads
// 400 Gbps (20 ps per byte), and a token bucket of 1 B.
func newExpelling(t *testing.T, alphaLossy units.Ratio) (*bench, *drops) {
	d := &drops{}
	return newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc }, func(s *dataplane.SwitchSpec) {
		s.Buffer.Kinds[lossy], s.Sink = mmu.Lossy, d
		occamy := must(buffer.Policies.Get("occamy"))
		s.Policy = func(e buffer.Env) (buffer.Policy, error) {
			p := occamy.Params().(*buffer.OccamyParams)
			p.Alpha, p.AlphaLossy, p.Bucket = units.Ratio{Num: 64, Den: 1}, alphaLossy, 1
			return occamy.New(p, e)
		}
	}), d
}

// frame makes a frame of 1000 B and a class arrive.
func (b *bench) frame(class uint8, in int, dst uint32, seq uint32) {
	p := packet.Packet{At: b.now, Seq: seq, To: dst, Size: 1000, Meta: packet.MakeMeta(packet.Data, class)}
	p.SetPort(in)
	b.sw.Arrive(b.now, in, &p, nil)
}

func (b *bench) expelled(in int) uint32 {
	return b.sw.PortStats(in, b.now).Drops[lossy][probe.Expelled]
}

// Seven lossy frames for port 2: the first passes, six wait. Ten paused lossless frames leave
// 20,000 - 6000 - 10,000 = 4000 B, so with alpha 1 the queue is 2000 B too long. From 0 to 20 ns
// the memory reads frame 1. Then frame 2 is expelled: 5000 <= 5000. At 80 ns frame 3 leaves, and
// the threshold rises.
func TestExpelTakesTheHead(t *testing.T) {
	b, d := newExpelling(t, units.Ratio{Num: 1, Den: 1})
	for seq := uint32(1); seq <= 7; seq++ {
		b.frame(lossy, 0, 2, seq)
	}
	b.pause(3, true)
	for seq := uint32(1); seq <= 10; seq++ {
		b.data(1, 3, seq)
	}
	if b.wakeAt != 20*units.Nanosecond+1 {
		t.Errorf("the next frame is expelled at %d ps, want 20,001", b.wakeAt)
	}
	b.run(20 * units.Nanosecond)
	if v := b.sw.View(); v.Egress(2, lossy) != 6000 || v.Expelled() != 0 {
		t.Errorf("%d B wait, %d B were expelled too early", v.Egress(2, lossy), v.Expelled())
	}
	b.run(20*units.Nanosecond + 1)
	if v := b.sw.View(); v.Egress(2, lossy) != 5000 || v.Expelled() != 1000 || v.Used(mmu.Shared) != 15000 || b.expelled(0) != 1 {
		t.Errorf("%d B wait, %d B were expelled, %d B are shared, %d drops", v.Egress(2, lossy), v.Expelled(), v.Used(mmu.Shared), b.expelled(0))
	}
	if len(d.seqs) != 1 || d.seqs[0] != 2 || d.after[0] != 15000 {
		t.Errorf("frames %v were expelled, with %v B stored after each; want frame 2 and 15,000 B", d.seqs, d.after)
	}
	b.pause(3, false)
	b.end()
	b.wantSent(2, 1, 3, 4, 5, 6, 7)
	b.wantSent(3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
}

// Expelling the only frame of a queue empties it; later frames are sent as usual. Lossless frames
// fill all but 1000 B of the buffer; with alpha 1/2 the threshold is 500 B.
func TestExpelEmptiesAQueue(t *testing.T) {
	b, d := newExpelling(t, units.Ratio{Num: 1, Den: 2})
	b.frame(lossy, 0, 2, 1)
	b.frame(lossy, 0, 2, 2)
	b.pause(3, true)
	for seq := uint32(1); seq <= 18; seq++ {
		b.data(1, 3, seq)
	}
	if v := b.sw.View(); v.SharedFree() != 1000 {
		t.Fatalf("%d B are free, want 1000", v.SharedFree())
	}
	b.wait(1)
	if len(d.seqs) != 1 || d.seqs[0] != 2 || b.sw.View().Egress(2, lossy) != 0 {
		t.Errorf("frames %v were expelled, want 2", d.seqs)
	}
	b.pause(3, false)
	b.wait(30)
	for seq := uint32(3); seq <= 5; seq++ {
		b.frame(lossy, 0, 2, seq)
	}
	b.end()
	b.wantSent(2, 1, 3, 4, 5)
	if n := len(b.sent[3]); n != 18 {
		t.Errorf("%d lossless frames left, want 18", n)
	}
}

// wrongExpeller expels from a queue that it must not.
type wrongExpeller struct {
	buffer.Policy
	port  int
	class uint8
	none  bool
}

func (*wrongExpeller) Enqueued(units.Time, mmu.View, *mmu.Arrival)   {}
func (*wrongExpeller) Dequeued(units.Time, mmu.View, *mmu.Arrival)   {}
func (*wrongExpeller) ExpelAt(now units.Time, _ mmu.View) units.Time { return now }
func (w *wrongExpeller) Expel(units.Time, mmu.View) (int, uint8, bool) {
	return w.port, w.class, !w.none
}

// A policy must not expel a lossless frame or a frame of an empty queue. A policy that is due but
// names no queue would keep the switch busy forever.
func TestExpelNothingElse(t *testing.T) {
	for name, w := range map[string]*wrongExpeller{"lossless": {port: 3, class: class}, "empty": {port: 2, class: lossy}, "none": {none: true}} {
		t.Run(name, func(t *testing.T) {
			b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc }, func(s *dataplane.SwitchSpec) {
				s.Buffer.Kinds[lossy] = mmu.Lossy
				static := s.Policy
				s.Policy = func(e buffer.Env) (buffer.Policy, error) {
					var err error
					w.Policy, err = static(e)
					return w, err
				}
			})
			b.pause(3, true)
			b.data(1, 3, 1)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			b.wait(1)
		})
	}
}
