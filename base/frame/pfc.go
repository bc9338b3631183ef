package frame

import (
	"encoding/binary"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
)

// IEEE 802.1Qbb: opcode, class-enable vector, eight pause times.
const (
	opcodePFC = 0x0101
	pfcLen    = 2 + 2 + 2*mmu.Classes
)

// appendPFC appends a PFC frame. The words of deadlock handlers use its padding.
func appendPFC(b []byte, p *packet.Packet, ext packet.Ext) []byte {
	enable, pause, quanta := p.PFC()
	b = binary.BigEndian.AppendUint16(b, opcodePFC)
	b = binary.BigEndian.AppendUint16(b, uint16(enable))
	for c := range mmu.Classes {
		t := uint16(0)
		if pause.Has(uint8(c)) {
			t = quanta
		}
		b = binary.BigEndian.AppendUint16(b, t)
	}
	if len(ext) == 0 {
		return b
	}
	if allRAHdr(ext) {
		return appendWords(b, ext)
	}
	return appendHead(b, ownPFC, 0, ext)
}

func (f *Frame) pfc(b []byte) error {
	if len(b) < pfcLen {
		return ErrShort
	}
	if binary.BigEndian.Uint16(b) != opcodePFC {
		return ErrForeign // such as an IEEE 802.3x PAUSE
	}
	enable := binary.BigEndian.Uint16(b[2:])
	if enable>>mmu.Classes != 0 {
		return ErrInvalid
	}
	for c := range f.Times {
		if enable>>c&1 != 0 {
			f.Times[c] = binary.BigEndian.Uint16(b[4+2*c:])
		}
	}
	first := f.pauses(packet.ClassMask(enable), nil)
	size := f.Packet.Size
	f.Packet = first
	f.Packet.Size = size
	return f.padding(b[pfcLen:])
}

// padding decodes the words in the padding of a PFC frame.
func (f *Frame) padding(b []byte) error {
	switch {
	case len(b) == 0 || b[0] == 0:
		return nil
	case b[0] == ownPFC:
		_, err := f.head(b)
		return err
	}
	for len(b) > 0 && b[0] != 0 {
		n, err := f.raHdr(b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// pauses returns the packet of the first pause time in a frame and passes the packets of
// further times to more. A packet has one pause time, a frame one per class.
func (f *Frame) pauses(enable packet.ClassMask, more func(p *packet.Packet)) packet.Packet {
	var first, p packet.Packet
	made := false
	for left := enable; left != 0; {
		quanta, mask := uint16(0), packet.ClassMask(0)
		for c := range f.Times {
			if t := f.Times[c]; left.Has(uint8(c)) && t != 0 && (quanta == 0 || t == quanta) {
				quanta, mask = t, mask|1<<c
			}
		}
		if made && mask == 0 {
			break
		}
		classes := mask
		if !made { // the first packet also resumes
			for c := range f.Times {
				if enable.Has(uint8(c)) && f.Times[c] == 0 {
					classes |= 1 << c
				}
			}
		}
		p.SetPFC(classes, mask, quanta)
		if !made {
			first, made = p, true
		} else if more != nil {
			more(&p)
		}
		left &^= classes
	}
	if !made {
		first.SetPFC(0, 0, 0)
	}
	return first
}

// More calls use for the further packets of a PFC frame with different pause times.
func (f *Frame) More(use func(p *packet.Packet)) {
	enable := packet.ClassMask(0)
	for c, t := range f.Times {
		if t != 0 {
			enable |= 1 << c
		}
	}
	if f.Packet.Kind() == packet.PFC {
		f.pauses(enable, use)
	}
}
