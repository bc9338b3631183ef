package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// peek is a sink that exposes its node.
type peek struct {
	probe.Ignore
	node probe.Node
	lost int // data packets lost by its links or dropped by it
}

func (p *peek) Attach(n probe.Node) { p.node = n }

func (p *peek) Drop(_ units.Time, _ int, f *packet.Packet, _ probe.Reason) {
	if f.Kind() == packet.Data {
		p.lost++
	}
}

// buildStar builds a star whose senders all send to the last host, at 25 Gbps and 1 us.
func buildStar(t *testing.T, senders int, hosts, more string, size units.Bytes) (*fabric.Fabric, []*peek) {
	t.Helper()
	text := fmt.Sprintf("name: star\ntopology: {name: one-switch, hosts: %d, host_link: {rate: 25Gbps, delay: 1us}}\nhosts: %s\n%srun: {arrivals: 1us, stop: {when: all_flows_done, at_most: 100ms}}\nworkload:\n  - name: a\n    generator: flows\n    flows:\n", senders+1, hosts, more)
	for i := range senders {
		text += fmt.Sprintf("      - {from: host%d, to: host%d, size: %dB}\n", i, senders, int64(size))
	}
	cfg, err := scenario.Parse("star.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	peeks := make([]*peek, senders+2)
	b, err := fabric.New(cfg, fabric.Options{Invariants: true, Sink: func(node int) probe.Sink {
		peeks[node] = &peek{}
		return peeks[node]
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b, peeks
}

// On a cable that corrupts 0.1 % of the frames, IRN retransmits exactly the lost packets
// and finishes before go-back-N.
func TestIRNResendsWhatIsLost(t *testing.T) {
	done := map[string]units.Time{}
	for _, name := range []string{"go-back-n", "irn", "sack"} {
		b, peeks := buildStar(t, 1, "{cc: {name: none}, reliability: {name: "+name+"}}", "faults: [{at: 0s, link: host0-switch0, corrupt: 0.001, for: 100ms}]\n", 10*units.MB)
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
			t.Errorf("irn: %d retransmissions, %d packets lost, %d timeouts", sent.Resent, lost, sent.Timeouts)
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

// Needless retransmissions of go-back-N take bandwidth from other flows: four flows that
// share a link and lose 0.1 % take at least 50 % longer than with IRN. (A single flow
// wastes a round trip per loss either way, because IRN waits at the end of its window.)
func TestIRNBeatsGoBackN(t *testing.T) {
	var faults []string
	for i := range 4 {
		faults = append(faults, fmt.Sprintf("{at: 0s, link: host%d-switch0, corrupt: 0.001, for: 100ms}", i))
	}
	took := map[string]units.Time{}
	for _, name := range []string{"go-back-n", "irn"} {
		b, _ := buildStar(t, 4, "{cc: {name: none}, reliability: {name: "+name+"}}", "faults: ["+strings.Join(faults, ", ")+"]\n", 10*units.MB)
		f, err := sim.NewFast(b.Spec, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i := range b.Flows.Send {
			if !b.Flows.Done(i) {
				t.Fatalf("%s: flow %d is not complete", name, i)
			}
			took[name] = max(took[name], b.Flows.Send[i].Acked)
		}
	}
	if 2*took["go-back-n"] < 3*took["irn"] {
		t.Errorf("the last flow is done at %v", took)
	}
}
