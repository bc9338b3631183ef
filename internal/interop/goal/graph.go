// Package goal reads and writes GOAL schedules, the job traces of LogGOPSim and ATLAHS, as
// text and as binary. A schedule has one graph of send, recv and calc operations per rank.
// The package knows formats only: it assigns no meaning to time or to hosts.
package goal

import (
	"fmt"
	"math"
	"strings"
)

// Kind is the kind of an operation, with the value that binary files store.
type Kind uint8

// Kinds of operations.
const (
	Send Kind = 1 + iota
	Recv
	Calc
)

func (k Kind) String() string {
	switch k {
	case Send:
		return "send"
	case Recv:
		return "recv"
	case Calc:
		return "calc"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Any as the peer of a recv or as a tag matches every rank or every tag.
const Any = math.MaxUint32

// Limits of a schedule. A file beyond them is rejected.
const (
	MaxRanks = 1 << 20
	MaxOps   = 1<<31 - 1 // of one rank
	maxEdges = math.MaxUint32
)

// Op is one operation of a rank. It takes 24 bytes.
type Op struct {
	Size uint64 // bytes of a message; duration of a calc in ns
	Peer uint32 // destination of a send, source of a recv or Any; unused by a calc
	Tag  uint32 // or Any; unused by a calc
	Deps uint32 // number of edges that end here, of both kinds
	Kind Kind
	CPU  uint8
	NIC  uint8 // unused by a calc
}

// Edge leads from an operation to one that waits for it.
type Edge uint32

const atStart Edge = 1 << 31

// Op returns the index of the waiting operation.
func (e Edge) Op() int { return int(e &^ atStart) }

// AtStart reports whether the operation waits for the start (irequires), not for the end
// (requires).
func (e Edge) AtStart() bool { return e&atStart != 0 }

// Graph has the operations of one rank and their dependencies. It is acyclic. It takes
// 28 bytes per operation and 4 bytes per edge.
type Graph struct {
	Ops   []Op
	first []uint32 // index in edges of the first edge of each operation; one more at the end
	edges []Edge
}

// Edges returns the edges of operation k: requires first, then irequires, each in the order
// of the file. The caller must not change them.
func (g *Graph) Edges(k int) []Edge { return g.edges[g.first[k]:g.first[k+1]] }

// NumEdges returns the number of edges.
func (g *Graph) NumEdges() int { return len(g.edges) }

// Source is a schedule that is read rank by rank, as often as needed.
type Source interface {
	Ranks() int
	Rank(rank int) (*Graph, error)
}

// Builder collects the operations and dependencies of one rank.
type Builder struct {
	ops   []Op
	pairs []pair
}

// pair is an edge before the edges of each operation are contiguous.
type pair struct {
	from uint32
	to   Edge
}

// Grow reserves memory for operations and edges.
func (b *Builder) Grow(ops, edges int) {
	b.ops, b.pairs = append(make([]Op, 0, len(b.ops)+ops), b.ops...), append(make([]pair, 0, len(b.pairs)+edges), b.pairs...)
}

// Add appends an operation and returns its index. Deps is counted by the builder.
func (b *Builder) Add(op Op) int {
	op.Deps = 0
	b.ops = append(b.ops, op)
	return len(b.ops) - 1
}

// Require lets operation k wait for the end of operation on.
func (b *Builder) Require(k, on int) { b.edge(Edge(k), on) }

// IRequire lets operation k wait for the start of operation on.
func (b *Builder) IRequire(k, on int) { b.edge(Edge(k)|atStart, on) }

func (b *Builder) edge(to Edge, from int) {
	b.ops[to.Op()].Deps++
	b.pairs = append(b.pairs, pair{uint32(from), to})
}

// Graph returns the graph and empties the builder. It fails if operations wait for each
// other.
func (b *Builder) Graph() (*Graph, error) {
	ops, pairs := b.ops, b.pairs
	*b = Builder{}
	if len(ops) > MaxOps || len(pairs) > maxEdges {
		return nil, fmt.Errorf("%d operations and %d dependencies are too many (expected at most %d and %d)",
			len(ops), len(pairs), MaxOps, maxEdges)
	}
	g := &Graph{Ops: ops, first: make([]uint32, len(ops)+1), edges: make([]Edge, len(pairs))}
	for _, p := range pairs {
		g.first[p.from+1]++
	}
	for k := range ops {
		g.first[k+1] += g.first[k]
	}
	// Two passes keep the order of the file and place requires before irequires. first[k]
	// moves to the end of row k, which is where row k+1 begins.
	for _, start := range []bool{false, true} {
		for _, p := range pairs {
			if p.to.AtStart() == start {
				g.edges[g.first[p.from]] = p.to
				g.first[p.from]++
			}
		}
	}
	copy(g.first[1:], g.first)
	g.first[0] = 0
	return g, g.acyclic()
}

// A CycleError says that operations of a rank wait for each other.
type CycleError struct {
	Ops []int // each waits for the one before it, the first for the last
}

func (e *CycleError) Error() string {
	const shown = 8
	var s strings.Builder
	fmt.Fprintf(&s, "operation %d waits for itself: operations", e.Ops[0])
	for i, k := range e.Ops {
		if i == shown {
			fmt.Fprintf(&s, " ... (%d in all)", len(e.Ops))
			break
		}
		fmt.Fprintf(&s, " %d ->", k)
	}
	fmt.Fprintf(&s, " %d", e.Ops[0])
	return s.String()
}

// acyclic returns a CycleError if operations wait for each other. A graph whose edges all
// lead to later operations, which is what tools write, costs one pass and no memory.
func (g *Graph) acyclic() error {
	forward := true
	for k := range g.Ops {
		for _, e := range g.Edges(k) {
			forward = forward && e.Op() > k
		}
	}
	if forward {
		return nil
	}
	left := make([]uint32, len(g.Ops)) // dependencies that are not met
	var ready []uint32
	for k := range g.Ops {
		if left[k] = g.Ops[k].Deps; left[k] == 0 {
			ready = append(ready, uint32(k))
		}
	}
	done := len(ready)
	for len(ready) > 0 {
		k := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, e := range g.Edges(int(k)) {
			if left[e.Op()]--; left[e.Op()] == 0 {
				ready = append(ready, uint32(e.Op()))
				done++
			}
		}
	}
	if done == len(g.Ops) {
		return nil
	}
	return &CycleError{g.cycle(left)}
}

// cycle returns a cycle among the operations whose left is not 0. It searches depth first;
// left becomes 0 for operations that lead to no cycle.
func (g *Graph) cycle(left []uint32) []int {
	const onPath = math.MaxUint32
	var path, next []uint32 // operations on the path, and the edge that each tries next
	for root := range g.Ops {
		if left[root] == 0 {
			continue
		}
		left[root] = onPath
		path, next = append(path, uint32(root)), append(next, 0)
		for len(path) > 0 {
			top := len(path) - 1
			k := int(path[top])
			edges := g.Edges(k)
			if int(next[top]) == len(edges) {
				left[k] = 0
				path, next = path[:top], next[:top]
				continue
			}
			to := edges[next[top]].Op()
			next[top]++
			switch left[to] {
			case 0:
			case onPath:
				var ops []int
				for i := top; ; i-- {
					ops = append(ops, int(path[i]))
					if int(path[i]) == to {
						break
					}
				}
				for i, j := 0, len(ops)-1; i < j; i, j = i+1, j-1 {
					ops[i], ops[j] = ops[j], ops[i]
				}
				return ops
			default:
				left[to] = onPath
				path, next = append(path, uint32(to)), append(next, 0)
			}
		}
	}
	panic("goal: unmet dependencies without a cycle")
}
