package fabric_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/interop/goal"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// jobScenario returns a scenario with a fabric and workloads as text.
func jobScenario(t testing.TB, text string) *scenario.Config {
	t.Helper()
	c, err := scenario.Parse("jobs.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// simulate runs a scenario on an engine with strict invariants and returns its fabric.
func simulate(t testing.TB, c *scenario.Config, workers, divisor int) *fabric.Fabric {
	t.Helper()
	f, err := fabric.New(c, fabric.Options{Invariants: true})
	if err != nil {
		t.Fatal(err)
	}
	var e interface {
		Run(context.Context) (units.Time, error)
	}
	if workers == 0 {
		e, err = sim.NewOracle(f.Spec, sim.OracleOptions{})
	} else {
		e, err = sim.NewFast(f.Spec, sim.Options{Workers: workers, WindowDivisor: divisor})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Checks {
		if c.Broken > 0 {
			t.Fatal(c.First)
		}
	}
	return f
}

// flowTime is a flow with its times.
type flowTime struct {
	src, dst     uint32
	size         units.Bytes
	start, acked units.Time
}

func flowTimes(f *fabric.Fabric) []flowTime {
	var list []flowTime
	for i := range f.Flows.Flow {
		w := &f.Flows.Flow[i]
		at, _ := f.Flows.Began(i)
		list = append(list, flowTime{w.Src, w.Dst, w.Size, at, f.Flows.Send[i].Acked})
	}
	slices.SortFunc(list, func(a, b flowTime) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.src, b.src), cmp.Compare(a.dst, b.dst), cmp.Compare(a.size, b.size), cmp.Compare(a.acked, b.acked))
	})
	return list
}

const plainFabric = `
name: jobs
topology: {name: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 4, host_link: {rate: 100Gbps, delay: 500ns}, fabric_link: {rate: 100Gbps, delay: 500ns}}
run: {stop: {when: all_flows_done, at_most: 100ms}}
`

// A job without compute has the flow times of the generator of that collective.
func TestJobEqualsGenerator(t *testing.T) {
	for _, c := range []struct{ generator, job string }{
		{"ring_allreduce, size: 80003B, repeat: 2, gap: 3us", "collective, size: 80003B, repeat: 2, gap: 3us"},
		{"halving_doubling, size: 80003B", "collective, algorithm: halving_doubling, size: 80003B"},
		// The generator's size is what a rank sends to the seven others.
		{"all_to_all, size: 70KB", "collective, operation: all_to_all, algorithm: pairwise, size: 80KB"},
		{"all_to_all, size: 70KB, parallel: 0", "collective, operation: all_to_all, size: 80KB"},
	} {
		want := flowTimes(simulate(t, jobScenario(t, plainFabric+"workload: [{name: a, generator: "+c.generator+"}]"), 1, 1))
		got := flowTimes(simulate(t, jobScenario(t, plainFabric+"workload: [{name: a, generator: "+c.job+"}]"), 1, 1))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d flows, %d expected, or other times", c.job, len(got), len(want))
			for i := range min(len(got), len(want), 20) {
				t.Logf("%v %v", got[i], want[i])
			}
		}
	}
}

// On one switch with 100 Gbps, nothing queues. A step takes the time of its bytes with their
// headers, 48 B per 1000 B, plus the way of the last packet: a second serialisation, 83.84 ns,
// and two cables of 100 ns. A host that sends and receives at once also sends 64 B of ACK per
// packet. The lower bound of nccl-tests counts neither.
func TestClosedForms(t *testing.T) {
	const n = 16
	for _, c := range []struct {
		operation, algorithm, more string
		size                       float64 // bytes
		steps, bytes               float64 // serial steps; bytes of each
		acks                       bool    // hosts send and receive at once
		bound                      float64 // bytes that the link of a host must carry
	}{
		{"all_reduce", "ring", "", 1.6e6, 2 * (n - 1), 1e5, true, 2 * 1.5e6},
		{"all_reduce", "ring", ", channels: 4", 1.6e6, 2 * (n - 1), 1e5, true, 2 * 1.5e6},
		{"all_gather", "ring", "", 1.6e6, n - 1, 1e5, true, 1.5e6},
		{"reduce_scatter", "ring", "", 1.6e6, n - 1, 1e5, true, 1.5e6},
		// The last of 4 chunks leaves after 3 steps and passes 15 links.
		{"broadcast", "ring", ", chunks: 4", 1.6e6, n - 1 + 3, 4e5, true, 1.6e6},
		// The longest path: 15 to 7 alone, 7 to 3 after 8, which had the link of 3 before; 3
		// and 4 to 1 share its link, and so do 1 and 2 to 0. The same back: 1 + 2 + 2 + 2
		// times the data, less 1 because 8 overlaps with 15, and 2 + 2 + 2 + 1.
		{"all_reduce", "tree", "", 4e5, 8, 13 * 4e5 / 8, false, 2 * 4e5},
		// 1/2, 1/4, 1/8 and 1/16 of the data, then the reverse: 8 steps, 2 * 15/16 of it.
		{"all_reduce", "halving_doubling", "", 1.6e6, 8, 2 * 1.5e6 / 8, true, 2 * 1.5e6},
		{"all_to_all", "pairwise", "", 1.6e6, n - 1, 1e5, true, 1.5e6},
	} {
		text := fmt.Sprintf(`
name: form
topology: {name: one-switch, hosts: %d, host_link: {rate: 100Gbps, delay: 100ns}}
hosts: {cc: {name: fixed}}
workload: [{name: a, generator: collective, operation: %s, algorithm: %s, size: %.0fB%s}]
run: {stop: {when: all_flows_done, at_most: 100ms}}
`, n, c.operation, c.algorithm, c.size, c.more)
		f := simulate(t, jobScenario(t, text), 1, 1)
		s := f.Jobs[0].Collectives()[0]
		took := (s.To - s.From).Seconds()
		const perByte = 8 / 100e9
		wire := 1.048
		if c.acks {
			wire += 0.064
		}
		way := 1048*perByte + 2*100e-9
		switch {
		case c.more == ", channels: 4": // while a channel waits, others send
			way = 0
		case c.algorithm == "pairwise": // a step also waits for the last ACK
			way += 2*64*perByte + 2*100e-9
		}
		want := c.steps * (c.bytes*wire*perByte + way)
		if math.Abs(took/want-1) > 0.02 {
			t.Errorf("%s %s%s takes %.2f us (expected %.2f us)", c.operation, c.algorithm, c.more, took*1e6, want*1e6)
		}
		if bound := c.bound * perByte; took < bound {
			t.Errorf("%s %s takes %.2f us, less than the lower bound of %.2f us", c.operation, c.algorithm, took*1e6, bound*1e6)
		}
	}
}

// Rank 1 computes for 10 us and then posts its recv; the message of 1000 B has come long before.
// At 10 us it sends 1 B back: a frame of 49 B takes 3.92 ns on each of two links of
// 100 ns. Then rank 0 computes 1 us. Without rendezvous it does that after the ACK: 1048 B and
// 64 B pass two links each.
func TestRendezvous(t *testing.T) {
	file := func(recvAfter string) string {
		path := filepath.Join(t.TempDir(), "a.goal")
		text := "num_ranks 2\nrank 0 {\ns: send 1000b to 1\nc: calc 1000\nc requires s\n}\nrank 1 {\nc: calc 10000\nr: recv 1000b from " + recvAfter + "\nr requires c\n}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const ack = 2 * (83840 + 5120 + 200*units.Nanosecond)
	for _, c := range []struct {
		from, keys string
		want       units.Time // end of the last compute of rank 0
	}{
		{"0", "rendezvous: 1000B", 11*units.Microsecond + 2*(3920+100*units.Nanosecond)},
		{"-1", "rendezvous: 1000B", 11*units.Microsecond + 2*(3920+100*units.Nanosecond)},
		{"0", "rendezvous: 1001B, eager: 10B", units.Microsecond + ack},
		{"0", "eager: 1000B", units.Microsecond},
	} {
		text := `
name: rendezvous
topology: {name: one-switch, hosts: 2, host_link: {rate: 100Gbps, delay: 100ns}}
run: {stop: {when: all_flows_done, at_most: 1ms}}
workload: [{name: a, generator: goal, path: ` + file(c.from) + ", " + c.keys + "}]"
		for _, workers := range []int{0, 1, 2} {
			f := simulate(t, jobScenario(t, text), workers, 1)
			if got, ok := f.Jobs[0].Ops[1].Ended(); !ok || got != c.want {
				t.Errorf("%s, %d workers: %s (expected %s)", c.keys, workers, got, c.want)
			}
		}
	}
}

// randomGraph writes a random graph without cycles: messages are made one after the other,
// and each end follows some earlier operations of its rank.
func randomGraph(t testing.TB, r *rand.Rand, path string, ranks int) {
	t.Helper()
	b := make([]goal.Builder, ranks)
	count := make([]int, ranks)
	add := func(rank int, op goal.Op) {
		k := b[rank].Add(op)
		for range r.IntN(3) {
			if k > 0 {
				if on := r.IntN(k); r.IntN(5) == 0 {
					b[rank].IRequire(k, on)
				} else {
					b[rank].Require(k, on)
				}
			}
		}
		count[rank]++
	}
	// All recvs of a wild rank take any message, so that none is taken from another recv.
	wild := make([]bool, ranks)
	for i := range wild {
		wild[i] = r.IntN(4) == 0
	}
	for range 5 + r.IntN(40) {
		from, to := r.IntN(ranks), r.IntN(ranks)
		switch r.IntN(3) {
		case 0:
			add(from, goal.Op{Kind: goal.Calc, Size: uint64(r.IntN(4000)), CPU: uint8(r.IntN(2))})
		default:
			tag, size := uint32(r.IntN(3)), uint64(r.IntN(20000))
			add(from, goal.Op{Kind: goal.Send, Peer: uint32(to), Tag: tag, Size: size})
			peer := uint32(from)
			if wild[to] {
				peer, tag = goal.Any, goal.Any
			}
			// A recv follows nothing, so that wildcards cannot block.
			b[to].Add(goal.Op{Kind: goal.Recv, Peer: peer, Tag: tag, Size: size})
		}
	}
	g := graphs{}
	for i := range b {
		one, err := b[i].Graph()
		if err != nil {
			t.Fatal(err)
		}
		g = append(g, one)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := goal.WriteText(f, g); err != nil {
		t.Fatal(err)
	}
}

// graphs is a goal.Source in memory.
type graphs []*goal.Graph

func (g graphs) Ranks() int                         { return len(g) }
func (g graphs) Rank(rank int) (*goal.Graph, error) { return g[rank], nil }

// Both engines agree about every operation and flow of random graphs, with several jobs,
// scale-up domains and faults, for any number of workers and length of windows.
func agreeOnJobs(t *testing.T, cases int) {
	dir := t.TempDir()
	finished := 0
	for i := range cases {
		r := rand.New(rand.NewPCG(44, uint64(i)))
		ranks, ranksB := 2+r.IntN(6), 2+r.IntN(3)
		one, two := filepath.Join(dir, "one.goal"), filepath.Join(dir, "two.goal")
		randomGraph(t, r, one, ranks)
		randomGraph(t, r, two, ranksB)
		nodes := []string{"", "nodes: {nics: 2}", "nodes: {nics: 2, scale_up: {rate: 1Tbps, latency: 300ns}}",
			"nodes: {gpus: 2, scale_up: {rate: 400Gbps, latency: 2us}}", "nodes: {nics: 4, gpus: 4, scale_up: {rate: 100Gbps, latency: 40ns, servers: 2}}"}[r.IntN(5)]
		how := []string{"packed", "spread", "random"}[r.IntN(3)]
		eager, rendezvous := r.IntN(10000), 0
		if r.IntN(2) == 0 {
			rendezvous = eager + 1 + r.IntN(5000)
		}
		var faults []string
		for _, f := range []string{"{at: 3us, link: leaf0-spine0, down_for: 5us}", "{at: 2us, host: host1, stuck: true, for: 6us}",
			"{at: 1us, link: host0-leaf0, corrupt: 0.02, for: 40us}", "{at: 4us, link: leaf1-spine1, down_for: 2us, times: 3, every: 6us}"} {
			if r.IntN(3) == 0 {
				faults = append(faults, f)
			}
		}
		third := ""
		if n := 12 - ranks - ranksB; n >= 2 {
			third = fmt.Sprintf("  - {name: d, generator: collective, operation: %s, ranks: %d, size: 15KB, repeat: 2, gap: 1us, channels: %d, start: %dns}\n",
				[]string{"all_reduce", "all_gather", "broadcast", "all_to_all"}[r.IntN(4)], n, 1+r.IntN(2), r.IntN(2000))
		}
		text := fmt.Sprintf(`
name: random
seed: %d
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 6, host_link: {rate: 100Gbps, delay: 200ns}, fabric_link: {rate: 100Gbps, delay: 300ns}}
%s
hosts: {cc: {name: dcqcn}, reliability: {timeout: 50us}}
workload:
  - {name: a, generator: goal, path: %s, placement: %s, eager: %dB, rendezvous: %dB}
  - {name: b, generator: goal, path: %s, placement: %s, start: %dns}
  - {name: c, generator: ring_allreduce, size: 20KB}
%sfaults: [%s]
run: {stop: {when: all_flows_done, at_most: 5ms}}
`, i, nodes, one, how, eager, rendezvous, two, how, r.IntN(3000), third, strings.Join(faults, ", "))
		c := jobScenario(t, text)
		want := simulate(t, c, 0, 0)
		done := true
		for _, j := range want.Jobs {
			done = done && j.Done()
		}
		if done {
			finished++
		}
		for _, e := range [][2]int{{1, 1}, {1, 3}, {3, 1}} {
			got := simulate(t, c, e[0], e[1])
			if !reflect.DeepEqual(flowTimes(got), flowTimes(want)) {
				t.Fatalf("case %d, %d workers: flows differ\n%s", i, e[0], text)
			}
			for k := range want.Jobs {
				if !reflect.DeepEqual(got.Jobs[k].Ops, want.Jobs[k].Ops) {
					t.Fatalf("case %d, %d workers: operations of job %d differ\n%s", i, e[0], k, text)
				}
			}
		}
	}
	if finished < cases*9/10 {
		t.Errorf("only %d of %d cases finished", finished, cases)
	}
}

func TestJobsAgree(t *testing.T) { agreeOnJobs(t, 12) }

// A hostile or mistaken file is an error with its place.
func TestJobErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ text, want string }{
		{"num_ranks 2\nrank 0 {\nsend 5b to 1 tag 7\n}\nrank 1 {\n}\n", "rank 0, operation 0: send to rank 1 with tag 7 has no recv"},
		{"num_ranks 2\nrank 0 {\nsend 5b to 1 tag 7\nsend 5b to 1 tag 7\n}\nrank 1 {\nrecv 5b from 0 tag 7\n}\n", "rank 0, operation 1: send to rank 1 with tag 7 has no recv"},
		{"num_ranks 2\nrank 0 {\n}\nrank 1 {\nrecv 5b from 0 tag 3\n}\n", "rank 1, operation 0: recv from rank 0 with tag 3 has no send"},
		{"num_ranks 2\nrank 0 {\na: recv 5b from 1\nb: send 5b to 1\nb requires a\n}\nrank 1 {\na: recv 5b from 0\nb: send 5b to 0\nb requires a\n}\n", "rank 0, operation 0: this recv never completes"},
		{"num_ranks 2\nrank 0 {\nsend 5b to 1 tag 2\n}\nrank 1 {\nrecv 5b from -1 tag 3\n}\n", "rank 0, operation 0: send to rank 1 with tag 2 has no recv"},
		{"num_ranks 2\nrank 0 {\nsend 5b to 1 tag 2\nsend 5b to 1 tag 3\n}\nrank 1 {\nrecv 5b from -1 tag 3\nrecv 5b from 0 tag 3\nrecv 5b from 0 tag -1\n}\n",
			"rank 1, operation 1: recv from rank 0 with tag 3 has no send"},
		{"num_ranks 2\nrank 0 {\n}\nrank 1 {\nrecv 5b from -1 tag 3\n}\n", "rank 1, operation 0: recv from rank -1 with tag 3 has no send"},
		{"num_ranks 2\nrank 0 {\n}\nrank 1 {\nrecv 5b from -1 tag -1\n}\n", "rank 1: 0 messages are sent to it, and it has 1 recvs more than that"},
		{"num_ranks 9\n" + strings.Repeat("", 9), "expected"},
		{"num_ranks 2\nrank 0 {\ncalc 99999999999999\n}\nrank 1 {\n}\n", "rank 0, operation 0: calc of 99999999999999 ns"},
		{"num_ranks 2\nrank 0 {\nsend 200000000000b to 1\n}\nrank 1 {\nrecv 200000000000b from 0\n}\n", "rank 0, operation 0: send of 200000000000 bytes"},
	} {
		path := filepath.Join(dir, "bad.goal")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := jobScenario(t, plainFabric+"workload: [{name: a, generator: goal, path: "+path+"}]")
		_, err := fabric.New(cfg, fabric.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v (expected %s)", c.text, err, c.want)
		}
	}
	// Two ranks that send to each other before they post their recvs wait for ever with rendezvous.
	path := filepath.Join(dir, "exchange.goal")
	exchange := "num_ranks 2\nrank 0 {\ns: send 9b to 1\nr: recv 9b from 1\nr requires s\n}\nrank 1 {\ns: send 9b to 0\nr: recv 9b from 0\nr requires s\n}\n"
	if err := os.WriteFile(path, []byte(exchange), 0o600); err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[string]string{"": "", ", rendezvous: 10B": "", ", rendezvous: 9B": "rank 0, operation 1: this recv never completes",
		", eager: 5B, rendezvous: 5B": "workload[0].rendezvous: 5B is out of range (expected 0B, or more than eager, 5B, to"} {
		_, err := fabric.New(jobScenario(t, plainFabric+"workload: [{name: a, generator: goal, path: "+path+keys+"}]"), fabric.Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (expected %s)", keys, err, want)
		}
	}
	// An exchange that posts its recvs first ends: irequires waits for the posting only.
	exchange = "num_ranks 2\nrank 0 {\nr: recv 9b from 1\ns: send 9b to 1\ns irequires r\n}\nrank 1 {\nr: recv 9b from 0\ns: send 9b to 0\ns irequires r\nc: calc 1\nc requires r\n}\n"
	if err := os.WriteFile(path, []byte(exchange), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, keys := range []string{"", ", rendezvous: 9B", ", eager: 9B"} {
		f := simulate(t, jobScenario(t, plainFabric+"workload: [{name: a, generator: goal, path: "+path+keys+"}]"), 1, 1)
		if !f.Jobs[0].Done() {
			t.Errorf("%s: %d operations are left", keys, f.Jobs[0].Left())
		}
	}
	for keys, want := range map[string]string{
		"nodes: {nics: 3}": "8 hosts cannot be divided into servers of 3 NICs", "nodes: {nics: 2, gpus: 3}": "3 GPUs cannot share 2 NICs equally",
		"nodes: {gpus: 2}": "GPUs that share a NIC have no network between them", "nodes: {scale_up: {latency: 1us}}": "a scale-up network without a rate",
		"workload: [{name: a, generator: collective, size: 1MB, ranks: 9}]":                                    "9 ranks do not fit on 8 free GPUs",
		"workload: [{name: a, generator: collective, size: 1MB, placement: 3-9}]":                              "GPU 9 does not exist (expected 0 to 7)",
		"workload: [{name: a, generator: collective, size: 1MB, placement: 1 1}]":                              "GPU 1 is not free",
		"workload: [{name: a, generator: collective, size: 1MB, algorithm: star}]":                             `"star" is unknown for all_reduce (allowed: ring,`,
		"workload: [{name: a, generator: collective, size: 1MB, ranks: 6, algorithm: halving_doubling}]":       "halving_doubling with 6 ranks",
		"workload: [{name: a, generator: collective, size: 0B}]":                                               "0B is too small",
		"workload: [{name: a, generator: collective, size: 1MB}]\ncompat: {ties: insertion}":                   "workload a is a job",
		"workload: [{name: a, generator: collective, size: 1MB}, {name: b, generator: collective, size: 1MB}]": "0 free GPUs",
	} {
		text := plainFabric + keys
		if !strings.Contains(keys, "workload") {
			text += "\nworkload: [{name: a, generator: collective, size: 1MB}]"
		}
		if _, err := fabric.New(jobScenario(t, text), fabric.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (expected %s)", keys, err, want)
		}
	}
}
