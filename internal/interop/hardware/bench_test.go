package hardware

import (
	"context"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// measured measures a setup with all invariant checks enabled.
func measured(t interface{ Fatal(...any) }, s *setup) *measurement {
	var all []*dataplane.Checks
	p, err := s.measure(func() *dataplane.Checks {
		all = append(all, dataplane.NewChecks("switch"))
		return all[len(all)-1]
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Broken > 0 {
			t.Fatal(c.First)
		}
	}
	return p
}

// small is a switch with 8 ports and 2000 cells of 100 B. Minimums take 8 x 2 x 5 cells and
// the headroom pool 100, so 1820 cells are shared.
func small() setup {
	return setup{ports: 8, parts: 1, classes: 2, cell: 100, size: 200_000, pool: 10_000, minimum: 500, headroom: 4000, offset: 600, frame: 64, queues: 1}
}

// By hand, in cells: a single queue pauses at 5 + 1820 / 2 = 915 and has headroom of 40, so
// the 956th frame is dropped. It resumes after d frames: 910 - d + 6 <= 910 + d, d = 3.
func TestMeasureByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*setup)
		want   measurement
	}{
		{"alone", func(*setup) {}, measurement{pfc: 915, drop: 956, resume: 3}},
		// Two partitions of 910: 5 + 455. Resume as before.
		{"two partitions", func(s *setup) { s.parts = 2 }, measurement{pfc: 460, drop: 501, resume: 3}},
		// Alpha 1/4: 1820 / 5 = 364. Resume: 364 - d + 6 <= (1456 + d) / 4, d = 4.8.
		{"a quarter", func(s *setup) { s.exponent = -2 }, measurement{pfc: 369, drop: 410, resume: 5}},
		// Frames of two cells: two fit the minimum of 5 cells, 455 the 910 shared cells.
		{"two cells", func(s *setup) { s.frame = 101 }, measurement{pfc: 457, drop: 478, resume: 2}},
		// A queue can borrow all 160 headroom cells of its port, but the pool has 100. The
		// minimums take 2 x 8 x 5 cells more, so 1740 are shared.
		{"borrowed", func(s *setup) { s.classes, s.borrow = 4, true }, measurement{pfc: 875, drop: 976, resume: 3}},
		// Three queues in turn: 5 + 910, 5 + 455, 5 + 455 / 2; 40, 40 and 20 cells of the pool.
		{"in turn", func(s *setup) { s.queues = 3 }, measurement{pfc: 915, drop: 956, resume: 3, turns: []int64{915, 460, 232}, pool: 100}},
		// Each of two partitions has 50 cells of the pool; the third queue gets half of 228.
		{"in turn in partitions", func(s *setup) { s.queues, s.parts = 3, 2 }, measurement{pfc: 460, drop: 501, resume: 3, turns: []int64{460, 232, 119}, pool: 50}},
		// Without a pool, 8 x 2 x 40 cells are reserved: 200,000 B - 100 x (80 + 640) leaves
		// 1280 cells.
		{"private headroom", func(s *setup) { s.pool = 0 }, measurement{pfc: 645, drop: 686, resume: 3}},
		// A frame of 64 B takes 112 B: 4 fit the minimum (448 of 500 B), 35 the headroom
		// (3920 B). The queue takes half of 182,000 B shared: 812 frames, 90,944 B. Resume
		// 600 B below: d = 3, 90,608 + 600 <= 91,392.
		{"per-packet charge", func(s *setup) { s.cell, s.perPacket = 1, 48 }, measurement{pfc: 816, drop: 852, resume: 3}},
	} {
		s := small()
		c.change(&s)
		if got := measured(t, &s); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, *got, c.want)
		}
	}
}

// Rows give the setups computed by hand in the comments.
func TestSetups(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		name   string
		row    Row
		want   setup
		shared int64 // shared bytes that a port sees
	}{
		{
			// 12,766,208 B, of which 2 x 32 x 56,368 are reserved, with private headroom.
			"td2", Row{Chip: "td2", Frame: 64, Size: n(56368), Xoff: n(55120), Alpha: n(-3), Pool: n(12766208), Ports: n(32)},
			setup{ports: 32, parts: 1, classes: 2, cell: 208, size: 12766208, minimum: 1248, headroom: 55120, exponent: -3, frame: 64, queues: 1}, 12766208 - 64*56368,
		},
		{
			// Dialect total: the size includes the headroom pool and 64 minimums.
			"td3", Row{Chip: "td3", Frame: 64, Size: n(4608), Xoff: n(160000), Alpha: n(0), Pool: n(32732160), PoolXoff: n(1622016), Ports: n(32)},
			setup{ports: 32, parts: 1, classes: 2, cell: 256, size: 32732160, pool: 1622016, minimum: 4608, headroom: 160000, frame: 64, queues: 1}, 32732160 - 1622016 - 64*4608,
		},
		{
			// Dialect shared: the headroom pool and the minimums of the test's 8 ports come on
			// top, and a port sees a quarter.
			"th", Row{Chip: "th", Frame: 64, Size: n(1248), Xoff: n(268736), Alpha: n(0), Pool: n(10875072), PoolXoff: n(4194112), PGs: n(4), Full: n(1292), Partial: n(1165)},
			setup{ports: 8, parts: 4, classes: 2, cell: 208, size: 10875072 + 4194112 + 16*1248, pool: 4194112, minimum: 1248, headroom: 268736, frame: 64, queues: 4}, 10875072 / 4,
		},
		{
			// Every port takes 70 cells, lossless or not: 35 x 70 x 254.
			"th3", Row{Chip: "th3", Frame: 64, Size: n(2540), Xoff: n(373888), Alpha: n(-2), Pool: n(66394076), PoolXoff: n(27200352), Ports: n(32), Lossy: n(3)},
			setup{ports: 32, parts: 2, classes: 2, cell: 254, size: 66394076 - 35*70*254, pool: 27200352, minimum: 2540, headroom: 373888, exponent: -2, frame: 64, queues: 1}, (66394076 - 35*70*254 - 27200352 - 64*2540) / 2,
		},
		{
			// The buffer counts bytes, plus 48 for each frame.
			"jr2", Row{Chip: "jr2", Frame: 64, Size: n(0), Xoff: n(393216), Alpha: n(-6), Pool: n(6441610000), PoolXoff: n(1056256819)},
			setup{ports: 2, parts: 2, classes: 2, cell: 1, perPacket: 48, size: 6441610000, pool: 1056256819, headroom: 393216, exponent: -6, frame: 64, queues: 1}, (6441610000 - 1056256819) / 2,
		},
		{
			// Headroom is rounded up to 463 cells of 144 B. The tunnel of a dual ToR has four
			// lossless queues. The pool size is unknown, so 4096 cells are assumed, plus
			// 2 x 4 x (19,456 + 66,672) B.
			"spc3", Row{Chip: "spc3", Block: "pcbb", Frame: 64, Size: n(19456), Xoff: n(66560), Alpha: n(0)},
			setup{ports: 2, parts: 1, classes: 4, cell: 144, size: 4096*144 + 8*(19456+66672), minimum: 19456, headroom: 66672, borrow: true, frame: 64, queues: 1}, 4096 * 144,
		},
	} {
		got, err := newSetup(&c.row)
		if err != nil || *got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
			continue
		}
		b, err := newBench(got, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := units.Bytes(c.shared)
		if v := b.sw.View(); v.PartSize(0) != want-want%c.want.cell {
			t.Errorf("%s: a port sees %d B, want %d", c.name, v.PartSize(0), want)
		}
	}
	if s, err := newSetup(&Row{Chip: "td3"}); s != nil || err != nil {
		t.Errorf("row without a profile: %v, %v", s, err)
	}
}

// On any switch, thresholds are in order, headroom has the configured size, and byte counts
// are consistent. Invariant checks cover partitions and the pool during the run.
func TestMeasureAnySwitch(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		s := small()
		s.parts = rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "parts")
		s.exponent = int64(rapid.IntRange(-4, 3).Draw(t, "exponent"))
		s.frame = units.Bytes(rapid.IntRange(64, 1500).Draw(t, "frame"))
		s.perPacket = units.Bytes(rapid.IntRange(0, 1).Draw(t, "charge") * 48)
		s.pool = units.Bytes(rapid.IntRange(20, 400).Draw(t, "pool")) * 100
		s.queues = rapid.IntRange(1, 4).Draw(t, "queues")
		p := measured(t, &s)
		cost := (s.frame+99)/100*100 + s.perPacket
		room := min(s.headroom, s.pool/units.Bytes(s.parts)/100*100) / cost
		if after := p.drop - p.pfc; after < int64(room) || after > int64(room)+1 {
			t.Fatalf("%s: %d frames after the pause, %d fit the headroom", &s, after, room)
		}
		if len(p.turns) > 0 && p.turns[0] != p.pfc {
			t.Fatalf("the first of several queues pauses at %d, a single queue at %d", p.turns[0], p.pfc)
		}
		if most := s.pool / units.Bytes(s.parts) / cost; p.pool > int64(most) {
			t.Fatalf("%d frames in a headroom pool of %d", p.pool, most)
		}
	})
}

// Checks built-in rows of chips without deep buffers. CI renders all rows.
func TestBuiltin(t *testing.T) {
	rows, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 116 {
		t.Errorf("%d rows", len(rows))
	}
	var some []Row
	for _, r := range rows {
		switch r.Chip {
		case "td2", "td3", "th", "th2", "th3", "spc3", "gb":
			some = append(some, r)
		}
	}
	steps := 0
	results, err := Compare(context.Background(), some, 2, func(int, int) { steps++ })
	if err != nil {
		t.Fatal(err)
	}
	if steps == 0 {
		t.Error("no progress")
	}
	for i := range results {
		r := &results[i]
		for _, p := range []*Comparison{r.PFC, r.Drop} {
			if r.Known() && p != nil && !p.Within && len(r.Why) == 0 {
				t.Errorf("%s is out of tolerance without an explanation", r.ID)
			}
		}
	}
	// Trident 2 and 3, Tomahawk 1 to 3, Spectrum 3, as in docs/fidelity-sonic.md.
	if s := SharesOf(results); s.Drop != (Share{20, 22}) || s.PFC != (Share{13, 18}) {
		t.Errorf("%+v", s)
	}
}

// A switch without room for a frame outside of headroom cannot be measured, and the result
// says why: minimum 208 B, 208 B shared with alpha 1/256, frames of two cells.
func TestNoMeasurement(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	rows := []Row{{ID: "r1", Chip: "td2", Match: "only", Frame: 400, Size: n(208), Xoff: n(0), Alpha: n(-8), Pool: n(1000), PFC: n(3), Drop: n(4)}}
	results, err := Compare(context.Background(), rows, 1, func(int, int) {})
	if err != nil || results[0].NoTest != errNoPause.Error() || results[0].PFC != nil {
		t.Errorf("%+v, %v", results, err)
	}
}

// A group is within tolerance if all of its rows are. Rows without a known profile do not
// count.
func TestShares(t *testing.T) {
	pair := func(within bool) *Comparison { return &Comparison{Within: within} }
	s := SharesOf([]Result{
		{Row: Row{Chip: "a", Group: "g1", Match: "fit"}, Drop: pair(true), PFC: pair(false)},
		{Row: Row{Chip: "a", Group: "g1", Match: "only"}, Drop: pair(false), PFC: pair(false)},
		{Row: Row{Chip: "b", Group: "g1", Match: "topo"}, Drop: pair(true)},
		{Row: Row{Chip: "b", Group: "g2", Match: "hist"}, Drop: pair(true), PFC: pair(true)},
	})
	if s.Drop != (Share{2, 3}) || s.DropGroups != (Share{1, 2}) || s.PFC != (Share{0, 2}) || s.PFCGroups != (Share{0, 1}) {
		t.Errorf("%+v", s)
	}
	if got := s.Problems(); len(got) != 2 || got[0] != "drop after PFC: 2 of 3 (66.7 %) are within tolerance (expected at least 85 %)" {
		t.Errorf("%q", got)
	}
}
