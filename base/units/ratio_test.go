package units

import "testing"

func TestRatio(t *testing.T) {
	for text, want := range map[string]Ratio{
		"1/16": {1, 16}, "0.0625": {1, 16}, "4": {4, 1}, " 2/4 ": {1, 2}, "1e-3": {1, 1000}, "1048576": {1 << 20, 1},
	} {
		var r Ratio
		if err := r.UnmarshalText([]byte(text)); err != nil || r != want {
			t.Errorf("%q: got %v, %v; want %v", text, r, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1/0", "0/5", "a", "1/16/2", "1048577", "1/1048577", "1e999999", "1e-999999", "inf", "nan", "1 2"} {
		var r Ratio
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %v", text, r)
		}
	}
}

func TestRatioErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1048577":                           `"1048577" is too large (expected more than 0, at most 1048576)`,
		"1e9":                               `"1e9" is too large (expected more than 0, at most 1048576)`,
		"1/1048577":                         `"1/1048577" is too fine (expected fractions of numbers up to 1048576)`,
		"-1":                                `"-1" is not a positive ratio (expected a fraction such as 1/16 or a number such as 0.5)`,
		"123456789012345678901234567890123": `"123456789012345678901234567890123" is too large (expected more than 0, at most 1048576)`,
	} {
		var r Ratio
		if err := r.UnmarshalText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", r, err, want)
		}
	}
}

func TestRatioOf(t *testing.T) {
	if got := (Ratio{1, 16}).Of(1000); got != 62 {
		t.Errorf("1/16 of 1000 is %d", got)
	}
	if got := (Ratio{1 << 20, 1}).Of(1 << 31); got != 1<<51 {
		t.Errorf("2^20 times 2^31 is %d", got)
	}
}

func FuzzRatio(f *testing.F) {
	for _, text := range []string{"1/16", "0.5", "4", "1e-3", "0x10", "1_0", "-1/2", "1/", "9/3", "1e999999999", "+1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r, back Ratio
		if r.UnmarshalText([]byte(text)) != nil {
			return
		}
		if r.Num < 1 || r.Den < 1 || r.Num > maxRatio || r.Den > maxRatio {
			t.Fatalf("%q gives %v", text, r)
		}
		written, err := r.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalText(written); err != nil || back != r {
			t.Fatalf("%q gives %v, written %s, read %v, %v", text, r, written, back, err)
		}
	})
}
