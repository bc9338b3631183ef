package link

import (
	"math"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// The worked example of the DSH paper and the end points of its Fig. 4: MTU
// 1500, 1.5 us, 8 classes.
func TestEq1(t *testing.T) {
	for _, c := range []struct {
		name   string
		ports  units.Bytes
		rate   units.Rate
		buffer units.Bytes
		phi    units.Bytes
		share  float64 // percentage of the buffer
	}{
		{"Trident2", 32, 40 * units.Gbps, 12 * units.MiB, 21840, 44.4}, // 2 (7500 + 1500) + 3840; 5,591,040 B = 5.33 MiB
		{"64 x 10G", 64, 10 * units.Gbps, 12 * units.MiB, 10590, 43.1}, // 2 (1875 + 1500) + 3840
		{"64 x 400G", 64, 400 * units.Gbps, 113 * units.MiB, 156840, 67.8},
	} {
		phi := Eq1(c.rate, 1500*units.Nanosecond, 1500)
		share := 100 * float64(phi*8*c.ports) / float64(c.buffer)
		if phi != c.phi || math.Abs(share-c.share) > 0.05 {
			t.Errorf("%s: PHI %d B, %.2f %% of the buffer; want %d B, %.1f %%", c.name, phi, share, c.phi, c.share)
		}
	}
	if mib := float64(21840*8*32) / float64(units.MiB); math.Abs(mib-5.33) > 0.005 {
		t.Errorf("Trident2 needs %.3f MiB, want 5.33", mib)
	}
	// The paper's evaluation: 100 Gbps, 2 us: 2 (25,000 + 1500) + 3840.
	if phi := Eq1(100*units.Gbps, 2*units.Microsecond, 1500); phi != 56840 {
		t.Errorf("PHI %d B, want 56,840", phi)
	}
}

// PHI* = 2 (C D + MTU) + C x processing + 64 B + MTU.
func TestExact(t *testing.T) {
	port := Port{Rate: 100 * units.Gbps, DelayIn: 2 * units.Microsecond, DelayOut: 2 * units.Microsecond, MTU: 1500}
	slow, over, uneven, ordered := port, port, port, port
	ordered.PFC.Ordered, ordered.Lossless = true, 0b1110
	slow.PFC.Processing = 307200 * units.Picosecond // 3840 B
	over.WireOverhead = 20
	uneven.DelayIn = 3*units.Microsecond + 1
	for _, c := range []struct {
		name string
		p    Port
		want units.Bytes
	}{
		{"plain", port, 54564},           // 2 x 25,000 + 3 x 1500 + 64
		{"slow", slow, 58404},            // + 3840: eq. 1 (56,840) is 1564 B = 1500 + 64 short
		{"overhead", over, 54644},        // 2 x 25,000 + 3 x 1520 + 84
		{"ordered", ordered, 54884},      // 2 x 25,000 + 3 x 1500 + 6 x 64: OFF and ON of 3 classes
		{"uneven delays", uneven, 67065}, // 37,500 and a started byte + 25,000 + 4564
	} {
		if got := Exact(&c.p); got != c.want {
			t.Errorf("%s: %d B, want %d B", c.name, got, c.want)
		}
	}
}

// One port has PFC frames of another size, others count in ticks of 1 ns. At 100 Gbps a tick
// is 12.5 B. The longest frame (1500 B) takes 120 ns; a PAUSE of 60 B takes 4 ns, not 4.8.
// Frames of 64 B take 5 ns, not 5.12, so 6/5 of the line rate bounds the arrivals:
// 4124 ns x 12.5 B x 6/5 = 61,860 B. With 2 frames that is 64,860 B.
// Frames of 12 B would take no time: no headroom is enough.
func TestExactInForeignModels(t *testing.T) {
	port := Port{Rate: 100 * units.Gbps, DelayIn: 2 * units.Microsecond, DelayOut: 2 * units.Microsecond, MTU: 1500, MinFrame: 64}
	large, ticks, nothing := port, port, port
	large.PFC.Size = 1000
	ticks.PFC.Size, ticks.Tick = 60, units.Nanosecond
	nothing.MinFrame, nothing.Tick = 12, units.Nanosecond
	for _, c := range []struct {
		name string
		p    Port
		want units.Bytes
	}{
		{"large PAUSE", large, 55500}, // 2 x 25,000 + 3 x 1500 + 1000
		{"ticks", ticks, 64860},
		{"frames that take no time", nothing, mmu.MaxBuffer},
	} {
		if got := Exact(&c.p); got != c.want {
			t.Errorf("%s: %d B, want %d B", c.name, got, c.want)
		}
	}
}

func TestHeadroomOf(t *testing.T) {
	port := Port{Rate: 100 * units.Gbps, DelayIn: 2 * units.Microsecond, DelayOut: 2 * units.Microsecond, MTU: 1500, MinFrame: 64}
	for text, want := range map[string]units.Bytes{"exact": 54564, "eq1": 56840, "60000B": 60000} {
		var h Headroom
		if err := h.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := h.Of(&port); got != want {
			t.Errorf("%s: %d B, want %d B", text, got, want)
		}
		if back, _ := h.MarshalText(); h.Rule != RuleBytes && string(back) != text {
			t.Errorf("%s is written as %s", text, back)
		}
	}
	// In cells of 254 B every 64 B can cost 254 B: ceil(54,564 / 64) = 853 frames.
	port.Cell = 254
	if got := (Headroom{}).Of(&port); got != 853*254 {
		t.Errorf("in cells: %d B, want %d B", got, 853*254)
	}
	// In cells of 80 B a frame of 64 B costs 80 B, but one of 81 B costs 160 B:
	// ceil(54,564 / 81) = 674.
	port.Cell = 80
	if got := (Headroom{}).Of(&port); got != 674*160 {
		t.Errorf("in small cells: %d B, want %d B", got, 674*160)
	}
	// 2 x 25,000 + 3 x 80 + 64 = 50,304 B are 786 frames of 64 B.
	port.MTU = 80
	if got := (Headroom{}).Of(&port); got != 786*80 {
		t.Errorf("in cells larger than every frame: %d B, want %d B", got, 786*80)
	}
	// With 48 B a packet and no cells every 64 B cost 112 B: 786 x 112.
	port.Cell, port.PerPacket = 1, 48
	if got := (Headroom{}).Of(&port); got != 786*112 {
		t.Errorf("with a cost per packet: %d B, want %d B", got, 786*112)
	}
	for _, text := range []string{"", "exactly", "-5B"} {
		if err := new(Headroom).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// (1500 + 64 + 2 x 20) / 32 = 50.1: half of 51 quanta cover a data frame and a PFC frame
// with their overheads.
func TestMinQuanta(t *testing.T) {
	port := Port{MTU: 1500, WireOverhead: 20}
	if got := port.MinQuanta(); got != 51 {
		t.Errorf("%d quanta, want 51", got)
	}
}
