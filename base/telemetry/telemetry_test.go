package telemetry

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/devtool/trials"
)

// The words of a record, field by field from the lowest bit.
func TestLayout(t *testing.T) {
	r := Record{Time: 3*units.Microsecond + 999, Queue: 1000, Bytes: 1300, Rate: 100 * units.Gbps, Tag: 5}
	for _, c := range []struct {
		format Format
		want   []uint64
	}{
		// 3,000,999 ps and 1000 << 36; 1300, 10,000 x 10 Mbps << 34, 5 << 54.
		{Exact, []uint64{3_000_999 | 1000<<36, 1300 | 10_000<<34 | 5<<54}},
		// Index 2 of the rates, 3000 ns << 3, 1300 / 128 = 10 << 27, 1000 / 80 = 12 << 47.
		{HPCC, []uint64{2 | 3000<<3 | 10<<27 | 12<<47}},
	} {
		got := c.format.Append(nil, &r)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %d words", c.format, len(got))
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: word %d is %#x, want %#x", c.format, i, got[i], c.want[i])
			}
		}
	}
}

// delta has all differences between two records of a hop. Every field wraps at its width,
// except the queue of the exact format, which saturates.
type delta struct {
	Ticks                int64
	Bytes, Queue, Before units.Bytes
}

func compare(f Format, later, earlier packet.Ext, hop int) delta {
	return delta{f.Ticks(later, earlier, hop), f.Bytes(later, earlier, hop), f.Queue(later, hop), f.Queue(earlier, hop)}
}

func TestDeltaWraps(t *testing.T) {
	for _, c := range []struct {
		name    string
		format  Format
		earlier Record
		later   Record
		want    delta
	}{
		{
			"exact", Exact,
			Record{Time: 1<<36 - 10, Bytes: 1<<34 - 1, Queue: 7, Rate: 400 * units.Gbps},
			Record{Time: 1<<36 + 20, Bytes: 1<<34 + 99, Queue: 1 << 30, Rate: 400 * units.Gbps},
			delta{Ticks: 30, Bytes: 100, Queue: 1<<28 - 1, Before: 7},
		},
		{
			// 2^24 ns = 16.777216 ms; 2^20 x 128 B = 134,217,728 B; 2^17 x 80 B = 10,485,760 B.
			"hpcc", HPCC,
			Record{Time: 16_777_215 * units.Nanosecond, Bytes: 134_217_727, Queue: 10_485_759, Rate: 40 * units.Gbps},
			Record{Time: 16_777_303*units.Nanosecond + 999, Bytes: 134_217_728 + 1048, Queue: 10_485_760 + 161, Rate: 40 * units.Gbps},
			// 88 ns; from unit 2^20 - 1 to 2^20 + 8: 9 x 128 = 1152; 2 x 80; (2^17 - 1) x 80.
			delta{Ticks: 88, Bytes: 1152, Queue: 160, Before: 10_485_680},
		},
		{
			// The queue shrinks across its wrap and does not change the bytes field below it.
			"hpcc, all fields shrink", HPCC,
			Record{Time: 5 * units.Nanosecond, Bytes: 256, Queue: 800, Rate: 25 * units.Gbps},
			Record{Time: 4 * units.Nanosecond, Bytes: 128, Queue: 0, Rate: 25 * units.Gbps},
			delta{Ticks: 1<<24 - 1, Bytes: (1<<20 - 1) * 128, Queue: 0, Before: 800},
		},
	} {
		// The hop under test is the second of two.
		first := Record{Time: 1, Queue: 2, Bytes: 3, Rate: 100 * units.Gbps}
		a := c.format.Append(c.format.Append(nil, &first), &c.later)
		b := c.format.Append(c.format.Append(nil, &first), &c.earlier)
		if got := compare(c.format, a, b, 1); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
		if n := c.format.Hops(a); n != 2 {
			t.Errorf("%s: %d hops", c.name, n)
		}
	}
}

// Within the span of a format, differences equal the differences of the full numbers, up to
// the units of the fields.
func TestDeltaIsTheDifference(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]Format{Exact, HPCC}).Draw(t, "format")
		rate := rapid.SampledFrom(hpccRates[:]).Draw(t, "rate")
		unit, queueUnit, bytes := units.Bytes(1), units.Bytes(1), int64(1<<34)
		if f == HPCC {
			unit, queueUnit, bytes = 128, 80, 1<<27
		}
		before := Record{
			Time: units.Time(rapid.Int64Range(0, int64(units.MaxTime)/2).Draw(t, "time")), Bytes: units.Bytes(rapid.Int64Range(0, 1<<50).Draw(t, "bytes")),
			Queue: units.Bytes(rapid.Int64Range(0, 10<<20-81).Draw(t, "queue")), Rate: rate, Tag: rapid.Uint32Range(0, 1023).Draw(t, "tag"),
		}
		after := before
		after.Time += units.Time(rapid.Int64Range(0, int64(f.Span()-f.Tick())).Draw(t, "later"))
		after.Bytes += units.Bytes(rapid.Int64Range(0, bytes-129).Draw(t, "more"))
		after.Queue = units.Bytes(rapid.Int64Range(0, 10<<20-81).Draw(t, "queue after"))
		a, b := f.Append(nil, &after), f.Append(nil, &before)
		got := compare(f, a, b, 0)
		want := delta{
			Ticks: int64(after.Time/f.Tick() - before.Time/f.Tick()), Bytes: (after.Bytes/unit - before.Bytes/unit) * unit,
			Queue: after.Queue / queueUnit * queueUnit, Before: before.Queue / queueUnit * queueUnit,
		}
		if got != want {
			t.Fatalf("%s: got %+v, want %+v", f, got, want)
		}
		if !f.SamePath(a, b) {
			t.Fatalf("%s: two records of one hop are not the same path", f)
		}
	})
}

func TestSamePath(t *testing.T) {
	record := Record{Rate: 100 * units.Gbps, Tag: 1}
	other := record
	other.Tag = 1023
	for _, f := range []Format{Exact, HPCC} {
		one := f.Append(nil, &record)
		if two := f.Append(one, &record); f.SamePath(one, two) {
			t.Errorf("%s: paths of one and two hops are the same", f)
		}
		if got, want := f.SamePath(one, f.Append(nil, &other)), f == HPCC; got != want {
			t.Errorf("%s: different tags: same path is %v, want %v", f, got, want)
		}
	}
}

func TestMaxHops(t *testing.T) {
	for _, f := range []Format{Exact, HPCC} {
		ext := make(packet.Ext, 0, MaxWords)
		r := Record{Rate: 100 * units.Gbps}
		for range MaxHops + 3 {
			r.Bytes += 1280
			ext = f.Append(ext, &r)
		}
		if n := f.Hops(ext); n != MaxHops {
			t.Errorf("%s: %d hops", f, n)
		}
		if d := compare(f, ext, make(packet.Ext, MaxWords), MaxHops-1); d.Bytes != MaxHops*1280 {
			t.Errorf("%s: the last record has %d bytes: a later record replaced it", f, d.Bytes)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	ext := make(packet.Ext, 0, MaxWords)
	for _, f := range []Format{Exact, HPCC} {
		r := Record{Rate: 100 * units.Gbps}
		if n := testing.AllocsPerRun(100, func() {
			ext = f.Append(f.Append(ext[:0], &r), &r)
			_ = compare(f, ext, ext, 1)
		}); n != 0 {
			t.Errorf("%s: %v allocations", f, n)
		}
	}
}

func TestCheckRate(t *testing.T) {
	for _, c := range []struct {
		format Format
		rate   units.Rate
		ok     bool
	}{
		{Exact, 10 * units.Mbps, true}, {Exact, 2500 * units.Mbps, true}, {Exact, 1600 * units.Gbps, true},
		{Exact, 5 * units.Mbps, false}, {Exact, 0, false}, {Exact, 15 * units.Mbps, false}, {Exact, 11 * units.Tbps, false},
		{HPCC, 100 * units.Gbps, true}, {HPCC, 10 * units.Gbps, true}, {HPCC, 56 * units.Gbps, false},
	} {
		if err := c.format.CheckRate(c.rate); (err == nil) != c.ok {
			t.Errorf("%s, %s: %v", c.format, c.rate, err)
		}
		if !c.ok {
			continue
		}
		ext := c.format.Append(nil, &Record{Rate: c.rate})
		if got := c.format.Rate(ext, 0); got != c.rate {
			t.Errorf("%s: %s comes back as %s", c.format, c.rate, got)
		}
	}
}

func TestNames(t *testing.T) {
	for _, f := range []Format{Exact, HPCC} {
		if got, err := ParseFormat(f.String()); err != nil || got != f {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	for _, c := range []Counter{Sent, Queued} {
		if got, err := ParseCounter(c.String()); err != nil || got != c {
			t.Errorf("%s: %v, %v", c, got, err)
		}
	}
	if _, err := ParseFormat("int"); err == nil || err.Error() != `unknown format "int" (allowed: exact, hpcc)` {
		t.Errorf("error %v", err)
	}
	if _, err := ParseCounter("tx"); err == nil || err.Error() != `unknown counter "tx" (allowed: sent, queued)` {
		t.Errorf("error %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	ext := make(packet.Ext, 0, MaxWords)
	for _, f := range []Format{Exact, HPCC} {
		b.Run(f.String(), func(b *testing.B) {
			r := Record{Time: 5 * units.Microsecond, Queue: 4096, Bytes: 1 << 30, Rate: 100 * units.Gbps}
			for b.Loop() {
				ext = f.Append(ext[:0], &r)
			}
		})
	}
}
