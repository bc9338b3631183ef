package dataplane_test

import (
	"fmt"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// Three ports send to one that is paused. Beyond the threshold a plain switch asks policy and
// receiver, so it pauses, uses headroom and drops like the general path.
func TestPlainSwitchUnderCongestion(t *testing.T) {
	dt := must(buffer.Policies.Get("dt"))
	congest := func(noShortcuts bool) (log []string) {
		b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return pfc }, func(s *dataplane.SwitchSpec) {
			s.Checks, s.Deadlock, s.NoShortcuts = nil, nil, noShortcuts
			s.Policy = func(e buffer.Env) (buffer.Policy, error) {
				return dt.New(&buffer.DTParams{Alpha: units.Ratio{Num: 1, Den: 1}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}, e)
			}
		})
		b.pause(3, true)
		for i := range uint32(14) { // DT admits 5000 B per port, then headroom takes 4000 B
			for in := range 3 {
				b.data(in, 3, i)
			}
			log = append(log, fmt.Sprint(i, ": ", b.sw.View().Stored(), " ", b.drops(0), " ", b.drops(1), " ", b.drops(2)))
		}
		b.wait(4)
		b.pause(3, false)
		b.wait(40)
		for port := range 4 {
			log = append(log, fmt.Sprintf("port %d: %+v, sent %v %v", port, b.sw.PortStats(port, b.now), b.sent[port], b.control[port]))
		}
		for in := range 3 { // into an empty buffer: the peak stays
			b.data(in, 3, 14)
		}
		b.wait(4)
		log = append(log, fmt.Sprint("peak ", b.sw.View().PeakStored()))
		if b.drops(0) == 0 {
			t.Error("nothing was dropped, want a full buffer")
		}
		return log
	}
	want, got := congest(true), congest(false)
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("plain switch\n%s\nwant\n%s", got[i], want[i])
		}
	}
}
