package cc

import (
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// dcqcnStep is one event of a flow on a line of 100 Gbps and the rate after it.
type dcqcnStep struct {
	at   units.Time // us
	what string     // cnp, send, or "": only the clocks advance
	sent units.Bytes
	rate units.Rate
}

// The literals follow Zhu et al. 2015: eq. 1 (R_T = R_C, R_C (1 - alpha / 2)),
// eq. 2 (alpha = (1 - g) alpha + g with a CNP, (1 - g) alpha without), and the
// increase of their Fig. 7, R_C = (R_C + R_T) / 2.
func TestDCQCNSteps(t *testing.T) {
	for _, c := range []struct {
		preset string
		steps  []dcqcnStep
	}{
		{"hpcc-sim", []dcqcnStep{
			{0, "cnp", 0, 100_000_000_000}, // starts the clocks: alpha every 1 us, cuts every 4 us
			{3, "", 0, 100_000_000_000},
			{4, "", 0, 50_776_684_272},     // alpha = (255/256)^4 = 0.98446631; 100 G x (1 - 0.49223316)
			{5, "cnp", 0, 50_776_684_272},  // alpha rises at 6 us
			{8, "", 0, 26_072_565_153},     // alpha = ((255/256)^6 + 1/256) x (255/256)^2 = 0.97304972
			{11, "cnp", 0, 26_072_565_153}, //
			{12, "", 0, 13_533_735_148},    // alpha = 0.96184092; the target stays 100 G: no increase in between
			{911, "", 0, 13_533_735_148},   // the increase comes 900 us after the cut
			{912, "", 0, 56_766_867_574},   // fast recovery: (13,533,735,148 + 100 G) / 2
			{1812, "", 0, 78_383_433_787},  // additive, but 100 G + 50 M is above the line: (56,766,867,574 + 100 G) / 2
			{1813, "cnp", 0, 78_383_433_787},
			{1816, "", 0, 78_199_183_998}, // alpha = 0.00470124; now the target moves to 78,383,433,787
			{2716, "", 0, 78_291_308_892}, // fast recovery
			{3616, "", 0, 78_362_371_339}, // target + 50 M = 78,433,433,787
			{4516, "", 0, 78_447_902_562}, // hyper: target + 100 M = 78,533,433,787
		}},
		{"paper", []dcqcnStep{
			{0, "cnp", 0, 100_000_000_000},
			{49, "", 0, 100_000_000_000},
			{50, "", 0, 50_000_000_000},  // alpha = 1: half
			{105, "", 0, 75_000_000_000}, // timer, every 55 us from the cut
			{160, "", 0, 87_500_000_000},
			{325, "", 0, 98_437_500_000}, // fifth step: 100 G - 50 G / 2^5
			{380, "", 0, 99_218_750_000}, // sixth: additive, limited by the line rate
			{390, "cnp", 0, 99_218_750_000},
			{400, "", 0, 50_950_087_878},                 // alpha = (255/256)^7 = 0.97297461; target 99,218,750,000
			{410, "send", 10 * units.MB, 75_084_418_939}, // byte counter: (50,950,087,878 + 99,218,750,000) / 2
			{420, "cnp", 0, 75_084_418_939},              //
			{430, "send", 5 * units.MB, 75_084_418_939},  // half of the byte counter, which the cut resets
			{450, "", 0, 38_552_839_198},                 // alpha = 0.97297461 x 255/256 + 1/256 = 0.97308017
			{460, "send", 6 * units.MB, 38_552_839_198},  // 6 MB of 10 MB
			{470, "send", 4 * units.MB, 56_818_629_068},  // (38,552,839,198 + 75,084,418,939) / 2
			{505, "", 0, 65_951_524_003},                 // the timer counts separately from the bytes
			{780, "", 0, 74_819_015_971},                 // sixth timer step: target 75,084,418,939 + 40 M
			{835, "", 0, 74_991_717_454},                 // seventh: + 40 M; bytes are at 1, so never hyper
			{890, "", 0, 75_098_068_196},                 // target 75,204,418,939
			{900, "send", 10 * units.MB, 75_171_243_567}, // the leading clock decides: + 40 M again, 75,244,418,939
		}},
	} {
		f, err := newDCQCN(dcqcnPresets.params(c.preset))
		if err != nil {
			t.Fatal(err)
		}
		d := f()
		d.Start(0, &Flow{Line: 100 * units.Gbps, MTU: 1048})
		for _, s := range c.steps {
			now := s.at * units.Microsecond
			switch s.what {
			case "cnp":
				d.OnCNP(now)
			case "send":
				d.OnSend(now, s.sent)
			}
			if got := d.Rate(now); got != s.rate {
				t.Errorf("%s at %d us (%s): rate %d, want %d", c.preset, s.at, s.what, got, s.rate)
			}
			if d.Window(now) != Unlimited {
				t.Errorf("%s has a window", c.preset)
			}
		}
	}
}

// With window: bdp the window is the rate times the base RTT, as of the last ACK. At 100 Gbps and
// 16 us it starts at 100 G x 16 us / 8 = 200,000 B.
func TestDCQCNWindow(t *testing.T) {
	p := dcqcnPresets.params("hpcc-sim")
	p.Window = windowBDP
	f, err := newDCQCN(p)
	if err != nil {
		t.Fatal(err)
	}
	d := f()
	for range 2 { // Start resets the window
		d.Start(0, &Flow{Line: 100 * units.Gbps, MTU: 1048, BaseRTT: 16 * units.Microsecond})
		for _, s := range []struct {
			at     units.Time // us
			what   string     // ack, cnp, or "": only the clocks advance
			rate   units.Rate
			window units.Bytes
		}{
			{0, "cnp", 100_000_000_000, 200_000},
			{3, "ack", 100_000_000_000, 200_000},
			{4, "", 50_776_684_272, 200_000},    // the cut, as in TestDCQCNSteps: no ACK yet
			{5, "cnp", 50_776_684_272, 200_000}, //
			{6, "ack", 50_776_684_272, 101_553}, // 200,000 x 0.50776684272 = 101,553.4
			{8, "ack", 26_072_565_153, 52_145},  // 200,000 x 0.26072565153 = 52,145.1
			{907, "ack", 26_072_565_153, 52_145},
			{908, "", 63_036_282_576, 52_145}, // increase: (26,072,565,153 + 100 G) / 2
			{909, "ack", 63_036_282_576, 126_072},
		} {
			now := s.at * units.Microsecond
			switch s.what {
			case "cnp":
				d.OnCNP(now)
			case "ack":
				d.OnAck(now, &Ack{})
			}
			if rate, window := d.Rate(now), d.Window(now); rate != s.rate || window != s.window {
				t.Errorf("at %d us (%s): rate %d, window %d, want %d, %d", s.at, s.what, rate, window, s.rate, s.window)
			}
		}
	}
	p.Window = "some"
	if _, err := newDCQCN(p); err == nil || err.Error() != `window is "some" (allowed: none, bdp)` {
		t.Errorf("window some: %v", err)
	}
}

// Bit-exact agreement with the public simulator, in nanoseconds: alpha every 1 us from the
// first CNP, decreases every 4 us starting 4.001 us after it, increases every 900 us from a
// decrease. Rates are whole bits per second, rounded down after each operation.
func TestDCQCNLikeNs3(t *testing.T) {
	p := dcqcnPresets.params("hpcc-sim")
	p.FirstCutDelay, p.AlphaDelay, p.RiseFirst, p.Truncate = units.Nanosecond, units.Picosecond, true, true
	f, err := newDCQCN(p)
	if err != nil {
		t.Fatal(err)
	}
	d := f()
	d.Start(0, &Flow{Line: 100 * units.Gbps, MTU: 1048})
	cnps := []units.Time{
		100_000,   // starts the clocks; counts for the first decrease, not for the first alpha
		101_000,   // at the first update of alpha: counts for it, alpha stays 1
		104_001,   // at the first decrease: counts for the second
		104_500,   //
		112_002,   //
		1_008_000, //
		1_008_001, // at a decrease: counts for the next
		1_909_000, // its decrease coincides with the increase, which is first
	}
	for _, s := range []struct {
		ns   units.Time
		rate units.Rate
	}{
		{100000, 100000000000}, // target 100000000000, alpha 1.000000000, stage 0
		{104000, 100000000000}, // target 100000000000, alpha 0.988326967, stage 0
		{104001, 50583651661},  // target 100000000000, alpha 0.988326967, stage 0
		{108000, 50583651661},  // target 100000000000, alpha 0.976835259, stage 0
		{108001, 25877704431},  // target 100000000000, alpha 0.976835259, stage 0
		{112001, 25877704431},  // target 100000000000, alpha 0.961661407, stage 0
		{116000, 25877704431},  // target 100000000000, alpha 0.950583914, stage 0
		{116001, 13578239655},  // target 100000000000, alpha 0.950583914, stage 0
		{1008000, 13578239655}, // target 100000000000, alpha 0.032865169, stage 0
		{1008001, 13355114083}, // target 100000000000, alpha 0.032865169, stage 0
		{1012001, 13113284323}, // target 100000000000, alpha 0.036215304, stage 0
		{1912000, 13113284323}, // target 100000000000, alpha 0.004929918, stage 0
		{1912001, 56417232351}, // target 56556642161, alpha 0.004929918, stage 0
		{2812001, 56486937255}, // target 56556642161, alpha 0.000145557, stage 1
		{3712001, 56546789707}, // target 56606642161, alpha 0.000004298, stage 2
		{4612001, 56626715933}, // target 56706642161, alpha 0.000000127, stage 3
		{5512001, 56716679046}, // target 56806642161, alpha 0.000000004, stage 4
	} {
		now := s.ns * units.Nanosecond
		for len(cnps) > 0 && cnps[0] <= s.ns {
			d.OnCNP(cnps[0] * units.Nanosecond)
			cnps = cnps[1:]
		}
		if got := d.Rate(now); got != s.rate {
			t.Errorf("at %d ns: rate %d, want %d", s.ns, got, s.rate)
		}
	}
}

// Reading the rate has no effect on it, however often it is read.
func TestDCQCNIsLazy(t *testing.T) {
	f, err := newDCQCN(dcqcnPresets.params("paper"))
	if err != nil {
		t.Fatal(err)
	}
	often, seldom := f(), f()
	flow := &Flow{Line: 100 * units.Gbps}
	often.Start(0, flow)
	seldom.Start(0, flow)
	for us := units.Time(0); us < 5000; us++ {
		now := us * units.Microsecond
		often.Rate(now)
		if us%777 == 0 {
			often.OnCNP(now)
			seldom.OnCNP(now)
		}
	}
	now := 5 * units.Millisecond
	if a, b := often.Rate(now), seldom.Rate(now); a != b {
		t.Errorf("%d and %d", a, b)
	}
}

func TestDCQCNFloor(t *testing.T) {
	p := dcqcnPresets.params("hpcc-sim")
	f, err := newDCQCN(p)
	if err != nil {
		t.Fatal(err)
	}
	d := f()
	d.Start(0, &Flow{Line: 10 * units.Gbps})
	for us := units.Time(0); us < 400; us++ {
		d.OnCNP(us * units.Microsecond)
	}
	if r := d.Rate(400 * units.Microsecond); r != p.MinRate {
		t.Errorf("rate %s under constant CNPs, want %s", r, p.MinRate)
	}
}

func TestDCQCNPresets(t *testing.T) {
	var p DCQCNParams
	if err := p.ApplyPreset("paper"); err != nil || p.RiseBytes != 10*units.MB || p.Preset != "paper" {
		t.Errorf("%v, %+v", err, p)
	}
	if err := p.ApplyPreset("mine"); err == nil || err.Error() != `unknown preset "mine" (allowed: hpcc-sim, paper)` {
		t.Errorf("error %v", err)
	}
	for _, bad := range []func(*DCQCNParams){
		func(p *DCQCNParams) { p.G = 0 }, func(p *DCQCNParams) { p.CutInterval = 0 }, func(p *DCQCNParams) { p.RiseBytes = -1 },
		func(p *DCQCNParams) { p.FirstCutDelay = -1 }, func(p *DCQCNParams) { p.AlphaDelay = -1 },
		func(p *DCQCNParams) { p.FastRecovery = 0 }, func(p *DCQCNParams) { p.MinRate = 0 },
	} {
		q := *dcqcnPresets.params("paper")
		bad(&q)
		if _, err := newDCQCN(&q); err == nil {
			t.Errorf("%+v is accepted", q)
		}
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		params FixedParams
		rate   units.Rate
		window units.Bytes
	}{
		{FixedParams{}, 100 * units.Gbps, Unlimited},
		{FixedParams{Rate: 40 * units.Gbps}, 40 * units.Gbps, Unlimited},
		{FixedParams{Rate: 400 * units.Gbps, Window: 10 * units.KB}, 100 * units.Gbps, 10 * units.KB}, // at most the line rate
	} {
		f, err := newFixed(&c.params)
		if err != nil {
			t.Fatal(err)
		}
		ctl := f()
		ctl.Start(0, &Flow{Line: 100 * units.Gbps})
		ctl.OnCNP(1)
		ctl.OnLoss(2, true)
		if ctl.Rate(3) != c.rate || ctl.Window(3) != c.window {
			t.Errorf("%+v: rate %s, window %d", c.params, ctl.Rate(3), ctl.Window(3))
		}
	}
	if _, err := newFixed(&FixedParams{Rate: -1}); err == nil {
		t.Error("a negative rate is accepted")
	}
}
