// Package units defines the physical quantities that all packages use: time in picoseconds,
// sizes in bytes and rates in bits per second.
//
// All quantities are integers. One byte at 25, 40, 100, 200, 400 or 800 Gbps lasts a whole
// number of picoseconds, so runs at these rates never round.
package units

import (
	"math"
	"math/bits"
)

// Time is a point in simulated time or a duration, in picoseconds.
type Time int64

// Durations.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond

	// Never is later than every event of a run.
	Never Time = math.MaxInt64

	// MaxTime is the end of the usable time axis (about 37 simulated minutes):
	// ordering keys of the engine keep the time in their upper 51 bits.
	MaxTime Time = 1<<51 - 1
)

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Bytes is a size, or an amount of buffer.
type Bytes int64

// Sizes, decimal and binary.
const (
	Byte Bytes = 1
	KB         = 1000 * Byte
	MB         = 1000 * KB
	GB         = 1000 * MB
	KiB        = 1024 * Byte
	MiB        = 1024 * KiB
	GiB        = 1024 * MiB
)

// Rate is a speed in bits per second.
type Rate int64

// Rates.
const (
	BitPerSecond Rate = 1
	Kbps              = 1000 * BitPerSecond
	Mbps              = 1000 * Kbps
	Gbps              = 1000 * Mbps
	Tbps              = 1000 * Gbps
)

// psBits is the duration of one byte at 1 bit/s, in picoseconds.
const psBits = 8 * int64(Second)

// PerByte returns how long one byte lasts, and whether the result is exact.
func (r Rate) PerByte() (Time, bool) {
	return Time(psBits / int64(r)), psBits%int64(r) == 0
}

// TxTime returns the serialization time of b bytes, rounded up to a picosecond.
func (r Rate) TxTime(b Bytes) Time {
	hi, lo := bits.Mul64(uint64(b), uint64(psBits))
	lo, carry := bits.Add64(lo, uint64(r)-1, 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(r))
	return Time(q)
}

// TxTimeDown is TxTime rounded down.
func (r Rate) TxTimeDown(b Bytes) Time {
	hi, lo := bits.Mul64(uint64(b), uint64(psBits))
	q, _ := bits.Div64(hi, lo, uint64(r))
	return Time(q)
}

// In returns the number of bytes sent at rate r in t, rounded down.
func (r Rate) In(t Time) Bytes {
	hi, lo := bits.Mul64(uint64(r), uint64(t))
	q, _ := bits.Div64(hi, lo, uint64(psBits))
	return Bytes(q)
}

// RateOf returns the rate that sends b bytes in t, rounded down and capped at the largest
// Rate.
func RateOf(b Bytes, t Time) Rate {
	hi, lo := bits.Mul64(uint64(b), uint64(psBits))
	if hi >= uint64(t) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(t))
	return Rate(min(q, math.MaxInt64))
}
