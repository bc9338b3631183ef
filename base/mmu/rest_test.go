package mmu

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// The bytes left in a queue are those that departures free last: headroom is freed first,
// or shared bytes if a handler chose that order.
func TestRestKeeps(t *testing.T) {
	spec := Spec{Ports: 2, Size: 100000, Shared: 50000, Private: 1000}
	spec.Kinds[1] = Lossless
	for _, c := range []struct {
		order                     Order
		left                      units.Bytes
		private, shared, headroom units.Bytes
	}{
		{HeadroomFirst, 800, 800, 0, 0},
		{HeadroomFirst, 5000, 1000, 4000, 0},
		{HeadroomFirst, 12000, 1000, 9000, 2000},
		{SharedFirst, 5000, 1000, 1000, 3000},
		{SharedFirst, 3000, 1000, 0, 2000},
	} {
		l := NewLedger(spec)
		l.SetOrder(0, 1, c.order)
		for _, part := range []struct {
			s Segment
			b units.Bytes
		}{{Private, 1000}, {Shared, 9000}, {Headroom, 3000}} {
			l.Charge(&Arrival{In: 0, Out: 1, Class: 1, Kind: Lossless, Bytes: part.b}, part.s)
		}
		r := l.Rest()
		r.Keep(0, 1, c.left)
		v := r.View()
		if got, want := v.Ingress(0, 1), (Ingress{c.private, c.shared, c.headroom, 0}); got != want {
			t.Errorf("%v, %d left: %+v, want %+v", c.order, c.left, got, want)
		}
		if v.SharedFree() != 50000-c.shared || v.Stored() != c.left {
			t.Errorf("%v, %d left: %d free, %d stored", c.order, c.left, v.SharedFree(), v.Stored())
		}
		// Releasing the other bytes gives the same result.
		l.Release(&Arrival{In: 0, Out: 1, Class: 1, Kind: Lossless, Bytes: 13000 - c.left})
		if got := l.View().Ingress(0, 1); got != v.Ingress(0, 1) {
			t.Errorf("%v, %d left: released %+v, rest %+v", c.order, c.left, got, v.Ingress(0, 1))
		}
	}
}

// While frames may still join, the shared segment counts only what neither the private
// segment nor headroom can take; Favour uses no headroom. Setting a queue again replaces its
// bytes.
func TestRestOfAQueueThatGetsMore(t *testing.T) {
	spec := Spec{Ports: 2, Size: 100000, Shared: 50000, Private: 1000}
	spec.Kinds[1] = Lossless
	l := NewLedger(spec)
	l.Charge(&Arrival{In: 1, Out: 0, Class: 1, Kind: Lossless, Bytes: 20000}, Shared)
	r := l.Rest()
	r.KeepSome(0, 1, 9000, 5000)
	if got, want := r.View().Ingress(0, 1), (Ingress{1000, 3000, 5000, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.Favour(0, 1, 9000)
	if got, want := r.View().Ingress(0, 1), (Ingress{1000, 8000, 0, 0}); got != want || r.View().SharedFree() != 42000 {
		t.Errorf("%+v, want %+v; %d free", got, want, r.View().SharedFree())
	}
	if r.Clear(); r.View().Stored() != 0 || r.View().SharedFree() != 50000 {
		t.Error("not empty after Clear")
	}
}
