package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/job"
)

// Flow is one message from a source host to a destination host.
type Flow struct {
	Start    units.Time // earliest start if it waits for others
	Size     units.Bytes
	Src, Dst int32
	Group    int32 // flows of one burst, request or collective share it; -1: none
	Origin   int32 // index into Plan.Names
	Hash     uint32
	Class    uint8
}

// Wait delays a flow until others are complete from the view of its source: delivered to it,
// or sent by it and acknowledged.
type Wait struct {
	Flow  int32
	On    []int32
	Delay units.Time // after the completion of the last of them
	Until units.Time // the flow does not start at or after this time; 0: no limit
}

// Way is a pinned route for the data of a flow, or for its replies: switches in order.
type Way struct {
	Flow int32
	Back bool
	Via  []Hop
}

// Hop is a switch on a pinned route.
type Hop struct {
	Node int32
	Port int32 // port by which the route leaves it; -1: the first that leads to the next switch
}

// Plan is the result of a generator: flows in any order, and dependencies between them by
// index.
type Plan struct {
	Flows []Flow
	Waits []Wait
	Ways  []Way
	Names []string // workloads in a trace; nil: the flows belong to the generator's own workload
	// Transports are the transports of these workloads by name; nil: the default.
	Transports map[string]string
	// Endless are the names of workloads whose flows are meant to outlast the run; "" is the
	// generator's own.
	Endless []string
	// Job starts the flows of the plan, one for each of its sends, in order; nil: no job.
	Job *job.Job
}

// add appends a flow and returns its index.
func (p *Plan) add(f Flow) int32 {
	p.Flows = append(p.Flows, f)
	return int32(len(p.Flows) - 1)
}

// wait makes the last added flow wait for others.
func (p *Plan) wait(delay, until units.Time, on ...int32) {
	p.Waits = append(p.Waits, Wait{Flow: int32(len(p.Flows) - 1), On: on, Delay: delay, Until: until})
}

// pin gives the last added flow pinned routes, if there are any.
func (p *Plan) pin(e *Env, key string, there, back []string) error {
	i := int32(len(p.Flows) - 1)
	f := &p.Flows[i]
	for _, w := range []struct {
		key      string
		via      []string
		from, to int32
		back     bool
	}{{key + ".via", there, f.Src, f.Dst, false}, {key + ".back", back, f.Dst, f.Src, true}} {
		if len(w.via) == 0 {
			continue
		}
		nodes, err := e.Route(w.key, w.from, w.to, w.via)
		if err != nil {
			return err
		}
		p.Ways = append(p.Ways, Way{i, w.back, nodes})
	}
	return nil
}

// errCycle is an error of the whole plan rather than of one flow.
var errCycle = errors.New("flows wait for each other in a cycle (expected no cycle)")

// checkWaits checks dependencies that a user wrote. name returns the name of a flow for
// messages.
func (p *Plan) checkWaits(name func(flow int32) string) error {
	n := int32(len(p.Flows))
	left := make([]int32, n)
	next := make([][]int32, n)
	for _, w := range p.Waits {
		for _, on := range w.On {
			if on < 0 || on >= n || on == w.Flow {
				return fmt.Errorf("%s waits for flow %d (expected another of the flows 0 to %d)", name(w.Flow), on, n-1)
			}
			if f, g := &p.Flows[w.Flow], &p.Flows[on]; g.Src != f.Src && g.Dst != f.Src {
				return fmt.Errorf("%s waits for flow %d, which neither starts nor ends at its source (expected flows that start or end there)", name(w.Flow), on)
			}
			left[w.Flow]++
			next[on] = append(next[on], w.Flow)
		}
	}
	var free []int32
	for i := range n {
		if left[i] == 0 {
			free = append(free, i)
		}
	}
	met := int32(0)
	for ; len(free) > 0; met++ {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		for _, d := range next[i] {
			if left[d]--; left[d] == 0 {
				free = append(free, d)
			}
		}
	}
	if met < n {
		return errCycle
	}
	return nil
}

// Stream returns the random numbers of one generator. Each generator has its own stream, so
// adding a generator does not change the others.
func Stream(seed uint64, generator string) *rand.Rand {
	// FNV-1a over the name.
	h := uint64(14695981039346656037)
	for i := range len(generator) {
		h = (h ^ uint64(generator[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}
