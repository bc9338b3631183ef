package fabric

import (
	"bytes"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/workload"
)

// exampleFiles returns all example scenarios.
func exampleFiles(t testing.TB) []string {
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 12 {
		t.Fatalf("found %v (want at least 12 examples): %v", files, err)
	}
	return files
}

// short describes how to shorten an example for a test.
type short struct {
	arrivals units.Time  // 0: unchanged
	flow     units.Bytes // size of listed flows; 0: unchanged
	flows    int         // minimum number of flows
}

// shortened has an entry for every example. Pinned routes that form a loop deadlock
// under plain PFC when the buffers fill up, so their flows are small here.
var shortened = map[string]short{
	"bifrost-drain":          {flow: 5 * units.MB, flows: 1},
	"bifrost-linear":         {flow: 5 * units.MB, flows: 1},
	"bifrost-testbed":        {arrivals: units.Millisecond, flows: 20},
	"bifrost-testbed-b":      {arrivals: units.Millisecond, flows: 20},
	"bifrost-testbed-c":      {arrivals: units.Millisecond, flows: 20},
	"bifrostx-two-dc":        {arrivals: 300 * units.Microsecond, flows: 10},
	"bifrost-two-dc":         {arrivals: 500 * units.Microsecond, flows: 10},
	"deadlock":               {flow: 10 * units.KB, flows: 3},
	"dsh-fig14":              {flows: 26},
	"dsh-fig15":              {arrivals: 500 * units.Microsecond, flows: 100},
	"dsh-fig16":              {arrivals: 20 * units.Microsecond, flows: 32},
	"dsh-fig22":              {flows: 1024},
	"dsh-fig23":              {arrivals: 80 * units.Microsecond, flows: 100},
	"dsh-fig25":              {arrivals: 20 * units.Microsecond, flows: 20},
	"dsh-leaf-spine":         {arrivals: 30 * units.Microsecond, flows: 100},
	"dsh-motivation":         {arrivals: 20 * units.Microsecond, flows: 20},
	"dsh-ring":               {flow: 2 * units.KB, flows: 64},
	"fanin":                  {arrivals: 100 * units.Microsecond, flows: 50},
	"hybrid":                 {arrivals: 500 * units.Microsecond, flows: 50},
	"incast":                 {flows: 100},
	"l2bm-requests":          {arrivals: 500 * units.Microsecond, flows: 100},
	"l2bm-clos":              {arrivals: 500 * units.Microsecond, flows: 20},
	"live-bifrost":           {arrivals: 50 * units.Millisecond, flows: 32},
	"live-incast":            {arrivals: 100 * units.Millisecond, flows: 50},
	"live-real":              {arrivals: 100 * units.Millisecond, flows: 1},
	"live-ring":              {flow: 10 * units.KB, flows: 8},
	"long-haul":              {arrivals: units.Millisecond, flows: 5},
	"lossless":               {arrivals: 500 * units.Microsecond, flows: 100},
	"rail-1024":              {flow: 4 * units.KB, flows: 100},
	"reverie-authors":        {arrivals: 500 * units.Microsecond, flows: 20},
	"sharing":                {flows: 8},
	"reverie-leaf-spine":     {arrivals: 500 * units.Microsecond, flows: 20},
	"roundabout-mesh":        {flow: 100 * units.KB, flows: 480},
	"roundabout-ring":        {flow: 10 * units.KB, flows: 8},
	"roundabout-torus":       {arrivals: 50 * units.Microsecond, flows: 100},
	"training-slow-receiver": {flows: 400},
	"two-jobs":               {flows: 1000},
	"websearch":              {flows: 10},
}

// apply shortens c and lets it run until all flows are done.
func (s *short) apply(t *testing.T, c *scenario.Config) {
	t.Helper()
	if s.arrivals > 0 {
		c.Run.Arrivals, c.Run.Measure = s.arrivals, scenario.Measure{To: s.arrivals}
	}
	for i := range c.Workload {
		switch p := c.Workload[i].Params.(type) {
		case *workload.List:
			for k := range p.Flows {
				if s.flow > 0 {
					p.Flows[k].Size = s.flow
				}
			}
		case *workload.RingAllReduce:
			p.Size = 16 * s.flow
		case *workload.Request:
			p.Count = 20
		case *workload.CollectiveJob:
			if s.flow > 0 {
				p.Ranks, p.Size = 64, s.flow
			}
		case *workload.Incast:
			if s.flow > 0 {
				p.Size = s.flow
			}
		}
	}
	c.Run.Stop.When = "all_flows_done"
}

// Every shortened example keeps all invariants, drops no lossless frame and finishes its
// flows. Its resolved file is the same scenario; TestDeepResolvedExamples runs it, too.
func TestExamples(t *testing.T) { examples(t, false) }

func examples(t *testing.T, resolved bool) {
	for _, name := range exampleFiles(t) {
		c, err := ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.Name, func(t *testing.T) {
			s, ok := shortened[c.Name]
			if !ok || filepath.Base(name) != c.Name+".yaml" {
				t.Fatalf("%s has the name %s, which has no entry in shortened", name, c.Name)
			}
			s.apply(t, c)
			text, err := c.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			done := runOf(t, c)
			unfinished := 0
			for _, at := range done {
				if at == 0 {
					unfinished++
				}
			}
			if unfinished > 0 || len(done) < s.flows {
				t.Errorf("%d of %d flows did not finish, want at least %d flows", unfinished, len(done), s.flows)
			}
			again := parse(t, string(text))
			if other, err := again.Marshal(); err != nil || !bytes.Equal(other, text) {
				t.Errorf("the resolved scenario is another one: %v", err)
			}
			if resolved && !reflect.DeepEqual(runOf(t, again), done) {
				t.Error("the resolved scenario gives different results")
			}
		})
	}
}

// The examples with loops deadlock: with plain PFC (DSH in one of them) and no deadlock
// handler, no flow finishes after the first 2 ms.
func TestLoopsDeadlock(t *testing.T) {
	for _, e := range []struct {
		name  string
		stuck int // minimum number of stuck flows
	}{{"deadlock", 3}, {"dsh-fig16", 8}, {"dsh-ring", 64}, {"roundabout-ring", 8}, {"roundabout-mesh", 8}} {
		name := e.name
		c, err := ReadFile("../examples/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		c.Run.Arrivals = min(c.Run.Arrivals, 2*units.Millisecond)
		c.Run.Measure = scenario.Measure{}
		c.Run.Stop.AtMost = 5 * units.Millisecond
		unfinished := 0
		for i, at := range runOf(t, c) {
			if at == 0 {
				unfinished++
			}
			if at > 2*units.Millisecond {
				t.Errorf("%s: flow %d finished at %s", name, i, at)
			}
		}
		if unfinished < e.stuck {
			t.Errorf("%s: %d flows are stuck, want at least %d", name, unfinished, e.stuck)
		}
	}
}

// The fabrics of the papers have the numbers of hosts, switches and links that were counted by
// hand, and the rate and delay of one of their links.
func TestExampleFabrics(t *testing.T) {
	for _, c := range []struct {
		name                   string
		hosts, switches, links int
		link                   string // name of the checked link
		rate                   units.Rate
		delay                  units.Time
	}{
		{"dsh-leaf-spine", 256, 32, 256 + 256, "leaf15-spine15", 100 * units.Gbps, 2 * units.Microsecond},
		{"dsh-fig14", 28, 2, 29, "switch0-switch1", 100 * units.Gbps, 2 * units.Microsecond},
		{"dsh-fig15", 16, 1, 16, "host15-switch0", 100 * units.Gbps, 2 * units.Microsecond},
		{"dsh-fig16", 64, 6, 64 + 8 - 2, "leaf3-spine1", 400 * units.Gbps, 2 * units.Microsecond},
		{"bifrost-linear", 2, 2, 3, "host1-switch1", 100 * units.Gbps, units.Microsecond},
		{"bifrost-testbed", 3, 2, 5, "switch0-switch1#1", 100 * units.Gbps, 400 * units.Microsecond},
		{"bifrost-two-dc", 32, 42, 105, "dci0-dci1", 400 * units.Gbps, 3 * units.Millisecond},
		{"bifrost-drain", 2, 2, 3, "switch0-switch1", 100 * units.Gbps, 400 * units.Microsecond},
		{"bifrost-testbed-b", 4, 2, 6, "switch0-switch1#1", 100 * units.Gbps, 400 * units.Microsecond},
		{"bifrost-testbed-c", 6, 2, 9, "switch0-switch1#2", 100 * units.Gbps, 400 * units.Microsecond},
		{"bifrostx-two-dc", 32, 42, 105, "dci0-dci1", 400 * units.Gbps, 3 * units.Millisecond},
		{"l2bm-clos", 128, 10, 152, "agg0-core1", 100 * units.Gbps, 5 * units.Microsecond},
		{"reverie-leaf-spine", 256, 20, 256 + 64, "leaf0-spine3", 25 * units.Gbps, 2 * units.Microsecond},
		{"roundabout-ring", 8, 4, 12, "switch3-switch0", 10 * units.Gbps, units.Microsecond},
		{"roundabout-mesh", 64, 16, 64 + 120, "switch0-switch15", 100 * units.Gbps, units.Microsecond},
		{"roundabout-torus", 64, 16, 64 + 32, "switch0_0-switch3_0", 100 * units.Gbps, units.Microsecond},
	} {
		cfg, err := ReadFile("../examples/" + c.name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		g := graphOf(t, cfg)
		if g.Hosts != c.hosts || g.Nodes()-g.Hosts != c.switches || len(g.Links) != c.links {
			t.Errorf("%s: %d hosts, %d switches, %d links, want %d, %d, %d", c.name, g.Hosts, g.Nodes()-g.Hosts, len(g.Links), c.hosts, c.switches, c.links)
		}
		i, err := g.LinkNamed(c.link)
		if err != nil {
			t.Fatal(err)
		}
		if l := g.Links[i]; l.Rate != c.rate || l.Delay != c.delay {
			t.Errorf("%s: %s has rate %s and delay %s, want %s and %s", c.name, c.link, l.Rate, l.Delay, c.rate, c.delay)
		}
	}
}
