package workload

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/goal"
)

// Bytes of one iteration of the model of 13 billion parameters, worked out by hand, with 8
// tensor-parallel ranks, 2 stages, 2 replicas and 4 micro-batches.
//
// Activations of a micro-batch: 1 x 2048 x 5120 x 2 B = 20,971,520 B. A ring of 8 sends
// 14 x 1/8 of them per all-reduce and rank: 36,700,160 B. A stage has 20 layers; each has 2
// all-reduces forward and 2 backward, for 4 micro-batches: 320 all-reduces, 11,744,051,200 B.
//
// Gradients of a layer: 12 x 5120^2 = 314,572,800 parameters, 1/8 of them at a rank, 2 B each:
// 78,643,200 B. A ring of 2 sends 2 x 1/2 of them. 20 layers: 1,572,864,000 B.
//
// Each rank sends its activations 4 times in one direction, forward or backward: 83,886,080 B.
func TestTrainingBytes(t *testing.T) {
	g := trainingDefaults()
	g.PP, g.DP = 2, 2
	s := newTrainingSource(g)
	if n := s.Ranks(); n != 32 {
		t.Fatalf("%d ranks", n)
	}
	want := [labelsPerIteration]uint64{labelTensor: 11_744_051_200, labelPipeline: 83_886_080, labelData: 1_572_864_000}
	for _, rank := range []int{0, 7, 8, 31} {
		graph, err := s.Rank(rank)
		if err != nil {
			t.Fatal(err)
		}
		var sent, received [labelsPerIteration]uint64
		compute := uint64(0)
		for _, op := range graph.Ops {
			switch op.Kind {
			case goal.Send:
				sent[s.Label(op)] += op.Size
			case goal.Recv:
				received[s.Label(op)] += op.Size
			case goal.Calc:
				compute += op.Size
			}
		}
		if sent != want || received != want {
			t.Errorf("rank %d sends %v and receives %v (expected %v)", rank, sent, received, want)
		}
		// A layer, forward: 2048 x 5120 x (24 x 5120 + 4 x 2048) = 1.3744e12 operations, 1/8 of
		// them at 400e12 per second: 429.497 us, in halves of 214,749 ns. 20 layers, 4
		// micro-batches, 1 + 2 times: 480 halves.
		if want := uint64(480 * 214_749); compute != want {
			t.Errorf("rank %d computes %d ns (expected %d)", rank, compute, want)
		}
	}
}

// Every send has its recv, and no rank waits for itself, for any schedule.
func TestTrainingIsComplete(t *testing.T) {
	for _, c := range []struct{ tp, pp, dp, micro int }{{1, 1, 1, 1}, {2, 1, 2, 3}, {1, 4, 1, 2}, {2, 4, 2, 8}, {1, 3, 2, 1}} {
		for _, overlap := range []bool{false, true} {
			g := trainingDefaults()
			g.Layers, g.TP, g.PP, g.DP, g.MicroBatches, g.Iterations, g.Overlap = 12, c.tp, c.pp, c.dp, c.micro, 2, overlap
			e := world(t, fabric(4, 8), AnyPair, units.Millisecond)
			for h := range e.Fabric.Hosts() {
				e.Fabric.GPUs = append(e.Fabric.GPUs, GPU{Host: int32(h), Server: int32(h), Domain: -1})
			}
			var err error
			if e.Placed, err = g.Place(e, e.Fabric.All()); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Check(e); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Generate(e); err != nil {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

func TestTrainingErrors(t *testing.T) {
	for want, change := range map[string]func(*Training){
		"40 layers cannot be divided into 3 pipeline stages": func(g *Training) { g.PP = 3 },
		"0 is too small (expected 1 to 4096)":                func(g *Training) { g.TP = 0 },
		"tflops: 0 is out of range":                          func(g *Training) { g.TFLOPS = 0 },
		"hierarchical is not for training":                   func(g *Training) { g.Algorithm = "hierarchical" },
		"halving_doubling with 6 ranks":                      func(g *Training) { g.TP, g.Algorithm = 6, "halving_doubling" },
	} {
		g := trainingDefaults()
		change(g)
		if err := g.check(world(t, fabric(4, 8), AnyPair, units.Millisecond)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v (expected %s)", err, want)
		}
	}
}
