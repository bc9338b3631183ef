package packet

import (
	"testing"
	"unsafe"
)

func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(Packet{}); n != 32 {
		t.Errorf("a packet has %d bytes, want 32", n)
	}
}

// Destination and port share a word; setting one keeps the other.
func TestDstAndPort(t *testing.T) {
	for _, dst := range []uint32{0, 1, 65_535, 65_536, MaxHosts - 1, NoNode} {
		for _, port := range []int{0, 1, 63, MaxPorts - 1} {
			p := Packet{To: dst}
			if p.Dst() != dst || p.Port() != 0 {
				t.Errorf("a new packet to %d is to %d and at port %d", dst, p.Dst(), p.Port())
			}
			p.SetPort(MaxPorts - 1 - port)
			p.SetPort(port)
			if p.Dst() != dst || p.Port() != port {
				t.Errorf("a packet to %d at port %d is to %d and at port %d", dst, port, p.Dst(), p.Port())
			}
			p.SetDst(NoNode - dst)
			if p.Dst() != NoNode-dst || p.Port() != port {
				t.Errorf("a packet to %d at port %d is to %d and at port %d", NoNode-dst, port, p.Dst(), p.Port())
			}
		}
	}
}

// The depths of a pause survive its arrival at a port.
func TestPauseDepth(t *testing.T) {
	for depth := range MaxPauseDepth + 2 {
		var p Packet
		p.SetPFC(0xff, 0xff, 65535)
		for class := range uint8(8) {
			p.SetPauseDepth(class, depth+int(class))
		}
		p.SetPort(MaxPorts - 1)
		for class := range uint8(8) {
			if got, want := p.PauseDepth(class), min(depth+int(class), MaxPauseDepth); got != want {
				t.Errorf("class %d has depth %d, want %d", class, got, want)
			}
		}
		if enable, pause, quanta := p.PFC(); enable != 0xff || pause != 0xff || quanta != 65535 || p.Port() != MaxPorts-1 {
			t.Errorf("classes %#x, pause %#x for %d quanta, port %d", enable, pause, quanta, p.Port())
		}
	}
}
