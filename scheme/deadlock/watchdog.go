package deadlock

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// WatchdogParams are the parameters of the PFC watchdog, with SONiC's meaning.
type WatchdogParams struct {
	Action      string     `yaml:"action" allowed:"drop,forward,alert" doc:"for a stuck queue: drop (its frames and new arrivals), forward (despite the pause) or alert (report only)"`
	Polling     units.Time `yaml:"polling" doc:"interval at which queues are polled"`
	Detection   units.Time `yaml:"detection" doc:"a queue with frames that is paused for this long is stuck"`
	Restoration units.Time `yaml:"restoration" doc:"a stuck queue is normal again after this long without a pause"`
}

func defaultWatchdog() any {
	return &WatchdogParams{Action: "drop", Polling: 100 * units.Millisecond, Detection: 200 * units.Millisecond, Restoration: 200 * units.Millisecond}
}

// queueState is the state of the classes of an egress port.
type queueState struct {
	storm   packet.ClassMask        // stuck classes
	changed [mmu.Classes]units.Time // last start or end of the pause of a class
}

// watchdog polls egress queues, as SONiC does. It knows nothing of loops: any queue that is
// paused for long counts as stuck.
type watchdog struct {
	s      Switch
	params WatchdogParams
	ports  []queueState
}

func newWatchdog(params any, s Switch) (Handler, error) {
	p := params.(*WatchdogParams)
	switch {
	case p.Polling <= 0:
		return nil, fmt.Errorf("polling is %s (expected more than 0s)", p.Polling)
	case p.Detection < p.Polling:
		return nil, fmt.Errorf("detection is %s (expected polling, %s, or more)", p.Detection, p.Polling)
	case p.Restoration < p.Polling:
		return nil, fmt.Errorf("restoration is %s (expected polling, %s, or more)", p.Restoration, p.Polling)
	case p.Action != "drop" && p.Action != "forward" && p.Action != "alert":
		return nil, fmt.Errorf("action is %q (allowed: drop, forward, alert)", p.Action)
	}
	return &watchdog{s: s, params: *p, ports: make([]queueState, s.Ports())}, nil
}

// Patience implements Patient: a pause may start just after a poll.
func (w *watchdog) Patience() units.Time { return w.params.Detection + 2*w.params.Polling }

// Gated implements Handler.
func (w *watchdog) Gated(now units.Time, port int, from, to packet.ClassMask) {
	for class := range (from ^ to).All() {
		w.ports[port].changed[class] = now
	}
	if to != 0 {
		w.schedulePoll(now)
	}
}

// schedulePoll arms the next poll.
func (w *watchdog) schedulePoll(now units.Time) {
	w.s.WakeAt(0, now-now%w.params.Polling+w.params.Polling)
}

// Wake implements Handler: a poll. No timer is armed while nothing is paused or stuck.
func (w *watchdog) Wake(now units.Time, _ int) {
	again := false
	for port := range w.ports {
		q, paused := &w.ports[port], w.s.GatedClasses(port)
		for class := range (paused | q.storm).All() {
			bit := packet.MaskOf(class)
			lasted := now - q.changed[class]
			switch {
			case q.storm&bit == 0 && lasted >= w.params.Detection && w.s.Head(port, class) != nil:
				w.stuck(now, port, class)
			case q.storm&bit != 0 && paused&bit == 0 && lasted >= w.params.Restoration:
				w.restore(now, port, class)
			}
		}
		again = again || paused|q.storm != 0
	}
	if again {
		w.schedulePoll(now)
	}
}

// stuck begins a storm.
func (w *watchdog) stuck(now units.Time, port int, class uint8) {
	w.s.Report(now, Detected, port, int(class), int64(now-w.ports[port].changed[class]))
	w.ports[port].storm |= 1 << class
	switch w.params.Action {
	case "drop":
		w.arm()
		dropped := w.s.DropWhere(now, port, class, func(*packet.Packet) bool { return true })
		w.s.Report(now, RoundBegun, port, int(class), int64(dropped))
	case "forward":
		w.s.SetGate(now, port, class, Open, -1)
		w.s.Report(now, RoundBegun, port, int(class), 0)
	}
}

// restore ends a storm.
func (w *watchdog) restore(now units.Time, port int, class uint8) {
	w.ports[port].storm &^= 1 << class
	switch w.params.Action {
	case "drop":
		w.arm()
	case "forward":
		w.s.SetGate(now, port, class, Obey, 0)
	}
	w.s.Report(now, RoundEnded, port, int(class), 0)
}

// arm calls the hook for arrivals of all stuck classes.
func (w *watchdog) arm() {
	mask := packet.ClassMask(0)
	for i := range w.ports {
		mask |= w.ports[i].storm
	}
	for port := range w.ports {
		w.s.ArmIngress(port, mask)
	}
}

// Arriving implements Hook.
func (w *watchdog) Arriving(_ units.Time, p *packet.Packet, out *int) Verdict {
	if *out >= 0 && w.ports[*out].storm.Has(p.Class()) {
		return DropIt
	}
	return Normal
}

// Departing implements Hook.
func (w *watchdog) Departing(units.Time, int, *packet.Packet) Verdict { return Normal }

// Departed implements Hook.
func (w *watchdog) Departed(units.Time, int, *packet.Packet) {}

// Paused implements Handler.
func (w *watchdog) Paused(units.Time, int, packet.ClassMask, packet.ClassMask) {}

// OnPFC implements Handler.
func (w *watchdog) OnPFC(_ units.Time, _ int, _ *packet.Packet, ext packet.Ext) packet.Ext {
	return ext
}

// Control implements Handler.
func (w *watchdog) Control(units.Time, int, *packet.Packet, packet.Ext) {}
