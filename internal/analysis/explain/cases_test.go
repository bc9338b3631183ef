package explain_test

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
)

// racks is the fabric of most cases: four racks of four hosts at 100 Gb/s, a core four times
// as fast, 1 us cables, one lossless class, no congestion control.
const racks = `
name: case
seed: 3
topology: {name: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 400Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [3], kind: lossless}}
switch: {buffer: {size: 4MiB}, policy: {name: dt, alpha: 1/8}, flow_control: {name: pfc, headroom: exact}}
hosts: {cc: {name: none}}
run: {arrivals: 300us, stop: {when: all_flows_done, at_most: 20ms}}
`

// Workloads of the cases. Only answers has flows to host0, unless everybody is used.
const (
	answers    = "  - {name: answers, generator: incast, senders: 6, size: 1MB, from: [rack1, rack2, rack3], to: host0, at: 20us, class: rdma}\n"
	bystanders = "  - {name: bystanders, generator: poisson, sizes: 30KB, load: {share: 0.15, of: host_links}, to: [\"host[1-9]\", \"host1?\"], class: rdma}\n"
	everybody  = "  - {name: everybody, generator: poisson, sizes: 30KB, load: {share: 0.3, of: host_links}, class: rdma}\n"
)

// pausedBy returns how much of its time a flow was paused because of root.
func pausedBy(t *testing.T, r *explain.Run, flow int, root string) (sum units.Time) {
	t.Helper()
	s, err := r.Flow(flow)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Sites {
		for _, b := range p.By {
			if p.Part == explain.Paused && b.Root == root {
				sum += b.Time
			}
		}
	}
	return sum
}

// The planted cause is found and listed first.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		name, text string
		set        []string
		kind       explain.Kind
		where      string
		says       []string // substrings of the headline
		check      func(t *testing.T, r *explain.Run, e *explain.Explanation)
	}{
		{
			// Relays forward pauses: they are not the origin of a pause tree.
			name: "incast behind relays", text: `
name: case
topology:
  name: two-dc
  k: 4
  host_link:   {rate: 100Gbps, delay: 1us}
  fabric_link: {rate: 100Gbps, delay: 1us}
  dci_link:    {rate: 100Gbps, delay: 1us}
  long_link:   {rate: 400Gbps, delay: 50us}
  relay_link:  {rate: 400Gbps, delay: 1us}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [3], kind: lossless}}
switch:
  buffer: {size: 10MB}
  policy: {name: static, limit: 60KB}
  overrides:
    - {match: "relay*", buffer: {size: 40MB}, flow_control: {name: swing}}
    - {match: "relay*.to-relay*", flow_control: {side: long}}
hosts: {cc: {name: none}}
workload:
  - {name: answers, generator: incast, senders: 1, size: 2MB, from: "host0", to: host16, at: 20us, class: rdma}
  - {name: more, generator: incast, senders: 1, size: 2MB, from: "host17", to: host16, at: 20us, class: rdma}
run: {arrivals: 300us, stop: {when: all_flows_done, at_most: 20ms}}
`,
			kind: explain.KindIncast, where: "dc1-edge0.to-host16", says: []string{"2 flows from 2 hosts", "dc1-edge0.to-host16"},
			check: func(t *testing.T, r *explain.Run, _ *explain.Explanation) {
				if pausedBy(t, r, 0, "dc1-edge0.to-host16") == 0 {
					t.Error("the flow through the relays was not paused because of dc1-edge0.to-host16")
				}
				if by := pausedBy(t, r, 0, "relay0.to-dci0"); by > 0 {
					t.Errorf("the flow was paused for %s because of a relay", by)
				}
			},
		},
		{
			name: "incast behind two switches", text: racks + "workload:\n" + answers + bystanders,
			kind: explain.KindIncast, where: "leaf0.to-host0", says: []string{"6 flows from 6 hosts", "leaf0.to-host0", "100Gbps"},
			check: func(t *testing.T, r *explain.Run, e *explain.Explanation) {
				// leaf0 pauses spines, spines pause leaves, leaves pause hosts: three deep.
				c := e.Causes[0]
				if c.Depth != 3 || c.Hosts == 0 || c.VictimFlows == 0 || c.Share < 0.8 {
					t.Errorf("depth %d, %d hosts, %d victims, share %g", c.Depth, c.Hosts, c.VictimFlows, c.Share)
				}
				if w := c.Worst.Workloads[0]; w.Workload != "answers" || w.Share < 0.7 {
					t.Errorf("filled by %+v", c.Worst.Workloads)
				}
				for _, v := range c.Victims {
					if cost := pausedBy(t, r, v.Flow, "leaf0.to-host0"); v.Workload != "bystanders" || v.Cost != cost || cost == 0 || v.Paused < cost {
						t.Errorf("victim %+v, paused for %d", v, cost)
					}
				}
				// The frame that causes the pause is in the queue, but not counted in Queue.
				if w := c.Worst; w.Queue > w.Threshold || w.FilledBytes < w.Queue || w.FilledBytes > w.Queue+2000 {
					t.Errorf("the pausing queue had %d B, threshold %d B; %d B of its frames are known", w.Queue, w.Threshold, w.FilledBytes)
				}
			},
		},
		{
			name: "stuck receiver", text: racks + "faults: [{at: 100us, host: host5, stuck: true, for: 400us}]\nworkload:\n" + everybody,
			set:  []string{"switch.policy={name: static, limit: 60KB}"},
			kind: explain.KindStuck, where: "host5", says: []string{"host5 is stuck from 100us to 500us"},
			check: func(t *testing.T, _ *explain.Run, e *explain.Explanation) {
				if len(e.Faults) != 1 || e.Faults[0].Pauses == 0 || e.Causes[0].VictimFlows == 0 {
					t.Errorf("%+v, %d victims", e.Faults, e.Causes[0].VictimFlows)
				}
			},
		},
		{
			name: "headroom too small", text: racks + "workload:\n" + answers + bystanders,
			set:  []string{`switch.overrides=[{match: "leaf0.to-spine*", flow_control: {headroom: 3000B}}]`},
			kind: explain.KindHeadroom, where: "leaf0.to-spine", says: []string{"of a lossless class", "of 3.00KB headroom", "leaf0.to-spine"},
			check: func(t *testing.T, _ *explain.Run, e *explain.Explanation) {
				if len(e.Drops) == 0 || e.Drops[0].Reason != "lossless overflow" || e.Drops[0].Reserved != 3000 || e.Drops[0].Threshold <= 0 {
					t.Errorf("%+v", e.Drops)
				}
			},
		},
		{
			name: "marks after pauses", text: racks + "workload:\n" + answers + bystanders,
			set: []string{"hosts.cc.name=dcqcn", "switch.ecn={name: red, kmin: 2MB, kmax: 3MB, pmax: 0.2, per: 100Gbps}"},
			// The threshold of a queue is 1/8 of the free buffer, less than 4 MiB.
			kind: explain.KindECN, where: "leaf0.to-host0", says: []string{"leaf0.to-host0 pauses before it marks: marking starts at 2.00MB"},
			check: func(t *testing.T, _ *explain.Run, e *explain.Explanation) {
				if m := e.Causes[0].Marks; !m.On || m.Marked != 0 || m.Frames == 0 || m.Floor != 2000000 || m.Queue > m.Floor {
					t.Errorf("%+v", m)
				}
			},
		},
		{
			name: "slow link", text: strings.Replace(racks, "topology: {", "topology: {overrides: [{match: leaf1-host5, rate: 10Gbps}], ", 1) + "workload:\n" + everybody,
			kind: explain.KindSlowLink, where: "leaf1.to-host5", says: []string{"leaf1.to-host5 is slow: 10Gbps, while most such links have 100Gbps"},
			check: func(t *testing.T, _ *explain.Run, e *explain.Explanation) {
				if c := e.Causes[0]; c.Share < 0.9 {
					t.Errorf("share %g", c.Share)
				}
			},
		},
		{
			name: "loop of pauses", text: example(t, "deadlock.yaml"), set: []string{"run.stop.at_most=500us"},
			kind: explain.KindDeadlock, where: "switch0.to-switch1 class 3", says: []string{"3 queues wait for each other, starting at", "was paused at"},
			check: func(t *testing.T, _ *explain.Run, e *explain.Explanation) {
				var loop []string
				for _, q := range e.Deadlocks[0].Loop {
					loop = append(loop, q.Queue)
				}
				want := "switch0.to-switch1 class 3, switch1.to-switch2 class 3, switch2.to-switch0 class 3"
				if got := strings.Join(loop, ", "); got != want || e.Deadlocks[0].End != nil {
					t.Errorf("loop %s, want %s", got, want)
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := recorded(t, c.text, c.set...)
			e, err := r.Explain(explain.Options{At: -1})
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Causes) == 0 {
				t.Fatalf("no cause found: %s", e.Headline)
			}
			if got := e.Causes[0]; got.Kind != c.kind || !strings.HasPrefix(got.Where, c.where) {
				t.Errorf("first cause: %s at %s, want %s at %s", got.Kind, got.Where, c.kind, c.where)
			}
			for _, s := range append(c.says, string(c.kind)) {
				if !strings.Contains(e.Headline, s) {
					t.Errorf("%q does not contain %q", e.Headline, s)
				}
			}
			c.check(t, r, e)
			var text strings.Builder
			if err := e.Text(&text); err != nil || !strings.HasPrefix(text.String(), e.Headline) {
				t.Errorf("%v: %s", err, text.String())
			}
		})
	}
}

// Options restrict an explanation to a port or a time.
func TestNarrow(t *testing.T) {
	r, done := recorded(t, racks+"faults: [{at: 100us, host: host5, stuck: true, for: 400us}]\nworkload:\n"+answers+everybody)
	all, err := r.Explain(explain.Options{At: -1})
	if err != nil {
		t.Fatal(err)
	}
	pauses := func(e *explain.Explanation) (n int) {
		for _, c := range e.Causes {
			n += c.Pauses
		}
		return n
	}
	port, err := r.Explain(explain.Options{At: -1, Ports: "leaf1.to-host5"})
	if err != nil {
		t.Fatal(err)
	}
	if c := port.Causes[0]; c.Where != "host5" || c.Ports != 1 || pauses(port) >= pauses(all) {
		t.Errorf("%d of %d pauses; first %+v", pauses(port), pauses(all), c)
	}
	before, err := r.Explain(explain.Options{At: 10 * units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Causes) != 0 {
		t.Errorf("%s at %s before anything paused", before.Causes[0].Kind, before.Causes[0].Where)
	}
	during, err := r.Explain(explain.Options{At: 450 * units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(during.Causes) == 0 || during.Causes[0].Where != "host5" {
		t.Errorf("while host5 is stuck: %s", during.Headline)
	}
	if _, err := r.Explain(explain.Options{At: -1, Ports: "leaf9.to-host5"}); err == nil {
		t.Error("no error for an unknown port")
	}
	if _, err := r.Flow(len(done.Fabric.Flows.Flow)); err == nil || !strings.Contains(err.Error(), "expected 0 to") {
		t.Errorf("unknown flow: %v", err)
	}
}
