package headroom

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

const us = units.Microsecond

// DSH Fig. 4 and the worked example: MTU 1500 B, 1.5 us, 8 classes.
func TestChips(t *testing.T) {
	for _, want := range []struct {
		name  string
		phi   units.Bytes
		total units.Bytes
		time  units.Time // rounded up to a picosecond
		share string
	}{
		// 2 (1875 + 1500) + 3840; x 512 of 12,582,912 B; 8 x 12,582,912 / 640 G
		{"64x10G", 10590, 5422080, 157286400, "43.09 %"},
		// 2 (7500 + 1500) + 3840; x 256: 5.33 MiB; / 1.28 T
		{"trident2", 21840, 5591040, 78643200, "44.43 %"},
		// 2 (18,750 + 1500) + 3840; x 256 of 16,777,216 B; / 3.2 T
		{"tomahawk", 44340, 11351040, 41943040, "67.66 %"},
		// the same PHI; x 512 of 44,040,192 B; / 6.4 T
		{"tomahawk2", 44340, 22702080, 55050240, "51.55 %"},
		// 2 (75,000 + 1500) + 3840; x 256 of 67,108,864 B; / 12.8 T
		{"tomahawk3", 156840, 40151040, 41943040, "59.83 %"},
		// x 512 of 118,489,088 B; / 25.6 T
		{"tomahawk4", 156840, 80302080, 37027840, "67.77 %"},
	} {
		c, err := ChipNamed(strings.ToUpper(want.name))
		if err != nil {
			t.Fatal(err)
		}
		l := Link{Rate: c.Rate, Delay: 3 * us / 2, MTU: 1500}
		total := SIH(8, Ports{c.Ports, l.Eq1()})
		share := fmt.Sprintf("%.2f %%", 100*Share(c, 1500, 3*us/2, 8))
		if l.Eq1() != want.phi || total != want.total || c.BufferTime() != want.time || share != want.share || !c.Fig4 {
			t.Errorf("%s: PHI %d, total %d, %d ps, %s; want %+v", c.Name, l.Eq1(), total, c.BufferTime(), share, want)
		}
	}
	if _, err := ChipNamed("tomahawk9"); err == nil || !strings.Contains(err.Error(), `did you mean "tomahawk`) {
		t.Errorf("unknown chip: %v", err)
	}
}

// With the longest processing time of the standard, eq. 1 is short of what can be in flight
// by an MTU and a PAUSE frame.
func TestShortfallOfEq1(t *testing.T) {
	l := Link{Rate: 100 * units.Gbps, Delay: 2 * us, MTU: 1500, Processing: -1}
	if l.Eq1() != 56840 || l.Exact() != 58404 { // 56,840 + 1500 + 64
		t.Errorf("eq. 1: %d, exact: %d; want 56840, 58404", l.Eq1(), l.Exact())
	}
	l.Processing = 0 // 2 x 25,000 + 3 x 1500 + 64
	if l.Eq1() != 56840 || l.Exact() != 54564 {
		t.Errorf("eq. 1: %d, exact: %d; want 56840, 54564", l.Eq1(), l.Exact())
	}
	l.Overhead = 20 // three frames and the PAUSE
	if l.Exact() != 54644 {
		t.Errorf("with preambles: %d, want 54644", l.Exact())
	}
	// 54,564 B are 853 frames of 64 B, each in a cell of 208 B.
	l.Overhead, l.Cell, l.MinFrame = 0, 208, 64
	if l.Exact() != 177424 {
		t.Errorf("in cells: %d, want 177424", l.Exact())
	}
}

// 60,000 B x 32 ports x 7 classes are the 12.8 MiB of DSH section V-B; the insurance needs a
// seventh of that.
func TestDivide(t *testing.T) {
	sih, dsh := SIH(7, Ports{32, 60000}), DSH(Ports{32, 60000})
	if sih != 13440000 || dsh != 1920000 {
		t.Errorf("SIH %d, DSH %d", sih, dsh)
	}
	if got, want := Divide(16*units.MiB, sih), (Split{13440000, 3337216, 0.80108642578125}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// A mix of 48 ports at 25G and 8 at 100G.
	if got := SIH(2, Ports{48, 1000}, Ports{8, 5000}); got != 176000 {
		t.Errorf("mixed ports: %d, want 176000", got)
	}
	if got := Divide(10, 15); got.Footroom != -5 || got.Share != 1.5 {
		t.Errorf("buffer too small: %+v", got)
	}
}

// The standard allows a processing time of 3840 B of line time, 307.2 ns at 100 Gbps. It adds
// 3840 B to the headroom.
func TestProcessingCap(t *testing.T) {
	l := Link{Rate: 100 * units.Gbps, Delay: units.Microsecond, MTU: 1500, MinFrame: 64}
	without := l.Exact()
	l.Processing = -1
	if got := l.Exact() - without; got != 3840 {
		t.Errorf("processing adds %d B, want 3840", got)
	}
}
