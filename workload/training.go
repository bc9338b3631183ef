package workload

import (
	"math"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/goal"
	"github.com/xoff-net/xoff/job"
)

// Training runs iterations of training a transformer, with tensor, pipeline and data
// parallelism. Rank tp + TP * (pp + PP * dp) has position tp of its tensor group.
//
// The forward pass of a layer computes, all-reduces the activations of the micro-batch in the
// tensor group, and does both once more (attention, then MLP). The backward pass does the same
// with twice the compute. Stages pass activations and their gradients on. Micro-batches
// follow the schedule 1F1B. The gradients of a layer are all-reduced in the data group after
// its last backward pass; with overlap while earlier layers compute.
type Training struct {
	Layers       int         `yaml:"layers" doc:"layers of the model; a multiple of pp"`
	Hidden       int         `yaml:"hidden" doc:"hidden size h; a layer has 12 h^2 parameters"`
	Sequence     int         `yaml:"sequence" doc:"tokens of a sample"`
	MicroBatch   int         `yaml:"micro_batch" doc:"samples of a micro-batch"`
	MicroBatches int         `yaml:"micro_batches" doc:"micro-batches of an iteration"`
	TP           int         `yaml:"tp" doc:"ranks of a tensor-parallel group"`
	PP           int         `yaml:"pp" doc:"pipeline stages"`
	DP           int         `yaml:"dp" doc:"data-parallel replicas"`
	Bytes        int         `yaml:"bytes" doc:"bytes of a parameter, gradient or activation"`
	TFLOPS       float64     `yaml:"tflops" doc:"10^12 floating-point operations that a GPU achieves per second"`
	Overlap      bool        `yaml:"overlap" doc:"all-reduce the gradients of a layer while earlier layers compute"`
	Algorithm    string      `yaml:"algorithm" doc:"algorithm of all-reduces: ring, tree, double_binary_tree, halving_doubling"`
	Channels     int         `yaml:"channels" doc:"parts that are sent at the same time over their own connections"`
	Iterations   int         `yaml:"iterations" doc:"number of iterations"`
	Eager        units.Bytes `yaml:"eager,omitempty" doc:"a send up to this size is complete for its rank as soon as it starts"`
	Placement    string      `yaml:"placement" doc:"GPUs of the ranks: packed, spread, random, or numbers such as 0-7 16"`
}

// trainingDefaults returns a model of 13 billion parameters.
func trainingDefaults() *Training {
	return &Training{Layers: 40, Hidden: 5120, Sequence: 2048, MicroBatch: 1, MicroBatches: 4, TP: 8, PP: 1, DP: 1, Bytes: 2, TFLOPS: 400,
		Overlap: true, Algorithm: "ring", Channels: 1, Iterations: 1, Placement: "packed"}
}

// Uses implements Generator.
func (g *Training) Uses() Uses { return jobUses }

func (g *Training) ranks() int { return g.TP * g.PP * g.DP }

// activation returns the bytes of the activations of a micro-batch between layers.
func (g *Training) activation() units.Bytes {
	return units.Bytes(g.MicroBatch) * units.Bytes(g.Sequence) * units.Bytes(g.Hidden) * units.Bytes(g.Bytes)
}

// gradient returns the bytes of the gradients of a layer at a rank.
func (g *Training) gradient() units.Bytes {
	return (12*units.Bytes(g.Hidden)*units.Bytes(g.Hidden) + units.Bytes(g.TP) - 1) / units.Bytes(g.TP) * units.Bytes(g.Bytes)
}

// half returns the compute time of half a layer, forward, in ns: 24 b s h^2 + 4 b s^2 h
// operations in all, divided by the tensor group.
func (g *Training) half() uint64 {
	b, s, h := float64(g.MicroBatch), float64(g.Sequence), float64(g.Hidden)
	return uint64(math.Ceil(float64(b*s*h*float64(24*h+4*s)) / float64(g.TP) / g.TFLOPS / 2e3))
}

const maxModel = 1 << 20

func (g *Training) check(e *Env) error {
	err := first(
		checkCount("layers", g.Layers, 1, 10000), checkCount("hidden", g.Hidden, 1, maxModel), checkCount("sequence", g.Sequence, 1, maxModel),
		checkCount("micro_batch", g.MicroBatch, 1, 10000), checkCount("micro_batches", g.MicroBatches, 1, 10000),
		checkCount("tp", g.TP, 1, 4096), checkCount("pp", g.PP, 1, 4096), checkCount("dp", g.DP, 1, 1<<16), checkCount("bytes", g.Bytes, 1, 8),
		checkCount("iterations", g.Iterations, 1, 10000),
	)
	switch {
	case err != nil:
		return err
	case g.Layers%g.PP != 0:
		return keyf("layers", "%d layers cannot be divided into %d pipeline stages (expected a multiple of pp)", g.Layers, g.PP)
	case !(g.TFLOPS > 0 && g.TFLOPS <= 1e6):
		return keyf("tflops", "%v is out of range (expected more than 0, at most 1e6)", g.TFLOPS)
	case g.Algorithm == "hierarchical":
		return keyf("algorithm", "hierarchical is not for training (allowed: ring, tree, double_binary_tree, halving_doubling)")
	case g.Eager < 0 || g.Eager > e.MaxSize:
		return keyf("eager", "%s is out of range (expected 0B to %s)", g.Eager, e.MaxSize)
	case g.Iterations*(4*g.Layers*g.MicroBatches+g.Layers) > 1<<23:
		return keyf("iterations", "the job has more than %d collectives per rank (expected fewer iterations, layers or micro-batches)", 1<<23)
	}
	return first(
		e.checkSize("hidden", g.activation()), e.checkSize("hidden", g.gradient()), e.checkSpan("tflops", units.Time(min(g.half(), 1<<50))*units.Nanosecond),
		checkCall("all_reduce", g.Algorithm, g.activation(), g.TP, g.Channels, 1), checkCall("all_reduce", g.Algorithm, g.gradient(), g.DP, g.Channels, 1),
	)
}

// Place implements Placer.
func (g *Training) Place(e *Env, free []int32) ([]int32, error) {
	if g.TP < 1 || g.PP < 1 || g.DP < 1 || g.TP > 4096 || g.PP > 4096 || g.DP > 1<<16 {
		return nil, g.check(e)
	}
	return e.place(g.Placement, g.ranks(), free)
}

// Check implements Generator.
func (g *Training) Check(e *Env) (float64, error) {
	if err := g.check(e); err != nil {
		return 0, err
	}
	perCall := func(n int) float64 { return 2 * float64(n) * float64(g.Channels) }
	layers := float64(g.Layers / g.PP)
	return float64(g.ranks()) * float64(g.Iterations) *
		(float64(4*g.MicroBatches)*layers*perCall(g.TP) + 2*float64(g.MicroBatches) + layers*perCall(g.DP)), nil
}

// Generate implements Generator.
func (g *Training) Generate(e *Env) (*Plan, error) {
	return e.job(newTrainingSource(g), jobOptions{eager: g.Eager, iterations: g.Iterations})
}

// trainingSource is the job of a Training. Each iteration has the same labels: the parts of a
// layer by position, so one label covers the collectives of all groups that do the same.
type trainingSource struct {
	*Training
	labels
}

// Labels of an iteration.
const (
	labelCompute = iota
	labelTensor
	labelPipeline
	labelData
	labelsPerIteration
)

func newTrainingSource(g *Training) *trainingSource {
	s := &trainingSource{Training: g}
	for i := range g.Iterations {
		for _, name := range [labelsPerIteration]string{"compute", "tensor", "pipeline", "data"} {
			s.labels = append(s.labels, job.Label{Name: name, Iteration: i})
		}
	}
	return s
}

// Ranks implements goal.Source.
func (s *trainingSource) Ranks() int { return s.ranks() }

// trainer builds the operations of one rank.
type trainer struct {
	*trainingSource
	b          goal.Builder
	tp, pp, dp int
	label      int32 // first of the iteration
	after      int   // last operation of the chain of compute; -1: none
	comm       int   // last gradient all-reduce; -1: none
	grads      []int // they end the iteration
}

// Rank implements goal.Source.
func (s *trainingSource) Rank(rank int) (*goal.Graph, error) {
	t := &trainer{trainingSource: s, tp: rank % s.TP, pp: rank / s.TP % s.PP, dp: rank / s.TP / s.PP, after: -1, comm: -1}
	for i := range s.Iterations {
		t.label = int32(i * labelsPerIteration)
		t.iteration()
	}
	return t.b.Graph()
}

// then returns the last operation as a dependency.
func then(k int) []int {
	if k < 0 {
		return nil
	}
	return []int{k}
}

// iteration runs the micro-batches by 1F1B: stage pp starts with PP - pp - 1 forward passes,
// then alternates.
func (t *trainer) iteration() {
	ahead := min(t.PP-t.pp-1, t.MicroBatches)
	t.grads = nil
	for k := range ahead {
		t.forward(k)
	}
	for k := range t.MicroBatches - ahead {
		t.forward(ahead + k)
		t.backward(k)
	}
	for k := t.MicroBatches - ahead; k < t.MicroBatches; k++ {
		t.backward(k)
	}
	if !t.Overlap {
		for range t.Layers / t.PP {
			t.reduceGradient()
		}
	}
	t.after = join(&t.b, 0, labelTag(t.label+labelCompute), append(t.grads, t.after)...)
	t.comm = -1
}

// forward runs the forward pass of a micro-batch through the stage.
func (t *trainer) forward(int) {
	t.receive(t.pp-1, 0)
	for range t.Layers / t.PP {
		t.layer(1)
	}
	t.sendTo(t.pp+1, 0)
}

// backward runs the backward pass. The last one completes the gradients of each layer.
func (t *trainer) backward(k int) {
	t.receive(t.pp+1, 1)
	for range t.Layers / t.PP {
		t.layer(2)
		if k == t.MicroBatches-1 && t.Overlap {
			t.reduceGradient()
		}
	}
	t.sendTo(t.pp-1, 1)
}

// layer computes both halves of a layer, each followed by an all-reduce in the tensor group.
func (t *trainer) layer(times uint64) {
	for range 2 {
		t.after = join(&t.b, times*t.half(), labelTag(t.label+labelCompute), then(t.after)...)
		if t.TP > 1 {
			c := t.call(t.activation(), labelTensor, t.TP, func(i int) int { return i + t.TP*(t.pp+t.PP*t.dp) })
			t.after = c.run(&t.b, t.tp, t.after)
		}
	}
}

// reduceGradient adds the all-reduce of the gradients of one layer in the data group.
func (t *trainer) reduceGradient() {
	if t.DP == 1 {
		return
	}
	c := t.call(t.gradient(), labelData, t.DP, func(i int) int { return t.tp + t.TP*(t.pp+t.PP*i) })
	t.comm = c.run(&t.b, t.dp, append(then(t.comm), t.after)...)
	t.grads = append(t.grads, t.comm)
}

func (t *trainer) call(size units.Bytes, label int32, n int, member func(i int) int) *call {
	c := &call{operation: "all_reduce", algorithm: t.Algorithm, size: size, channels: t.Channels, chunks: 1, label: t.label + label, local: 1}
	for i := range n {
		c.members = append(c.members, uint32(member(i)))
	}
	return c
}

// neighbour returns the rank at the same position of another stage.
func (t *trainer) neighbour(stage int) uint32 { return uint32(t.tp + t.TP*(stage+t.PP*t.dp)) }

// receive waits for activations (channel 0) or gradients of them (1) of another stage.
func (t *trainer) receive(stage int, channel uint32) {
	if stage < 0 || stage >= t.PP {
		return
	}
	r := t.b.Add(goal.Op{Kind: goal.Recv, Peer: t.neighbour(stage), Size: uint64(t.activation()), Tag: labelTag(t.label+labelPipeline) + channel})
	t.after = join(&t.b, 0, labelTag(t.label+labelPipeline), append(then(t.after), r)...)
}

// sendTo sends activations or gradients of them to another stage. Compute goes on.
func (t *trainer) sendTo(stage int, channel uint32) {
	if stage < 0 || stage >= t.PP {
		return
	}
	k := t.b.Add(goal.Op{Kind: goal.Send, Peer: t.neighbour(stage), Size: uint64(t.activation()), Tag: labelTag(t.label+labelPipeline) + channel, NIC: uint8(channel)})
	t.b.Require(k, t.after)
	t.grads = append(t.grads, k)
}
