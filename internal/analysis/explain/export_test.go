package explain

import "github.com/xoff-net/xoff/base/units"

// PauseView exports a pause to tests.
type PauseView struct {
	Node         string
	Port         int
	Class        uint8
	Sent, Ended  units.Time
	Depth        int
	Parent, Root int
}

// PauseList returns the pauses of a run, by time and then by node.
func (r *Run) PauseList() []PauseView {
	var list []PauseView
	for _, p := range r.pauses {
		list = append(list, PauseView{r.names[p.node], p.port, p.class, p.sent, p.ended, p.depth, p.parent, p.root})
	}
	return list
}

// RootPortsByHand compares rootPorts with the contents of each queue, added up at each pause. It
// returns the number of roots, and of those that differ.
func (r *Run) RootPortsByHand() (n, wrong int) {
	congested := r.rootPorts()
	for i := range r.pauses {
		p := &r.pauses[i]
		if p.root != i || r.ports[p.node][p.port].host {
			continue
		}
		out, most := int32(-1), units.Bytes(0)
		for k := range r.ports[p.node] {
			sum := units.Bytes(0)
			r.eachWaiting(&r.ports[p.node][k], p.class, p.sent, func(f *row) {
				if int(f.in) == p.port {
					sum += units.Bytes(f.size)
				}
			})
			if sum > most {
				out, most = int32(k), sum
			}
		}
		n++
		if congested[i] != out {
			wrong++
		}
	}
	return n, wrong
}
