package fabric_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
)

// everyCollective are all operations and algorithms, with the share of the size that each of n
// servers must at least receive over its NICs.
var everyCollective = []struct {
	operation, algorithm string
	share                func(n float64) float64
}{
	{"all_reduce", "ring", reduced}, {"all_reduce", "halving_doubling", reduced}, {"all_reduce", "tree", reduced},
	{"all_reduce", "double_binary_tree", reduced}, {"all_reduce", "hierarchical", reduced},
	{"all_gather", "ring", gathered}, {"reduce_scatter", "ring", gathered},
	{"broadcast", "ring", func(float64) float64 { return 1 }}, {"broadcast", "tree", func(float64) float64 { return 1 }},
	{"all_to_all", "direct", gathered}, {"all_to_all", "pairwise", gathered},
}

func reduced(n float64) float64  { return 2 * (n - 1) / n }
func gathered(n float64) float64 { return (n - 1) / n }

// No collective beats its lower bound: the bytes that a server must receive, over all its
// NICs. For all_to_all with 4 GPUs per server, each GPU receives (n-1)/n of its buffer.
func TestLowerBounds(t *testing.T) {
	for _, nodes := range []string{"", "nodes: {nics: 4, scale_up: {rate: 3.6Tbps}}"} {
		for _, c := range everyCollective {
			for _, size := range []units.Bytes{1, 1000, 160_000} {
				for _, more := range []string{"", ", channels: 4, chunks: 3"} {
					text := fmt.Sprintf(`
name: bound
topology: {name: one-switch, hosts: 16, host_link: {rate: 100Gbps, delay: 10ns}}
%s
hosts: {cc: {name: fixed}}
workload: [{name: a, generator: collective, operation: %s, algorithm: %s, size: %s%s}]
run: {stop: {when: all_flows_done, at_most: 100ms}}
`, nodes, c.operation, c.algorithm, size, more)
					f := simulate(t, jobScenario(t, text), 1, 1)
					j := f.Jobs[0]
					s := j.Collectives()[0]
					if !j.Done() || !s.Done {
						t.Fatalf("%s: not done", text)
					}
					servers, rate := 16.0, 100e9/8
					if nodes != "" {
						if servers = 4; c.operation != "all_to_all" {
							rate *= 4
						}
					}
					if bound := float64(size) * c.share(servers) / rate; (s.To - s.From).Seconds() < bound {
						t.Errorf("%s %s of %s%s takes %s, less than the lower bound of %.2f us", c.operation, c.algorithm, size, more, s.To-s.From, bound*1e6)
					}
				}
			}
		}
	}
}

// sends counts the flows and the copies of a job between each two ranks.
func sends(f *fabric.Fabric) (flows, copies map[[2]uint32]int) {
	flows, copies = make(map[[2]uint32]int), make(map[[2]uint32]int)
	j := f.Jobs[0]
	for k := range j.Ops {
		op := &j.Ops[k]
		switch op.Kind.String() {
		case "send":
			flows[[2]uint32{op.Rank, j.Ops[j.Targets[op.To]].Rank}]++
		case "copy":
			copies[[2]uint32{op.Rank, j.Ops[op.To].Rank}]++
		}
	}
	return flows, copies
}

// Two servers of 4 GPUs and a reduce-scatter with 2 channels of 7 steps. Channel 0 visits 0 1
// 2 3 7 6 5 4, channel 1 visits 1 2 3 0 4 7 6 5: between servers, every hop is on one rail.
func TestRingsStayOnRails(t *testing.T) {
	f := simulate(t, jobScenario(t, `
name: rails
topology: {name: rail, segments: 1, servers: 2, rails: 4, spines: 1, host_link: {rate: 400Gbps, delay: 100ns}, fabric_link: {rate: 400Gbps, delay: 100ns}}
nodes: {gpus: 4, nics: 4, scale_up: {rate: 3.6Tbps}}
workload: [{name: a, generator: collective, operation: reduce_scatter, size: 80KB, channels: 2}]
run: {stop: {when: all_flows_done, at_most: 10ms}}
`), 1, 1)
	flows, copies := sends(f)
	for _, ring := range [][]uint32{{0, 1, 2, 3, 7, 6, 5, 4}, {1, 2, 3, 0, 4, 7, 6, 5}} {
		for i, from := range ring {
			to := ring[(i+1)%len(ring)]
			hops := copies
			if from/4 != to/4 {
				hops = flows
				if from%4 != to%4 {
					t.Fatalf("%d to %d leaves its rail", from, to)
				}
			}
			hops[[2]uint32{from, to}] -= 7
		}
	}
	for _, hops := range []map[[2]uint32]int{flows, copies} {
		for pair, n := range hops {
			if n != 0 {
				t.Errorf("%d sends too many from %d to %d", n, pair[0], pair[1])
			}
		}
	}
}
