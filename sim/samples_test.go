package sim_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/workload"
)

// Two hosts send one packet each to a third at the same time. Both reach the
// switch at 83,840 ps + 1 us; one passes straight through, the other is stored until the
// wire is idle, 83,840 ps later. A sample sees the state just before its time.
func TestSamples(t *testing.T) {
	arrival := fullTx + units.Microsecond
	engines := append(fastEngines, reference, byInsertion(reference))
	for _, c := range []struct {
		every units.Time
		want  units.Bytes // stored at the first sample
	}{
		{arrival - 1, 0}, {arrival, 0}, {arrival + 1, 1048}, {arrival + fullTx, 1048}, {arrival + fullTx + 1, 0},
	} {
		for _, e := range engines {
			cfg := flows(star(3, units.Microsecond),
				workload.FlowSpec{From: "host0", To: "host2", Size: 1000}, workload.FlowSpec{From: "host1", To: "host2", Size: 1000})
			built, err := fabric.New(cfg, fabric.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var times []units.Time
			var first units.Bytes
			// A second sample with another period must not affect the first.
			built.Spec.Samples = []sim.Sample{
				{Node: 3, Every: c.every, Take: func(now units.Time, n probe.Node) {
					if times = append(times, now); len(times) == 1 {
						first = n.View().Stored()
					}
				}},
				{Node: 3, Every: 700 * units.Nanosecond, Take: func(units.Time, probe.Node) {}},
			}
			r, err := e.run(built.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if first != c.want {
				t.Errorf("%s: %d B stored at %s, want %d", e.name, first, c.every, c.want)
			}
			// A sample that is due at the end is not taken.
			if want := int((r.end - 1) / c.every); len(times) != want || times[want-1] != units.Time(want)*c.every {
				t.Errorf("%s, every %s: %d samples until %s, want %d; last at %s", e.name, c.every, len(times), r.end, want, times[len(times)-1])
			}
		}
	}
}
