package explain_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
)

// star has three hosts at a switch. A full packet is 1048 B and takes 83,840 ps, an ACK of 64 B
// takes 5120 ps, and a cable 1 us: alone, a packet of a to c and its ACK take
// 2 * (83,840 + 1,000,000) + 2 * (5120 + 1,000,000) = 4,177,920 ps.
const star = `
name: star
seed: 1
topology: {name: custom, hosts: [a, b, c], switches: [s], link: {rate: 100Gbps, delay: 1us}, links: [{ends: [a, s]}, {ends: [b, s]}, {ends: [c, s]}]}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [3], kind: lossless}}
switch: {buffer: {size: 4MiB}}
hosts: {cc: {name: none}}
run: {arrivals: 10us, stop: {when: all_flows_done, at_most: 20ms}}
workload:
  - {name: w, generator: flows, class: rdma, flows: [`

const roundTrip = 4177920

// Each part of a flow's time in a case worked out by hand, and what the flow waited for.
func TestByHand(t *testing.T) {
	for _, c := range []struct {
		name, flows string
		set         []string
		flow        int
		part        explain.Part
		where       string
		acks        bool
		time        units.Time // of the part at that site
		who, root   string
		total       units.Time
		rounds      int
		window      units.Time // time of these round trips
		before      units.Time // queueing at the same port before that
	}{
		{name: "queueing", flows: "{from: a, to: c, size: 1KB, start: 0s}, {from: b, to: c, size: 1KB, start: 0s}", flow: 1,
			// Both arrive at the same time; the one from b is second.
			part: explain.Queueing, where: "s.to-c", time: 83840, who: "flow 0 (w, a to c)", total: roundTrip + 83840},
		{name: "queueing at the host", flows: "{from: a, to: c, size: 1KB, start: 0s}, {from: a, to: b, size: 1KB, start: 0s}", flow: 1,
			part: explain.Queueing, where: "a.to-s", time: 83840, who: "flow 0 (w, a to c)", total: roundTrip + 83840},
		{name: "own queueing", flows: "{from: a, to: c, size: 3KB, start: 0s}",
			set: []string{"topology.links=[{ends: [a, s]}, {ends: [b, s]}, {ends: [c, s], rate: 50Gbps}]"},
			// Sent at 0, 83,840 and 167,680; s serves one every 167,680 from 1,083,840. The last
			// arrives at 1,251,520 and departs at 1,419,200. The slow link adds 83,840 to it and
			// 5120 to its ACK.
			part: explain.OwnQueue, where: "s.to-c", time: 1419200 - 1251520, total: 167680 + roundTrip + 167680 + 83840 + 5120},
		{name: "paused", flows: "{from: a, to: c, size: 1KB, start: 5us}", set: []string{"faults=[{at: 0s, host: c, stuck: true, for: 50us}]"},
			// It arrives at s at 6,083,840, and the RESUME at 50,000,000 + 5120 + 1,000,000.
			part: explain.Paused, where: "s.to-c", time: 51005120 - 6083840, who: "c", root: "c", total: roundTrip + 51005120 - 6083840},
		{name: "queueing, then paused", flows: "{from: a, to: c, size: 1KB, start: 5us}, {from: b, to: c, size: 1KB, start: 5us}", flow: 1,
			set: []string{"faults=[{at: 5094880ps, host: c, stuck: true, for: 50us}]"},
			// Both arrive at 6,083,840, and the PAUSE at 5,094,880 + 5120 + 1,000,000 = 6,100,000,
			// while the first is being sent; the RESUME arrives 50 us later.
			part: explain.Paused, where: "s.to-c", time: 50 * units.Microsecond, who: "c", root: "c", before: 6100000 - 6083840,
			total: roundTrip + 56100000 - 6083840},
		{name: "replies in a row", flows: "{from: a, to: c, size: 500B, start: 0s}",
			set: []string{"hosts.payload=100B", "hosts.ack.size=1000B", "hosts.cc={name: fixed, rate: 100Gbps, window: 300B}"},
			// Packets of 148 B take 11,840 ps, ACKs 80,000 ps. Packet 0 reaches c at
			// 2 * 1,011,840 = 2,023,680, packet 1 at 2,035,520. Its ACK waits behind the ACK of
			// packet 0 until 2,103,680, reaches a 2 * 1,080,000 later, at 4,263,680, and releases
			// packet 4, which takes 2,023,680, and its ACK 2,160,000. The round trip started with
			// packet 1, at 11,840.
			part: explain.OwnQueue, where: "c.to-s", acks: true, time: 2103680 - 2035520, total: 4263680 + 2023680 + 2160000, rounds: 1,
			window: 4263680 - 11840},
		{name: "lost", flows: "{from: a, to: c, size: 1KB, start: 0s}", set: []string{"faults=[{at: 0s, link: a-s, corrupt: 1, for: 2us}]"},
			// The timeout is 1 ms.
			part: explain.Lost, where: "a.to-s", time: units.Millisecond, total: roundTrip + units.Millisecond},
		{name: "lost before others", flows: "{from: a, to: c, size: 3KB, start: 0s}", set: []string{"faults=[{at: 0s, link: a-s, corrupt: 1, for: 1.1us}]"},
			// The first is lost at s at 1,083,840. The second arrives there at 1,167,680 and at c at
			// 2,251,520; the NACK takes 2 * (5120 + 1,000,000) and arrives at 4,261,760. Then all
			// three are retransmitted.
			part: explain.Lost, where: "a.to-s", time: 4261760, total: 4261760 + 2*83840 + roundTrip},
		{name: "pacing", flows: "{from: a, to: c, size: 2KB, start: 0s}", set: []string{"hosts.cc={name: fixed, rate: 10Gbps}"},
			// 1048 B take 838,400 ps at 10 Gb/s.
			part: explain.Pacing, where: "a.to-s", time: 838400 - 83840, total: roundTrip + 838400},
		{name: "window", flows: "{from: a, to: c, size: 3KB, start: 0s}", set: []string{"hosts.cc={name: fixed, rate: 100Gbps, window: 1KB}"},
			part: explain.Propagation, where: "c.to-s", acks: true, time: 3 * units.Microsecond, total: 3 * roundTrip, rounds: 2, window: 2 * roundTrip},
		{name: "receiver", flows: "{from: a, to: c, size: 1KB, start: 0s}",
			set:  []string{"hosts.receive={rate: 10Gbps, buffer: 1MB, xoff: 100KB, hosts: [c]}"},
			part: explain.Receiver, where: "c", time: 838400, total: roundTrip + 838400},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := recorded(t, star+c.flows+"]}\n", c.set...)
			s, err := r.Flow(c.flow)
			if err != nil {
				t.Fatal(err)
			}
			if s.Time != c.total || s.Rounds != c.rounds || s.Window != c.window {
				t.Errorf("took %d, window %d in %d round trips; want %d, and %d in %d", s.Time, s.Window, s.Rounds, c.total, c.window, c.rounds)
			}
			for _, p := range s.Sites {
				switch {
				case p.Part == c.part && p.Where == c.where && p.Acks == c.acks:
					if p.Time != c.time {
						t.Errorf("%s at %s for %d, want %d", p.Part, p.Where, p.Time, c.time)
					}
					if c.who != "" && (len(p.By) != 1 || p.By[0].Who != c.who || p.By[0].Root != c.root) {
						t.Errorf("waited for %+v, want %s with root %q", p.By, c.who, c.root)
					}
					c.part = 255
				case p.Part == explain.Queueing && p.Where == c.where && c.before > 0:
					if p.Time != c.before {
						t.Errorf("queueing for %d before, want %d", p.Time, c.before)
					}
				case p.Part != explain.Serialisation && p.Part != explain.Propagation:
					t.Errorf("unexpected: %s at %s for %d", p.Part, p.Where, p.Time)
				}
			}
			if c.part != 255 {
				t.Errorf("the expected part is missing: %+v", s.Sites)
			}
		})
	}
}

// A retransmission reports where the packet was lost and how the loss was detected.
func TestLoss(t *testing.T) {
	r, _ := recorded(t, star+"{from: a, to: c, size: 1KB, start: 0s}]}\n", "faults=[{at: 0s, link: a-s, corrupt: 1, for: 2us}]")
	s, err := r.Flow(0)
	if err != nil {
		t.Fatal(err)
	}
	want := explain.Loss{Packet: 0, Sent: 0, Noticed: units.Millisecond, By: "a timeout", Where: "dropped at s.to-a, at 1.08us: link"}
	if len(s.Losses) != 1 || s.Losses[0] != want {
		t.Errorf("%+v, want %+v", s.Losses, want)
	}
}
