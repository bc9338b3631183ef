package buffer

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// Every policy reports the threshold of lossy frames, and a frame that is one byte too large for
// it is refused.
func TestEveryPolicyExplainsDrops(t *testing.T) {
	for _, e := range Policies.All() {
		l := newLedger()
		p, err := e.New(e.Params(), Env{View: l.View(), Rates: []units.Rate{units.Gbps, units.Gbps}, MTUs: []units.Bytes{1000, 1000}})
		if err != nil {
			t.Fatal(err)
		}
		d, ok := p.(Dropping)
		if !ok {
			t.Errorf("%s does not report its drop threshold", e.Name)
			continue
		}
		store := func(b units.Bytes) {
			a := arrival(lossy, b)
			l.Charge(a, mmu.Shared)
			if o, ok := p.(Observer); ok {
				o.Enqueued(0, l.View(), a)
			}
		}
		store(3000)
		q, limit := d.LossyLevel(0, l.View(), arrival(lossy, 1))
		if filtered := e.Name == "reverie"; q != 3000 && !filtered || q <= 0 || q > 3000 || limit <= 0 {
			t.Errorf("%s: level is %d of %d B, with 3,000 B stored", e.Name, q, limit)
		}
		if a := arrival(lossy, limit-q+1); limit < 40000 && p.Fits(0, l.View(), a) {
			t.Errorf("%s: %d B fit in addition to %d B, above the limit of %d B", e.Name, a.Bytes, q, limit)
		}
	}
}

// 3,000 of 32,000 B are stored. dt, alpha_lossy 1: 29,000. static: 100 KB. sonic: 29,000 B of the
// shared segment are free, and 0.8 x 32,000 - 3,000 = 22,600 of the lossy pool.
func TestLossyLevels(t *testing.T) {
	want := map[string]units.Bytes{"dt": 29000, "static": 100_000, "sonic": 22600}
	for _, e := range Policies.All() {
		limit, known := want[e.Name]
		if !known {
			continue
		}
		l := newLedger()
		p, err := e.New(e.Params(), Env{View: l.View(), Rates: []units.Rate{units.Gbps, units.Gbps}})
		if err != nil {
			t.Fatal(err)
		}
		a := arrival(lossy, 3000)
		l.Charge(a, mmu.Shared)
		if o, ok := p.(Observer); ok {
			o.Enqueued(0, l.View(), a)
		}
		if _, got := p.(Dropping).LossyLevel(0, l.View(), arrival(lossy, 1)); got != limit {
			t.Errorf("%s: %d, want %d", e.Name, got, limit)
		}
	}
}
