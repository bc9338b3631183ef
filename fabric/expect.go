package fabric

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/sim"
)

// MetricNames returns what the summary of a run will hold.
func (b *Fabric) MetricNames() []string {
	s := b.Outcome(-1, sim.Totals{}, sim.Counters{}, false).Summarize()
	if b.Config.Output.GroupBy == "class" {
		s.Classes = b.usedClasses(s.Sizes)
	}
	return metrics.MeasureNames(metrics.Measures(s))
}

// usedClasses are the classes that flows have. A summary leaves out those without a
// measured flow, and before the run there is none.
func (b *Fabric) usedClasses(sizes []metrics.Part) []metrics.Part {
	var used [mmu.Classes]bool
	for i := range b.Flows.Flow {
		used[b.Flows.Flow[i].Class] = true
	}
	var parts []metrics.Part
	for class, ok := range used {
		if ok {
			parts = append(parts, metrics.Part{Name: metrics.ClassName(class), Sizes: sizes})
		}
	}
	return parts
}

// expect reads what the run must show.
func (b *builder) expect() error {
	if len(b.Config.Expect) == 0 {
		return nil
	}
	known := b.out.MetricNames()
	for i, e := range b.Config.Expect {
		path := fmt.Sprintf("expect[%d]", i)
		c, err := metrics.ParseCondition(e.That, known)
		if err != nil {
			return yaml.Atf(path, "%w", err)
		}
		if e.Abort && !c.Growing() {
			return yaml.Atf(path, "%q may be broken now and hold in the end, which is no reason to abort; allowed: with abort only counts of pauses, drops, transport and network and peaks of buffer, with <, <= or ==", e.That)
		}
		b.out.Expect = append(b.out.Expect, Expectation{Text: strings.TrimSpace(e.That), Condition: c, Abort: e.Abort})
	}
	return nil
}

// Expectation is a condition about the summary of the run.
type Expectation struct {
	Text string // as it was written
	metrics.Condition
	Abort bool // ends the run when it is broken
}
