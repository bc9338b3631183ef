package workload

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Generator makes the flows of one workload. It is the parameter struct of its
// entry in Generators: keys of a scenario that stand beside `generator`.
type Generator interface {
	// Uses says which of the keys that all workloads share have a meaning.
	Uses() Uses
	// Check checks the parameters and estimates how many flows they make. The
	// random numbers of the environment must not be used.
	Check(e *Env) (flows float64, err error)
	// Generate makes the flows. It is called once, after Check.
	Generate(e *Env) (*Plan, error)
}

// FileUser is a generator that may read a file.
type FileUser interface {
	// File returns where the generator keeps the name of its file, nil when it
	// reads none.
	File() *string
}

// Uses are the shared keys that a generator reads.
type Uses struct {
	Load  bool   // load
	From  bool   // from
	Pairs string // pairs and to: the default rule; empty: none
	Start bool   // start
	Stop  bool   // stop
}

// New makes a generator of its parameters, which most often are the generator.
type New = func(params any) Generator

type entry = registry.Entry[New]

// Generators lists the workload generators.
var Generators = registry.NewTable("generator",
	entry{Name: "poisson", Doc: "independent flows at random times, at a load", Params: func() any { return &Poisson{AtOnce: 1} }, New: asIs},
	entry{Name: "incast", Doc: "many hosts send to one at the same moment: once, or again and again at a load",
		Params: func() any { return &Incast{} }, New: asIs},
	entry{Name: "query_response", Doc: "a host asks all servers of another rack for a file, each sends its part",
		Paper: "Reverie, NSDI 2024, section 4", Params: func() any { return &QueryResponse{} }, New: asIs},
	entry{Name: "request", Doc: "a host asks N servers for a file, each sends its part", Paper: "L2BM, ICDCS 2023, section IV",
		Params: func() any { return &Request{} }, New: asIs},
	entry{Name: "sequential", Doc: "one flow at a time per host: the next starts when the last is complete",
		Params: func() any { return &Sequential{} }, New: asIs},
	entry{Name: "messages", Doc: "back-to-back messages between two hosts with a bounded number in flight, as perftest sends them", Params: func() any { return &Messages{Depth: 1, Streams: 1} }, New: asIs},
	entry{Name: "long_lived", Doc: "flows that last until the run ends", Params: func() any { return &LongLived{Streams: 1} }, New: asIs},
	entry{Name: "flows", Doc: "an explicit list of flows", Params: func() any { return &List{} }, New: asIs},
	entry{Name: "ring_allreduce", Doc: "ring all-reduce: 2 (n - 1) steps of 1/n of the data to the next rank",
		Params: func() any { return &RingAllReduce{Order: "hosts", Repeat: 1} }, New: asIs},
	entry{Name: "halving_doubling", Doc: "all-reduce by recursive halving and doubling: 2 log2 n exchanges",
		Params: func() any { return &HalvingDoubling{Order: "hosts", Repeat: 1} }, New: asIs},
	entry{Name: "all_to_all", Doc: "every rank sends to every other, one after the other",
		Params: func() any { return &AllToAll{Order: "hosts", Repeat: 1, Parallel: 1} }, New: asIs},
	entry{Name: "trace", Doc: "flows of a file: CSV with a header, or flow.txt of the HPCC simulator",
		Params: func() any { return &Trace{Format: "auto"} }, New: asIs},
)

// asIs is for generators that are their own parameters.
func asIs(params any) Generator { return params.(Generator) }

// Env is the world of a generator.
type Env struct {
	Fabric *Fabric
	Pairs  *Pairs  // nil when the generator uses none
	From   []int32 // hosts of `from`, in the order of the scenario
	Load   float64 // bytes per second to offer; 0: none is given
	Start  units.Time
	Stop   units.Time // flows start in [Start, Stop)
	End    units.Time // of the run, at the latest
	// MaxSize bounds the size of a flow, MaxDelay a gap.
	MaxSize  units.Bytes
	MaxDelay units.Time
	Classes  *Classes // what class the next flow gets
	// Host returns the number of a host, Class the class that a scenario writes
	// as an id or a group. Reachable reports whether there is a path.
	Host      func(name string) (int32, bool)
	Class     func(name string) (uint8, error)
	Reachable func(src, dst int32) bool
	// Route returns the switches of a route from host to host; a mistake is a
	// KeyError at the key or one of its places.
	Route func(key string, src, dst int32, via []string) ([]Hop, error)
	// Cut says what keeps one host from another that is not Reachable; nil: nobody
	// knows. It may be nil.
	Cut func(src, dst int32) error
	// Open opens a file that the scenario names.
	Open func(path string) (io.ReadCloser, error)

	Rand   *rand.Rand // times, pairs, sizes
	Hashes *rand.Rand // ECMP entropy
}

// hash draws the ECMP entropy of a connection.
func (e *Env) hash() uint32 { return e.Hashes.Uint32() }

// KeyError is a mistake at a key of a workload.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

func keyf(key, format string, args ...any) error {
	return &KeyError{key, fmt.Errorf(format, args...)}
}

// first returns the first error of a list of checks.
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
		return keyf(key, "%s is too small; allowed: 1B to %s", size, e.MaxSize)
	case size > e.MaxSize:
		return keyf(key, "%s is too large; allowed: 1B to %s", size, e.MaxSize)
	}
	return nil
}

// checkCount checks a number of things.
func checkCount(key string, n, lo, hi int) error {
	switch {
	case n < lo:
		return keyf(key, "%d is too small; allowed: %d to %d", n, lo, hi)
	case n > hi:
		return keyf(key, "%d is too large; allowed: %d to %d", n, lo, hi)
	}
	return nil
}

// checkSpan checks a length of time.
func (e *Env) checkSpan(key string, t units.Time) error {
	if t < 0 || t > e.MaxDelay {
		return keyf(key, "%s is out of range; allowed: 0s to %s", t, e.MaxDelay)
	}
	return nil
}

// checkLoad checks that there is a load.
func (e *Env) checkLoad() error {
	if e.Load == 0 {
		return keyf("load", "there is no load; allowed: one such as {share: 0.5, of: host_links}")
	}
	return nil
}

// unreachable is the error of a flow between hosts that no path joins; the one of the
// key or row that wants it where the cause is not known.
func (e *Env) unreachable(src, dst int32, otherwise error) error {
	if e.Cut != nil {
		if err := e.Cut(src, dst); err != nil {
			return err
		}
	}
	return otherwise
}

// maxRepeat bounds counts that have no natural bound.
const maxRepeat = 1_000_000_000

// seconds is the time in which flows may start.
func (e *Env) seconds() float64 { return (e.Stop - e.Start).Seconds() }

// arrivals calls use at the times of a Poisson process.
func (e *Env) arrivals(perSecond float64, use func(at units.Time)) {
	gap := float64(units.Second) / perSecond
	for t := float64(e.Start); ; {
		t += float64(exponential(e.Rand) * gap)
		if t >= float64(e.Stop) {
			return
		}
		use(units.Time(math.Floor(t)))
	}
}

// capacity is the room to make for a random number of flows.
func capacity(expected float64) int { return int(expected*1.02) + 64 }
