package cc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/sim"
)

// damaged makes the links of all senders corrupt 0.1 % of frames.
func (s setup) damaged() setup {
	var list []string
	for i := range s.flows {
		list = append(list, fmt.Sprintf("{at: 0s, link: host%d-switch0, corrupt: 0.001, for: 100s}", i))
	}
	s.keys += "faults: [" + strings.Join(list, ", ") + "]\n"
	return s
}

// clock records the round-trip times that a control receives.
type clock struct {
	cc.Control
	seen map[units.Time]int
	none int // ACKs of new packets without a round-trip time
}

func (c *clock) NeedsRTT() {}

func (c *clock) OnAck(now units.Time, a *cc.Ack) {
	switch {
	case a.RTT > 0:
		c.seen[a.RTT]++
	case a.Bytes > 0 && !a.Nack:
		c.none++
	}
	if len(a.Telemetry) > 0 {
		panic("unrequested telemetry")
	}
	c.Control.OnAck(now, a)
}

// On an empty path every round trip takes the same time: 2 x 1048 B at 10 Gbps, 2 x 838.4 ns,
// 2 x 64 B, 2 x 51.2 ns, 4 cables of 5 us. With go-back-N this includes retransmissions: they
// carry their send time.
func TestRoundTripsOfRetransmissions(t *testing.T) {
	s := newSetup("rdma", "hosts: {header: 48B, ack: {size: 64B}, reliability: {name: go-back-n}}\n", 1, 0).damaged()
	s.line = s.rate
	b := s.build(t)
	c := &clock{seen: map[units.Time]int{}}
	fresh := b.Spec.Hosts[0].Transports[0].Control
	for _, h := range b.Spec.Hosts { // the receiver must know that times are requested
		h.Transports[0].Control = func() cc.Control {
			c.Control = fresh()
			return c
		}
	}
	var err error
	if b.engine, err = sim.NewFast(b.Spec, sim.Options{}); err != nil {
		t.Fatal(err)
	}
	b.until(10 * units.Millisecond)
	const want = 21_779_200 * units.Picosecond
	if resent := b.engine.Totals().Resent; resent < 100 || len(c.seen) != 1 || c.seen[want] < 10_000 || c.none > 0 {
		t.Errorf("%d retransmissions, round trips %v, %d ACKs without; want all %s", resent, c.seen, c.none, want)
	}
	b.checkInvariants()
}

// TIMELY learns of congestion from retransmissions. Sixteen flows that start together have a
// thousand packets each in flight at first, so nearly every window loses one. Without these
// round-trip times, rates would not change and the flows would get a third of the link.
// Once the queue is gone, they behave as without losses.
func TestTimelyUnderLosses(t *testing.T) {
	s := newSetup("rdma", rdmaKeys("{name: timely}"), 16, 0)
	for _, s := range []setup{s, s.damaged()} {
		b := s.build(t)
		jain, used := b.share(40*units.Millisecond, 60*units.Millisecond)
		if !(jain > 0.95 && used > 0.6) {
			t.Errorf("Jain's index is %.3f, %.3f of the link is used; want more than 0.95 and 0.6", jain, used)
		}
		b.checkInvariants()
	}
}
