package flowctl

import (
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// stubPort is a Port that records calls.
type stubPort struct {
	spec      link.Port
	wake      units.Time
	requested bool
}

func (p *stubPort) Index() int                                        { return 0 }
func (p *stubPort) Spec() *link.Port                                  { return &p.spec }
func (p *stubPort) View() mmu.View                                    { return mmu.View{} }
func (p *stubPort) Policy() buffer.Policy                             { return nil }
func (p *stubPort) Waiting(uint8) units.Bytes                         { return 0 }
func (p *stubPort) Request(units.Time)                                { p.requested = true }
func (p *stubPort) Report(units.Time, string, int, int64)             {}
func (p *stubPort) NewTimer() int                                     { return 1 }
func (p *stubPort) WakeAt(_ int, at units.Time)                       { p.wake = at }
func (p *stubPort) Block(units.Time, packet.ClassMask)                {}
func (p *stubPort) Reserve(units.Bytes)                               {}
func (p *stubPort) Pool() (used, size units.Bytes)                    { return 0, 0 }
func (p *stubPort) Meter(packet.ClassMask)                            {}
func (p *stubPort) Kick(units.Time)                                   {}
func (p *stubPort) Relay(units.Time, int, *packet.Packet, packet.Ext) {}

// A RESUME that waits for the wire when the refresh is due, and is cancelled before it leaves,
// must not suppress the refresh.
func TestRefreshSurvivesCancelledResume(t *testing.T) {
	port := &stubPort{spec: link.Port{Rate: 100 * units.Gbps, PFC: link.PFC{Quanta: 100}}, wake: units.Never}
	s := NewPauseSender(port)
	var f packet.Packet
	s.Want(0, 1<<3)
	if _, ok := s.Frame(0, &f, nil); !ok {
		t.Fatal("no PAUSE")
	}
	// 100 quanta of 512 bits at 100 Gbps last 512 ns; half of that is 256 ns.
	if port.wake != 256*units.Nanosecond {
		t.Fatalf("refresh at %v", port.wake)
	}
	s.Want(255*units.Nanosecond, 0)
	s.Wake(256*units.Nanosecond, 0)
	s.Want(257*units.Nanosecond, 1<<3)
	if _, ok := s.Frame(300*units.Nanosecond, &f, nil); !ok {
		t.Fatal("the pause is not repeated")
	}
	if port.wake != 556*units.Nanosecond {
		t.Errorf("next refresh at %v, want 300 + 256 ns", port.wake)
	}
}

// If every change is sent in order, a change that tells the peer nothing new must not hide the
// next one.
func TestOrderedChangesAfterReset(t *testing.T) {
	port := &stubPort{spec: link.Port{Rate: 100 * units.Gbps, PFC: link.PFC{Quanta: 100, Ordered: true}}}
	s := NewPauseSender(port)
	s.Want(0, 1)
	s.Reset(1, true) // the peer has no pauses
	s.Want(2, 0)
	s.Want(3, 1)
	var f packet.Packet
	if _, ok := s.Frame(4, &f, nil); !ok {
		t.Fatal("the pause was not sent")
	}
	if enable, pause, _ := f.PFC(); enable != 1 || pause != 1 {
		t.Errorf("enable %08b pause %08b", enable, pause)
	}
}
