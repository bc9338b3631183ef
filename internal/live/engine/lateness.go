package engine

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/units"
)

// Late is a kind of event that can be late; dataplane.Driver explains what each costs.
type Late uint8

// Kinds of late events.
const (
	LateWire  Late = iota // end of a transmission
	LateFrame             // arrival of a frame
	LateTimer             // everything else
	numLate
)

// Lateness measures how late events were. Its size does not depend on their number.
type Lateness struct {
	all    histogram
	worst  [numLate]units.Time
	slack  units.Time // lateness up to this is harmless
	behind units.Time // total time in which an event was late by more than slack
	until  units.Time // end of the last such time
}

// add records an event that was due at one time and happened at another.
func (l *Lateness) add(what Late, at, now units.Time) {
	by := now - at
	l.all.add(by)
	l.worst[what] = max(l.worst[what], by)
	if by > l.slack {
		// A machine that is busy for a while delays few events, because none are scheduled
		// meanwhile. So the time also counts; overlapping times count once.
		l.behind += now - max(at, l.until)
		l.until = now
	}
}

// Behind returns the total time in which an event was late by more than half a frame.
func (l *Lateness) Behind() units.Time { return l.behind }

// Events returns the number of events.
func (l *Lateness) Events() uint64 { return l.all.total }

// Quantile returns a quantile of the lateness. It is at most one eighth too large.
func (l *Lateness) Quantile(share float64) units.Time {
	return min(l.all.quantile(share), l.Worst())
}

// Worst returns the greatest lateness.
func (l *Lateness) Worst() units.Time {
	return max(l.worst[LateWire], l.worst[LateFrame], l.worst[LateTimer])
}

// Costs returns how much longer an upstream may have sent because of lateness, after a queue
// turned OFF. The PAUSE waits for the late end of a transmission, it and the data arrive late,
// and the upstream's processing timer is late; see dataplane.Driver.
func (l *Lateness) Costs() units.Time {
	return l.worst[LateWire] + 2*l.worst[LateFrame] + l.worst[LateTimer]
}

// histogram counts times in eight buckets for each power of two.
type histogram struct {
	buckets [64 << fineBits]uint64
	total   uint64
}

const fineBits = 3

// bucket returns the bucket of a time. Times below 8 have a bucket each.
func bucket(t units.Time) int {
	u := uint64(max(0, t))
	if u < 1<<fineBits {
		return int(u)
	}
	power := bits.Len64(u) - 1
	return power<<fineBits + int(u>>(power-fineBits))&(1<<fineBits-1)
}

// upper returns the largest time of a bucket.
func upper(b int) units.Time {
	if b < 1<<fineBits {
		return units.Time(b)
	}
	power := b >> fineBits
	return units.Time((uint64(1<<fineBits|b&(1<<fineBits-1))+1)<<(power-fineBits) - 1)
}

func (h *histogram) add(t units.Time) {
	h.buckets[bucket(t)]++
	h.total++
}

func (h *histogram) quantile(share float64) units.Time {
	left := min(uint64(share*float64(h.total)), h.total-1)
	for b, n := range h.buckets {
		if n > left {
			return upper(b)
		}
		left -= n
	}
	return 0
}
