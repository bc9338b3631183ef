package flowctl

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// none treats lossless classes as lossy at the ingress: a frame that the policy refuses is
// dropped, and the upstream is never paused. IRN runs on it.
type none struct{}

func newNone(any) (Scheme, error) { return none{}, nil }

func (none) Reserve(*link.Port) units.Bytes { return 0 }

func (none) Properties() Properties { return Properties{} }

func (none) Gate(p Port) Gate { return NewPauseGate(p) }

func (none) Receiver(p Port) Receiver { return noneReceiver{p} }

type noneReceiver struct{ port Port }

func (r noneReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	v := r.port.View()
	if v.In(a.In, a.Class, mmu.Private)+a.Bytes <= v.PrivateSize() {
		return mmu.Private
	}
	if r.port.Policy().Fits(now, v, a) {
		return mmu.Shared
	}
	return mmu.Drop
}

func (noneReceiver) Charged(units.Time, *mmu.Arrival, mmu.Segment)  {}
func (noneReceiver) Released(units.Time, *mmu.Arrival)              {}
func (noneReceiver) Control(units.Time, *packet.Packet, packet.Ext) {}
func (noneReceiver) Wake(units.Time, int)                           {}
func (noneReceiver) Reset(units.Time, bool)                         {}
func (noneReceiver) Frame(_ units.Time, _ *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	return ext, false
}

// Resumes implements Resuming: the upstream is never paused.
func (noneReceiver) Resumes(units.Time, *Rest) bool { return true }

// Quiet implements Resuming.
func (noneReceiver) Quiet(uint8) units.Time { return 0 }
