package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// badPolicy is a static threshold with some calls replaced.
type badPolicy struct {
	limit units.Bytes
	fits  func(v mmu.View, a *mmu.Arrival) bool
}

func (p *badPolicy) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	if p.fits != nil {
		return p.fits(v, a)
	}
	return a.Bytes <= v.SharedFree() && (a.Kind != mmu.Lossless || v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= p.limit)
}

func (p *badPolicy) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), p.limit
}

type lateWaker struct{ badPolicy }

func (*lateWaker) NextWake() units.Time      { return 5 }
func (*lateWaker) Wake(units.Time, mmu.View) {}

// wrongExpeller expels from a wrong queue, or does not expel when it is due.
type wrongExpeller struct {
	badPolicy
	kind mmu.Kind // kind of the queue that it returns
	none bool
	long bool // it returns a queue that is not empty
}

func (*wrongExpeller) Enqueued(units.Time, mmu.View, *mmu.Arrival) {}
func (*wrongExpeller) Dequeued(units.Time, mmu.View, *mmu.Arrival) {}

func (p *wrongExpeller) find(v mmu.View) (port int, class uint8, ok bool) {
	for port := range v.Ports() {
		for class := range uint8(mmu.Classes) {
			if v.Kind(class) == p.kind && (v.Egress(port, class) > 0) == p.long {
				return port, class, true
			}
		}
	}
	return 0, 0, false
}

func (p *wrongExpeller) ExpelAt(now units.Time, v mmu.View) units.Time {
	if _, _, ok := p.find(v); ok && v.Stored() > 50*units.KB {
		return now
	}
	return units.Never
}

func (p *wrongExpeller) Expel(_ units.Time, v mmu.View) (port int, class uint8, ok bool) {
	port, class, ok = p.find(v)
	return port, class, ok && !p.none
}

// greedy has a threshold of 1/16 of the free bytes, but claims another share for the fast path.
type greedy struct{ share mmu.Share }

func (*greedy) level(v mmu.View) units.Bytes { return v.SharedFree() / 16 }

func (p *greedy) Fits(_ units.Time, v mmu.View, a *mmu.Arrival) bool {
	return a.Bytes <= v.SharedFree() && (a.Kind != mmu.Lossless || v.In(a.In, a.Class, mmu.Shared)+a.Bytes <= p.level(v))
}

func (p *greedy) Level(_ units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes) {
	return v.In(port, class, mmu.Shared), p.level(v)
}

func (p *greedy) Share() (mmu.Share, bool) { return p.share, true }

func TestPolicyAcceptsTrueShare(t *testing.T) {
	conformance.Policy(t, registry.Entry[buffer.New]{Name: "true", New: func(any, buffer.Env) (buffer.Policy, error) {
		return &greedy{mmu.Share{Num: 1, Shift: 4}}, nil
	}})
}

func TestPolicyRejects(t *testing.T) {
	for _, c := range []struct {
		name, want string
		policy     buffer.Policy
	}{
		{"refuses at an empty switch", "empty switch refuses", &badPolicy{limit: 500}},
		{"admits without room", "is admitted with", &badPolicy{limit: 20 * units.KB, fits: func(mmu.View, *mmu.Arrival) bool { return true }}},
		{"ignores its own threshold", "bounded", &badPolicy{limit: 20 * units.KB, fits: func(v mmu.View, a *mmu.Arrival) bool { return a.Bytes <= v.SharedFree() }}},
		{"wakes in the past", "wake contract", &lateWaker{badPolicy{limit: 20 * units.KB}}},
		{"claims four times the free bytes", "shortcuts", &greedy{mmu.Share{Num: 4}}},
		{"expels a lossless frame", "push-out", &wrongExpeller{badPolicy: badPolicy{limit: 20 * units.KB}, kind: mmu.Lossless, long: true}},
		{"expels from an empty queue", "push-out", &wrongExpeller{badPolicy: badPolicy{limit: 20 * units.KB}, kind: mmu.Lossy}},
		{"expels nothing when due", "push-out", &wrongExpeller{badPolicy: badPolicy{limit: 20 * units.KB}, kind: mmu.Lossless, long: true, none: true}},
		{"never lets a queue resume", "is above its threshold", &badPolicy{limit: -1, fits: func(mmu.View, *mmu.Arrival) bool { return false }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := registry.Entry[buffer.New]{Name: "mutant", Promises: registry.Bounded, New: func(any, buffer.Env) (buffer.Policy, error) { return c.policy, nil }}
			mustReject(t, c.want, func(tb testing.TB) { conformance.Policy(tb, e) })
		})
	}
}
