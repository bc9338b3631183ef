package sim_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// drawLoop draws a ring with flows around it: some deadlock, some nearly do.
func drawLoop(index int) string {
	d := rand.New(rand.NewPCG(77, uint64(index)))
	oneOf := func(list ...string) string { return list[d.IntN(len(list))] }
	n, each := 3+d.IntN(3), 1+d.IntN(4)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("name: loop%d\nseed: %d", index, index)
	line("topology: {name: ring, switches: %d, hosts_per_switch: %d, host_link: {rate: 100Gbps, delay: %s}, fabric_link: {rate: 100Gbps, delay: %s}}", n, each, oneOf("200ns", "1us"), oneOf("100ns", "1us", "3us"))
	line("classes: {control: {ids: [0], kind: control}, rdma: {ids: [3, 5], kind: lossless}}")
	line("switch:")
	line("  buffer: {size: 4MiB, private_per_queue: %s, cell: %s}", oneOf("0B", "3KB"), oneOf("1B", "208B"))
	if d.IntN(3) == 0 {
		line("  policy: {name: static, limit: %s}", oneOf("3KB", "20KB", "100KB"))
	} else {
		line("  policy: {name: dt, alpha: %s}", oneOf("1/128", "1/32", "1/8", "1"))
	}
	if d.IntN(3) == 0 {
		line("  flow_control: {name: sonic}")
	} else {
		line("  flow_control: {name: pfc, delta: %s}", oneOf("0B", "0B", "2KB", "30KB"))
	}
	line("  pfc: {hold: %s, processing: %s, coalesce: %s}", oneOf("timed", "indefinite"), oneOf("0s", "100ns"), oneOf("true", "false"))
	line("  ecn: {name: none}")
	line("routing:\n  name: static\n  pinned:")
	var flows []string
	for i := range n * each * (1 + d.IntN(2)) {
		src := i % (n * each)
		hops := 1 + d.IntN(n-1)
		from, to := src/each, (src/each+hops)%n
		var via []string
		for h := range hops + 1 {
			via = append(via, fmt.Sprintf("switch%d", (from+h)%n))
		}
		dst := to*each + d.IntN(each)
		line("    - {from: host%d, to: host%d, via: [%s]}", src, dst, strings.Join(via, ", "))
		flows = append(flows, fmt.Sprintf("{from: host%d, to: host%d, size: %dB, start: %dns, class: %s}", src, dst, 1000*(1+d.IntN(400)), d.IntN(20000), oneOf("3", "3", "5")))
	}
	// Bursts between hosts of one switch fill its buffer, so that thresholds fall, and
	// drain again.
	if each > 1 && d.IntN(2) == 0 {
		for sw := range n {
			for src := 1; src < each; src++ {
				flows = append(flows, fmt.Sprintf("{from: host%d, to: host%d, size: %dB, start: %dns, class: 5}", sw*each+src, sw*each, 1000*(1+d.IntN(200)), d.IntN(20000)))
			}
		}
	}
	line("hosts:\n  cc: {name: none}\n  reliability: {timeout: 1s, max_timeout: 1s}")
	if d.IntN(4) == 0 {
		line("  receive: {rate: %s, buffer: 400KB, xoff: 10KB}", oneOf("20Gbps", "60Gbps"))
	}
	line("workload:")
	for _, c := range []string{"3", "5"} {
		var mine []string
		for _, f := range flows {
			if body, ok := strings.CutSuffix(f, ", class: "+c+"}"); ok {
				mine = append(mine, body+"}")
			}
		}
		if len(mine) > 0 {
			line("  - {name: c%s, generator: flows, class: %s, flows: [%s]}", c, c, strings.Join(mine, ", "))
		}
	}
	line("run: {arrivals: 20us, stop: {when: all_flows_done, at_most: 3ms}}")
	return b.String()
}

// checkLoop runs one case. Deadlocked queues must never move again and all others must
// finish, and the result must not depend on when or how the search runs.
func checkLoop(t *testing.T, index, every int) (found bool) {
	t.Helper()
	text := drawLoop(index)
	r := truthOf(t, text, truthOptions{})
	r.still(t)
	done, last := true, units.Time(0)
	for i := range r.built.Flows.Flow {
		done = done && r.built.Flows.Done(i)
	}
	for _, queues := range r.left {
		for _, at := range queues {
			last = max(last, at)
		}
	}
	list := r.fabric.Deadlocks
	switch {
	case done && len(list) > 0:
		t.Errorf("all flows are done despite a deadlock at %s", list[0].Onset)
	case !done && r.end-last < units.Millisecond:
		t.Errorf("frames still moved at %s of %s", last, r.end)
	case !done && len(list) == 0:
		t.Errorf("nothing has moved since %s, but no deadlock was found", last)
	}
	for _, o := range []truthOptions{
		{set: []string{"output.deadlocks=true"}, Options: sim.Options{WindowDivisor: 1 + index%3, Workers: 1 + index%2}},
		{set: []string{"output.deadlocks=true"}, oracle: true},
	} {
		w := truthOf(t, text, o)
		w.still(t)
		if !reflect.DeepEqual(w.fabric.Deadlocks, list) {
			t.Errorf("watched, %+v:\n%+v\nat the end:\n%+v", o, w.fabric.Deadlocks, list)
		}
	}
	searchOften(t, text, list, every)
	if t.Failed() {
		t.Fatalf("case %d:\n%s", index, text)
	}
	return len(list) > 0
}

// searchOften searches for deadlocks throughout a run. Each search must find exactly the
// deadlocks that exist by then, with the same dates as at the end.
func searchOften(t *testing.T, text string, want []sim.Deadlock, every int) {
	t.Helper()
	cfg, err := scenario.Parse("test.yaml", []byte(text), "run.stop={when: time, at_most: 500us}")
	if err != nil {
		t.Fatal(err)
	}
	built, err := fabric.New(cfg, fabric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := sim.NewOracle(built.Spec, sim.OracleOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stuck := make(map[sim.End]map[uint8]units.Time)
	onset := units.Never
	if len(want) > 0 {
		onset = want[0].Onset
		for _, q := range want[0].Queues {
			if stuck[q.End] == nil {
				stuck[q.End] = make(map[uint8]units.Time)
			}
			stuck[q.End][q.Class] = q.Stuck
		}
	}
	o.RunSearching(every, func(now units.Time, list []sim.Deadlock) {
		if t.Failed() {
			return // report one failure only
		}
		if len(list) > 0 != (onset < now) {
			t.Errorf("search at %d ps: %d deadlocks; the first closes at %d ps", now, len(list), onset)
		}
		for i := range list {
			for _, q := range list[i].Queues {
				if at, ok := stuck[q.End][q.Class]; !ok || at != q.Stuck {
					t.Errorf("search at %d ps: queue %v class %d stuck at %d ps, want %d ps as at the end", now, q.End, q.Class, q.Stuck, at)
				}
			}
		}
	})
}

func TestRandomLoops(t *testing.T) {
	if testing.Short() { // under the race detector: one case with one worker, one with two
		testLoops(t, trials.First(2), 41)
		return
	}
	testLoops(t, append(trials.First(5), 15), 41) // in case 15 no frame leaves one of the queues
}

// testLoops runs random rings and searches for deadlocks once per `every` events.
func testLoops(t *testing.T, cases []int, every int) {
	t.Helper()
	found := 0
	for _, i := range cases {
		if checkLoop(t, i, every) {
			found++
		}
	}
	t.Logf("%d of %d deadlock", found, len(cases))
	// Rings in which a queue is blocked before the frames arrive that close the loop.
	for _, i := range []int{1009, 1221} {
		checkLoop(t, i, every)
	}
	if found < len(cases)/5 || found > len(cases)*4/5 {
		t.Errorf("%d of %d deadlock, want between a fifth and four fifths", found, len(cases))
	}
}
