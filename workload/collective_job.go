package workload

import (
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/goal"
	"github.com/xoff-net/xoff/job"
)

// CollectiveJob runs a collective operation again and again on the GPUs of `from`.
type CollectiveJob struct {
	Operation string      `yaml:"operation" doc:"all_reduce, all_gather, reduce_scatter, broadcast or all_to_all"`
	Algorithm string      `yaml:"algorithm" doc:"ring, halving_doubling, tree, double_binary_tree, hierarchical; direct or pairwise for all_to_all; empty: the first"`
	Size      units.Bytes `yaml:"size" doc:"size as nccl-tests count it: of the largest buffer of a rank; a piece has at least one byte"`
	Ranks     int         `yaml:"ranks,omitempty" doc:"number of ranks; 0: all free GPUs"`
	Channels  int         `yaml:"channels" doc:"parts that are sent at the same time over their own connections"`
	Chunks    int         `yaml:"chunks" doc:"chunks of trees and broadcasts, which follow each other like a pipeline"`
	Repeat    int         `yaml:"repeat" doc:"number of operations, one after the other"`
	Gap       units.Time  `yaml:"gap,omitempty" doc:"compute time of a rank before the next operation"`
	Placement string      `yaml:"placement" doc:"GPUs of the ranks: packed, spread, random, or numbers such as 0-7 16"`
}

// Uses implements Generator.
func (g *CollectiveJob) Uses() Uses { return jobUses }

// Place implements Placer.
func (g *CollectiveJob) Place(e *Env, free []int32) ([]int32, error) {
	return e.place(g.Placement, g.Ranks, free)
}

// algorithm returns the name of the algorithm.
func (g *CollectiveJob) algorithm() string {
	if g.Algorithm != "" {
		return g.Algorithm
	}
	for _, o := range operations {
		if o.name == g.Operation {
			return o.algorithms[0]
		}
	}
	return ""
}

// Check implements Generator.
func (g *CollectiveJob) Check(e *Env) (float64, error) {
	n := len(e.Placed)
	err := first(
		e.checkSize("size", g.Size), checkCount("repeat", g.Repeat, 1, 1<<20), e.checkSpan("gap", g.Gap),
		checkCount("ranks", n, 2, 1<<20), checkCall(g.Operation, g.algorithm(), g.Size, n, g.Channels, g.Chunks),
	)
	if err == nil && g.algorithm() == "hierarchical" && !e.whole(n, e.perServer(n)) {
		err = keyf("algorithm", "hierarchical needs the same number of neighbouring ranks on each server (expected placement packed on whole servers)")
	}
	if err != nil {
		return 0, err
	}
	flows := float64(n) * float64(g.Channels) * float64(g.Repeat)
	switch g.algorithm() {
	case "ring", "direct", "pairwise", "hierarchical":
		flows *= 2 * float64(n)
	default:
		flows *= 2 * float64(g.Chunks+32)
	}
	return flows, nil
}

// perServer returns the number of ranks on each server, or 1 if ranks of a server are not
// neighbours, or servers have different numbers of ranks.
func (e *Env) perServer(n int) int {
	server := func(r int) int32 { return e.Fabric.GPUs[e.Placed[r]].Server }
	local := 1
	for local < n && server(local) == server(0) {
		local++
	}
	for r := range n {
		if n%local != 0 || server(r) != server(r-r%local) || r%local == 0 && r > 0 && server(r) == server(r-1) {
			return 1
		}
	}
	return local
}

// whole reports whether hierarchical can run: ranks of a server are neighbours, and all
// servers have the same number.
func (e *Env) whole(n, local int) bool {
	known := make(map[int32]bool)
	for r := 0; r < n; r += local {
		s := e.Fabric.GPUs[e.Placed[r]].Server
		if known[s] {
			return false
		}
		known[s] = true
	}
	return true
}

// source returns the operations of the job.
func (g *CollectiveJob) source(e *Env) *collectiveSource {
	s := &collectiveSource{CollectiveJob: g, ranks: len(e.Placed), local: e.perServer(len(e.Placed))}
	for i := range g.Repeat {
		s.labels = append(s.labels, job.Label{
			Name: g.Operation, Operation: g.Operation, Algorithm: g.algorithm(), Ranks: s.ranks, Size: g.Size, Iteration: i,
		})
	}
	for r := range s.ranks {
		s.members = append(s.members, uint32(r))
	}
	return s
}

// collectiveSource is the job of a CollectiveJob.
type collectiveSource struct {
	*CollectiveJob
	labels
	ranks   int
	local   int
	members []uint32
}

// Ranks implements goal.Source.
func (s *collectiveSource) Ranks() int { return s.ranks }

// Rank implements goal.Source.
func (s *collectiveSource) Rank(rank int) (*goal.Graph, error) {
	var b goal.Builder
	var after []int
	for i := range s.Repeat {
		if i > 0 && s.Gap > 0 {
			after = []int{join(&b, uint64(s.Gap/units.Nanosecond), labelTag(int32(i)), after...)}
		}
		c := &call{operation: s.Operation, algorithm: s.algorithm(), size: s.Size, channels: s.Channels, chunks: s.Chunks,
			label: int32(i), members: s.members, local: s.local}
		after = []int{c.run(&b, rank, after...)}
	}
	return b.Graph()
}

// Generate implements Generator.
func (g *CollectiveJob) Generate(e *Env) (*Plan, error) {
	return e.job(g.source(e), jobOptions{iterations: g.Repeat})
}

// list joins names for a message.
func list(names []string) string { return strings.Join(names, ", ") }
