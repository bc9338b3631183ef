package sim_test

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// depthTwin follows the depth of pauses at one node from its events alone: it
// keeps every queue as a list, and what peers said last.
type depthTwin struct {
	queues map[[2]int][]int         // by egress port and class: where the waiting frames came in
	told   map[[2]int]int           // by egress port and class: depth of the last PAUSE received
	sent   map[[2]int]int           // by ingress port and class: depth of the PAUSE that holds there
	held   map[int]packet.ClassMask // by egress port: classes that may not send
	off    map[int]packet.ClassMask // by ingress port: classes that are OFF
	wrong  string                   // the first difference
}

func newDepthTwin() depthTwin {
	return depthTwin{make(map[[2]int][]int), make(map[[2]int]int), make(map[[2]int]int), make(map[int]packet.ClassMask), make(map[int]packet.ClassMask), ""}
}

func (d *depthTwin) queued(in, out int, p *packet.Packet) {
	at := [2]int{out, int(p.Class())}
	d.queues[at] = append(d.queues[at], in)
}

func (d *depthTwin) departed(now units.Time, port int, p *packet.Packet) {
	if p.Kind() == packet.PFC {
		d.pfcSent(now, port, p)
		return
	}
	// What departs from an empty queue passed straight through.
	at := [2]int{port, int(p.Class())}
	if q := d.queues[at]; len(q) > 0 {
		d.queues[at] = q[1:]
	}
}

func (d *depthTwin) arrived(port int, p *packet.Packet) {
	if p.Kind() != packet.PFC {
		return
	}
	_, pause, _ := p.PFC()
	for c := range pause.All() {
		d.told[[2]int{port, int(c)}] = p.PauseDepth(c)
	}
}

// paused forgets the pauses that a port no longer wants.
func (d *depthTwin) paused(port int, to packet.ClassMask) {
	for c := range (^to).All() {
		delete(d.sent, [2]int{port, int(c)})
	}
}

func (d *depthTwin) pfcSent(now units.Time, port int, p *packet.Packet) {
	_, pause, _ := p.PFC()
	for c := range pause.All() {
		at := [2]int{port, int(c)}
		want, on := d.sent[at]
		if !on {
			want = 1
			// A queue that is empty and yet OFF is so because of its port: all
			// classes count.
			whole := d.off[port].Has(c) && !d.holds(port, int(c))
			for queue, from := range d.queues {
				if (whole || queue[1] == int(c)) && d.held[queue[0]].Has(uint8(queue[1])) && slices.Contains(from, port) {
					want = max(want, 1+d.told[queue])
				}
			}
			d.sent[at] = want
		}
		if got := p.PauseDepth(c); got != want && d.wrong == "" {
			d.wrong = fmt.Sprintf("%d ps port %d class %d: a pause of depth %d, want %d", now, port, c, got, want)
		}
	}
}

// holds reports whether frames of a class that came in by a port wait.
func (d *depthTwin) holds(port, class int) bool {
	for queue, from := range d.queues {
		if queue[1] == class && slices.Contains(from, port) {
			return true
		}
	}
	return false
}
