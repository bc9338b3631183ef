package explain

import "github.com/xoff-net/xoff/base/units"

// PauseView is a pause as tests see it.
type PauseView struct {
	Node         string
	Port         int
	Class        uint8
	Sent, Ended  units.Time
	Depth        int
	Parent, Root int
}

// PauseList lists the pauses of a run, in order of time, then of nodes.
func (r *Run) PauseList() []PauseView {
	var list []PauseView
	for _, p := range r.pauses {
		list = append(list, PauseView{r.names[p.node], p.port, p.class, p.sent, p.ended, p.depth, p.parent, p.root})
	}
	return list
}
