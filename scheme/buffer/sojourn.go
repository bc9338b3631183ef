package buffer

import "github.com/xoff-net/xoff/base/units"

// sojourns keeps the sum of the mean remaining sojourn times tau of all queues that store
// packets. Between changes of its queue, each tau falls with the clock at a known slope until it
// reaches its floor. A heap orders the queues by the time at which they reach it.
type sojourns struct {
	queues []sojourn
	heap   []int // falling queues, the first to reach its floor in front
	// Sums over the falling queues, modulo 2^64: tau at the last change, slopes, and slope times
	// the time of that change.
	values units.Time
	slopes units.Time
	turned units.Time
	floors units.Time // sum of the floors of the other queues
	n      int64      // queues that store packets
}

// sojourn is the tau of a queue: value at time at, falling by slope / 2^slopeBits.
type sojourn struct {
	value, at, slope units.Time
	floor            units.Time
	reaches          units.Time // time at which it reaches its floor
	heapPos          int        // position in the heap, from 1; 0: not in it
	counted          bool
}

const slopeBits = 16

func newSojourns(floors []units.Time) sojourns {
	s := sojourns{queues: make([]sojourn, len(floors)), heap: make([]int, 0, len(floors))}
	for i, f := range floors {
		s.queues[i].floor = f
	}
	return s
}

// of returns tau of a queue, 0 if the queue is empty.
func (s *sojourns) of(now units.Time, i int) units.Time {
	q := &s.queues[i]
	switch {
	case !q.counted:
		return 0
	case q.heapPos == 0:
		return q.floor
	}
	return max(q.floor, q.value-(now-q.at)*q.slope>>slopeBits)
}

// sum returns the sum over all queues that store packets, and their number. It first removes
// queues that have reached their floor from the heap, which does not change the result.
func (s *sojourns) sum(now units.Time) (sum units.Time, n int64) {
	for len(s.heap) > 0 && s.queues[s.heap[0]].reaches <= now {
		i := s.heap[0]
		s.drop(i)
		s.queues[i].counted = true
		s.floors += s.queues[i].floor
		s.n++
	}
	return s.values - (now*s.slopes-s.turned)>>slopeBits + s.floors, s.n
}

// set gives a queue a new value and slope from now on.
func (s *sojourns) set(now units.Time, i int, value, slope units.Time) {
	s.drop(i)
	q := &s.queues[i]
	q.counted = true
	s.n++
	if value <= q.floor {
		s.floors += q.floor
		return
	}
	q.value, q.at, q.slope, q.reaches = value, now, slope, units.Never
	if slope > 0 {
		q.reaches = now + ((value-q.floor)<<slopeBits+slope-1)/slope
	}
	s.values += value
	s.slopes += slope
	s.turned += slope * now
	s.heap = append(s.heap, i)
	q.heapPos = len(s.heap)
	s.up(q.heapPos)
}

// drop removes a queue.
func (s *sojourns) drop(i int) {
	q := &s.queues[i]
	if !q.counted {
		return
	}
	q.counted = false
	s.n--
	if q.heapPos == 0 {
		s.floors -= q.floor
		return
	}
	s.values -= q.value
	s.slopes -= q.slope
	s.turned -= q.slope * q.at
	at, last := q.heapPos, len(s.heap)
	s.swap(at, last)
	s.heap, q.heapPos = s.heap[:last-1], 0
	if at < last {
		s.up(at)
		s.down(s.queues[s.heap[at-1]].heapPos)
	}
}

func (s *sojourns) swap(a, b int) {
	h := s.heap
	h[a-1], h[b-1] = h[b-1], h[a-1]
	s.queues[h[a-1]].heapPos, s.queues[h[b-1]].heapPos = a, b
}

func (s *sojourns) sooner(a, b int) bool {
	return s.queues[s.heap[a-1]].reaches < s.queues[s.heap[b-1]].reaches
}

func (s *sojourns) up(at int) {
	for at > 1 && s.sooner(at, at/2) {
		s.swap(at, at/2)
		at /= 2
	}
}

func (s *sojourns) down(at int) {
	for {
		next := 2 * at
		if next > len(s.heap) {
			return
		}
		if next < len(s.heap) && s.sooner(next+1, next) {
			next++
		}
		if !s.sooner(next, at) {
			return
		}
		s.swap(at, next)
		at = next
	}
}
