package sim_test

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// depthModel computes the depth of pauses at one node from its events alone. It keeps
// every queue as a list, and the last PAUSE of each peer.
type depthModel struct {
	queues   map[[2]int][]int         // by egress port and class: ingress ports of the waiting frames
	received map[[2]int]int           // by egress port and class: depth of the last PAUSE received
	sent     map[[2]int]int           // by ingress port and class: depth of the PAUSE in effect
	blocked  map[int]packet.ClassMask // by egress port: classes that may not send
	off      map[int]packet.ClassMask // by ingress port: classes that are OFF
	wrong    string                   // the first difference
}

func newDepthModel() depthModel {
	return depthModel{make(map[[2]int][]int), make(map[[2]int]int), make(map[[2]int]int), make(map[int]packet.ClassMask), make(map[int]packet.ClassMask), ""}
}

func (d *depthModel) queued(in, out int, p *packet.Packet) {
	at := [2]int{out, int(p.Class())}
	d.queues[at] = append(d.queues[at], in)
}

func (d *depthModel) departed(now units.Time, port int, p *packet.Packet) {
	if p.Kind() == packet.PFC {
		d.pfcSent(now, port, p)
	}
	if p.Control() { // control frames are never queued
		return
	}
	// A frame that departs from an empty queue passed straight through.
	at := [2]int{port, int(p.Class())}
	if q := d.queues[at]; len(q) > 0 {
		d.queues[at] = q[1:]
	}
}

func (d *depthModel) arrived(port int, p *packet.Packet) {
	if p.Kind() != packet.PFC {
		return
	}
	_, pause, _ := p.PFC()
	for c := range pause.All() {
		d.received[[2]int{port, int(c)}] = p.PauseDepth(c)
	}
}

// paused removes the pauses that a port no longer wants.
func (d *depthModel) paused(port int, to packet.ClassMask) {
	for c := range (^to).All() {
		delete(d.sent, [2]int{port, int(c)})
	}
}

func (d *depthModel) pfcSent(now units.Time, port int, p *packet.Packet) {
	_, pause, _ := p.PFC()
	for c := range pause.All() {
		at := [2]int{port, int(c)}
		want, on := d.sent[at]
		if !on {
			want = 1
			// An empty queue can only be OFF because of its port: then all classes
			// count.
			whole := d.off[port].Has(c) && !d.stores(port, int(c))
			for queue, from := range d.queues {
				if (whole || queue[1] == int(c)) && d.blocked[queue[0]].Has(uint8(queue[1])) && slices.Contains(from, port) {
					want = max(want, min(1+d.received[queue], packet.MaxPauseDepth))
				}
			}
			d.sent[at] = want
		}
		if got := p.PauseDepth(c); got != want && d.wrong == "" {
			d.wrong = fmt.Sprintf("%d ps port %d class %d: pause of depth %d, want %d", now, port, c, got, want)
		}
	}
}

// stores reports whether frames of a class that arrived by a port are waiting.
func (d *depthModel) stores(port, class int) bool {
	for queue, from := range d.queues {
		if queue[1] == class && slices.Contains(from, port) {
			return true
		}
	}
	return false
}
