package engine

import "github.com/xoff-net/xoff/base/units"

// agenda finds the next event of a fixed set of slots with a winner tree. It does not allocate
// after newAgenda.
type agenda struct {
	due     []due
	winners []int32 // node i has the children 2i and 2i+1; the last len(due) are the leaves
}

// due is the time of an event, and its order among simultaneous events.
type due struct {
	at    units.Time
	order uint64
}

func (d due) before(o due) bool { return d.at < o.at || d.at == o.at && d.order < o.order }

func newAgenda(slots int) agenda {
	a := agenda{make([]due, slots), make([]int32, 2*slots)}
	for i := range slots {
		a.winners[slots+i] = int32(i)
		a.due[i].at = units.Never
	}
	for i := slots - 1; i > 0; i-- {
		a.play(i)
	}
	return a
}

func (a *agenda) play(i int) {
	l, r := a.winners[2*i], a.winners[2*i+1]
	if a.due[r].before(a.due[l]) {
		l = r
	}
	a.winners[i] = l
}

// first returns the slot of the next event.
func (a *agenda) first() int { return int(a.winners[1]) }

// next returns the time of the next event.
func (a *agenda) next() units.Time { return a.due[a.first()].at }

// set schedules the event of a slot; Never removes it.
func (a *agenda) set(slot int, at units.Time, order uint64) {
	a.due[slot] = due{at, order}
	for i := (len(a.due) + slot) / 2; i > 0; i /= 2 {
		a.play(i)
	}
}
