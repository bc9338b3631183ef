package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// wakes is a binary heap of the timers of a node's components, ordered by time, then by timer
// index. The position of each timer is kept so that it can be moved. The driver sees only the
// earliest time.
type wakes struct {
	dirty bool         // something changed since the driver was last told
	heap  []int32      // timers
	at    []units.Time // by timer; Never: not armed
	pos   []int32      // by timer: index in heap; -1: not armed
}

func newWakes(timers int) wakes {
	w := wakes{at: make([]units.Time, timers), pos: make([]int32, timers)}
	for i := range w.at {
		w.at[i], w.pos[i] = units.Never, -1
	}
	return w
}

// add creates a timer and returns its index.
func (w *wakes) add() int {
	w.at, w.pos = append(w.at, units.Never), append(w.pos, -1)
	return len(w.at) - 1
}

// next returns the earliest time of all timers.
func (w *wakes) next() units.Time {
	if len(w.heap) == 0 {
		return units.Never
	}
	return w.at[w.heap[0]]
}

func (w *wakes) less(a, b int32) bool {
	if w.at[a] != w.at[b] {
		return w.at[a] < w.at[b]
	}
	return a < b
}

// set arms, moves or (with Never) disarms a timer.
func (w *wakes) set(id int, at units.Time) {
	if w.at[id] == at {
		return
	}
	w.at[id] = at
	w.dirty = true
	i := w.pos[id]
	switch {
	case at == units.Never:
		last := len(w.heap) - 1
		moved := w.heap[last]
		w.heap = w.heap[:last]
		w.pos[id] = -1
		if int(i) < last {
			w.heap[i] = moved
			w.pos[moved] = i
			w.fix(int(i))
		}
	case i < 0:
		w.heap = append(w.heap, int32(id))
		w.pos[id] = int32(len(w.heap) - 1)
		w.fix(len(w.heap) - 1)
	default:
		w.fix(int(i))
	}
}

// sooner arms a timer unless it is already due earlier.
func (w *wakes) sooner(id int, at units.Time) {
	if at < w.at[id] {
		w.set(id, at)
	}
}

// fix restores the heap around index i.
func (w *wakes) fix(i int) {
	for i > 0 {
		up := (i - 1) / 2
		if !w.less(w.heap[i], w.heap[up]) {
			break
		}
		w.swap(i, up)
		i = up
	}
	for {
		c := 2*i + 1
		if c >= len(w.heap) {
			return
		}
		if c+1 < len(w.heap) && w.less(w.heap[c+1], w.heap[c]) {
			c++
		}
		if !w.less(w.heap[c], w.heap[i]) {
			return
		}
		w.swap(i, c)
		i = c
	}
}

func (w *wakes) swap(i, j int) {
	w.heap[i], w.heap[j] = w.heap[j], w.heap[i]
	w.pos[w.heap[i]], w.pos[w.heap[j]] = int32(i), int32(j)
}

// each wakes every timer that is due, in order. A timer that is behind its schedule may
// request another time in the past, and is woken for it too. Each requested time must be
// later than the previous one: otherwise the node would never get past it.
func (w *wakes) each(now units.Time, wake func(id int)) {
	for w.next() <= now {
		id := w.heap[0]
		due := w.at[id]
		w.set(int(id), units.Never)
		wake(int(id))
		if w.at[id] <= due {
			panic(fmt.Sprintf("dataplane: timer %d was woken for %s and requests %s again at %s", id, due, w.at[id], now))
		}
	}
}
