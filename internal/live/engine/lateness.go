package engine

import (
	"math/bits"

	"github.com/xoff-net/xoff/base/units"
)

// Late is what a driver can be late with, as the contract of dataplane.Driver tells them
// apart.
type Late uint8

// What a driver can be late with.
const (
	LateWire  Late = iota // telling a node that its wire is free
	LateFrame             // handing a frame over
	LateTimer             // everything else
	numLate
)

// Lateness is by how much events came after their time. Its size does not depend on how
// many there were.
type Lateness struct {
	all    histogram
	worst  [numLate]units.Time
	slack  units.Time // lateness up to this matters little
	behind units.Time // all times in which something waited for longer than that
	until  units.Time // the last of them ended
}

// add notes an event that was due at a time and happened at another.
func (l *Lateness) add(what Late, at, now units.Time) {
	by := now - at
	l.all.add(by)
	l.worst[what] = max(l.worst[what], by)
	if by > l.slack {
		// A machine that does something else for a while makes few events late, since nothing
		// is planned meanwhile; so the time counts, too, and once.
		l.behind += now - max(at, l.until)
		l.until = now
	}
}

// Behind is for how long, in all, events waited that were late by more than half a frame.
func (l *Lateness) Behind() units.Time { return l.behind }

// Events is how many there were.
func (l *Lateness) Events() uint64 { return l.all.total }

// Quantile returns the lateness that a share of the events did not exceed, at most an
// eighth too large.
func (l *Lateness) Quantile(share float64) units.Time {
	return min(l.all.quantile(share), l.Worst())
}

// Worst returns the greatest lateness.
func (l *Lateness) Worst() units.Time {
	return max(l.worst[LateWire], l.worst[LateFrame], l.worst[LateTimer])
}

// Costs is how long an upstream can have gone on because of lateness, from the frame on
// that turns a queue OFF until it stops, as dataplane.Driver has it: the PAUSE waits for a
// wire that is reported free late, both it and the data of that time are handed over late,
// and the upstream's processing ends late.
func (l *Lateness) Costs() units.Time {
	return l.worst[LateWire] + 2*l.worst[LateFrame] + l.worst[LateTimer]
}

// histogram counts times in buckets that grow with them: eight for each power of two.
type histogram struct {
	buckets [64 << fineBits]uint64
	total   uint64
}

const fineBits = 3

// bucket returns where a time belongs: below 8 each has its own.
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
