// Package telemetry defines the per-hop records of in-band telemetry that congestion controls
// read (HPCC, PowerTCP). Switches append a record to each data packet that requests it, receivers
// copy the records into the ACK, and senders compare the records of two ACKs.
//
// A record is one or two words of a packet's extension. Its fields are short and wrap
// around, as on the wire. Only differences between two records of the same hop are
// meaningful; they are taken modulo the width of the field.
package telemetry

import (
	"fmt"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// MaxHops is the largest number of records in a packet. Further hops are not recorded, so
// scenarios with longer paths must be rejected if their congestion control uses telemetry.
const MaxHops = 16

// TagBits is the width of a record's tag.
const TagBits = 10

// MaxWords is the length of the longest extension in any format.
const MaxWords = 2 * MaxHops

// Record is the content of one hop's record, before packing.
type Record struct {
	Time  units.Time  // when the packet was dequeued
	Queue units.Bytes // all classes of the egress port, without this packet
	Bytes units.Bytes // byte counter of the egress port, see Counter
	Rate  units.Rate  // rate of the egress port
	Tag   uint32      // identifies the switch and its port
}

// Counter selects the bytes of an egress port to count.
type Counter uint8

// Counters.
const (
	// Sent counts the bytes sent before this packet.
	Sent Counter = iota
	// Queued counts all bytes that ever joined a queue of the port, including this packet,
	// ACKs and link-local frames.
	Queued
)

var counterNames = []string{"sent", "queued"}

func (c Counter) String() string { return counterNames[c] }

// ParseCounter returns the counter with the given name.
func ParseCounter(name string) (Counter, error) {
	for i, n := range counterNames {
		if n == name {
			return Counter(i), nil
		}
	}
	return 0, fmt.Errorf("unknown counter %q (allowed: sent, queued)", name)
}

// Spec is the telemetry that a congestion control requests from switches.
type Spec struct {
	Format  Format
	Counter Counter
}

// Format is a layout of records.
type Format uint8

// Formats.
const (
	// Exact keeps picoseconds and bytes, in two words per hop. From the lowest bit: time,
	// 36 bits (wraps after 69 ms); queue, 28 bits (saturates); bytes, 34 bits (wraps after
	// 17 GB: 69 ms at 2 Tbps); rate in units of 10 Mbps, 20 bits; tag, 10 bits.
	Exact Format = iota
	// HPCC is the layout of the public HPCC simulator, in one word per hop. From the lowest
	// bit: rate as an index into a table, 3 bits; nanoseconds, 24 bits (wraps after 17 ms);
	// bytes / 128, 20 bits (wraps after 134 MB); queue / 80, 17 bits (wraps after 10 MB).
	// It has no tag.
	HPCC
)

var formatNames = []string{"exact", "hpcc"}

func (f Format) String() string { return formatNames[f] }

// ParseFormat returns the format with the given name.
func ParseFormat(name string) (Format, error) {
	for i, n := range formatNames {
		if n == name {
			return Format(i), nil
		}
	}
	return 0, fmt.Errorf("unknown format %q (allowed: exact, hpcc)", name)
}

// Widths, units and positions of fields.
const (
	exactTimeBits  = 36
	exactQueueBits = 28
	exactBytesBits = 34
	exactRateBits  = 20
	exactRateUnit  = 10 * units.Mbps

	exactTagShift  = exactBytesBits + exactRateBits
	exactMaxQueue  = 1<<exactQueueBits - 1
	exactTimeMask  = 1<<exactTimeBits - 1
	exactBytesMask = 1<<exactBytesBits - 1
	exactRateMask  = 1<<exactRateBits - 1

	hpccRateBits  = 3
	hpccTimeBits  = 24
	hpccBytesBits = 20
	hpccQueueBits = 17
	hpccByteUnit  = 128
	hpccQueueUnit = 80

	hpccBytesShift = hpccRateBits + hpccTimeBits
	hpccQueueShift = hpccBytesShift + hpccBytesBits
	hpccTimeMask   = 1<<hpccTimeBits - 1
	hpccBytesMask  = 1<<hpccBytesBits - 1
	hpccQueueMask  = 1<<hpccQueueBits - 1
)

// hpccRates are the rates that three bits can encode. The public simulator has the same
// table except for entries 5 and 6, which it does not use for links.
var hpccRates = [1 << hpccRateBits]units.Rate{
	25 * units.Gbps, 50 * units.Gbps, 100 * units.Gbps, 200 * units.Gbps, 400 * units.Gbps,
	10 * units.Gbps, 800 * units.Gbps, 40 * units.Gbps,
}

// CheckRate returns an error if records of this format cannot encode the rate of a port.
func (f Format) CheckRate(r units.Rate) error {
	if f == HPCC {
		if _, ok := hpccCode(r); !ok {
			return fmt.Errorf("telemetry format hpcc cannot encode the rate %s (allowed: 10, 25, 40, 50, 100, 200, 400 and 800 Gbps)", r)
		}
		return nil
	}
	if r < exactRateUnit || r/exactRateUnit > exactRateMask || r%exactRateUnit != 0 {
		return fmt.Errorf("telemetry format exact cannot encode the rate %s (expected multiples of %s up to %s)", r, exactRateUnit,
			exactRateMask*exactRateUnit)
	}
	return nil
}

func hpccCode(r units.Rate) (uint64, bool) {
	for i, known := range hpccRates {
		if known == r {
			return uint64(i), true
		}
	}
	return 0, false
}

// Tick returns the unit of time in records.
func (f Format) Tick() units.Time {
	if f == HPCC {
		return units.Nanosecond
	}
	return units.Picosecond
}

// Span returns the period after which the time in records wraps. The difference of two
// records further apart is wrong.
func (f Format) Span() units.Time {
	if f == HPCC {
		return units.Nanosecond << hpccTimeBits
	}
	return units.Picosecond << exactTimeBits
}

// Hop writes the records of one port. The constant fields are packed once.
type Hop struct {
	format Format
	fixed  uint64 // rate and tag, at their bit positions
}

// Hop returns the writer of a port. CheckRate must accept the rate.
func (f Format) Hop(rate units.Rate, tag uint32) Hop {
	if f == HPCC {
		code, _ := hpccCode(rate)
		return Hop{f, code}
	}
	return Hop{f, uint64(rate/exactRateUnit)&exactRateMask<<exactBytesBits | uint64(tag)<<exactTagShift}
}

// Append adds a record to an extension; see Record for the fields. It does not allocate if
// ext has capacity for MaxWords. It returns a full extension unchanged.
func (h Hop) Append(ext packet.Ext, now units.Time, queue, bytes units.Bytes) packet.Ext {
	if h.format == HPCC {
		if len(ext) >= MaxHops {
			return ext
		}
		return append(ext, h.fixed|
			uint64(now/units.Nanosecond)&hpccTimeMask<<hpccRateBits|
			uint64(bytes/hpccByteUnit)&hpccBytesMask<<hpccBytesShift|
			uint64(queue/hpccQueueUnit)&hpccQueueMask<<hpccQueueShift)
	}
	if len(ext) >= 2*MaxHops {
		return ext
	}
	return append(ext,
		uint64(now)&exactTimeMask|uint64(min(queue, exactMaxQueue))<<exactTimeBits,
		uint64(bytes)&exactBytesMask|h.fixed)
}

// Append adds the record of a hop to an extension.
func (f Format) Append(ext packet.Ext, r *Record) packet.Ext {
	return f.Hop(r.Rate, r.Tag).Append(ext, r.Time, r.Queue, r.Bytes)
}

// Hops returns the number of records in an extension.
func (f Format) Hops(ext packet.Ext) int {
	if f == HPCC {
		return len(ext)
	}
	return len(ext) / 2
}

// The following methods read the record of one hop, or compare two records of that hop. Both
// extensions must have the hop; SamePath reports whether it is the same one. The methods
// are short enough to be inlined.

// Ticks returns the time between two records, in units of Tick.
func (f Format) Ticks(later, earlier packet.Ext, hop int) int64 {
	if f == HPCC {
		return int64((later[hop]>>hpccRateBits - earlier[hop]>>hpccRateBits) & hpccTimeMask)
	}
	return int64((later[2*hop] - earlier[2*hop]) & exactTimeMask)
}

// Bytes returns the increase of the counter between two records.
func (f Format) Bytes(later, earlier packet.Ext, hop int) units.Bytes {
	if f == HPCC {
		return units.Bytes((later[hop]>>hpccBytesShift-earlier[hop]>>hpccBytesShift)&hpccBytesMask) * hpccByteUnit
	}
	return units.Bytes((later[2*hop+1] - earlier[2*hop+1]) & exactBytesMask)
}

// Queue returns the queue length at a hop.
func (f Format) Queue(ext packet.Ext, hop int) units.Bytes {
	if f == HPCC {
		return units.Bytes(ext[hop]>>hpccQueueShift) * hpccQueueUnit
	}
	return units.Bytes(ext[2*hop] >> exactTimeBits)
}

// Rate returns the port rate of a hop.
func (f Format) Rate(ext packet.Ext, hop int) units.Rate {
	if f == HPCC {
		return hpccRates[ext[hop]&(1<<hpccRateBits-1)]
	}
	return units.Rate(ext[2*hop+1]>>exactBytesBits&exactRateMask) * exactRateUnit
}

// SamePath reports whether two extensions have records of the same hops. It compares the
// number of hops and, if the format has tags, the tags.
func (f Format) SamePath(a, b packet.Ext) bool {
	if len(a) != len(b) {
		return false
	}
	if f == Exact {
		differ := uint64(0) // one test for all hops: a branch per hop is mispredicted
		for i := 1; i < len(a); i += 2 {
			differ |= a[i] ^ b[i]
		}
		return differ>>exactTagShift == 0
	}
	return true
}
