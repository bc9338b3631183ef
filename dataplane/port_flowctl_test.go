package dataplane_test

import (
	"reflect"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/deadlock"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// relaying forwards every PFC frame that arrives on one port to another, like SWING's relay.
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

// A relayed frame leaves by the other port, after the frame being sent there and before queued
// data.
func TestRelay(t *testing.T) {
	b := newBenchWith(t, func(port int, pfc flowctl.Scheme) flowctl.Scheme {
		if port == 2 {
			return relaying{pfc, 1}
		}
		return pfc
	})
	b.data(0, 1, 1) // on the wire of port 1
	b.data(0, 1, 2) // queued
	b.pause(2, true)
	if len(b.control[1]) != 0 {
		t.Error("relayed while the wire was busy")
	}
	b.wait(1)
	if want := []sentControl{{packet.PFC, 1 << class, 1 << class, 0}}; !reflect.DeepEqual(b.control[1], want) {
		t.Errorf("port 1 relayed %+v, want %+v", b.control[1], want)
	}
	b.wantSent(1, 1)
	b.data(0, 2, 3)
	b.wait(3)
	b.wantSent(2) // the pause applies here too
	b.pause(2, false)
	b.end()
	b.wantSent(1, 1, 2)
	b.wantSent(2, 3)
	if len(b.control[1]) != 2 || b.control[1][1].pause != 0 {
		t.Errorf("port 1 relayed %+v, want a PAUSE and a RESUME", b.control[1])
	}
}

// meterScheme has gates that record the waiting bytes of their queue at each call of May.
type meterScheme struct {
	flowctl.Scheme
	seen *[]units.Bytes
}

func (w meterScheme) Gate(p flowctl.Port) flowctl.Gate {
	p.Meter(1 << class)
	return &meterGate{w.Scheme.Gate(p), p, w.seen, false}
}

type meterGate struct {
	flowctl.Gate
	port flowctl.Port
	seen *[]units.Bytes
	open bool
}

func (g *meterGate) Control(now units.Time, _ *packet.Packet, _ packet.Ext) {
	g.open = true
	g.port.Kick(now)
}

func (g *meterGate) May(units.Time, uint8, units.Bytes) bool {
	*g.seen = append(*g.seen, g.port.Waiting(class))
	return g.open
}

func (g *meterGate) Sent(units.Time, uint8, units.Bytes) {}

// A meter is asked about the head of its queue, sees the waiting bytes, and is asked again after
// Kick.
func TestMeter(t *testing.T) {
	var seen []units.Bytes
	b := newBenchWith(t, func(port int, pfc flowctl.Scheme) flowctl.Scheme {
		if port == 2 {
			return meterScheme{pfc, &seen}
		}
		return pfc
	})
	b.data(0, 2, 1)
	b.data(0, 2, 2)
	b.wait(5)
	b.wantSent(2)
	if want := []units.Bytes{1000, 2000}; !reflect.DeepEqual(seen, want) {
		t.Errorf("the meter saw %v, want %v", seen, want)
	}
	b.pause(2, true) // any frame opens the gate
	b.end()
	b.wantSent(2, 1, 2)
	if want := []units.Bytes{1000, 2000, 2000, 1000}; !reflect.DeepEqual(seen, want) {
		t.Errorf("the meter saw %v, want %v", seen, want)
	}
}

// A metered class that is forced open still asks its meter: a handler overrides pauses, not
// credits.
func TestForcedClassAsksItsMeter(t *testing.T) {
	var seen []units.Bytes
	b := newBenchWith(t, func(_ int, pfc flowctl.Scheme) flowctl.Scheme { return meterScheme{pfc, &seen} })
	b.data(0, 2, 1)
	b.h.s.SetGate(b.now, 2, class, deadlock.Open, -1)
	b.data(0, 3, 2)
	b.wait(3)
	b.wantSent(2)
	b.pause(2, true)
	b.pause(3, true)
	b.end()
	b.wantSent(2, 1)
}
