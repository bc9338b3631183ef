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
