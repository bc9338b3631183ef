package workload

import (
	"math"
	"math/rand/v2"

	"github.com/xoff-net/xoff/units"
)

// Flow is one message from host to host.
type Flow struct {
	Start    units.Time
	Size     units.Bytes
	Src, Dst int
	Class    uint8
	Group    int // incast: flows of one burst share it; -1 otherwise
}

// Fabric is what generators know about the hosts.
type Fabric struct {
	Rack  []int        // of each host
	Rates []units.Rate // of each host's link
}

func (f *Fabric) hosts() int { return len(f.Rack) }

// Capacity is the sum of the host links.
func (f *Fabric) Capacity() units.Rate {
	sum := units.Rate(0)
	for _, r := range f.Rates {
		sum += r
	}
	return sum
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

// Pairs says between which hosts flows run.
type Pairs uint8

// Choices of pairs.
const (
	AnyPair   Pairs = iota // any two different hosts
	OtherRack              // hosts in different racks
)

// Poisson makes flows with exponential gaps so that, on average, they offer
// Share of the capacity.
type Poisson struct {
	Sizes   *CDF
	Share   float64
	Pairs   Pairs
	Classes []uint8 // one at random per flow
	Until   units.Time
}

// Generate returns the flows in order of their start.
func (g *Poisson) Generate(f *Fabric, r *rand.Rand) []Flow {
	perSecond := g.Share * float64(f.Capacity()) / 8 / g.Sizes.Mean()
	var flows []Flow
	arrivals(r, perSecond, g.Until, func(at units.Time) {
		src := r.IntN(f.hosts())
		flows = append(flows, Flow{
			Start: at, Src: src, Dst: f.other(r, src, g.Pairs), Size: g.Sizes.Draw(r), Class: g.Classes[r.IntN(len(g.Classes))], Group: -1,
		})
	})
	return flows
}

// arrivals calls use at the times of a Poisson process.
func arrivals(r *rand.Rand, perSecond float64, until units.Time, use func(at units.Time)) {
	gap := float64(units.Second) / perSecond
	for t := 0.0; ; {
		t += float64(exponential(r) * gap)
		if t >= float64(until) {
			return
		}
		use(units.Time(math.Floor(t)))
	}
}

// other draws a host that src may talk to.
func (f *Fabric) other(r *rand.Rand, src int, p Pairs) int {
	for {
		dst := r.IntN(f.hosts())
		if dst != src && (p == AnyPair || f.Rack[dst] != f.Rack[src]) {
			return dst
		}
	}
}

// Incast makes bursts: Senders hosts send Size bytes each to one host at the
// same time.
type Incast struct {
	Senders int
	Size    units.Bytes
	Share   float64 // of the capacity, for a Poisson process of bursts
	Pairs   Pairs
	Classes []uint8 // one at random per burst
	Until   units.Time
}

// Generate returns the flows in order of their start.
func (g *Incast) Generate(f *Fabric, r *rand.Rand) []Flow {
	perSecond := g.Share * float64(f.Capacity()) / 8 / (float64(g.Size) * float64(g.Senders))
	var flows []Flow
	group := 0
	arrivals(r, perSecond, g.Until, func(at units.Time) {
		flows = append(flows, g.Burst(f, r, at, r.IntN(f.hosts()), group)...)
		group++
	})
	return flows
}

// Burst returns the flows of one burst to dst.
func (g *Incast) Burst(f *Fabric, r *rand.Rand, at units.Time, dst, group int) []Flow {
	class := g.Classes[r.IntN(len(g.Classes))]
	used := map[int]bool{dst: true}
	var flows []Flow
	for len(flows) < g.Senders {
		src := f.other(r, dst, g.Pairs)
		if used[src] && len(used) <= f.candidates(dst, g.Pairs) {
			continue // a sender takes part once, as long as there are enough
		}
		used[src] = true
		flows = append(flows, Flow{Start: at, Src: src, Dst: dst, Size: g.Size, Class: class, Group: group})
	}
	return flows
}

// candidates counts the hosts that may talk to dst.
func (f *Fabric) candidates(dst int, p Pairs) int {
	n := 0
	for h := range f.hosts() {
		if h != dst && (p == AnyPair || f.Rack[h] != f.Rack[dst]) {
			n++
		}
	}
	return n
}
