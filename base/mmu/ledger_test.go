package mmu

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

const lossless = 3 // class used by these tests

func newTestLedger(private, cell units.Bytes) *Ledger {
	spec := Spec{Ports: 3, Size: 20000, Shared: 10000, Private: private, Cell: cell}
	spec.Kinds[lossless] = Lossless
	return NewLedger(spec)
}

func frame(in, out int, b units.Bytes) *Arrival {
	return &Arrival{In: in, Out: out, Bytes: b, Class: lossless, Kind: Lossless}
}

// want checks an ingress queue and the consistency of the ledger.
func want(t *testing.T, l *Ledger, in int, q Ingress) {
	t.Helper()
	if got := l.View().Ingress(in, lossless); got != q {
		t.Errorf("ingress %d stores %+v, want %+v", in, got, q)
	}
	if err := l.Check(); err != nil {
		t.Error(err)
	}
}

// Three frames go to three segments. Departures free headroom first, then shared, then
// private, whichever frame departs.
func TestReleaseOrder(t *testing.T) {
	for _, c := range []struct {
		order Order
		after [3]Ingress // after each departure of 1500 B
	}{
		{HeadroomFirst, [3]Ingress{{Private: 1000, Shared: 2000}, {Private: 1000, Shared: 500}, {}}}, // 4500 = 1500 + 2000 + 1000
		{SharedFirst, [3]Ingress{{Private: 1000, Shared: 500, Headroom: 1500}, {Private: 1000, Headroom: 500}, {}}},
	} {
		l := newTestLedger(1000, 1)
		l.SetOrder(0, lossless, c.order)
		l.Charge(frame(0, 1, 1000), Private)
		l.Charge(frame(0, 1, 2000), Shared)
		l.Charge(frame(0, 1, 1500), Headroom)
		want(t, l, 0, Ingress{Private: 1000, Shared: 2000, Headroom: 1500})
		if v := l.View(); v.Stored() != 4500 || v.Egress(1, lossless) != 4500 || v.EgressPort(1) != 4500 || v.SharedFree() != 8000 {
			t.Errorf("stored %d, egress %d, free %d", v.Stored(), v.Egress(1, lossless), v.SharedFree())
		}
		for i, q := range c.after {
			l.Release(frame(0, 1, 1500))
			want(t, l, 0, q)
			if i == 2 && l.View().Stored() != 0 {
				t.Error("not empty")
			}
		}
	}
}

func TestReleaseTooMuchPanics(t *testing.T) {
	l := newTestLedger(0, 1)
	l.Charge(frame(0, 1, 100), Shared)
	defer func() {
		if recover() == nil {
			t.Error("no panic when a queue releases more than it stores")
		}
	}()
	l.Release(frame(0, 1, 101))
}

// An expelled frame frees the same bytes as a departing one, and is counted. Only lossy
// frames can be expelled.
func TestExpel(t *testing.T) {
	const lossy = 5
	spec := Spec{Ports: 3, Size: 20000, Shared: 10000, Private: 1000}
	spec.Kinds[0], spec.Kinds[lossless], spec.Kinds[lossy] = Control, Lossless, Lossy
	l := NewLedger(spec)
	l.KeepPairs()
	of := func(class uint8, b units.Bytes) *Arrival {
		return &Arrival{In: 0, Out: 1, Bytes: b, Class: class, Kind: spec.Kinds[class]}
	}
	l.Charge(of(lossy, 1000), Private)
	l.Charge(of(lossy, 700), Shared)
	l.Charge(of(lossy, 800), Shared)
	l.Charge(of(lossless, 700), Shared)
	for _, c := range []struct {
		b     units.Bytes
		after Ingress
	}{{1000, Ingress{Private: 1000, Shared: 500}}, {700, Ingress{Private: 800}}, {800, Ingress{}}} {
		l.Expel(of(lossy, c.b)) // shared first, then private
		if got := l.View().Ingress(0, lossy); got != c.after {
			t.Errorf("after %d B the queue stores %+v, want %+v", c.b, got, c.after)
		}
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	}
	if v := l.View(); v.Expelled() != 2500 || v.Stored() != 700 || v.Egress(1, lossy) != 0 || v.Pair(0, 1, lossy) != (Pair{}) {
		t.Errorf("%d B expelled, %d B stored, pair %+v", v.Expelled(), v.Stored(), v.Pair(0, 1, lossy))
	}
	for _, class := range []uint8{0, lossless, 7} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic when a frame of class %d is expelled", class)
				}
			}()
			l.Expel(of(class, 700))
		}()
	}
}

// Cells of 254 B: 64 B cost one, 255 B two, 1048 B five (1270 B). A shared
// segment of 10,000 B has 39 whole cells, 9906 B.
func TestCells(t *testing.T) {
	l := newTestLedger(0, 254)
	for b, cost := range map[units.Bytes]units.Bytes{1: 254, 64: 254, 254: 254, 255: 508, 1048: 1270} {
		if got := l.Cells(b); got != cost {
			t.Errorf("%d B cost %d B, want %d B", b, got, cost)
		}
	}
	if got := l.View().SharedSize(); got != 9906 {
		t.Errorf("shared segment %d B, want 39 x 254 = 9906 B", got)
	}
	if got := newTestLedger(0, 1).Cells(77); got != 77 {
		t.Errorf("77 B cost %d B", got)
	}
}

func TestPairsAndMove(t *testing.T) {
	l := newTestLedger(0, 1)
	if p := l.View().Pair(0, 1, lossless); p != (Pair{}) {
		t.Errorf("pairs are kept without KeepPairs: %+v", p)
	}
	l.KeepPairs()
	l.Charge(frame(0, 1, 700), Shared)
	l.Charge(frame(0, 1, 300), Shared)
	l.Charge(frame(2, 1, 500), Shared)
	l.Move(frame(0, 1, 300), 2)
	for _, c := range []struct {
		in, out int
		want    Pair
	}{{0, 1, Pair{700, 1}}, {0, 2, Pair{300, 1}}, {2, 1, Pair{500, 1}}, {2, 2, Pair{}}} {
		if got := l.View().Pair(c.in, c.out, lossless); got != c.want {
			t.Errorf("pair %d -> %d is %+v, want %+v", c.in, c.out, got, c.want)
		}
	}
	if v := l.View(); v.Egress(1, lossless) != 1200 || v.Egress(2, lossless) != 300 {
		t.Errorf("egress 1 %d B, egress 2 %d B", v.Egress(1, lossless), v.Egress(2, lossless))
	}
	want(t, l, 0, Ingress{Shared: 1000})
}

// PortIn sums the lossless classes of a port only.
func TestPortIn(t *testing.T) {
	spec := Spec{Ports: 2, Size: 20000, Shared: 10000, Kinds: [Classes]Kind{Control, Lossless, Lossy, Lossless}}
	l := NewLedger(spec)
	for class, b := range []units.Bytes{10, 200, 3000, 4000} {
		l.Charge(&Arrival{In: 1, Class: uint8(class), Bytes: b, Kind: spec.Kinds[class]}, Shared)
	}
	l.Charge(&Arrival{In: 1, Class: 3, Bytes: 500, Kind: Lossless}, Headroom)
	l.Charge(&Arrival{In: 0, Class: 3, Bytes: 600, Kind: Lossless}, Shared)
	v := l.View()
	if s, h := v.PortIn(1, Shared), v.PortIn(1, Headroom); s != 4200 || h != 500 {
		t.Errorf("%d B in the shared segment and %d B in headroom, want 200 + 4000 and 500", s, h)
	}
}

// Port 0 stores 2000 and 1000 B, port 1 stores 3000 B: 4000 of 10,000 B are free, and a share
// of 3/4 is 3000 B. With one byte more it is 2999 B.
func TestShares(t *testing.T) {
	l := newTestLedger(0, 1)
	l.Charge(frame(0, 1, 2000), Shared)
	l.Charge(&Arrival{In: 0, Out: 1, Bytes: 1000, Class: lossless + 1}, Shared)
	l.Charge(frame(1, 1, 3000), Shared)
	for _, c := range []struct {
		more                            units.Bytes
		queue, beyond, port, all1, all2 bool // the queue with 1000 and 1001 B more, the port in one share, everything in one and in two
	}{
		{0, true, false, true, false, true},
		{1, false, false, false, false, false},
	} {
		l.Charge(frame(1, 1, c.more), Shared)
		share := Share{Num: 3, Shift: 2}
		queue, used, free := l.Room(0, lossless)
		t1, t2 := share.Of(free), 2*share.Of(free)
		if (queue+1000 <= t1) != c.queue || (queue+1001 <= t1) != c.beyond {
			t.Errorf("%d B more: the queue stores %d B, a share is %d B", c.more, queue, t1)
		}
		if (l.PortShared(0) <= t1) != c.port || l.PortShared(0) > t2 {
			t.Errorf("%d B more: the port stores %d B, a share is %d B", c.more, l.PortShared(0), t1)
		}
		if (used <= t1) != c.all1 || (used <= t2) != c.all2 {
			t.Errorf("%d B more: all store %d B, a share is %d B", c.more, used, t1)
		}
	}
}

// A partial cell that was rounded off counts again when the segment grows: 10,000 B are 39
// cells of 254 B and 94 B.
func TestGrow(t *testing.T) {
	l := newTestLedger(0, 254)
	l.Grow(159)
	if got := l.View().SharedSize(); got != 9906 {
		t.Errorf("10,159 B are %d B, want 39 x 254", got)
	}
	l.Grow(1)
	if got := l.View().SharedSize(); got != 10160 {
		t.Errorf("10,160 B are %d B, want 40 x 254", got)
	}
}

// 1000 B set aside from the shared segment shrink it until they are given back: 400 B at
// once by GiveBack, 600 B when the frame that uses them departs.
func TestSetAsideShared(t *testing.T) {
	l := newTestLedger(0, 1)
	l.Charge(frame(0, 1, 9000), Shared)
	if l.SetAside(1001, Shared) {
		t.Error("1001 B of 1000 B free were set aside")
	}
	if !l.SetAside(1000, Shared) || l.View().SharedSize() != 9000 || l.View().SharedFree() != 0 {
		t.Errorf("shared segment %d B with %d B free", l.View().SharedSize(), l.View().SharedFree())
	}
	l.Charge(frame(2, 1, 600), Reserve)
	want(t, l, 2, Ingress{Reserve: 600})
	l.GiveBack(9999) // capped at the reservation
	if l.Reserved() != 0 || l.View().SharedSize() != 9400 {
		t.Errorf("%d B set aside, shared segment %d B; want 0 and 9400", l.Reserved(), l.View().SharedSize())
	}
	l.Charge(frame(2, 1, 200), Shared)
	l.Release(frame(2, 1, 700)) // 600 B of reserve first, then 100 B of shared
	want(t, l, 2, Ingress{Shared: 100})
	if l.View().SharedSize() != 10000 {
		t.Errorf("shared segment %d B, want all 10,000", l.View().SharedSize())
	}
}

// Bytes from the headroom are limited by the buffer size only: 20,000 - 9000 stored.
func TestSetAsideHeadroom(t *testing.T) {
	l := newTestLedger(0, 1)
	l.Charge(frame(0, 1, 9000), Shared)
	if l.SetAside(11001, Headroom) || !l.SetAside(11000, Headroom) || l.SetAside(1, Shared) {
		t.Error("the limit for setting aside is not 11,000 B")
	}
	if l.View().SharedSize() != 10000 {
		t.Errorf("shared segment %d B", l.View().SharedSize())
	}
	l.GiveBack(11000)
	want(t, l, 0, Ingress{Shared: 9000})
}

// A new size applies while bytes of the old one are lent, and after they are repaid.
func TestResizeWhileLent(t *testing.T) {
	for _, c := range []struct {
		name       string
		stored     units.Bytes // in the shared segment of 10,000 B
		size       units.Bytes
		lent, back units.Bytes // shared segment with 1000 B lent, and after they are repaid
	}{
		{"smaller", 0, 4000, 3000, 4000},
		{"larger", 0, 10500, 9500, 10500},
		{"below what is stored", 5000, 2000, 5000, 5000},
		{"between", 5000, 5500, 5000, 5500}, // 4500 with the loan, but 5000 are stored
	} {
		l := newTestLedger(0, 1)
		if c.stored > 0 {
			l.Charge(frame(0, 1, c.stored), Shared)
		}
		if !l.SetAside(1000, Shared) {
			t.Fatalf("%s: no room to set aside", c.name)
		}
		l.Resize(c.size)
		if got := l.View().SharedSize(); got != c.lent {
			t.Errorf("%s: %d B with 1000 B lent, want %d", c.name, got, c.lent)
		}
		l.GiveBack(1000)
		if got := l.View().SharedSize(); got != c.back {
			t.Errorf("%s: %d B when all is repaid, want %d", c.name, got, c.back)
		}
		if err := l.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestResize(t *testing.T) {
	l := newTestLedger(0, 1)
	l.Charge(frame(0, 1, 3000), Shared)
	l.Resize(2000)
	if l.View().SharedSize() != 3000 || l.View().SharedFree() != 0 {
		t.Errorf("shared segment %d B, want the 3000 B that are stored", l.View().SharedSize())
	}
	l.Resize(5000)
	if l.View().SharedFree() != 2000 {
		t.Errorf("%d B free, want 2000", l.View().SharedFree())
	}
}

func TestPeaks(t *testing.T) {
	l := newTestLedger(0, 1)
	l.Charge(frame(0, 1, 3000), Shared)
	l.Charge(frame(0, 1, 500), Headroom)
	l.Release(frame(0, 1, 3000))
	l.Charge(frame(0, 1, 1000), Shared)
	if v := l.View(); v.PeakStored() != 3500 || v.Peak(Shared) != 3000 || v.Peak(Headroom) != 500 {
		t.Errorf("peaks %d, %d, %d", v.PeakStored(), v.Peak(Shared), v.Peak(Headroom))
	}
}

// Check finds every kind of inconsistency.
func TestCheckCatches(t *testing.T) {
	at := 0*Classes + lossless
	for _, c := range []struct {
		about   string
		corrupt func(*Ledger)
	}{
		{"negative", func(l *Ledger) { *l.count(at, Shared) = -1 }},
		{"private segment of 1000 B", func(l *Ledger) { *l.count(at, Private) += 1000 }},
		{"shared segment counts", func(l *Ledger) { l.segments[Shared]++ }},
		{"headroom segment counts", func(l *Ledger) { *l.count(at, Headroom) += 5 }},
		{"mixed is false", func(l *Ledger) { l.mixed[0] = 0 }},
		{"mixed is true", func(l *Ledger) { l.mixed[2] = 1 << lossless }},
		{"egress queues", func(l *Ledger) { l.rows[1].out[lossless]++ }},
		{"negative", func(l *Ledger) { l.rows[2].out[lossless] = -1 }},
		{"buffer counts", func(l *Ledger) { l.stored++ }},
		{"in a buffer of", func(l *Ledger) { l.reserved = 20000 }},
		{"shared segment of 10 B", func(l *Ledger) { l.sharedMax = 10 }},
		{"its pairs", func(l *Ledger) { l.pairs[(0*3+1)*Classes+lossless].Bytes++ }},
		{"in 0 packets", func(l *Ledger) { l.pairs[(0*3+1)*Classes+lossless].Packets = 0 }},
	} {
		l := newTestLedger(1000, 1)
		l.KeepPairs()
		l.Charge(frame(0, 1, 800), Private)
		l.Charge(frame(0, 1, 2000), Shared)
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		c.corrupt(l)
		if err := l.Check(); err == nil || !strings.Contains(err.Error(), c.about) {
			t.Errorf("%q expected, got %v", c.about, err)
		}
	}
}

// Any sequence of charges, releases, moves and reservations keeps the ledger consistent.
func TestLedgerProperty(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		l := newTestLedger(1000, rapid.SampledFrom([]units.Bytes{1, 254}).Draw(t, "cell"))
		l.KeepPairs()
		var stored []*Arrival
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0, 1:
				a := frame(rapid.IntRange(0, 2).Draw(t, "in"), rapid.IntRange(0, 2).Draw(t, "out"), l.Cells(units.Bytes(rapid.IntRange(1, 1500).Draw(t, "size"))))
				s := rapid.SampledFrom([]Segment{Private, Shared, Headroom, Reserve}).Draw(t, "segment")
				v := l.View()
				room := map[Segment]units.Bytes{
					Private: 1000 - v.In(a.In, lossless, Private), Shared: v.SharedFree(),
					Headroom: v.Size() - v.Stored() - v.Reserved(), Reserve: v.Reserved(),
				}
				if a.Bytes > room[s] || a.Bytes > v.Size()-v.Stored()-v.Reserved() && s != Reserve {
					continue
				}
				l.Charge(a, s)
				stored = append(stored, a)
			case 2:
				if n := len(stored); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "which")
					l.Release(stored[i])
					stored = append(stored[:i], stored[i+1:]...)
				}
			case 3:
				if n := len(stored); n > 0 {
					a := stored[rapid.IntRange(0, n-1).Draw(t, "which")]
					to := rapid.IntRange(0, 2).Draw(t, "to")
					l.Move(a, to)
					a.Out = to
				}
			default:
				b := units.Bytes(rapid.IntRange(0, 3000).Draw(t, "aside"))
				if rapid.Bool().Draw(t, "back") {
					l.GiveBack(b)
				} else {
					l.SetAside(b, rapid.SampledFrom([]Segment{Shared, Headroom}).Draw(t, "from"))
				}
			}
			if err := l.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range stored {
			l.Release(a)
		}
		l.GiveBack(l.Reserved())
		if v := l.View(); v.Stored() != 0 || v.SharedSize() != newTestLedger(1000, l.spec.Cell).sharedMax {
			t.Fatalf("at the end %d B are stored, and the shared segment has %d B", v.Stored(), v.SharedSize())
		}
	})
}

// ChargeShared and ReleaseShared count like Charge and Release, peaks included.
func TestPlainChargesCountTheSame(t *testing.T) {
	var ledgers [2]*Ledger
	for i := range ledgers {
		ledgers[i] = NewLedger(Spec{Ports: 2, Size: 10_000, Shared: 10_000})
		ledgers[i].KeepPeaks()
	}
	general, plain := ledgers[0], ledgers[1]
	for i, a := range []Arrival{{In: 0, Out: 1, Class: 3, Bytes: 1000}, {In: 1, Out: 0, Class: 3, Bytes: 500}, {In: 0, Out: 1, Class: 3, Bytes: 700}} {
		general.Charge(&a, Shared)
		plain.ChargeShared(a.In, a.Out, a.Class, int32(a.Bytes))
		if i == 1 {
			general.Release(&a)
			if !plain.ReleaseShared(a.In, a.Out, a.Class, int32(a.Bytes)) {
				t.Error("ReleaseShared = false, want true")
			}
		}
	}
	if !reflect.DeepEqual(general, plain) {
		t.Errorf("plain ledger %+v, want %+v", plain, general)
	}
	if q, _ := plain.View().QueuePeaks(1, 3); q.Shared != 500 || q.Egress != 1700 {
		t.Errorf("peaks of port 1 are %+v, want 500 B shared and 1700 B egress", q)
	}
}
