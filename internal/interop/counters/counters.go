// Package counters reads and writes counters of switches over time: CSV with the names of SAI,
// and the output of `show pfc counters` and `show queue counters` of SONiC.
package counters

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is what a counter counts. Kinds from QueueBytes on have a queue or priority group; the
// PFC kinds have a priority.
type Kind uint8

// Kinds of counters.
const (
	InOctets Kind = iota
	OutOctets
	PFCReceived
	PFCSent
	QueueBytes
	QueuePackets
	QueueDrops
	Marks
	GroupBytes
	GroupPackets
	GroupDrops
	NumKinds
)

// kinds has the SAI name of each kind. A # stands for the priority.
var kinds = [NumKinds]string{
	InOctets:     "SAI_PORT_STAT_IF_IN_OCTETS",
	OutOctets:    "SAI_PORT_STAT_IF_OUT_OCTETS",
	PFCReceived:  "SAI_PORT_STAT_PFC_#_RX_PKTS",
	PFCSent:      "SAI_PORT_STAT_PFC_#_TX_PKTS",
	QueueBytes:   "SAI_QUEUE_STAT_BYTES",
	QueuePackets: "SAI_QUEUE_STAT_PACKETS",
	QueueDrops:   "SAI_QUEUE_STAT_DROPPED_PACKETS",
	Marks:        "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
	GroupBytes:   "SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES",
	GroupPackets: "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS",
	GroupDrops:   "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS",
}

// unused are other counters that exports contain. Their rows are read and left out.
var unused = []string{
	"SAI_PORT_STAT_IF_IN_UCAST_PKTS", "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", "SAI_PORT_STAT_IF_IN_DISCARDS", "SAI_PORT_STAT_IF_IN_ERRORS",
	"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS", "SAI_PORT_STAT_IF_OUT_DISCARDS", "SAI_PORT_STAT_IF_OUT_ERRORS",
	"SAI_PORT_STAT_PFC_#_RX_PAUSE_DURATION", "SAI_PORT_STAT_PFC_#_RX_PAUSE_DURATION_US",
	"SAI_PORT_STAT_PFC_#_TX_PAUSE_DURATION", "SAI_PORT_STAT_PFC_#_TX_PAUSE_DURATION_US", "SAI_PORT_STAT_PFC_#_ON2OFF_RX_PKTS",
	"SAI_QUEUE_STAT_DROPPED_BYTES", "SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES", "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS",
	"SAI_QUEUE_STAT_WRED_DROPPED_BYTES", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",
	"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
}

// Classes is the number of priorities, queues and priority groups.
const Classes = 8

// Key identifies a counter. Class is -1 for counters of a whole port.
type Key struct {
	Switch, Port string
	Kind         Kind
	Class        int
}

// Name returns the SAI name of the counter.
func (k Key) Name() string { return strings.ReplaceAll(kinds[k.Kind], "#", strconv.Itoa(k.Class)) }

func (k Key) String() string {
	s := k.Switch + " " + k.Port + " " + k.Name()
	if k.Kind >= QueueBytes {
		s += fmt.Sprintf(" of queue %d", k.Class)
	}
	return s
}

// parseName returns the kind and the priority of a SAI name. known is true for counters without a
// kind that exports contain, too.
func parseName(name string) (kind Kind, class int, used, known bool) {
	pattern, class := name, -1
	const prefix = "SAI_PORT_STAT_PFC_"
	if rest, ok := strings.CutPrefix(name, prefix); ok && len(rest) > 1 && rest[0] >= '0' && rest[0] < '0'+Classes && rest[1] == '_' {
		pattern, class = prefix+"#"+rest[1:], int(rest[0]-'0')
	}
	if i := slices.Index(kinds[:], pattern); i >= 0 {
		return Kind(i), class, true, true
	}
	return 0, -1, false, slices.Contains(unused, pattern)
}

// Sample is the value of a counter at a time.
type Sample struct {
	At    int64 // nanoseconds since 1970, or since any common start
	Value uint64
	File  string
	Line  int
}

// place returns where the sample was read.
func (s *Sample) place() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// Series are the samples of a counter, by time.
type Series struct {
	Key
	Samples []Sample
}

// Place returns where the first sample was read.
func (s *Series) Place() string { return s.Samples[0].place() }

// Delta returns the growth from the first to the last sample.
func (s *Series) Delta() uint64 { return s.Samples[len(s.Samples)-1].Value - s.Samples[0].Value }

// Seconds returns the time from the first to the last sample.
func (s *Series) Seconds() float64 {
	return float64(s.Samples[len(s.Samples)-1].At-s.Samples[0].At) / 1e9
}

// Set has the counters of one or more files, in order of keys.
type Set struct {
	Series []*Series
	index  map[Key]*Series
}

// Get returns the samples of a counter, or nil.
func (s *Set) Get(k Key) *Series { return s.index[k] }

func (s *Set) add(k Key, x Sample) {
	if s.index == nil {
		s.index = map[Key]*Series{}
	}
	one := s.index[k]
	if one == nil {
		one = &Series{Key: k}
		s.index[k] = one
		s.Series = append(s.Series, one)
	}
	one.Samples = append(one.Samples, x)
}

// finish sorts series and samples, and checks that no counter goes backwards.
func (s *Set) finish() error {
	slices.SortFunc(s.Series, func(a, b *Series) int {
		return cmp.Or(strings.Compare(a.Switch, b.Switch), strings.Compare(a.Port, b.Port), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Class, b.Class))
	})
	for _, one := range s.Series {
		slices.SortStableFunc(one.Samples, func(a, b Sample) int { return cmp.Compare(a.At, b.At) })
		for i := 1; i < len(one.Samples); i++ {
			a, b := &one.Samples[i-1], &one.Samples[i]
			switch {
			case a.At == b.At && a.Value != b.Value:
				return fmt.Errorf("%s: %s is %d at %s, but %d at %s (expected one value for each time)", b.place(), one.Key, b.Value, FormatTime(b.At), a.Value, a.place())
			case a.Value > b.Value:
				return fmt.Errorf("%s: %s goes backwards: %d at %s, %d at %s (expected counters without a reset or wrap; fix: use only samples after it)",
					b.place(), one.Key, a.Value, FormatTime(a.At), b.Value, FormatTime(b.At))
			}
		}
		one.Samples = slices.CompactFunc(one.Samples, func(a, b Sample) bool { return a.At == b.At })
	}
	return nil
}
