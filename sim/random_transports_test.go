package sim_test

import (
	"math/rand/v2"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/cc"
)

// transports draws congestion control that uses telemetry or round-trip times, TCP,
// selective repeat, and workloads with a different transport. It has its own random
// stream, so that the other parts of a case do not change. It leaves most cases unchanged,
// because congestion control keeps buffers from filling.
func (d *drawer) transports(index int) {
	if index%3 != 1 || d.lossy && index < 20 { // the short test needs lossy drops
		return
	}
	e := &drawer{Rand: rand.New(rand.NewPCG(20240812, uint64(index)))}
	h := &d.cfg.Hosts
	h.Telemetry = scenario.Telemetry{Ack: pick[units.Bytes](e, 0, 42)}
	r := &h.Reliability
	r.MinRTO, r.RTOLow, r.Few = r.Timeout/2, r.Timeout, e.between(0, 5)
	r.Window = pick(e, 0, 0, 70, 500, 3)
	if e.chance(0.5) {
		r.Name = pick(e, "sack", "irn")
	}
	if d.flood { // nothing may limit senders
		r.Name, r.Window = pick(e, "go-back-n", "sack"), 0
	}
	controlled := func(o scenario.Override) bool {
		return slices.Contains(o.Keys.Keys(), "cc")
	}
	if e.chance(0.3) && !d.flood && (!d.lossy || e.chance(0.3)) && !slices.ContainsFunc(h.Overrides, controlled) {
		name := pick(e, "hpcc", "powertcp", "theta-powertcp", "timely", "newreno", "cubic", "dctcp")
		entry, err := cc.Algorithms.Get(name)
		if err != nil {
			panic(err)
		}
		h.CC = scenario.Choice{Name: name, Params: entry.Params()}
	}
	if e.chance(0.3) && !d.flood {
		keys := parsePatch(pick(e,
			"{cc: {name: cubic}, reliability: {name: sack}, payload: 200B, cnp: {mode: ack}}",
			"{cc: {name: dctcp, initial_segments: 2}, reliability: {name: sack}, ack: {every: 2}, cnp: {mode: ack}}",
			"{cc: {name: none}, reliability: {name: irn}, header: 40B}"))
		h.Transports = map[string]scenario.Variant{"tcp": {Keys: keys}}
		for i := range d.cfg.Workload {
			if e.chance(0.5) {
				d.cfg.Workload[i].Transport = "tcp"
			}
		}
		d.over.controlled = true
	}
}
