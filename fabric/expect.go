package fabric

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/sim"
)

// MetricNames returns the names of all metrics that the summary of a run will contain.
func (b *Fabric) MetricNames() []string {
	s := b.Outcome(-1, sim.Totals{}, sim.Counters{}, false).Summarize()
	if b.Config.Output.GroupBy == "class" {
		s.Classes = b.usedClasses(s.Sizes)
	}
	return metrics.MeasureNames(metrics.Measures(s))
}

// usedClasses returns a part for every class that flows use. A summary omits classes
// without a measured flow, and before the run there are no measured flows.
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

// expect parses the expectations of the scenario.
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
			return yaml.Atf(path, "%q cannot be used with abort, because it may fail now and hold at the end (expected a count of pauses, drops, transport or network, or a peak of buffer, with <, <= or ==)", e.That)
		}
		b.out.Expect = append(b.out.Expect, Expectation{Text: strings.TrimSpace(e.That), Condition: c, Abort: e.Abort})
	}
	return nil
}

// Expectation is a condition about the summary of the run.
type Expectation struct {
	Text string // as written in the scenario
	metrics.Condition
	Abort bool // end the run as soon as it fails
}
