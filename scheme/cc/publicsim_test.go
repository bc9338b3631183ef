package cc

import (
	"container/heap"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// Flow completion times in nanoseconds from the public simulator of HPCC and PowerTCP, for
// one switch with links of 100 Gbps and 1 us, preset hpcc-sim. The small model of that
// simulator below must give the same times with the controls of this package. So the rate of
// every ACK must be exact to the bit.
func TestAgainstPublicSimulator(t *testing.T) {
	for _, c := range []struct {
		name string
		cc   string
		size int64 // size of each flow
		want []int64
	}{
		{"one flow", "hpcc", 10_000_000, []int64{922646}},
		{"one flow", "powertcp", 10_000_000, []int64{919622}},
		{"16 to 1, short", "hpcc", 64_000, []int64{
			91884, 91971, 92058, 92145, 92232, 92319, 92406, 92493, 92580, 92667, 92754, 92841, 92928, 93015, 93102, 93189,
		}},
		{"16 to 1, short", "powertcp", 64_000, []int64{
			81357, 81531, 82401, 85185, 87360, 87534, 89361, 90492, 90666, 90927, 91101, 91884, 92058, 92493, 93015, 93189,
		}},
		{"16 to 1, long", "hpcc", 1_000_000, []int64{
			1413223, 1225521, 1517718, 1460115, 1461381, 1484216, 1411087, 1393038,
			1197297, 1168650, 1345256, 1471509, 1509869, 1453390, 1501838, 1509662,
		}},
		{"16 to 1, long", "powertcp", 1_000_000, []int64{
			1477252, 1444679, 1462990, 1412248, 1431821, 1357431, 1398796, 1473025,
			1432952, 1415485, 1395436, 1275774, 1474317, 1451752, 1326346, 1106855,
		}},
	} {
		t.Run(c.name+"/"+c.cc, func(t *testing.T) {
			entry, err := Algorithms.Get(c.cc)
			if err != nil {
				t.Fatal(err)
			}
			params := entry.Params()
			if err := params.(interface{ ApplyPreset(string) error }).ApplyPreset("hpcc-sim"); err != nil {
				t.Fatal(err)
			}
			factory, err := entry.New(params)
			if err != nil {
				t.Fatal(err)
			}
			if got := publicSim(factory, len(c.want), c.size); !slices.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

// publicSim models one switch, n senders with one flow each starting at 100 us, and one
// receiver. All times, also of transmissions, are whole nanoseconds. Events at the
// same time run in the order in which they were scheduled.
func publicSim(factory Factory, n int, size int64) []int64 {
	s := &nsEvents{}
	spec := factory().(Telemetry).NeedsTelemetry()
	senders := make([]*nsSender, n)
	toSender := make([]*nsPort, n)
	toSwitch := &nsPort{s: s, arrive: func(f nsFrame) { toSender[f.flow].enqueue(f) }} // ACKs of the receiver
	toReceiver := &nsPort{s: s, stamps: true, spec: spec}
	expected := make([]int64, n)
	toReceiver.arrive = func(f nsFrame) {
		expected[f.flow] += f.payload
		toSwitch.enqueue(nsFrame{flow: f.flow, seq: expected[f.flow], size: 88, ext: f.ext})
	}
	for i := range n {
		q := &nsSender{s: s, ctl: factory(), flow: i, size: size, out: toReceiver}
		senders[i] = q
		toSender[i] = &nsPort{s: s, arrive: q.acknowledged}
		s.after(nsStart, q.start)
	}
	s.run()
	var out []int64
	for _, q := range senders {
		out = append(out, q.done-nsStart)
	}
	return out
}

const (
	nsStart   = 100_000 // start of all flows
	nsPayload = 1000
	nsHeader  = 90 // with INT
	nsDelay   = 1000
)

// nsSpacing returns the duration of b bytes at rate r, in whole nanoseconds.
func nsSpacing(b int64, r units.Rate) int64 { return 8_000_000_000 * b / int64(r) }

func nsTime(ns int64) units.Time { return units.Time(ns) * units.Nanosecond }

type nsEvent struct {
	at, order int64
	run       func()
}

type nsEvents struct {
	queue []nsEvent
	now   int64
	order int64
}

func (s *nsEvents) Len() int { return len(s.queue) }
func (s *nsEvents) Less(i, j int) bool {
	a, b := &s.queue[i], &s.queue[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}
func (s *nsEvents) Swap(i, j int) { s.queue[i], s.queue[j] = s.queue[j], s.queue[i] }
func (s *nsEvents) Push(x any)    { s.queue = append(s.queue, x.(nsEvent)) }
func (s *nsEvents) Pop() any {
	last := s.queue[len(s.queue)-1]
	s.queue = s.queue[:len(s.queue)-1]
	return last
}

func (s *nsEvents) after(d int64, run func()) {
	s.order++
	heap.Push(s, nsEvent{s.now + d, s.order, run})
}

func (s *nsEvents) run() {
	for len(s.queue) > 0 {
		e := heap.Pop(s).(nsEvent)
		s.now = e.at
		e.run()
	}
}

type nsFrame struct {
	flow               int
	seq, size, payload int64
	ext                packet.Ext
}

// nsPort is a queue and its link.
type nsPort struct {
	s              *nsEvents
	queue          []nsFrame
	length         int64 // bytes in the queue
	sent, enqueued int64 // total bytes
	busy           bool
	stamps         bool // writes telemetry
	spec           telemetry.Spec
	arrive         func(nsFrame)
}

func (p *nsPort) enqueue(f nsFrame) {
	p.queue = append(p.queue, f)
	p.length += f.size
	p.enqueued += f.size
	p.serve()
}

func (p *nsPort) serve() {
	if p.busy || len(p.queue) == 0 {
		return
	}
	f := p.queue[0]
	p.queue = p.queue[1:]
	p.length -= f.size
	if p.stamps {
		counter := p.sent
		if p.spec.Counter == telemetry.Queued {
			counter = p.enqueued
		}
		f.ext = p.spec.Format.Append(nil, &telemetry.Record{
			Time: nsTime(p.s.now), Queue: units.Bytes(p.length), Bytes: units.Bytes(counter), Rate: 100 * units.Gbps,
		})
	}
	p.sent += f.size
	p.busy = true
	d := nsSpacing(f.size, 100*units.Gbps)
	p.s.after(d, func() { p.busy = false; p.serve() })
	p.s.after(d+nsDelay, func() { p.arrive(f) })
}

// nsSender is a NIC with one queue pair.
type nsSender struct {
	s          *nsEvents
	ctl        Control
	out        *nsPort
	flow       int
	size       int64
	next, una  int64
	lastSize   int64
	sendAt     int64 // when pacing allows the next packet
	wakeAt     int64 // time of the pending wake-up; 0: none
	generation int   // number of the pending wake-up
	busy       bool
	done       int64
}

func (q *nsSender) start() {
	q.ctl.Start(nsTime(q.s.now), &Flow{Line: 100 * units.Gbps, MTU: nsPayload + nsHeader, MSS: nsPayload, BaseRTT: nsTime(4160)})
	q.sendAt = q.s.now
	q.serve()
}

func (q *nsSender) serve() {
	now := nsTime(q.s.now)
	switch {
	case q.busy || q.next >= q.size:
	case q.sendAt <= q.s.now && q.next-q.una < int64(q.ctl.Window(now)):
		f := nsFrame{flow: q.flow, seq: q.next, payload: min(nsPayload, q.size-q.next)}
		f.size = f.payload + nsHeader
		q.next += f.payload
		q.lastSize = f.size
		q.busy = true
		q.sendAt = q.s.now + nsSpacing(f.size, q.ctl.Rate(now))
		d := nsSpacing(f.size, 100*units.Gbps)
		q.s.after(d, func() { q.busy = false; q.serve() })
		q.s.after(d+nsDelay, func() { q.out.enqueue(f) })
	case q.wakeAt == 0 && q.sendAt > q.s.now:
		q.wake(q.sendAt)
	}
}

func (q *nsSender) wake(at int64) {
	q.generation++
	mine := q.generation
	q.wakeAt = at
	q.s.after(at-q.s.now, func() {
		if mine == q.generation {
			q.wakeAt = 0
			q.serve()
		}
	})
}

func (q *nsSender) acknowledged(f nsFrame) {
	now := nsTime(q.s.now)
	q.una = max(q.una, f.seq)
	if q.una == q.size {
		q.done = q.s.now
	}
	before := q.ctl.Rate(now)
	// Byte numbers can replace packet numbers: only their order matters.
	q.ctl.OnAck(now, &Ack{Seq: uint32(f.seq), Next: uint32(q.next), Bytes: nsPayload, Telemetry: f.ext})
	q.sendAt += nsSpacing(q.lastSize, q.ctl.Rate(now)) - nsSpacing(q.lastSize, before)
	if q.wakeAt != 0 && q.sendAt < q.wakeAt {
		q.wake(max(q.sendAt, q.s.now))
	}
	q.serve()
}
