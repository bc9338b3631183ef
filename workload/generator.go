package workload

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Generator makes the flows of one workload. It is the parameter struct of its entry in
// Generators: its keys are next to `generator` in a scenario.
type Generator interface {
	// Uses returns which of the keys shared by all workloads the generator reads.
	Uses() Uses
	// Check checks the parameters and estimates the number of flows. It must not draw random
	// numbers from the environment.
	Check(e *Env) (flows float64, err error)
	// Generate returns the flows. It is called once, after Check.
	Generate(e *Env) (*Plan, error)
}

// FileUser is a generator that may read a file.
type FileUser interface {
	// File returns a pointer to the file name, or nil if the generator reads no file.
	File() *string
}

// Uses are the shared keys that a generator reads.
type Uses struct {
	Load  bool   // load
	From  bool   // from
	Pairs string // pairs and to: the default rule; empty: not used
	Start bool   // start
	Stop  bool   // stop
	Clock bool   // clock
}

// New makes a generator from its parameters, which usually are the generator.
type New = func(params any) Generator

type entry = registry.Entry[New]

// Generators lists the workload generators.
var Generators = registry.NewTable("generator",
	entry{Name: "poisson", Doc: "independent flows with Poisson arrivals at a given load", Params: func() any { return &Poisson{AtOnce: 1} }, New: asIs},
	entry{Name: "incast", Doc: "many hosts send to one at the same time: once, or repeatedly at a given load",
		Params: func() any { return &Incast{Draw: drawDistinct} }, New: asIs},
	entry{Name: "matrix", Doc: "bursts with the rates of a traffic matrix in a file", Params: func() any { return &Matrix{Senders: 1, Scale: 1} }, New: asIs},
	entry{Name: "query_response", Doc: "a host requests a file from all servers of another rack; each sends its part",
		Paper: "Reverie, NSDI 2024, section 4", Params: func() any { return &QueryResponse{} }, New: asIs},
	entry{Name: "request", Doc: "a host requests a file from N servers; each sends its part", Paper: "L2BM, ICDCS 2023, section IV",
		Params: func() any { return &Request{} }, New: asIs},
	entry{Name: "sequential", Doc: "one flow at a time per host: the next starts when the previous one is complete",
		Params: func() any { return &Sequential{} }, New: asIs},
	entry{Name: "messages", Doc: "back-to-back messages between two hosts with a limited number in flight, like perftest", Params: func() any { return &Messages{Depth: 1, Streams: 1} }, New: asIs},
	entry{Name: "long_lived", Doc: "flows that last until the run ends", Params: func() any { return &LongLived{Streams: 1} }, New: asIs},
	entry{Name: "flows", Doc: "an explicit list of flows", Params: func() any { return &List{} }, New: asIs},
	entry{Name: "ring_allreduce", Doc: "ring all-reduce: 2 (n - 1) steps of 1/n of the data to the next rank",
		Params: func() any { return &RingAllReduce{Order: "hosts", Repeat: 1} }, New: asIs},
	entry{Name: "halving_doubling", Doc: "all-reduce by recursive halving and doubling: 2 log2 n exchanges",
		Params: func() any { return &HalvingDoubling{Order: "hosts", Repeat: 1} }, New: asIs},
	entry{Name: "all_to_all", Doc: "every rank sends to every other rank, one at a time",
		Params: func() any { return &AllToAll{Order: "hosts", Repeat: 1, Parallel: 1} }, New: asIs},
	entry{Name: "goal", Doc: "the job of a GOAL file: a graph of send, recv and calc operations per rank",
		Paper: "Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009", Params: func() any { return &Goal{Placement: "packed"} }, New: asIs},
	entry{Name: "htsim", Doc: "flows and triggers of a .cm or .tm file of htsim", Params: func() any { return &HTSim{} }, New: asIs},
	entry{Name: "collective", Doc: "a collective operation of GPUs by an algorithm, as a job: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all",
		Params: func() any {
			return &CollectiveJob{Operation: "all_reduce", Channels: 1, Chunks: 1, Repeat: 1, Placement: "packed"}
		}, New: asIs},
	entry{Name: "training", Doc: "iterations of training a transformer, as a job: tensor, pipeline and data parallelism", Params: func() any { return trainingDefaults() }, New: asIs},
	entry{Name: "trace", Doc: "flows from a file: CSV with a header, or flow.txt of the HPCC simulator",
		Params: func() any { return &Trace{Format: "auto"} }, New: asIs},
)

// asIs is New for generators that are their own parameters.
func asIs(params any) Generator { return params.(Generator) }

// Env is the environment of a generator: hosts, pairs, load, times and random numbers.
type Env struct {
	Fabric *Fabric
	Pairs  *Pairs  // nil if the generator does not use pairs
	From   []int32 // hosts of `from`, in the order of the scenario
	Load   float64 // offered bytes per second; 0: not given
	Start  units.Time
	Stop   units.Time // flows start in [Start, Stop)
	End    units.Time // latest end of the run
	// MaxSize is the largest flow, MaxDelay the longest gap.
	MaxSize  units.Bytes
	MaxDelay units.Time
	Classes  *Classes // draws the class of the next flow
	// Host returns the number of a host. Class returns the class of an id or group in a
	// scenario. Reachable reports whether a path between two hosts exists.
	Host      func(name string) (int32, bool)
	Class     func(name string) (uint8, error)
	Reachable func(src, dst int32) bool
	// Route returns the switches of a route between hosts. An error is a KeyError at the key
	// or one of its elements.
	Route func(key string, src, dst int32, via []string) ([]Hop, error)
	// Cut returns why a host is not reachable from another, or nil if that is unknown. The
	// function may be nil.
	Cut func(src, dst int32) error
	// Open opens a file that the scenario names.
	Open func(path string) (io.ReadCloser, error)

	Placed     []int32    // GPU of each rank of a job
	Placements *rand.Rand // random placement

	Rand   *rand.Rand // times, pairs, sizes
	Clock  *rand.Rand // times of generators that use clock; nil: Rand
	Hashes *rand.Rand // ECMP entropy
}

// hash draws the ECMP entropy of a connection.
func (e *Env) hash() uint32 { return e.Hashes.Uint32() }

// KeyError is an error at a key of a workload.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

func keyf(key, format string, args ...any) error {
	return &KeyError{key, fmt.Errorf(format, args...)}
}

// first returns the first non-nil error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkSize checks the size of a flow.
func (e *Env) checkSize(key string, size units.Bytes) error {
	switch {
	case size < 1:
		return keyf(key, "%s is too small (expected 1B to %s)", size, e.MaxSize)
	case size > e.MaxSize:
		return keyf(key, "%s is too large (expected 1B to %s)", size, e.MaxSize)
	}
	return nil
}

// checkCount checks that n is between lo and hi.
func checkCount(key string, n, lo, hi int) error {
	switch {
	case n < lo:
		return keyf(key, "%d is too small (expected %d to %d)", n, lo, hi)
	case n > hi:
		return keyf(key, "%d is too large (expected %d to %d)", n, lo, hi)
	}
	return nil
}

// checkSpan checks a duration.
func (e *Env) checkSpan(key string, t units.Time) error {
	if t < 0 || t > e.MaxDelay {
		return keyf(key, "%s is out of range (expected 0s to %s)", t, e.MaxDelay)
	}
	return nil
}

// checkLoad checks that a load is given.
func (e *Env) checkLoad() error {
	if e.Load == 0 {
		return keyf("load", "no load is given (expected one such as {share: 0.5, of: host_links})")
	}
	return nil
}

// unreachable returns the error for a flow between hosts without a path: the cause from Cut,
// or otherwise if it is unknown.
func (e *Env) unreachable(src, dst int32, otherwise error) error {
	if e.Cut != nil {
		if err := e.Cut(src, dst); err != nil {
			return err
		}
	}
	return otherwise
}

// maxRepeat is the limit of counts without a natural limit.
const maxRepeat = 1_000_000_000

// seconds returns the length of the interval in which flows may start.
func (e *Env) seconds() float64 { return (e.Stop - e.Start).Seconds() }

// arrivals calls use at the times of a Poisson process.
func (e *Env) arrivals(perSecond float64, use func(at units.Time)) {
	gap := float64(units.Second) / perSecond
	clock := cmp.Or(e.Clock, e.Rand)
	for t := float64(e.Start); ; {
		t += float64(exponential(clock) * gap)
		if t >= float64(e.Stop) {
			return
		}
		use(units.Time(math.Floor(t)))
	}
}

// capacity returns the slice capacity for a random number of flows.
func capacity(expected float64) int { return int(expected*1.02) + 64 }
