package capture

import (
	"encoding/binary"
	"io"

	"github.com/xoff-net/xoff/base/frame"
	"github.com/xoff-net/xoff/base/units"
)

// Blocks and options of pcapng. Existing libraries cannot write picoseconds.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 6

	byteOrder    = 0x1a2b3c4d
	linkEthernet = 1

	optComment     = 1
	optApplication = 4
	optName        = 2
	optDescription = 3
	optSpeed       = 8
	optResolution  = 9
	optFCSLength   = 13
	optFlags       = 2

	picoseconds = 12

	flagIn  = 1
	flagOut = 2
	flagFCS = frame.FCSLen << 5
)

// writer writes blocks. It reuses its memory.
type writer struct {
	out   io.Writer
	block []byte
	size  units.Bytes // written so far
}

func (w *writer) begin(kind uint32) {
	w.block = binary.LittleEndian.AppendUint32(w.block[:0], kind)
	w.block = binary.LittleEndian.AppendUint32(w.block, 0)
}

func (w *writer) u16(v uint16) { w.block = binary.LittleEndian.AppendUint16(w.block, v) }
func (w *writer) u32(v uint32) { w.block = binary.LittleEndian.AppendUint32(w.block, v) }
func (w *writer) u64(v uint64) { w.block = binary.LittleEndian.AppendUint64(w.block, v) }

// data appends bytes, padded to a multiple of four.
func (w *writer) data(b []byte) {
	w.block = append(w.block, b...)
	for len(w.block)%4 != 0 {
		w.block = append(w.block, 0)
	}
}

// maxOption is the longest value of an option.
const maxOption = 1<<16 - 1

func (w *writer) option(code uint16, value []byte) {
	value = value[:min(len(value), maxOption)]
	w.u16(code)
	w.u16(uint16(len(value)))
	w.data(value)
}

func (w *writer) text(code uint16, value string) { w.option(code, []byte(value)) }

// end completes a block: it adds the end of options and the length at both ends.
func (w *writer) end() {
	w.u32(0)
	n := uint32(len(w.block) + 4)
	w.u32(n)
	binary.LittleEndian.PutUint32(w.block[4:], n)
}

func (w *writer) flush() error {
	w.size += units.Bytes(len(w.block))
	_, err := w.out.Write(w.block)
	return err
}

func (w *writer) section(comment string) error {
	w.begin(blockSection)
	w.u32(byteOrder)
	w.u16(1)
	w.u16(0)
	w.u64(1<<64 - 1) // unknown length
	w.text(optApplication, "xoff")
	w.text(optComment, comment)
	w.end()
	return w.flush()
}

func (w *writer) iface(name, about string, speed units.Rate) error {
	w.begin(blockInterface)
	w.u16(linkEthernet)
	w.u16(0)
	w.u32(0) // no limit of frame length
	w.text(optName, name)
	w.text(optDescription, about)
	w.option(optSpeed, binary.LittleEndian.AppendUint64(nil, uint64(speed)))
	w.option(optResolution, []byte{picoseconds})
	w.option(optFCSLength, []byte{frame.FCSLen})
	w.end()
	return w.flush()
}

// packet prepares the block of a frame with FCS; flush writes it.
func (w *writer) packet(iface uint32, at units.Time, out bool, data []byte, comment string) {
	w.begin(blockPacket)
	w.u32(iface)
	w.u32(uint32(at >> 32))
	w.u32(uint32(at))
	w.u32(uint32(len(data)))
	w.u32(uint32(len(data)))
	w.data(data)
	flags := uint32(flagIn | flagFCS)
	if out {
		flags = flagOut | flagFCS
	}
	w.option(optFlags, binary.LittleEndian.AppendUint32(nil, flags))
	if comment != "" {
		w.text(optComment, comment)
	}
	w.end()
}
