package dataplane

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// wakes holds the one timer of each component of a node: a binary heap by
// (time, component), with the place of each component so that a timer can be
// moved. Components push their next wake here; the driver sees only the
// earliest.
type wakes struct {
	dirty bool         // something changed since the driver was told
	heap  []int32      // component ids
	at    []units.Time // by component; Never when not armed
	pos   []int32      // by component: index in heap, -1 when not armed
}

func newWakes(components int) wakes {
	w := wakes{at: make([]units.Time, components), pos: make([]int32, components)}
	for i := range w.at {
		w.at[i], w.pos[i] = units.Never, -1
	}
	return w
}

// next returns the earliest time at which a component wants to be woken.
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

// set arms, moves or (with Never) disarms the timer of a component.
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

func (w *wakes) components() int { return len(w.at) }

// pop returns a component whose time has come and disarms it. The caller counts
// down from the number of components: one that comes up twice at the same time
// broke the wake contract and would keep the node there for ever.
func (w *wakes) pop(now units.Time, left int) (id int, ok bool) {
	if w.next() > now {
		return 0, false
	}
	id = int(w.heap[0])
	if left <= 0 {
		panic(fmt.Sprintf("dataplane: component %d asks at %s for a wake that is not in the future", id, now))
	}
	w.set(id, units.Never)
	return id, true
}
