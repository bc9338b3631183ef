package conformance

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// sharing is a policy with parameters and a flow control with exact headroom.
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
	{"reverie", "pfc", func(any) {}},
	{"reverie", "adaptive", func(p any) { p.(*buffer.ReverieParams).Filter = "departure" }},
	{"reverie", "dsh", func(any) {}},
	{"reverie", "dsh", func(p any) { p.(*buffer.ReverieParams).Filter = "departure" }},
	{"reverie", "dsh", func(p any) { p.(*buffer.ReverieParams).Gamma = 0.999999 }}, // the filter hardly moves
	{"reverie", "dsh", func(p any) {
		p.(*buffer.ReverieParams).Gamma, p.(*buffer.ReverieParams).Alpha = 0.5, units.Ratio{Num: 1, Den: 16}
	}},
	{"chip", "sonic", func(any) {}},
	{"chip", "pfc", func(p any) { p.(*buffer.ChipParams).PortAlpha = units.Ratio{Num: 2, Den: 1} }},
}

// newHybrid returns a case of the adversary with three lossy and four lossless classes.
func newHybrid(index int) (*adversary, sharing) {
	d, s := newAdversary(index), sharings[index%len(sharings)]
	d.lossy = true
	for c := 5; c < mmu.Classes; c++ {
		d.n.Kinds[c] = mmu.Lossy
	}
	d.n.Timeout = units.Millisecond
	// An empty switch must accept a lossy frame, or flows cannot finish: alpha 1/8 of 10 KB is
	// 1250 B, but a frame in cells of 254 B takes 1270 B.
	d.n.Shared = max(d.n.Shared, 12*units.KB)
	e := must(buffer.Policies.Get(s.policy))
	d.n.Policy = func(_ int, env buffer.Env) (buffer.Policy, error) {
		p := e.Params()
		s.change(p)
		return e.New(p, env)
	}
	return d, s
}

// scheme returns the flow control of a case. DSH has the parameters that the adversary draws.
func (s *sharing) scheme(d *adversary) flowctl.Scheme {
	f := must(flowctl.Schemes.Get(s.flow))
	if s.flow == "dsh" {
		return must(f.New(&d.params))
	}
	return must(f.New(f.Params()))
}

// Whatever lossy classes do, with exact headroom no lossless frame is dropped, all flows finish and
// nothing stays OFF, under every policy.
func TestSharingLosesNothing(t *testing.T) { sharingLosesNothing(t, trials.First(12*len(sharings))) }

func sharingLosesNothing(t *testing.T, which []int) {
	t.Helper()
	var paused, spread, filled, drops, expelled, faults int
	for _, i := range which {
		d, s := newHybrid(i)
		r, problem := d.run(s.scheme(d))
		if problem != "" {
			t.Errorf("case %d, %s with %s: %s", i, s.policy, s.flow, problem)
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
	t.Logf("of %d cases: %d pause, %d pause over several switches, %d fill 90 %% of the shared segment, %d drop lossy frames, %d expel some, %d have a stuck host", cases, paused, spread, filled, drops, expelled, faults)
	if paused < cases/2 || spread < cases/4 || filled < cases/5 || drops < cases/5 || expelled < cases/20 || faults < cases/10 {
		t.Error("the cases do not cover enough")
	}
}

// Every policy from a paper is in sharings.
func TestSharingsAreComplete(t *testing.T) {
	for _, name := range buffer.Policies.Names() {
		found := name == "dt" || name == "static"
		for _, s := range sharings {
			found = found || s.policy == name
		}
		if !found && must(buffer.Policies.Get(name)).Paper != "" {
			t.Errorf("%s is missing in sharings", name)
		}
	}
}
