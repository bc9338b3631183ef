package perfetto

import (
	"bufio"
	"hash/fnv"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xoff-net/xoff/base/units"
)

// Field numbers of Perfetto's messages, as published in protos/perfetto/trace.
const (
	tracePacket = 1 // Trace.packet

	packetTimestamp = 8 // TracePacket
	packetSequence  = 10
	packetEvent     = 11
	packetTrack     = 60

	trackUUID    = 1 // TrackDescriptor
	trackName    = 2
	trackProcess = 3
	trackParent  = 5
	trackCounter = 8

	processPID  = 1 // ProcessDescriptor
	processName = 6

	counterUnit     = 3 // CounterDescriptor
	counterUnitName = 6

	eventAnnotation = 4 // TrackEvent
	eventType       = 9
	eventTrack      = 11
	eventCategory   = 22
	eventName       = 23
	eventCounter    = 30
	eventFlow       = 47
	eventTerminates = 48
	annotationUint  = 3 // DebugAnnotation
	annotationText  = 6
	annotationName  = 10
	typeBegin       = 1
	typeEnd         = 2
	typeInstant     = 3
	typeCounter     = 4
	unitBytes       = 3
	unitOther       = 0
	sequence        = 1
	firstExtraPID   = 1 << 20 // first process id that is not a node
)

// uuid returns the id of a track or an arrow: a hash of its name, so that equal runs give
// equal bytes.
func uuid(name string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, name)
	return max(1, h.Sum64())
}

// writer writes packets. It reuses its buffers and keeps the first error.
type writer struct {
	out           *bufio.Writer
	packet, inner []byte
	args          []byte
	events        int
	err           error
}

// put writes the packet.
func (w *writer) put() {
	if w.err != nil {
		return
	}
	w.args = protowire.AppendTag(w.args[:0], tracePacket, protowire.BytesType)
	w.args = protowire.AppendVarint(w.args, uint64(len(w.packet)))
	if _, w.err = w.out.Write(w.args); w.err == nil {
		_, w.err = w.out.Write(w.packet)
	}
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func message(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// process describes a node, or another group of tracks.
func (w *writer) process(id uint64, pid int, name string) {
	p := text(number(nil, processPID, uint64(pid)), processName, name)
	w.describe(message(number(nil, trackUUID, id), trackProcess, p))
}

func (w *writer) track(id, parent uint64, name string) {
	w.describe(number(text(number(nil, trackUUID, id), trackName, name), trackParent, parent))
}

func (w *writer) counter(id, parent uint64, name string, unit uint64, unitName string) {
	c := number(nil, counterUnit, unit)
	if unitName != "" {
		c = text(c, counterUnitName, unitName)
	}
	w.describe(message(number(text(number(nil, trackUUID, id), trackName, name), trackParent, parent), trackCounter, c))
}

func (w *writer) describe(track []byte) {
	w.packet = message(number(w.packet[:0], packetSequence, sequence), packetTrack, track)
	w.put()
}

// arg is an annotation of a slice.
type arg struct {
	name string
	text string // if empty, n is the value
	n    uint64
}

// event is an event of a track.
type event struct {
	kind           uint64
	track          uint64
	at             units.Time
	category, name string
	value          int64    // of a counter
	flows, ends    []uint64 // arrows that begin and end here
	args           []arg
}

// event writes an event. Times of the format are in nanoseconds; arguments have picoseconds.
func (w *writer) event(e *event) {
	b := number(number(w.inner[:0], eventType, e.kind), eventTrack, e.track)
	if e.category != "" {
		b = text(b, eventCategory, e.category)
	}
	if e.name != "" {
		b = text(b, eventName, e.name)
	}
	if e.kind == typeCounter {
		b = number(b, eventCounter, uint64(e.value))
	}
	for _, id := range e.flows {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventFlow, protowire.Fixed64Type), id)
	}
	for _, id := range e.ends {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventTerminates, protowire.Fixed64Type), id)
	}
	for _, a := range e.args {
		w.args = text(w.args[:0], annotationName, a.name)
		if a.text != "" {
			w.args = text(w.args, annotationText, a.text)
		} else {
			w.args = number(w.args, annotationUint, a.n)
		}
		b = message(b, eventAnnotation, w.args)
	}
	w.inner = b
	w.packet = number(w.packet[:0], packetTimestamp, uint64(e.at/units.Nanosecond))
	w.packet = message(number(w.packet, packetSequence, sequence), packetEvent, b)
	w.put()
	w.events++
}
