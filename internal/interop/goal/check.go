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
	Frames    uint64 // of all sends, with FramePayload bytes each
	Compute   uint64 // of all calcs, in ns; the largest value if the sum overflows
	MostOps   int    // operations of the largest rank
	Wildcards int64  // recvs with any source or any tag

	// LargestSend and LongestCalc are the first ones with the largest size.
	LargestSend, LongestCalc Place

	// Mismatches are sends without a recv and recvs without a send, by rank, peer and tag.
	Mismatches []Mismatch
	// Partial means that some mismatches are missing, because there are very many of them
	// or of wildcards.
	Partial bool
}

// FramePayload is the payload of a data frame in Report.Frames.
const FramePayload = 1000

// Place is an operation of a rank, with its size.
type Place struct {
	Size     uint64
	Rank, Op int
}

func (p *Place) largest(size uint64, rank uint32, op int) {
	if size > p.Size {
		*p = Place{size, int(rank), op}
	}
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
	for i, op := range g.Ops {
		r.Ops[op.Kind]++
		if op.Kind == Calc {
			r.LongestCalc.largest(op.Size, rank, i)
			r.Compute = addSaturated(r.Compute, op.Size)
			continue
		}
		k, wild := message(rank, op)
		switch {
		case op.Kind == Send:
			r.LargestSend.largest(op.Size, rank, i)
			r.Bytes = addSaturated(r.Bytes, op.Size)
			r.Frames = addSaturated(r.Frames, (max(1, op.Size)-1)/FramePayload+1)
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
	match := func(send, recv *group) int64 {
		if recv == nil {
			return 0
		}
		n := min(send.sends, recv.recvs)
		send.sends -= n
		recv.recvs -= n
		return n
	}
	took := make(map[taken]int64)
	recvsFor := func(k key) [3]key { // the most specific wildcard first, so that the general ones remain for others
		return [3]key{{k.from, k.to, Any}, {Any, k.to, k.tag}, {Any, k.to, Any}}
	}
	for i, k := range keys {
		g := c.groups[k]
		// A send with any tag comes last of its pair of ranks.
		for j := i - 1; j >= 0 && k.tag == Any && keys[j].from == k.from && keys[j].to == k.to; j-- {
			match(g, c.groups[keys[j]])
		}
		for _, w := range recvsFor(k) {
			if n := match(g, c.wild[w]); n > 0 {
				took[taken{k, w}] = n
			}
		}
	}
	c.exchange(keys, took, recvsFor)
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

// taken is a group of sends that took wildcard recvs.
type taken struct{ send, wild key }

// maxExchange limits the steps of exchange.
const maxExchange = 1 << 22

// exchange matches sends that found no recv although a wildcard of the rank is left, by giving
// other wildcards to sends that took theirs: augmenting paths.
func (c *checker) exchange(keys []key, took map[taken]int64, recvsFor func(key) [3]key) {
	free := make(map[uint32]bool) // ranks with wildcards that are left
	for k, g := range c.wild {
		free[k.to] = free[k.to] || g.recvs > 0
	}
	var byWild map[key][]key // sends that may have taken a wildcard
	steps := 0
	for _, k := range keys {
		for c.groups[k].sends > 0 && free[k.to] && k.tag != Any {
			if byWild == nil {
				byWild = make(map[key][]key)
				for _, s := range keys {
					for _, w := range recvsFor(s) {
						if g := c.wild[w]; g != nil && s.tag != Any && free[s.to] {
							byWild[w] = append(byWild[w], s)
						}
					}
				}
			}
			before := map[key]key{k: k} // of wildcards the send that wants it, of sends the wildcard that it gives
			queue, end, found := []key{k}, key{}, false
			for len(queue) > 0 && !found {
				s := queue[0]
				queue = queue[1:]
				for _, w := range recvsFor(s) {
					if _, seen := before[w]; seen || c.wild[w] == nil {
						continue
					}
					before[w] = s
					if found = c.wild[w].recvs > 0; found {
						end = w
						break
					}
					for _, other := range byWild[w] {
						steps++
						if _, seen := before[other]; !seen && took[taken{other, w}] > 0 {
							before[other] = w
							queue = append(queue, other)
						}
					}
				}
				if steps > maxExchange {
					c.report.Partial = true
					return
				}
			}
			if !found {
				break
			}
			n := min(c.groups[k].sends, c.wild[end].recvs)
			for w := end; before[w] != k; w = before[before[w]] {
				n = min(n, took[taken{before[w], before[before[w]]}])
			}
			c.groups[k].sends -= n
			c.wild[end].recvs -= n
			for w := end; ; w = before[before[w]] {
				s := before[w]
				took[taken{s, w}] += n
				if s == k {
					break
				}
				took[taken{s, before[s]}] -= n
			}
		}
	}
}

func (c *checker) mismatch(m Mismatch) { c.report.Mismatches = append(c.report.Mismatches, m) }
