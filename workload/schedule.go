package workload

import (
	"math/bits"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/goal"
	"github.com/xoff-net/xoff/job"
)

// operations are the collective operations with their algorithms, the default first.
var operations = []struct {
	name       string
	algorithms []string
}{
	{"all_reduce", []string{"ring", "halving_doubling", "tree", "double_binary_tree", "hierarchical"}},
	{"all_gather", []string{"ring"}},
	{"reduce_scatter", []string{"ring"}},
	{"broadcast", []string{"ring", "tree"}},
	{"all_to_all", []string{"direct", "pairwise"}},
}

// Streams of generated jobs. Joins take no time, so they never wait.
const (
	computeStream = iota
	joinStream
)

// tagChannels is the number of channels in a tag; the rest is the label.
const tagChannels = 256

// call is one collective operation of a group of ranks.
type call struct {
	operation, algorithm string
	size                 units.Bytes
	channels, chunks     int
	label                int32
	members              []uint32
	local                int // members per server, which are neighbours; 1: no two are, or not equally many
}

// member builds the operations of one member of a call.
type member struct {
	*call
	b     *goal.Builder
	me    int
	after []int // operations that must be complete before its first sends
	ends  []int // operations with which the call is complete for the member
}

// labelTag returns the tag of operations with a label.
func labelTag(label int32) uint32 { return uint32(label) * tagChannels }

// run adds the operations of member me and returns a join that is complete when the call is.
func (c *call) run(b *goal.Builder, me int, after ...int) int {
	m := &member{call: c, b: b, me: me, after: after}
	for ch := range c.channels {
		size := part(c.size, ch, c.channels)
		switch c.operation + " " + c.algorithm {
		case "all_reduce ring":
			m.ring(ch, size, 2*(len(c.members)-1), m.rails(ch), nil)
		case "all_gather ring", "reduce_scatter ring":
			m.ring(ch, size, len(c.members)-1, m.rails(ch), nil)
		case "all_reduce halving_doubling":
			m.halvingDoubling(ch, size)
		case "all_reduce tree":
			m.tree(ch, size, false, true)
		case "all_reduce double_binary_tree":
			m.tree(ch, part(size, 0, 2), false, true)
			m.tree(ch, part(size, 1, 2), true, true)
		case "all_reduce hierarchical":
			m.hierarchical(ch, size)
		case "broadcast ring":
			m.chain(ch, size)
		case "broadcast tree":
			m.tree(ch, size, false, false)
		case "all_to_all direct":
			m.allToAll(ch, size, false)
		case "all_to_all pairwise":
			m.allToAll(ch, size, true)
		default:
			panic("workload: unknown algorithm " + c.operation + " " + c.algorithm)
		}
	}
	return join(b, 0, labelTag(c.label), append(m.ends, after...)...)
}

// join adds a calc that waits for operations.
func join(b *goal.Builder, ns uint64, tag uint32, on ...int) int {
	op := goal.Op{Kind: goal.Calc, Size: ns, Tag: tag, CPU: joinStream}
	if ns > 0 {
		op.CPU = computeStream
	}
	k := b.Add(op)
	for _, d := range on {
		b.Require(k, d)
	}
	return k
}

// send adds a send to a member. Without dependencies it is a first send.
func (m *member) send(ch, to int, size units.Bytes, on ...int) int {
	k := m.b.Add(goal.Op{Kind: goal.Send, Peer: m.members[to], Size: uint64(max(1, size)), Tag: labelTag(m.label) + uint32(ch), NIC: uint8(ch)})
	if len(on) == 0 {
		on = m.after
	}
	for _, d := range on {
		m.b.Require(k, d)
	}
	return k
}

// follow is send for the next chunk to a member: a connection sends one after the other.
func (m *member) follow(ch, to int, size units.Bytes, last map[int]int, on ...int) int {
	if k, ok := last[to]; ok {
		on = append(slices.Clone(on), k)
	}
	last[to] = m.send(ch, to, size, on...)
	return last[to]
}

// recv adds a recv from a member. It is posted from the beginning.
func (m *member) recv(ch, from int, size units.Bytes) int {
	return m.b.Add(goal.Op{Kind: goal.Recv, Peer: m.members[from], Size: uint64(max(1, size)), Tag: labelTag(m.label) + uint32(ch)})
}

// circle is an order of members.
type circle struct {
	n      int
	at     int              // position of this member
	member func(at int) int // member at a position
}

// rails returns the ring of a channel. It passes through all members of a server before the
// next, and enters each server where it left the previous one, so a hop between servers stays
// on its rail. Each channel begins at another rail.
func (m *member) rails(ch int) circle {
	n, local := len(m.members), m.local
	// turn maps positions in a server to members and back: its own inverse in odd servers.
	turn := func(server, i, sign int) int {
		if server%2 == 1 {
			return (ch%local + 2*local - 1 - i) % local
		}
		return (i + local + sign*(ch%local)) % local
	}
	return circle{n, m.me/local*local + turn(m.me/local, m.me%local, -1), func(at int) int {
		return at/local*local + turn(at/local, at%local, 1)
	}}
}

// stride returns the ring of every stride-th member from first on.
func stride(first, stride, at, n int) circle {
	return circle{n, at, func(at int) int { return first + at*stride }}
}

// ring passes pieces around a circle. In each step this member sends the piece that it
// received last. on are the dependencies of the first send. It returns the recvs.
func (m *member) ring(ch int, size units.Bytes, steps int, c circle, on []int) []int {
	n := c.n
	if n == 1 {
		return on
	}
	next, previous := c.member((c.at+1)%n), c.member((c.at+n-1)%n)
	var recvs []int
	for s := range steps {
		m.send(ch, next, part(size, ((c.at-s)%n+n)%n, n), on...)
		r := m.recv(ch, previous, part(size, ((c.at-1-s)%n+n)%n, n))
		recvs = append(recvs, r)
		on = []int{r}
	}
	m.ends = append(m.ends, recvs...)
	return recvs
}

// halvingDoubling exchanges halves with ever nearer members, then the same in reverse.
func (m *member) halvingDoubling(ch int, size units.Bytes) {
	n := len(m.members)
	// piece returns the size of the range of data that a member has after the first exchanges
	// down to a distance.
	piece := func(i, distance int) units.Bytes {
		lo, hi := units.Bytes(0), size
		for d := n / 2; d >= distance && d > 0; d /= 2 {
			if middle := (lo + hi) / 2; i&d == 0 {
				hi = middle
			} else {
				lo = middle
			}
		}
		return hi - lo
	}
	var recvs []int
	exchange := func(d int, out, in units.Bytes) {
		peer := m.me ^ d
		m.send(ch, peer, out, recvs...)
		recvs = append(recvs, m.recv(ch, peer, in))
	}
	for d := n / 2; d > 0; d /= 2 {
		exchange(d, piece(m.me^d, d), piece(m.me, d)) // what the peer keeps, what it keeps
	}
	for d := 1; d < n; d *= 2 {
		exchange(d, piece(m.me, d), piece(m.me^d, d))
	}
	m.ends = append(m.ends, recvs...)
}

// tree sends chunks from a root down a binary tree, after reducing them up the tree if
// reduce is set. The mirrored tree has other inner members.
func (m *member) tree(ch int, size units.Bytes, mirrored, reduce bool) {
	n := len(m.members)
	place := func(i int) int {
		if mirrored {
			return n - 1 - i
		}
		return i
	}
	at := place(m.me)
	parent, children := (at-1)/2, []int{}
	for c := 2*at + 1; c <= 2*at+2 && c < n; c++ {
		children = append(children, c)
	}
	last := make(map[int]int)
	for k := range m.chunks {
		chunk := part(size, k, m.chunks)
		var on []int
		if reduce {
			for _, c := range children {
				on = append(on, m.recv(ch, place(c), chunk))
			}
			if at > 0 {
				m.ends = append(m.ends, m.follow(ch, place(parent), chunk, last, on...))
			}
		}
		if at > 0 {
			on = []int{m.recv(ch, place(parent), chunk)}
			m.ends = append(m.ends, on...)
		}
		for _, c := range children {
			m.ends = append(m.ends, m.follow(ch, place(c), chunk, last, on...))
		}
	}
}

// chain sends chunks from the first member through all others.
func (m *member) chain(ch int, size units.Bytes) {
	last := make(map[int]int)
	for k := range m.chunks {
		chunk := part(size, k, m.chunks)
		var on []int
		if m.me > 0 {
			on = []int{m.recv(ch, m.me-1, chunk)}
			m.ends = append(m.ends, on...)
		}
		if m.me+1 < len(m.members) {
			m.ends = append(m.ends, m.follow(ch, m.me+1, chunk, last, on...))
		}
	}
}

// hierarchical scatters inside a server, reduces with the members at the same position in all
// servers, and gathers inside the server.
func (m *member) hierarchical(ch int, size units.Bytes) {
	local, servers := m.local, len(m.members)/m.local
	server, at := m.me/local, m.me%local
	recvs := m.ring(ch, size, local-1, stride(server*local, 1, at, local), m.after)
	// After local - 1 steps a member has the piece after its own.
	own := part(size, (at+1)%local, local)
	recvs = m.ring(ch, own, 2*(servers-1), stride(at, local, server, servers), slices.Clone(recvs))
	// The first piece to gather is that one: a ring from the next position on.
	on := slices.Clone(recvs)
	if local == 1 {
		return
	}
	next, previous := server*local+(at+1)%local, server*local+(at+local-1)%local
	for s := range local - 1 {
		m.send(ch, next, part(size, ((at+1-s)%local+local)%local, local), on...)
		r := m.recv(ch, previous, part(size, ((at-s)%local+local)%local, local))
		m.ends = append(m.ends, r)
		on = []int{r}
	}
}

// allToAll sends a piece to every other member: all at once, or a step at a time. A step
// begins when the previous messages, sent and received, are complete.
func (m *member) allToAll(ch int, size units.Bytes, inSteps bool) {
	n := len(m.members)
	var on []int
	for s := 1; s < n; s++ {
		to, from := (m.me+s)%n, (m.me+n-s)%n
		k := m.send(ch, to, part(size, to, n), on...)
		r := m.recv(ch, from, part(size, m.me, n))
		m.ends = append(m.ends, r)
		if inSteps {
			on = []int{k, r}
		}
	}
}

// checkCall checks a collective operation of n ranks.
func checkCall(operation, algorithm string, size units.Bytes, n, channels, chunks int) error {
	names := make([]string, len(operations))
	known := -1
	for i, o := range operations {
		if names[i] = o.name; o.name == operation {
			known = i
		}
	}
	switch {
	case known < 0:
		return keyf("operation", "%q is unknown (allowed: %s)", operation, list(names))
	case !slices.Contains(operations[known].algorithms, algorithm):
		return keyf("algorithm", "%q is unknown for %s (allowed: %s)", algorithm, operation, list(operations[known].algorithms))
	case algorithm == "halving_doubling" && bits.OnesCount(uint(n)) != 1:
		return keyf("algorithm", "halving_doubling with %d ranks (expected a power of two)", n)
	}
	return first(checkCount("channels", channels, 1, tagChannels), checkCount("chunks", chunks, 1, maxChunks))
}

const maxChunks = 1024

// labels are the labels of a generated job. A tag has the label of an operation.
type labels []job.Label

// Labels implements Labelled.
func (l labels) Labels() []job.Label { return l }

// Label implements Labelled.
func (l labels) Label(op goal.Op) int32 {
	if i := op.Tag / tagChannels; int(i) < len(l) {
		return int32(i)
	}
	return -1
}
