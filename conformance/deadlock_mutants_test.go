package conformance_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/conformance"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// badHandler makes one mistake when an egress is paused.
type badHandler struct {
	s   deadlock.Switch
	how string
}

func (h *badHandler) Gated(now units.Time, port int, from, to packet.ClassMask) {
	for c := range uint8(8) {
		if !(to &^ from).Has(c) {
			continue
		}
		switch h.how {
		case "drops":
			h.s.DropWhere(now, port, c, func(*packet.Packet) bool { return true })
		case "ignores pauses":
			h.s.SetGate(now, port, c, deadlock.Open, -1)
		case "shuts":
			h.s.SetGate(now, port, c, deadlock.Shut, 0)
		case "arms without hooks":
			h.s.ArmEgress(port, 1<<c)
		case "wakes now":
			h.s.WakeAt(0, now)
		}
	}
}
func (h *badHandler) Paused(units.Time, int, packet.ClassMask, packet.ClassMask) {}
func (h *badHandler) OnPFC(_ units.Time, _ int, f *packet.Packet, ext packet.Ext) packet.Ext {
	if h.how == "rewrites" {
		f.SetPFC(0xff, 0, 0)
	}
	return ext
}
func (h *badHandler) Control(units.Time, int, *packet.Packet, packet.Ext) {}
func (h *badHandler) Wake(units.Time, int)                                {}

func TestDeadlockRejects(t *testing.T) {
	for _, c := range []struct{ how, want string }{
		{"drops", "lossless"}, {"ignores pauses", "forced"}, {"shuts", "did not finish"}, {"arms without hooks", "without hooks"},
		{"wakes now", "wake contract"}, {"rewrites", "changes the frame"}, {"does nothing", "did not finish"},
	} {
		t.Run(c.how, func(t *testing.T) {
			e := registry.Entry[deadlock.New]{
				Name: "mutant", Promises: registry.Lossless | registry.InOrder | registry.Resolves,
				New: func(_ any, s deadlock.Switch) (deadlock.Handler, error) { return &badHandler{s, c.how}, nil },
			}
			mustReject(t, c.want, func(tb testing.TB) { conformance.Deadlock(tb, e) })
		})
	}
}
