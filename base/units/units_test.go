package units

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestTxTime(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		size Bytes
		want Time
	}{
		{100 * Gbps, 1048, 83840},
		{100 * Gbps, 0, 0},
		{400 * Gbps, 64, 1280},
		{800 * Gbps, 1, 10},
		{25 * Gbps, 1500, 480 * Nanosecond},
		{BitPerSecond, 1, 8 * Second},
		{3 * BitPerSecond, 1, 2666666666667}, // rounded up
		{7 * Gbps, 1000, 1142858},
		{Tbps, 9 * GB, 72 * Millisecond},
	} {
		if got := c.rate.TxTime(c.size); got != c.want {
			t.Errorf("%s at %s: got %s, want %s", c.size, c.rate, got, c.want)
		}
	}
}

// The 128-bit arithmetic agrees with math/big.
func TestAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		rate := Rate(1 + r.Int64N(int64(10*Tbps)))
		size := Bytes(r.Int64N(int64(100 * MB)))
		span := Time(r.Int64N(int64(MaxTime)))
		bits := new(big.Int).Mul(big.NewInt(int64(size)), big.NewInt(psBits))
		bits.Add(bits, big.NewInt(int64(rate)-1)).Div(bits, big.NewInt(int64(rate)))
		if bits.IsInt64() {
			if got := rate.TxTime(size); got != Time(bits.Int64()) {
				t.Fatalf("TxTime of %d at %d: got %d, want %d", size, rate, got, bits)
			}
		}
		bytes := new(big.Int).Mul(big.NewInt(int64(rate)), big.NewInt(int64(span)))
		bytes.Div(bytes, big.NewInt(psBits))
		if got := rate.In(span); got != Bytes(bytes.Int64()) {
			t.Fatalf("bytes in %d at %d: got %d, want %d", span, rate, got, bytes)
		}
		if back := rate.In(rate.TxTime(size)); bits.IsInt64() && (back < size || back > size+Bytes(int64(rate)/psBits)+1) {
			t.Fatalf("%d bytes at %d take %s, in which %d bytes are sent", size, rate, rate.TxTime(size), back)
		}
	}
}

func TestIn(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		span Time
		want Bytes
	}{
		{100 * Gbps, Microsecond, 12500},
		{100 * Gbps, 79, 0},
		{100 * Gbps, 80, 1},
		{100 * Gbps, 0, 0},
		{10 * Tbps, MaxTime, 2814749767106558}, // 2^51-1 ps
	} {
		if got := c.rate.In(c.span); got != c.want {
			t.Errorf("%s at %s: got %d, want %d", c.span, c.rate, got, c.want)
		}
	}
}

func TestPerByte(t *testing.T) {
	for rate, want := range map[Rate]Time{25 * Gbps: 320, 40 * Gbps: 200, 100 * Gbps: 80, 200 * Gbps: 40, 400 * Gbps: 20, 800 * Gbps: 10} {
		if got, whole := rate.PerByte(); got != want || !whole {
			t.Errorf("%s: got %d, %v; want %d", rate, got, whole, want)
		}
	}
	if _, whole := (7 * Gbps).PerByte(); whole {
		t.Error("a byte at 7Gbps lasts a whole number of picoseconds")
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Time{"2us": 2 * Microsecond, "1.5ms": 1500 * Microsecond, "-3ns": -3 * Nanosecond, "0s": 0, "1e3ps": Nanosecond, "0.001ns": 1, "7 s": 7 * Second} {
		if got, err := ParseTime(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]Bytes{"64KB": 64000, "16MiB": 16 << 20, "1.5KiB": 1536, "3B": 3, "2GiB": 2 << 30} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]Rate{"100Gbps": 1e11, "2.5Gbps": 2.5e9, "1bps": 1, "1Tbps": 1e12} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                       `"" is not a time (expected a number and a unit, such as 10us)`,
		"us":                     `"us" is not a time (expected a number and a unit, such as 10us)`,
		"5":                      `"5" has no unit (allowed: ps, ns, us, ms, s)`,
		"5 min":                  `"min" is not a unit of time (allowed: ps, ns, us, ms, s)`,
		"5US":                    `"US" is not a unit of time; did you mean 5us? (allowed: ps, ns, us, ms, s)`,
		"5 msec":                 `"msec" is not a unit of time; did you mean 5ms? (allowed: ps, ns, us, ms, s)`,
		"3m":                     `"m" is not a unit of time: it is neither minutes nor milliseconds (allowed: ps, ns, us, ms, s)`,
		"3km":                    `"km" is not a unit of time (allowed: ps, ns, us, ms, s)`,
		"1.2.3s":                 `"1.2.3" is not a number (expected one such as 1.5)`,
		"1/2s":                   `"1/2" is not a number (expected one such as 1.5)`,
		"1_0s":                   `"1_0" is not a number (expected one such as 1.5)`,
		"0.5ps":                  `"0.5ps" is finer than one ps (expected whole multiples of it)`,
		"99999999999999999s":     `"99999999999999999s" is too large (expected less than 2^63ps)`,
		"1e99999999s":            `"1e99999999s" is too large (expected less than 2^63ps)`,
		"1e-99999999s":           `"1e-99999999s" is finer than one ps (expected whole multiples of it)`,
		"1e999999s":              `"1e999999s" is too large (expected less than 2^63ps)`,
		"-9223372036854775809ps": `"-9223372036854775809ps" is too large (expected less than 2^63ps)`,
	} {
		if got, err := ParseTime(text); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", got, err, want)
		}
	}
}

// A metre of cable is 5 ns, so 3 m are 15 ns and 100 km are 500 us. As a unit of time, m is
// refused: it could mean minutes or milliseconds.
func TestParseDelay(t *testing.T) {
	for text, want := range map[string]Time{
		"3m": 15 * Nanosecond, "100km": 500 * Microsecond, "1.5 km": 7500 * Nanosecond, "0.2m": Nanosecond, "300m": 1500 * Nanosecond,
		"3ms": 3 * Millisecond, "2us": 2 * Microsecond, "2µs": 2 * Microsecond, "1s": Second,
	} {
		if got, err := ParseDelay(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"3":       `"3" has no unit (allowed: ps, ns, us, ms, s, m, km)`,
		"3min":    `"min" is not a unit of delay (allowed: ps, ns, us, ms, s, m, km)`,
		"3M":      `"M" is not a unit of delay; did you mean 3m? (allowed: ps, ns, us, ms, s, m, km)`,
		"0.0001m": `"0.0001m" is finer than one ps (expected whole multiples of it)`,
		"long":    `"long" is not a delay (expected a number and a unit, such as 10us or 3m)`,
		"1e30km":  `"1e30km" is too large (expected less than 2^63ps)`,
	} {
		if got, err := ParseDelay(text); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", got, err, want)
		}
	}
}

// Both Unicode micro signs, U+00B5 and U+03BC, are read as u.
func TestMicroSigns(t *testing.T) {
	for _, text := range []string{"1us", "1\u00b5s", "1\u03bcs", "1 \u00b5s"} {
		if got, err := ParseTime(text); err != nil || got != Microsecond {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
}

// Foreign spellings of units are refused, with a suggestion where it is unambiguous.
func TestMeantUnits(t *testing.T) {
	const rates, sizes = " (allowed: bps, Kbps, Mbps, Gbps, Tbps)", " (allowed: B, KB, KiB, MB, MiB, GB, GiB)"
	for text, want := range map[string]string{
		"100G":       `"G" is not a unit of rate; did you mean 100Gbps?` + rates,
		"100g":       `"g" is not a unit of rate; did you mean 100Gbps?` + rates,
		"25Gb/s":     `"Gb/s" is not a unit of rate; did you mean 25Gbps?` + rates,
		"25 Gbit/s":  `"Gbit/s" is not a unit of rate; did you mean 25Gbps?` + rates,
		"10M":        `"M" is not a unit of rate; did you mean 10Mbps?` + rates,
		"10m":        `"m" is not a unit of rate` + rates,
		"10gbps":     `"gbps" is not a unit of rate; did you mean 10Gbps?` + rates,
		"12.5GBps":   `"GBps" is not a unit of rate` + rates, // bytes, not bits
		"99999Tbps0": `"99999Tbps0" has no unit` + rates,
	} {
		if got, err := ParseRate(text); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", got, err, want)
		}
	}
	for text, want := range map[string]string{
		"64k":  `"k" is not a unit of size; did you mean 64KB?` + sizes,
		"64kB": `"kB" is not a unit of size; did you mean 64KB?` + sizes,
		"16mb": `"mb" is not a unit of size; did you mean 16MB?` + sizes,
		"16Mb": `"Mb" is not a unit of size` + sizes, // bits, not bytes
		"2Gi":  `"Gi" is not a unit of size; did you mean 2GiB?` + sizes,
		"1TB":  `"TB" is not a unit of size` + sizes,
		"123456789012345678901234567890123456789012345B": `"123456789012345678901234567890123456789012345B" is too large (expected less than 2^63B)`,
		"0.0000000000000000000000000000000000000000001B": `"0.0000000000000000000000000000000000000000001B" has 45 characters before the unit (expected at most 40)`,
	} {
		if got, err := ParseBytes(text); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", got, err, want)
		}
	}
}

func TestString(t *testing.T) {
	for want, v := range map[string]interface{ String() string }{
		"0ps": Time(0), "1us": Microsecond, "1.5ms": 1500 * Microsecond, "83.84ns": Time(83840), "17.80397792ms": Time(17803977920), "-1.000000000001s": -Second - 1, "-2s": -2 * Second, "never": Never,
		"0B": Bytes(0), "16MiB": 16 * MiB, "64KB": 64 * KB, "1.048KB": Bytes(1048), "1KiB": KiB, "48.66618MB": Bytes(48666180), "1025KiB": 1025 * KiB, "1.048577MB": MiB + 1,
		"100Gbps": 100 * Gbps, "2.5Gbps": 2500 * Mbps, "0bps": Rate(0),
	} {
		if got := v.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	if got := (250 * Millisecond).Seconds(); got != 0.25 {
		t.Errorf("got %v", got)
	}
}

// fuzzUnit checks that printed values parse back, starting from numbers and from text.
func fuzzUnit[T interface {
	~int64
	String() string
}](f *testing.F, parse func(string) (T, error), texts ...string) {
	for i, text := range texts {
		f.Add(int64(i*1001), text)
	}
	for _, v := range []int64{0, 1, -1, 999, 1000, 1023, 1024, 1048, 1048576, 1500000, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, 1 << 53, 1<<53 + 1, 999999999999999999} {
		f.Add(v, "")
	}
	f.Fuzz(func(t *testing.T, v int64, text string) {
		values := []T{T(v)}
		if parsed, err := parse(text); err == nil {
			values = append(values, parsed)
		}
		for _, v := range values {
			if int64(v) == math.MaxInt64 {
				continue // units.Never prints as a word
			}
			if back, err := parse(v.String()); err != nil || back != v {
				t.Errorf("%d is printed %s and read %d, %v", int64(v), v, int64(back), err)
			}
		}
	})
}

func FuzzTime(f *testing.F) {
	fuzzUnit(f, ParseTime, "2us", "1.5ms", "1e3ps", "0x10s", "-1ns", "1e-12s", "5", "é")
}

// Every time is also a valid delay of the same value; a delay that is not a time is a length.
func FuzzDelay(f *testing.F) {
	for _, text := range []string{"3m", "100km", "1.5 km", "2us", "1µs", "1μs", "-3m", "3ms", "3min", "1e999999999m", "1e-7m", "m", "3m/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		delay, err := ParseDelay(text)
		span, wrong := ParseTime(text)
		switch {
		case wrong == nil && (err != nil || delay != span):
			t.Errorf("%q parses as time %s and as delay %s, %v", text, span, delay, err)
		case err == nil && wrong != nil && text[len(text)-1] != 'm':
			t.Errorf("%q parses as delay %s, but not as a time: %v", text, delay, wrong)
		case err == nil && delay != Never:
			if back, err := ParseDelay(delay.String()); err != nil || back != delay {
				t.Errorf("%q is printed %s and read %s, %v", text, delay, back, err)
			}
		}
	})
}

func FuzzBytes(f *testing.F) {
	fuzzUnit(f, ParseBytes, "64KB", "16MiB", "1.5KiB", "0B", "1e18B", "1kB")
}

func FuzzRate(f *testing.F) {
	fuzzUnit(f, ParseRate, "100Gbps", "2.5Gbps", "1bps", "1.0000001Tbps")
}
