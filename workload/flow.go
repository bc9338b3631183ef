package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/xoff-net/xoff/base/units"
)

// Flow is one message from host to host.
type Flow struct {
	Start    units.Time // at the earliest, if it waits for others
	Size     units.Bytes
	Src, Dst int32
	Group    int32 // flows of one burst, request or collective share it; -1: none
	Origin   int32 // index into Plan.Names
	Hash     uint32
	Class    uint8
}

// Wait lets a flow start when others are complete, as far as its source knows:
// delivered to it, or sent by it and acknowledged.
type Wait struct {
	Flow  int32
	On    []int32
	Delay units.Time // from the completion of the last of them
	Until units.Time // no start at this time or later; 0: whenever it may be
}

// Way is a route of its own that the data of a flow takes, or what comes back for
// it: switches in order.
type Way struct {
	Flow int32
	Back bool
	Via  []Hop
}

// Hop is a switch of a route.
type Hop struct {
	Node int32
	Port int32 // by which the route leaves it; -1: the first that leads on
}

// Plan is what a generator makes: flows in any order, and which of them wait for
// which, by their index.
type Plan struct {
	Flows []Flow
	Waits []Wait
	Ways  []Way
	Names []string // of the workloads that a trace holds; nil: the flows are the generator's own
	// Transports are how flows of these are carried, by name; nil: all alike.
	Transports map[string]string
	// Endless are the workloads whose flows are meant to outlast the run, by name; those
	// of the generator's own are "".
	Endless []string
}

// add appends a flow and returns its index.
func (p *Plan) add(f Flow) int32 {
	p.Flows = append(p.Flows, f)
	return int32(len(p.Flows) - 1)
}

// wait lets the flow that was added last wait for others.
func (p *Plan) wait(delay, until units.Time, on ...int32) {
	p.Waits = append(p.Waits, Wait{Flow: int32(len(p.Flows) - 1), On: on, Delay: delay, Until: until})
}

// pin gives the flow that was added last routes of its own, where there are any.
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

// errCycle is a mistake that no single flow can be blamed for.
var errCycle = errors.New("flows wait for each other in a circle; allowed: dependencies that can be met one after the other")

// checkWaits checks dependencies that a user wrote. The name of a flow goes into
// messages.
func (p *Plan) checkWaits(name func(flow int32) string) error {
	n := int32(len(p.Flows))
	left := make([]int32, n)
	next := make([][]int32, n)
	for _, w := range p.Waits {
		for _, on := range w.On {
			if on < 0 || on >= n || on == w.Flow {
				return fmt.Errorf("%s waits for flow %d; allowed: another of the flows 0 to %d", name(w.Flow), on, n-1)
			}
			if f, g := &p.Flows[w.Flow], &p.Flows[on]; g.Src != f.Src && g.Dst != f.Src {
				return fmt.Errorf("%s waits for flow %d, which its source has no part in; allowed: flows that start or end there", name(w.Flow), on)
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

// Stream returns the random numbers of one generator. Every generator has its
// own, so that adding one does not change the others.
func Stream(seed uint64, generator string) *rand.Rand {
	// FNV-1a over the name.
	h := uint64(14695981039346656037)
	for i := range len(generator) {
		h = (h ^ uint64(generator[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}
