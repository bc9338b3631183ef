package link

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

func TestHeadroomText(t *testing.T) {
	for text, want := range map[string]Headroom{
		"exact": {Rule: RuleExact}, "eq1": {Rule: RuleEq1},
		"60000B": {RuleBytes, 60000}, "56KiB": {RuleBytes, 56 * units.KiB}, "0B": {Rule: RuleBytes},
	} {
		var h Headroom
		if err := h.UnmarshalText([]byte(text)); err != nil || h != want {
			t.Errorf("%q: got %v, %v; want %v", text, h, err, want)
		}
	}
	for _, text := range []string{"", "Exact", "60000", "-1B", "2GiB", "1us", "exactly"} {
		var h Headroom
		if err := h.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %v", text, h)
		}
	}
}

func FuzzHeadroom(f *testing.F) {
	for _, text := range []string{"exact", "eq1", "60000B", "56KiB", "0B", "-1B", "1.5KB", "9GB", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var h, back Headroom
		if h.UnmarshalText([]byte(text)) != nil {
			return
		}
		if h.Bytes < 0 || h.Bytes > mmu.MaxBuffer {
			t.Fatalf("%q gives %v", text, h)
		}
		written, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalText(written); err != nil || back != h {
			t.Fatalf("%q gives %v, written %s, read %v, %v", text, h, written, back, err)
		}
	})
}
