package sim

import (
	"math"
	"math/bits"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// journal is the list of the causes of a window, of the nodes that one worker has run.
type journal struct {
	keys     []uint64 // by cause: time since the start of the window, worker, index in causes
	causes   []cause
	children []*number // numbers of the events that the causes scheduled
	worker   uint64    // index of the worker, as part of a key
}

// Parts of a key: 24 bits of time, which hold any time in a window, 8 bits of worker, and
// the index. Causes of a node with the same time have consecutive indices.
const (
	causeTimeShift   = 40
	causeWorkerShift = 32

	// maxOrderedWorkers is the maximum number of workers in insertion order.
	maxOrderedWorkers = 1 << (causeTimeShift - causeWorkerShift)

	_ = uint64(1<<(64-causeTimeShift) - CheckPeriod)
)

// cause is an event that scheduled others.
type cause struct {
	number
	parent uint32 // see ownNumber
	node   uint32
	rank   uint32 // among the causes of the same time: at the same node, or after the planner has run, at any node
	end    uint32 // index in journal.children after its last child
}

// add adds a child of the current event and returns the index that the event will have if
// it is recorded as a cause.
func (j *journal) add(child *number) uint32 {
	j.children = append(j.children, child)
	return uint32(len(j.causes))
}

// record adds a cause, at a time since the start of the window.
func (j *journal) record(at units.Time, c cause) {
	j.keys = append(j.keys, uint64(at)<<causeTimeShift|j.worker|uint64(len(j.causes)))
	c.end = uint32(len(j.children))
	j.causes = append(j.causes, c)
}

func (j *journal) reset() { j.keys, j.causes, j.children = j.keys[:0], j.causes[:0], j.children[:0] }

// setRank sets the final rank of a cause, in its record and in the numbers of its children.
// A child that was scheduled again later has the number of its later cause.
func (j *journal) setRank(at units.Time, i, rank uint32) {
	c := &j.causes[i]
	was := c.rank
	if rank == was {
		return
	}
	c.rank = rank
	first := uint32(0)
	if i > 0 {
		first = j.causes[i-1].end
	}
	for _, child := range j.children[first:c.end] {
		if child.cause == at && uint32(child.order>>32) == was {
			child.order = uint64(rank)<<32 | child.order&math.MaxUint32
		}
	}
}

// planner finds the ranks of causes that happen at different nodes at the same time.
type planner struct {
	from, length units.Time // the window
	journals     []*journal // by worker
	keys, sorted []uint64   // of the causes that may share their time with another
	slots        []uint8    // by hash of the time of causes: a bit per cause, at most eight
	counts       []uint32
	heads        []head
}

// newPlanner switches the nodes of an engine to insertion order. Timed changes count as
// scheduled in the order of the nodes.
func newPlanner(nodes []*fastNode) *planner {
	changes := uint64(0)
	for i, n := range nodes {
		changes += uint64(len(n.changes))
		o := &orderedNode{
			fastNode: n, next: number{causeStart, uint64(i) << 32}, ends: make([]ownNumber, len(n.inputs)),
			lastCause: causeStart, lastChange: changes,
		}
		o.armChange()
		n.ordered = o
	}
	return &planner{}
}

// finish corrects the ranks of the causes of the window from..from+length, and with them the
// numbers of the events that they scheduled.
func (p *planner) finish(workers []*worker, from, length units.Time) {
	p.from, p.length, p.journals = from, length, p.journals[:0]
	for _, w := range workers {
		p.journals = append(p.journals, &w.journal)
	}
	p.collect()
	keys := p.sort()
	for i := 0; i < len(keys); {
		k := i + 1
		for k < len(keys) && keys[k]>>causeTimeShift == keys[i]>>causeTimeShift {
			k++
		}
		if k > i+1 {
			p.rank(keys[i:k])
		}
		i = k
	}
	for _, j := range p.journals {
		j.reset()
	}
}

// slotsPerCause is the minimum number of slots of planner.slots per cause. With four, at most
// a fifth of the causes with a time of their own share a slot.
const slotsPerCause = 4

// slotOf returns the slot of the time of a cause among 2^(64-shift).
func slotOf(key uint64, shift uint) uint64 {
	return key >> causeTimeShift * 0x9e3779b97f4a7c15 >> (shift & 63)
}

// collect lists the keys of causes that may share their time with another. These are few,
// so this saves most of the sorting.
func (p *planner) collect() {
	all := 0
	for _, j := range p.journals {
		all += len(j.keys)
	}
	n := bits.Len(uint(all * slotsPerCause))
	if len(p.slots) < 1<<n {
		p.slots = make([]uint8, 1<<n)
	}
	slots, shift := p.slots[:1<<n], uint(64-n)
	clear(slots)
	for _, j := range p.journals {
		for _, k := range j.keys {
			s := &slots[slotOf(k, shift)]
			*s = *s<<1 | 1 // the second cause sets the second bit
		}
	}
	keys, kept := slices.Grow(p.keys[:0], all)[:all], 0
	for _, j := range p.journals {
		for _, k := range j.keys {
			keys[kept] = k
			kept += int(slots[slotOf(k, shift)] >> 1 & 1)
		}
	}
	p.keys = keys[:kept]
}

// maxPlanBits limits the number of buckets that a window is divided into for sorting.
const maxPlanBits = 16

// sort returns the sorted keys.
func (p *planner) sort() []uint64 {
	if len(p.sorted) < len(p.keys) {
		p.sorted = make([]uint64, 2*len(p.keys))
	}
	width := bits.Len64(uint64(p.length - 1))
	n := min(bits.Len(uint(len(p.keys))), maxPlanBits, width)
	if len(p.counts) < 1<<n {
		p.counts = make([]uint32, 1<<n)
	}
	out := p.sorted[:len(p.keys)]
	distribute(p.keys, out, p.counts[:1<<n], uint(causeTimeShift+width-n))
	insertionSort(out)
	return out
}

// head is the next cause of a node, among the causes of one time.
type head struct {
	number
	at, end int32 // remaining causes of the node in the list of keys
}

// rank orders the causes of one time. Causes at one node happened in the order of their
// keys. Between nodes their numbers decide. The final number of the next cause of a node is
// always known: its own cause is earlier, or has the same time and a lower rank.
func (p *planner) rank(keys []uint64) {
	heads := p.heads[:0]
	for i := 0; i < len(keys); {
		j, c := p.cause(keys[i])
		node, k := j.causes[c].node, i+1
		for k < len(keys) && keys[k] == keys[k-1]+1 && j.causes[uint32(keys[k])].node == node {
			k++
		}
		heads = append(heads, head{p.final(keys[i]), int32(i), int32(k)})
		i = k
	}
	p.heads = heads
	if len(heads) == 1 {
		return // ranks at the node are ranks at any node
	}
	slices.SortFunc(heads, func(a, b head) int {
		if a.before(b.number) {
			return -1
		}
		return 1
	})
	at := p.from + units.Time(keys[0]>>causeTimeShift)
	for rank := uint32(0); len(heads) > 0; rank++ {
		h := &heads[0]
		j, c := p.cause(keys[h.at])
		j.setRank(at, c, rank)
		if h.at++; h.at == h.end {
			heads = heads[1:]
			continue
		}
		next := *h // takes its place among the others
		next.number = p.final(keys[h.at])
		i := 1
		for ; i < len(heads) && heads[i].before(next.number); i++ {
			heads[i-1] = heads[i]
		}
		heads[i-1] = next
	}
}

// cause returns the journal and index of a cause.
func (p *planner) cause(k uint64) (*journal, uint32) {
	return p.journals[k>>causeWorkerShift%maxOrderedWorkers], uint32(k)
}

// final returns the number of a cause. If its own cause happened in this window too, that
// one is in the same journal and has its final rank.
func (p *planner) final(k uint64) number {
	j, i := p.cause(k)
	c := &j.causes[i]
	n := c.number
	if n.cause >= p.from && n.cause < p.from+p.length {
		n.order = uint64(j.causes[c.parent].rank)<<32 | n.order&math.MaxUint32
	}
	return n
}
