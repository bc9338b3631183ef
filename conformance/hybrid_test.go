package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/deep"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// sharing is a policy with parameters under a flow control with exact headroom.
type sharing struct {
	policy, flow string
	change       func(params any)
}

var sharings = []sharing{
	{"sonic", "sonic", func(any) {}},
	{"sonic", "pfc", func(p any) {
		p.(*buffer.SONiCParams).LossyPool, p.(*buffer.SONiCParams).LosslessPool = units.Ratio{Num: 1, Den: 2}, units.Ratio{Num: 1, Den: 2}
	}},
	{"abm", "sonic", func(p any) { p.(*buffer.ABMParams).UnscheduledAlpha = units.Ratio{Num: 1024, Den: 1} }},
	{"abm", "pfc", func(p any) { p.(*buffer.ABMParams).Where = "egress" }},
	{"l2bm", "pfc", func(any) {}},
	{"l2bm", "sonic", func(p any) { p.(*buffer.L2BMParams).PausedTime = "freeze" }},
	{"l2bm", "pfc", func(p any) {
		p.(*buffer.L2BMParams).Algorithm, p.(*buffer.L2BMParams).C = "printed", buffer.Norm{Rule: "mean"}
	}},
	{"occamy", "sonic", func(any) {}},
	{"occamy", "pfc", func(p any) {
		o := p.(*buffer.OccamyParams)
		o.AlphaLossy, o.MemorySpeedup, o.Bucket = units.Ratio{Num: 1, Den: 1}, units.Ratio{Num: 2, Den: 1}, 20*units.KB
	}},
	{"reverie", "sonic", func(any) {}},
	{"reverie", "sonic", func(p any) { p.(*buffer.ReverieParams).Filter = "departure" }},
	{"chip", "sonic", func(any) {}},
	{"chip", "pfc", func(p any) { p.(*buffer.ChipParams).PortAlpha = units.Ratio{Num: 2, Den: 1} }},
}

// newHybrid is a case of the adversary with three lossy classes beside four lossless ones.
func newHybrid(index int) (*adversary, sharing) {
	d, s := newAdversary(index), sharings[index%len(sharings)]
	d.lossy = true
	for c := 5; c < mmu.Classes; c++ {
		d.n.Kinds[c] = mmu.Lossy
	}
	d.n.Timeout = units.Millisecond
	// An empty switch has to take a lossy frame, or flows cannot end: of 10 KB an alpha of 1/8
	// is 1,250 bytes, and a frame in cells of 254 bytes has 1,270.
	d.n.Shared = max(d.n.Shared, 12*units.KB)
	e := must(buffer.Policies.Get(s.policy))
	d.n.Policy = func(_ int, env buffer.Env) (buffer.Policy, error) {
		p := e.Params()
		s.change(p)
		return e.New(p, env)
	}
	return d, s
}

// Whatever lossy classes do, a lossless frame is not lost with exact headroom, flows end and
// nothing stays OFF, under every policy for both.
func TestSharingLosesNothing(t *testing.T) { sharingLosesNothing(t, deep.All(12*len(sharings))) }

func sharingLosesNothing(t *testing.T, which []int) {
	t.Helper()
	var paused, spread, filled, drops, expelled, faults int
	for _, i := range which {
		d, s := newHybrid(i)
		f := must(flowctl.Schemes.Get(s.flow))
		r, wrong := d.run(must(f.New(f.Params())))
		if wrong != "" {
			t.Errorf("case %d, %s under %s: %s", i, s.policy, s.flow, wrong)
		}
		if r.Err != nil {
			continue
		}
		fill, far := false, uint64(0)
		for _, v := range r.Views {
			fill = fill || v.PeakStored()-v.Peak(mmu.Headroom) >= v.SharedSize()*9/10
		}
		for depth, n := range r.Totals.Depths {
			if depth >= 2 {
				far += n
			}
		}
		for _, k := range []struct {
			seen bool
			n    *int
		}{{r.Totals.Pauses > 0, &paused}, {far > 0, &spread}, {fill, &filled}, {r.Totals.Drops[probe.Overflow] > 0, &drops}, {r.Totals.Drops[probe.Expelled] > 0, &expelled}, {d.faults, &faults}} {
			if k.seen {
				*k.n++
			}
		}
	}
	cases := len(which)
	t.Logf("of %d cases: %d pause, %d pause over several switches, %d fill 90 %% of what is to share, %d drop lossy frames, %d take some back, %d have a stuck host", cases, paused, spread, filled, drops, expelled, faults)
	if paused < cases/2 || spread < cases/4 || filled < cases/5 || drops < cases/5 || expelled < cases/20 || faults < cases/10 {
		t.Error("the cases are too tame")
	}
}

// Every policy is in the property.
func TestSharingsAreComplete(t *testing.T) {
	for _, name := range buffer.Policies.Names() {
		found := name == "dt" || name == "static"
		for _, s := range sharings {
			found = found || s.policy == name
		}
		if !found && must(buffer.Policies.Get(name)).Paper != "" {
			t.Errorf("%s is in no case", name)
		}
	}
}
