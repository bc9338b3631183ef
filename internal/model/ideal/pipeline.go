package ideal

import (
	"slices"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
)

// pipeline computes the times of one flow in an empty network. Every packet passes the stages
// of its path in order and waits while the previous one is still there; so do the ACKs.
//
// Each time is the maximum of two earlier times plus a constant. If two consecutive periods
// of packets advance all times by the same amount, the next period does so too, until a
// comparison changes its result. The margins of the comparisons tell when that is. So leap
// can skip most packets of a long flow.
type pipeline struct {
	c       *flowPath
	tx      []units.Time // by stage: serialisation time of a full packet or an ACK
	free    []units.Time // by stage: end of the last frame
	next    units.Time   // when pacing permits the next packet
	gap     units.Time   // pacing gap between packets
	sent    int64        // full packets
	una     int64        // first unacknowledged packet, as the sender knows
	unacked int          // packets since the last ACK
	acks    int64        // sent by the receiver
	pending []pendingAck // in flight or not yet processed; only with a window
	period  int64        // in packets; 0: never leap

	watching bool
	margins  []units.Time // of the comparisons while watching
}

// pendingAck is an ACK: its arrival time at the sender, and the next expected packet.
type pendingAck struct {
	seq int64
	at  units.Time
}

// maxPeriod is the longest period; longer ones repeat too rarely to be worth skipping.
const maxPeriod = 1 << 15

func newPipeline(c *flowPath) *pipeline {
	p := &pipeline{c: c, tx: make([]units.Time, len(c.stages)), free: make([]units.Time, len(c.stages))}
	full := c.payload + c.header
	for _, path := range c.back {
		for _, s := range path {
			p.tx[s] = c.stages[s].tx(c.ack)
		}
	}
	for _, path := range c.there {
		for _, s := range path {
			p.tx[s] = c.stages[s].tx(full)
		}
	}
	nic := &c.stages[c.there[0][0]]
	p.gap = nic.tx(full)
	if c.rate < nic.rate {
		p.gap = link.TxTime(c.rate, full+nic.overhead, nic.tick)
	}
	p.period = lcm(int64(len(c.there)), lcm(int64(c.every)*int64(len(c.back)), max(1, c.window)))
	if p.period > maxPeriod {
		p.period = 0
	}
	return p
}

func (s *stage) tx(b units.Bytes) units.Time { return link.TxTime(s.rate, b+s.overhead, s.tick) }

func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// fct returns the arrival time of the last ACK of a flow of the given size. Sizes must not
// decrease from call to call.
func (p *pipeline) fct(size units.Bytes) units.Time {
	full := int64((size+p.c.payload-1)/p.c.payload) - 1 // packets before the last
	for p.sent < full {
		if p.period > 0 && full-p.sent > 4*p.period {
			p.leap(full)
		} else {
			p.step()
		}
	}
	if p.c.overtakes && full > 0 {
		return p.lastFull()
	}
	t, _, _ := p.ready()
	last := size - units.Bytes(full)*p.c.payload + p.c.header
	for _, s := range p.c.there[full%int64(len(p.c.there))] {
		t = max(t, p.free[s]) + p.c.stages[s].tx(last) + p.c.stages[s].delay
	}
	for _, s := range p.c.back[p.acks%int64(len(p.c.back))] {
		t = max(t, p.free[s]) + p.tx[s] + p.c.stages[s].delay
	}
	return t
}

// lastFull returns the arrival time of the ACK of the last full packet. The final, shorter
// packet may have overtaken all others.
func (p *pipeline) lastFull() units.Time {
	path := p.c.there[(p.sent-1)%int64(len(p.c.there))]
	end := path[len(path)-1]
	t := p.free[end] + p.c.stages[end].delay
	for _, s := range p.c.back[0] {
		t += p.tx[s] + p.c.stages[s].delay
	}
	return t
}

// later returns the later of two times.
func (p *pipeline) later(a, b units.Time) units.Time {
	if p.atLeast(a, b) {
		return a
	}
	return b
}

func (p *pipeline) atLeast(a, b units.Time) bool {
	if p.watching {
		p.margins = append(p.margins, a-b)
	}
	return a >= b
}

// ready returns when the next packet leaves, the number of pending ACKs that the sender has
// processed by then, and the first unacknowledged packet.
func (p *pipeline) ready() (t units.Time, seen int, una int64) {
	if p.c.window == 0 {
		return p.next, 0, p.sent // una is not used without a window
	}
	t, una = p.next, p.una
	for ; p.sent-una >= p.c.window; seen++ {
		t, una = p.later(t, p.pending[seen].at), p.pending[seen].seq
	}
	for ; seen < len(p.pending) && p.atLeast(t, p.pending[seen].at); seen++ {
		una = p.pending[seen].seq
	}
	return t, seen, una
}

// step sends a full packet.
func (p *pipeline) step() {
	t, seen, una := p.ready()
	p.una, p.pending = una, p.pending[seen:]
	p.next = t + p.gap
	t = p.pass(t, p.c.there[p.sent%int64(len(p.c.there))])
	p.sent++
	p.unacked++
	if edge := p.c.window > 0 && p.sent-p.una >= p.c.window; p.unacked < p.c.every && !edge {
		return
	}
	p.unacked = 0
	t = p.pass(t, p.c.back[p.acks%int64(len(p.c.back))])
	p.acks++
	if p.c.window > 0 {
		p.pending = append(p.pending, pendingAck{p.sent, t})
	}
}

// pass moves a frame through the stages of its path.
func (p *pipeline) pass(t units.Time, path []uint16) units.Time {
	for _, s := range path {
		p.free[s] = p.later(t, p.free[s]) + p.tx[s]
		t = p.free[s] + p.c.stages[s].delay
	}
	return t
}

// leap computes two periods. If the second repeats the first, it skips all further periods
// that do, until at most to packets are sent.
func (p *pipeline) leap(to int64) {
	zero := p.state()
	first := p.watch()
	one := p.state()
	second := p.watch()
	two := p.state()
	if len(first) != len(second) || !slices.Equal(zero.counts, one.counts) || !slices.Equal(one.counts, two.counts) {
		return
	}
	for i := range two.times {
		if two.times[i]-one.times[i] != one.times[i]-zero.times[i] {
			return
		}
	}
	n := (to - p.sent) / p.period
	for i, m := range second {
		drift := m - first[i]
		switch {
		case (m >= 0) != (first[i] >= 0):
			return
		case m >= 0 && drift < 0:
			n = min(n, int64(m/-drift))
		case m < 0 && drift > 0:
			n = min(n, int64((-m-1)/drift))
		}
	}
	move := func(t *units.Time, i int) { *t += units.Time(n) * (two.times[i] - one.times[i]) }
	move(&p.next, 0)
	for i := range p.free {
		move(&p.free[i], 1+i)
	}
	for i := range p.pending {
		move(&p.pending[i].at, 1+len(p.free)+i)
		p.pending[i].seq += n * p.period
	}
	p.sent += n * p.period
	p.una += n * p.period
	p.acks += n * (two.acks - one.acks)
}

// watch computes a period and returns the margins of its comparisons.
func (p *pipeline) watch() []units.Time {
	p.watching, p.margins = true, nil
	for range p.period {
		p.step()
	}
	p.watching = false
	return p.margins
}

// pipelineState is the state that determines the next period: times, and counts relative to
// the packets sent so far.
type pipelineState struct {
	times  []units.Time
	counts []int64
	acks   int64
}

func (p *pipeline) state() pipelineState {
	s := pipelineState{times: append([]units.Time{p.next}, p.free...), acks: p.acks}
	s.counts = []int64{p.sent - p.una, int64(p.unacked), p.acks % int64(len(p.c.back))}
	for _, a := range p.pending {
		s.times = append(s.times, a.at)
		s.counts = append(s.counts, p.sent-a.seq)
	}
	return s
}
