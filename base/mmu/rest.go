package mmu

import "github.com/xoff-net/xoff/base/units"

// Rest is a copy of a ledger in which only some of its frames remain. Deadlock detection
// shows it to policies and flow control.
type Rest struct {
	of   *Ledger
	left Ledger
}

// Rest returns an empty copy.
func (l *Ledger) Rest() *Rest {
	r := &Rest{of: l, left: Ledger{spec: l.spec, unit: l.unit, lossless: l.lossless, div: newDivision(&l.spec)}}
	r.left.makeQueues()
	r.Clear()
	return r
}

// Clear removes all frames and takes over the current sizes of the ledger.
func (r *Rest) Clear() {
	clear(r.left.rows)
	clear(r.left.unshared)
	clear(r.left.mixed)
	r.left.segments = [numSegments]units.Bytes{}
	r.left.stored = 0
	if r.left.div != nil {
		r.left.div.clear()
	}
	r.left.sharedMax, r.left.sharedAll = r.of.sharedMax, r.of.sharedAll
}

// View returns read access to the copy.
func (r *Rest) View() View { return r.left.View() }

// Keep leaves b bytes in an ingress queue that no further frame joins: the rest after the
// other bytes were freed in the queue's release order.
func (r *Rest) Keep(port int, class uint8, b units.Bytes) {
	at := port*Classes + int(class)
	order := HeadroomFirst
	if r.of.orders != nil {
		order = r.of.orders[at]
	}
	var c counters
	list := &releaseOrder[order]
	for i := len(list) - 1; i >= 0; i-- {
		n := min(int32(b), *r.of.count(at, list[i]))
		*c.of(list[i]) = n
		b -= units.Bytes(n)
	}
	r.set(at, c)
}

// KeepSome leaves b bytes in an ingress queue that further frames may join. Up to headroom
// bytes of them may move to headroom, so the shared segment gets only the certain rest.
func (r *Rest) KeepSome(port int, class uint8, b, headroom units.Bytes) {
	var c counters
	private := min(b, r.of.privateOf(port*Classes+int(class)))
	*c.of(Private) = int32(private)
	b -= private
	*c.of(Headroom) = int32(min(b, headroom))
	*c.of(Shared) = int32(b - min(b, headroom))
	r.set(port*Classes+int(class), c)
}

// Favour is KeepSome without headroom, for asking whether a queue would turn ON: it does so
// only without headroom.
func (r *Rest) Favour(port int, class uint8, b units.Bytes) { r.KeepSome(port, class, b, 0) }

func (r *Rest) set(at int, c counters) {
	for s := Private; s < numSegments; s++ {
		n := r.left.count(at, s)
		d := units.Bytes(*c.of(s) - *n)
		r.left.segments[s] += d
		r.left.stored += d
		*n = *c.of(s)
	}
	r.left.mix(at)
	if r.left.div != nil {
		r.left.div.follow(&r.left, at/Classes)
	}
}
