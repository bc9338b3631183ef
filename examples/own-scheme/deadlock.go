package main

import (
	"fmt"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

func init() {
	deadlock.Handlers.Register(registry.Entry[deadlock.New]{
		Name: "alarm", Doc: "reports ports that have been paused for long, and does nothing about them",
		Promises: registry.Lossless | registry.InOrder,
		Events:   []registry.Export{{Name: "stuck", Doc: "a port has been paused for long; the number is when the pause began, in ps"}},
		Params:   func() any { return &AlarmParams{After: 100 * units.Microsecond} }, New: newAlarm,
	})
}

// AlarmParams are the parameters of the handler.
type AlarmParams struct {
	After units.Time `yaml:"after" doc:"paused time after which a port is reported"`
}

// alarm has a timer for each port.
type alarm struct {
	s      deadlock.Switch
	after  units.Time
	timers []int
	since  []units.Time // by port: when its first class was paused
}

func newAlarm(params any, s deadlock.Switch) (deadlock.Handler, error) {
	p := params.(*AlarmParams)
	if p.After <= 0 {
		return nil, fmt.Errorf("after is %s (expected more than 0s)", p.After)
	}
	a := &alarm{s: s, after: p.After, since: make([]units.Time, s.Ports())}
	for range s.Ports() {
		a.timers = append(a.timers, s.NewTimer())
	}
	return a, nil
}

// Gated implements deadlock.Handler.
func (a *alarm) Gated(now units.Time, port int, from, to packet.ClassMask) {
	switch {
	case to == 0:
		a.s.WakeAt(a.timers[port], units.Never)
	case from == 0:
		a.since[port] = now
		a.s.WakeAt(a.timers[port], now+a.after)
	}
}

// Wake implements deadlock.Handler.
func (a *alarm) Wake(now units.Time, timer int) {
	for port, t := range a.timers {
		if t == timer {
			a.s.Report(now, "stuck", port, -1, int64(a.since[port]))
		}
	}
}

// Paused implements deadlock.Handler.
func (a *alarm) Paused(units.Time, int, packet.ClassMask, packet.ClassMask) {}

// OnPFC implements deadlock.Handler.
func (a *alarm) OnPFC(_ units.Time, _ int, _ *packet.Packet, ext packet.Ext) packet.Ext { return ext }

// Control implements deadlock.Handler.
func (a *alarm) Control(units.Time, int, *packet.Packet, packet.Ext) {}
