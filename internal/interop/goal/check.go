package goal

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
)

// Report says what a schedule contains and which of its messages do not match.
type Report struct {
	Ops       [Calc + 1]int64 // number of operations by kind
	Edges     int64
	Bytes     uint64 // of all sends; the largest value if the sum overflows
	Compute   uint64 // of all calcs, in ns; the largest value if the sum overflows
	MostOps   int    // operations of the largest rank
	Wildcards int64  // recvs with any source or any tag

	// Mismatches are sends without a recv and recvs without a send, by rank, peer and tag.
	Mismatches []Mismatch
	// Partial means that some mismatches are missing, because there are very many of them
	// or of wildcards.
	Partial bool
}

// Mismatch is a group of operations of one rank, with the same peer and tag, that have no
// counterpart, or whose sizes differ from their counterparts.
type Mismatch struct {
	Rank, Peer, Tag uint32 // Peer and Tag may be Any
	Kind            Kind   // Send or Recv
	Count           int64  // operations without a counterpart; 0 if only sizes differ
	Op              int    // index of the last operation of the group
}

func (m Mismatch) String() string {
	direction, other := "to", "recv"
	if m.Kind == Recv {
		direction, other = "from", "send"
	}
	group := fmt.Sprintf("rank %d, operation %d: %s %s rank %s with tag %s", m.Rank, m.Op, m.Kind, direction, number(m.Peer), number(m.Tag))
	switch m.Count {
	case 0:
		return group + ": size differs from its " + other
	case 1:
		return group + " has no " + other
	}
	return fmt.Sprintf("%s: %d have no %s", group, m.Count, other)
}

func number(v uint32) string {
	if v == Any {
		return "-1"
	}
	return fmt.Sprint(v)
}

// key identifies messages that match in order.
type key struct{ from, to, tag uint32 }

const (
	sumBuckets = 1 << 18 // of the sums that find mismatches
	maxGroups  = 1 << 19 // groups that are compared one by one
)

// Check reads all ranks and matches the k-th send from a rank to another with a tag with the
// k-th such recv. Wildcard recvs match what exact ones leave; a run may match them in
// another order. Memory is one rank and less than 200 MB.
//
// The first pass sums a hash of each message by bucket: added for a send, subtracted for a
// recv. The second pass looks at buckets whose sum is not zero, message by message.
func Check(s Source) (*Report, error) {
	c := checker{seed: maphash.MakeSeed(), sums: make([]uint64, sumBuckets), report: new(Report)}
	for rank := range s.Ranks() {
		g, err := s.Rank(rank)
		if err != nil {
			return nil, err
		}
		c.add(uint32(rank), g)
	}
	if slices.ContainsFunc(c.sums, func(sum uint64) bool { return sum != 0 }) {
		c.groups = make(map[key]*group)
		c.wild = make(map[key]*group)
		for rank := range s.Ranks() {
			g, err := s.Rank(rank)
			if err != nil {
				return nil, err
			}
			c.compare(uint32(rank), g)
		}
		c.conclude()
	}
	return c.report, nil
}

type checker struct {
	seed         maphash.Seed
	sums         []uint64
	report       *Report
	groups, wild map[key]*group
	tooWild      bool // wild is incomplete
}

// group counts the messages with one key.
type group struct {
	sends, recvs int64
	sizes        uint64 // sum of hashes of sizes, sends minus recvs
	send, recv   int    // last operation of each kind
}

// message returns the key of a send or recv, and whether it has a wildcard.
func message(rank uint32, op Op) (k key, wild bool) {
	if op.Kind == Send {
		return key{rank, op.Peer, op.Tag}, false
	}
	return key{op.Peer, rank, op.Tag}, op.Peer == Any || op.Tag == Any
}

func (c *checker) bucket(k key) uint64 {
	return maphash.Comparable(c.seed, k) % sumBuckets
}

// sizeHash returns a hash of a message with its size.
func (c *checker) sizeHash(k key, size uint64) uint64 {
	return maphash.Comparable(c.seed, struct {
		key
		size uint64
	}{k, size})
}

func (c *checker) add(rank uint32, g *Graph) {
	r := c.report
	r.Edges += int64(g.NumEdges())
	r.MostOps = max(r.MostOps, len(g.Ops))
	for _, op := range g.Ops {
		r.Ops[op.Kind]++
		if op.Kind == Calc {
			r.Compute = addSaturated(r.Compute, op.Size)
			continue
		}
		k, wild := message(rank, op)
		switch {
		case op.Kind == Send:
			r.Bytes = addSaturated(r.Bytes, op.Size)
			c.sums[c.bucket(k)] += c.sizeHash(k, op.Size)
		case wild:
			r.Wildcards++
			c.sums[c.bucket(k)]++
		default:
			c.sums[c.bucket(k)] -= c.sizeHash(k, op.Size)
		}
	}
}

func addSaturated(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

func (c *checker) compare(rank uint32, g *Graph) {
	for i, op := range g.Ops {
		if op.Kind == Calc {
			continue
		}
		k, wild := message(rank, op)
		groups := c.groups
		if op.Kind == Recv && wild {
			groups = c.wild
		} else if c.sums[c.bucket(k)] == 0 {
			continue
		}
		at := groups[k]
		if at == nil {
			if len(groups) == maxGroups {
				c.report.Partial = true
				c.tooWild = c.tooWild || wild
				continue
			}
			at = new(group)
			groups[k] = at
		}
		if op.Kind == Send {
			at.sends++
			at.send = i
			at.sizes += c.sizeHash(k, op.Size)
		} else {
			at.recvs++
			at.recv = i
			at.sizes -= c.sizeHash(k, op.Size)
		}
	}
}

// conclude turns groups into mismatches, in a fixed order.
func (c *checker) conclude() {
	if c.tooWild {
		return // any send may match a recv that is not in wild
	}
	keys := make([]key, 0, len(c.groups))
	for k, g := range c.groups {
		keys = append(keys, k)
		if g.sizes != 0 && g.sends == g.recvs {
			c.mismatch(Mismatch{k.from, k.to, k.tag, Send, 0, g.send})
		}
		n := min(g.sends, g.recvs)
		g.sends -= n
		g.recvs -= n
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.tag, b.tag))
	})
	match := func(send, recv *group) {
		if recv != nil {
			n := min(send.sends, recv.recvs)
			send.sends -= n
			recv.recvs -= n
		}
	}
	for i, k := range keys {
		g := c.groups[k]
		// A send with any tag comes last of its pair of ranks.
		for j := i - 1; j >= 0 && k.tag == Any && keys[j].from == k.from && keys[j].to == k.to; j-- {
			match(g, c.groups[keys[j]])
		}
		// The most specific wildcard first, so that the general ones remain for others.
		for _, w := range []key{{k.from, k.to, Any}, {Any, k.to, k.tag}, {Any, k.to, Any}} {
			match(g, c.wild[w])
		}
	}
	for k, g := range c.groups {
		if g.sends > 0 {
			c.mismatch(Mismatch{k.from, k.to, k.tag, Send, g.sends, g.send})
		}
		if g.recvs > 0 {
			c.mismatch(Mismatch{k.to, k.from, k.tag, Recv, g.recvs, g.recv})
		}
	}
	for k, g := range c.wild {
		if g.recvs > 0 {
			c.mismatch(Mismatch{k.to, k.from, k.tag, Recv, g.recvs, g.recv})
		}
	}
	slices.SortFunc(c.report.Mismatches, func(a, b Mismatch) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Tag, b.Tag))
	})
}

func (c *checker) mismatch(m Mismatch) { c.report.Mismatches = append(c.report.Mismatches, m) }
