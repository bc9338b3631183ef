package dataplane_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// relaying passes every PFC frame that comes in on one port out of another, as
// SWING's relay does.
type relaying struct {
	flowctl.Scheme
	to int
}

func (r relaying) Gate(p flowctl.Port) flowctl.Gate { return relayGate{r.Scheme.Gate(p), p, r.to} }

type relayGate struct {
	flowctl.Gate
	port flowctl.Port
	to   int
}

func (g relayGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	g.port.Relay(now, g.to, f, ext)
	g.Gate.Control(now, f, ext)
}

// A relayed frame leaves by the other port, behind the frame being sent there
// and before the data that waits.
func TestRelay(t *testing.T) {
	b := newBenchWith(t, func(port int, pfc flowctl.Scheme) flowctl.Scheme {
		if port == 2 {
			return relaying{pfc, 1}
		}
		return pfc
	})
	b.data(0, 1, 1) // on the wire of port 1
	b.data(0, 1, 2) // waits
	b.pause(2, true)
	if len(b.told[1]) != 0 {
		t.Error("the wire was not free")
	}
	b.wait(1)
	if want := []sentControl{{packet.PFC, 1 << class, 1 << class, 0}}; !reflect.DeepEqual(b.told[1], want) {
		t.Errorf("port 1 relayed %+v, want %+v", b.told[1], want)
	}
	b.order(1, 1)
	b.data(0, 2, 3)
	b.wait(3)
	b.order(2) // and it holds here
	b.pause(2, false)
	b.end()
	b.order(1, 1, 2)
	b.order(2, 3)
	if len(b.told[1]) != 2 || b.told[1][1].pause != 0 {
		t.Errorf("port 1 relayed %+v, want a PAUSE and a RESUME", b.told[1])
	}
}

// waits reports what a gate sees of its queue when it is asked.
type waits struct {
	flowctl.Scheme
	seen *[]units.Bytes
}

func (w waits) Gate(p flowctl.Port) flowctl.Gate {
	p.Meter(1 << class)
	return &waitGate{w.Scheme.Gate(p), p, w.seen, false}
}

type waitGate struct {
	flowctl.Gate
	port flowctl.Port
	seen *[]units.Bytes
	open bool
}

func (g *waitGate) Control(now units.Time, _ *packet.Packet, _ packet.Ext) {
	g.open = true
	g.port.Kick(now)
}

func (g *waitGate) May(units.Time, uint8, units.Bytes) bool {
	*g.seen = append(*g.seen, g.port.Waiting(class))
	return g.open
}

func (g *waitGate) Sent(units.Time, uint8, units.Bytes) {}

// A meter is asked for the head of its queue, sees what waits, and is asked
// again after Kick.
func TestMeter(t *testing.T) {
	var seen []units.Bytes
	b := newBenchWith(t, func(port int, pfc flowctl.Scheme) flowctl.Scheme {
		if port == 2 {
			return waits{pfc, &seen}
		}
		return pfc
	})
	b.data(0, 2, 1)
	b.data(0, 2, 2)
	b.wait(5)
	b.order(2)
	if want := []units.Bytes{1000, 2000}; !reflect.DeepEqual(seen, want) {
		t.Errorf("the meter saw %v, want %v", seen, want)
	}
	b.pause(2, true) // any frame for the gate: it opens
	b.end()
	b.order(2, 1, 2)
	if want := []units.Bytes{1000, 2000, 2000, 1000}; !reflect.DeepEqual(seen, want) {
		t.Errorf("the meter saw %v, want %v", seen, want)
	}
}

// A class that is metered and forced open still asks its meter: a handler
// overrides pauses, not credits.
func TestForcedClassAsksItsMeter(t *testing.T) {
	var seen []units.Bytes
	b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return waits{pfc, &seen} })
	b.data(0, 2, 1)
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, -1)
	b.data(0, 3, 2)
	b.wait(3)
	b.order(2)
	b.pause(2, true)
	b.pause(3, true)
	b.end()
	b.order(2, 1)
}
