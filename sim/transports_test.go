package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/packet"
	"github.com/xoff-net/xoff/probe"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/units"
)

// peek is a sink that shows its node.
type peek struct {
	probe.Ignore
	node probe.Node
	lost int // data packets that its links lost or it dropped
}

func (p *peek) Attach(n probe.Node) { p.node = n }

func (p *peek) Drop(_ units.Time, _ int, f *packet.Packet, _ probe.Reason) {
	if f.Kind() == packet.Data {
		p.lost++
	}
}

// carried builds a star of so many senders to the last host, at 25 Gbps and 1 us.
func carried(t *testing.T, senders int, hosts, more string, size units.Bytes) (*scenario.Built, []*peek) {
	t.Helper()
	text := fmt.Sprintf("name: carried\ntopology: {name: one-switch, hosts: %d, host_link: {rate: 25Gbps, delay: 1us}}\nhosts: %s\n%srun: {arrivals: 1us, stop: {when: all_flows_done, at_most: 100ms}}\nworkload:\n  - name: a\n    generator: flows\n    flows:\n", senders+1, hosts, more)
	for i := range senders {
		text += fmt.Sprintf("      - {from: host%d, to: host%d, size: %dB}\n", i, senders, int64(size))
	}
	cfg, err := scenario.Parse("carried.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	peeks := make([]*peek, senders+2)
	b, err := scenario.Build(cfg, scenario.BuildOptions{Invariants: true, Sink: func(node int) probe.Sink {
		peeks[node] = &peek{}
		return peeks[node]
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b, peeks
}

// Flows that start together share a bottleneck: Jain's index of what they deliver
// in the last third of 3 ms, some 500 round trips, is over 0.95. The queue of HPCC
// and PowerTCP stays under one bandwidth-delay product (25 Gbps x 5.8 us = 18 KB)
// on average from the tenth round trip of two flows on.
func TestTransportsShareABottleneck(t *testing.T) {
	for _, name := range []string{"hpcc", "powertcp"} {
		for _, n := range []int{2, 16} {
			b, peeks := carried(t, n, "{cc: {name: "+name+"}}", "", 20*units.MB)
			f, err := sim.NewFast(b.Spec, sim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var from []uint32
			sum, samples := units.Bytes(0), units.Bytes(0)
			for at := 60 * units.Microsecond; at <= 3*units.Millisecond; at += 10 * units.Microsecond {
				if _, err := f.RunUntil(context.Background(), at); err != nil {
					t.Fatal(err)
				}
				sum += peeks[n+1].node.View().EgressPort(n)
				samples++
				if at == 2*units.Millisecond {
					for i := range n {
						from = append(from, b.Flows.Recv[i].Next)
					}
				}
			}
			s, squares := 0.0, 0.0
			for i := range n {
				x := float64(b.Flows.Recv[i].Next - from[i])
				s, squares = s+x, squares+x*x
			}
			if jain := s * s / (float64(n) * squares); !(jain > 0.95) {
				t.Errorf("%s, %d flows: Jain's index is %.3f", name, n, jain)
			}
			// 1 ms at 25 Gbps are 2867 packets of 1090 B.
			if s < 0.85*2867 {
				t.Errorf("%s, %d flows: %.0f packets in the last third, the link takes 2867", name, n, s)
			}
			if mean := sum / samples; n == 2 && mean > 18*units.KB {
				t.Errorf("%s: the queue is %s on average", name, mean)
			}
			for _, c := range b.Checks {
				if c.Broken > 0 {
					t.Errorf("%s: %s", name, c.First)
				}
			}
		}
	}
}

// On a cable that damages 0.1 % of the frames, IRN sends exactly the lost packets
// again, but for those whose timer ran out, and is done before go-back-N.
func TestIRNResendsWhatIsLost(t *testing.T) {
	done := map[string]units.Time{}
	for _, name := range []string{"go-back-n", "irn", "sack"} {
		b, peeks := carried(t, 1, "{cc: {name: none}, reliability: {name: "+name+"}}", "faults: [{at: 0s, link: host0-switch0, corrupt: 0.001, for: 100ms}]\n", 10*units.MB)
		f, err := sim.NewFast(b.Spec, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		lost, sent := 0, b.Flows.Send[0]
		for _, p := range peeks {
			lost += p.lost
		}
		if sent.Acked == 0 || lost == 0 {
			t.Fatalf("%s: acknowledged at %s, %d packets lost", name, sent.Acked, lost)
		}
		if name == "irn" && int(sent.Resent) != lost {
			t.Errorf("irn sent %d packets again, %d were lost, %d timeouts", sent.Resent, lost, sent.Timeouts)
		}
		done[name] = sent.Acked
		for _, c := range b.Checks {
			if c.Broken > 0 {
				t.Errorf("%s: %s", name, c.First)
			}
		}
	}
	if done["irn"] >= done["go-back-n"] || done["sack"] >= done["go-back-n"] {
		t.Errorf("done at %v", done)
	}
}
