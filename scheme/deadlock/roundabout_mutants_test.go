package deadlock_test

import (
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// mutantSwitch leaves out, or changes, one thing that Roundabout asks of its switch.
type mutantSwitch struct {
	deadlock.Switch
	how string
}

func (m mutantSwitch) HoldResume(now units.Time, port int, mask uint8) {
	if m.how != "RESUMEs are not held" {
		m.Switch.HoldResume(now, port, mask)
	}
}

func (m mutantSwitch) InsertHead(now units.Time, in, out int, p *packet.Packet) bool {
	return m.how != "no barrier" && m.Switch.InsertHead(now, in, out, p)
}

func (m mutantSwitch) Splice(now units.Time, port int, class uint8) {
	if m.how != "the side queue stays" {
		m.Switch.Splice(now, port, class)
	}
}

func (m mutantSwitch) GiveBack(b units.Bytes) {
	if m.how != "the reserve stays" {
		m.Switch.GiveBack(b)
	}
}

func (m mutantSwitch) SetAside(b units.Bytes, from mmu.Segment) bool {
	if m.how == "nothing is set aside" {
		return true
	}
	return m.Switch.SetAside(b, from)
}

func (m mutantSwitch) SetGate(now units.Time, port int, class uint8, g deadlock.Gate, budget units.Bytes) {
	if m.how == "the gate obeys pauses in a round" {
		g = deadlock.Obey
	}
	m.Switch.SetGate(now, port, class, g, budget)
}

// mutantHandler changes what Roundabout hears and says.
type mutantHandler struct {
	deadlock.Handler
	hook  deadlock.Hook
	how   string
	first map[int]bool // exits for which a frame was marked
	twice uint64
}

func (*mutantHandler) NeedsPairs() {}

func (m *mutantHandler) Control(now units.Time, port int, f *packet.Packet, ext packet.Ext) {
	if m.how == "credits are added up" && f.Kind() == packet.Loop && uint8(ext[0]>>56) == deadlock.OpCredit {
		m.twice += ext[1] >> 32
		ext[1] = ext[1]&(1<<32-1) | m.twice<<32
	}
	m.Handler.Control(now, port, f, ext)
}

func (m *mutantHandler) Arriving(now units.Time, p *packet.Packet, out *int) deadlock.Verdict {
	exit, was := *out, p.Flags&packet.Marked
	v := m.hook.Arriving(now, p, out)
	switch {
	case m.how == "others join the loop" && v == deadlock.Aside:
		return deadlock.Normal
	case m.how == "in-loop frames have no reserve" && v == deadlock.InLoop:
		return deadlock.Normal
	case m.how == "marks stay" && was != 0:
		p.Flags |= packet.Marked
	case m.how == "only one frame per exit is marked" && was == 0 && p.Flags&packet.Marked != 0:
		if m.first[exit] {
			p.Flags &^= packet.Marked
			*out = exit
		}
		m.first[exit] = true
	}
	return v
}

func (m *mutantHandler) Departing(now units.Time, port int, p *packet.Packet) deadlock.Verdict {
	v := m.hook.Departing(now, port, p)
	if m.how == "the barrier goes round again" && v == deadlock.Consume {
		return deadlock.Normal
	}
	return v
}

func (m *mutantHandler) Departed(now units.Time, port int, p *packet.Packet) {
	if m.how != "what leaves is not granted" {
		m.hook.Departed(now, port, p)
	}
}

// Each rule that was decided is needed: without it some random loop loses frames, their
// order, or is not resolved, or something stays behind.
func TestRoundaboutMutants(t *testing.T) {
	e, _ := deadlock.Handlers.Get("roundabout")
	for _, how := range []string{
		"", "RESUMEs are not held", "no barrier", "the side queue stays", "the reserve stays", "nothing is set aside", "the gate obeys pauses in a round",
		"credits are added up", "others join the loop", "in-loop frames have no reserve", "marks stay",
		"only one frame per exit is marked", "the barrier goes round again", "what leaves is not granted",
	} {
		caught := false
		for seed := uint64(0); seed < 40 && !caught; seed++ {
			net, p, _ := randomLoop(seed)
			net.PFC.Ordered, net.Until = true, 100*units.Millisecond
			net.Deadlock = func(_ int, s deadlock.Switch) (deadlock.Handler, error) {
				h, err := e.New(p, mutantSwitch{s, how})
				return &mutantHandler{Handler: h, hook: h.(deadlock.Hook), how: how, first: make(map[int]bool)}, err
			}
			caught = promises(net.Run()) != nil
		}
		if caught != (how != "") {
			t.Errorf("%q: noticed %t", how, caught)
		}
	}
}
