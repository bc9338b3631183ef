package mmu

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// A frame costs whole cells and the overhead per packet: 64 B cost 112 B with 48 B per
// packet; in cells of 208 B, 209 B cost 2 x 208 + 16 = 432 B.
func TestCellsPerPacket(t *testing.T) {
	for _, c := range []struct{ cell, per, frame, want units.Bytes }{
		{1, 0, 64, 64}, {0, 48, 64, 112}, {1, 48, 1500, 1548}, {208, 0, 209, 416}, {208, 16, 209, 432}, {208, 16, 208, 224},
	} {
		l := NewLedger(Spec{Ports: 1, Cell: c.cell, PerPacket: c.per})
		if got := l.Cells(c.frame); got != c.want {
			t.Errorf("cell %d, %d per packet: %d B cost %d, want %d", c.cell, c.per, c.frame, got, c.want)
		}
	}
}

// Parts are ranges of ports: 8 ports in 4 parts of two; 5 ports of a chip of 8 in three.
func TestPartOf(t *testing.T) {
	for _, c := range []struct {
		ports, chip, parts int
		want               []uint8
	}{{8, 0, 4, []uint8{0, 0, 1, 1, 2, 2, 3, 3}}, {5, 8, 4, []uint8{0, 0, 1, 1, 2}}, {3, 0, 2, []uint8{0, 0, 1}}} {
		l := NewLedger(Spec{Ports: c.ports, ChipPorts: c.chip, Parts: c.parts})
		for i, w := range c.want {
			if got := l.div.of[i]; got != w {
				t.Errorf("port %d of %d is in part %d, want %d", i, c.ports, got, w)
			}
		}
	}
}

// Two parts of 4 ports, cells of 100 B: a port sees 5000 of 10,050 B shared (5025 B rounded
// down to cells), and 600 B of a pool of 1200 B.
func TestPartsSteps(t *testing.T) {
	spec := Spec{Ports: 4, Size: 20000, Shared: 10050, Pool: 1200, Cell: 100, Parts: 2}
	spec.Kinds[lossless] = Lossless
	l := NewLedger(spec)
	v := l.View()
	free := func(port int, shared, pool units.Bytes) {
		t.Helper()
		if s, p := v.PartFree(port), v.PoolFree(port); s != shared || p != pool {
			t.Errorf("port %d: %d B shared and %d B of the pool are free, want %d and %d", port, s, p, shared, pool)
		}
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	}
	if v.PartSize(3) != 5000 || v.Parts() != 2 || v.SharedSize() != 10000 {
		t.Errorf("part %d B, %d parts of %d B", v.PartSize(3), v.Parts(), v.SharedSize())
	}
	l.Charge(frame(0, 3, 3000), Shared)
	l.Charge(frame(1, 3, 400), Headroom)
	free(0, 2000, 200)
	free(1, 2000, 200)
	free(2, 5000, 600) // the other part is unchanged
	l.Charge(frame(0, 3, 100), Headroom)
	l.Release(frame(0, 3, 200)) // 100 B of headroom, then 100 B shared
	free(1, 2100, 200)
	l.Charge(frame(2, 3, 5000), Shared)
	free(3, 0, 600)
	free(0, 2100, 200)
	l.Charge(frame(3, 0, 100), Shared) // more than the part has
	if l.Check() == nil {
		t.Error("an overfull part is not detected")
	}
}

// A settled reserve counts in the part of its port. Of 1000 B lent by the shared segment,
// 500 B return with the frame: 9500 B in two parts are 4700 B each in whole cells, of which
// 500 B are used in the first.
func TestPartsSettle(t *testing.T) {
	spec := Spec{Ports: 4, Size: 20000, Shared: 10000, Cell: 100, Parts: 2}
	spec.Kinds[lossless] = Lossless
	l := NewLedger(spec)
	if !l.SetAside(1000, Shared) {
		t.Fatal("no room to set aside")
	}
	l.Charge(frame(0, 3, 500), Reserve)
	l.Settle(0, lossless, 5000, 1<<30, 0)
	if a, b := l.View().PartFree(1), l.View().PartFree(2); a != 4200 || b != 4700 {
		t.Errorf("%d and %d B are free, want 4200 and 4700", a, b)
	}
	l.Charge(frame(2, 3, 100), Shared)
	if err := l.Check(); err != nil {
		t.Error(err)
	}
}

// The lossless queues of a port may have their own minimum.
func TestMinimum(t *testing.T) {
	spec := Spec{Ports: 2, Size: 20000, Shared: 10000, Private: 500, Minimum: []units.Bytes{1800, 0}}
	spec.Kinds[lossless], spec.Kinds[5] = Lossless, Lossy
	l := NewLedger(spec)
	v := l.View()
	if a, b, c := v.PrivateOf(0, lossless), v.PrivateOf(1, lossless), v.PrivateOf(1, 5); a != 1800 || b != 0 || c != 500 {
		t.Errorf("private segments %d, %d, %d", a, b, c)
	}
	l.Charge(frame(0, 1, 1800), Private)
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	l.Charge(frame(1, 0, 1), Private)
	if l.Check() == nil {
		t.Error("a byte beyond the minimum is not detected")
	}
}

// Queues have 1000 B outside the pool: 1500 and 700 B put 500 B in the pool; together in one
// queue they put 1200 B there.
func TestEgressPools(t *testing.T) {
	l := newTestLedger(0, 1)
	l.KeepEgress(1000)
	pool := func(want units.Bytes) {
		t.Helper()
		if got := l.View().EgressPool(Lossless); got != want {
			t.Errorf("the pool stores %d B, want %d", got, want)
		}
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	}
	a, b := frame(0, 1, 1500), frame(0, 2, 700)
	l.Charge(a, Shared)
	pool(500)
	l.Charge(b, Headroom)
	pool(500)
	l.Move(b, 1)
	pool(1200)
	l.Release(a)
	pool(0)
}

// Whatever the order of arrivals and departures, parts add up, no part exceeds its size if
// it is checked first, and the ledger is consistent.
func TestDivisionConserves(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		spec := Spec{Ports: rapid.IntRange(2, 6).Draw(t, "ports"), Size: 40000, Shared: 12000, Private: 300, Pool: 4000, Cell: 100}
		spec.Parts = rapid.IntRange(1, spec.Ports).Draw(t, "parts")
		spec.Kinds[lossless], spec.Kinds[lossless+1] = Lossless, Lossy
		l := NewLedger(spec)
		l.KeepEgress(units.Bytes(rapid.IntRange(0, 1000).Draw(t, "minimum")))
		v := l.View()
		var stored []Arrival
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if n := len(stored); n > 0 && rapid.IntRange(0, 2).Draw(t, "leaves") == 0 {
				i := rapid.IntRange(0, n-1).Draw(t, "which")
				l.Release(&stored[i])
				stored = append(stored[:i], stored[i+1:]...)
				continue
			}
			port := rapid.IntRange(0, spec.Ports-1)
			a := Arrival{In: port.Draw(t, "in"), Out: port.Draw(t, "out"), Class: uint8(lossless + rapid.IntRange(0, 1).Draw(t, "class"))}
			a.Kind = spec.Kinds[a.Class]
			a.Bytes = l.Cells(units.Bytes(rapid.IntRange(1, 1500).Draw(t, "bytes")))
			switch {
			case v.In(a.In, a.Class, Private)+a.Bytes <= v.PrivateOf(a.In, a.Class):
				l.Charge(&a, Private)
			case a.Bytes <= v.PartFree(a.In):
				l.Charge(&a, Shared)
			case a.Bytes <= v.PoolFree(a.In):
				l.Charge(&a, Headroom)
			default:
				continue
			}
			stored = append(stored, a)
		}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		var sum units.Bytes
		for i := range stored {
			sum += stored[i].Bytes
		}
		if v.Stored() != sum {
			t.Fatalf("%d B stored, want %d B", v.Stored(), sum)
		}
	})
}
