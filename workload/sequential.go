package workload

import (
	"github.com/xoff-net/xoff/base/units"
)

// Sequential makes every host send one flow at a time: the next starts when the last ACK of
// the previous one has arrived.
type Sequential struct {
	Sizes string     `yaml:"sizes" doc:"a size, a table by name, or a file"`
	Gap   units.Time `yaml:"gap,omitempty" doc:"idle time between the end of a flow and the start of the next"`
	Count int        `yaml:"count,omitempty" doc:"largest number of flows per host; 0: until stop"`
}

// Uses implements Generator.
func (g *Sequential) Uses() Uses { return Uses{From: true, Pairs: "any", Start: true, Stop: true} }

// File implements FileUser.
func (g *Sequential) File() *string { return fileOf(&g.Sizes) }

// Check implements Generator.
func (g *Sequential) Check(e *Env) (float64, error) {
	sizes, err := e.sizes("sizes", g.Sizes)
	if err = first(err, e.checkSpan("gap", g.Gap), checkCount("count", g.Count, 0, maxRepeat)); err != nil {
		return 0, err
	}
	return e.chainLength(g.Count, sizes.Mean(), g.Gap), nil
}

// chainLength estimates the number of flows that hosts can send one after the other.
func (e *Env) chainLength(count int, mean float64, gap units.Time) float64 {
	flows := 0.0
	for _, h := range e.Pairs.From {
		n := 1 + e.seconds()/(8*mean/float64(e.Fabric.Rates[h])+gap.Seconds())
		if count > 0 {
			n = min(n, float64(count))
		}
		flows += n
	}
	return flows
}

// Generate implements Generator. It plans as many flows as hosts could send in an idle
// network; those that become ready too late do not start.
func (g *Sequential) Generate(e *Env) (*Plan, error) {
	sizes, err := e.sizes("sizes", g.Sizes)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	for _, src := range e.Pairs.From {
		last := int32(-1)
		earliest := e.Start // earliest start of the next flow
		for k := 0; earliest < e.Stop && (g.Count == 0 || k < g.Count); k++ {
			size := sizes.Draw(e.Rand)
			i := p.add(Flow{Start: e.Start, Src: src, Dst: e.Pairs.Destination(e.Rand, src), Size: size, Class: e.Classes.Next(),
				Group: -1, Hash: e.hash()})
			if last >= 0 {
				p.wait(g.Gap, e.Stop, last)
			}
			last = i
			earliest += e.Fabric.Rates[src].TxTime(size) + g.Gap
		}
	}
	return p, nil
}

// Messages sends messages of one size between fixed pairs of hosts, back to back over one
// connection, like the bandwidth and latency tests of perftest.
type Messages struct {
	Size     units.Bytes `yaml:"size" doc:"size of a message"`
	Depth    int         `yaml:"depth" doc:"messages in flight"`
	Streams  int         `yaml:"streams" doc:"connections per host, each with its own messages"`
	Gap      units.Time  `yaml:"gap,omitempty" doc:"idle time between the end of a message and the start of its successor"`
	Count    int         `yaml:"count,omitempty" doc:"largest number of messages per connection; 0: until stop"`
	PingPong bool        `yaml:"ping_pong,omitempty" doc:"the receiver answers each message with one of the same size"`
}

// Uses implements Generator.
func (g *Messages) Uses() Uses { return Uses{From: true, Pairs: "any", Start: true, Stop: true} }

// Check implements Generator.
func (g *Messages) Check(e *Env) (float64, error) {
	err := first(
		e.checkSize("size", g.Size), checkCount("depth", g.Depth, 1, maxRepeat), checkCount("streams", g.Streams, 1, maxRepeat),
		e.checkSpan("gap", g.Gap), checkCount("count", g.Count, 0, maxRepeat),
	)
	switch {
	case err != nil:
		return 0, err
	case g.PingPong && g.Depth > 1:
		return 0, keyf("ping_pong", "each message waits for an answer, so depth must be 1")
	}
	n := e.chainLength(g.Count, float64(g.Size), g.Gap) + float64(len(e.Pairs.From)*g.Depth)
	if g.PingPong {
		n *= 2
	}
	return n * float64(g.Streams), nil
}

// Generate implements Generator. Message k starts when message k - depth is complete.
func (g *Messages) Generate(e *Env) (*Plan, error) {
	p := &Plan{}
	for _, src := range e.Pairs.From {
		for range g.Streams {
			g.stream(e, p, src, e.Pairs.Destination(e.Rand, src))
		}
	}
	return p, nil
}

func (g *Messages) stream(e *Env, p *Plan, src, dst int32) {
	there := Flow{Start: e.Start, Src: src, Dst: dst, Size: g.Size, Class: e.Classes.Next(), Group: -1, Hash: e.hash()}
	back := Flow{Start: e.Start, Src: dst, Dst: src, Size: g.Size, Class: there.Class, Group: -1, Hash: e.hash()}
	begin := int32(len(p.Flows))
	step := e.Fabric.Rates[src].TxTime(g.Size)
	earliest := e.Start
	for k := 0; earliest < e.Stop && (g.Count == 0 || k < g.Count); k++ {
		i := p.add(there)
		switch {
		case g.PingPong && k > 0:
			p.wait(g.Gap, e.Stop, i-1)
		case !g.PingPong && k >= g.Depth:
			p.wait(g.Gap, e.Stop, begin+int32(k-g.Depth))
		}
		if g.PingPong {
			p.add(back)
			p.wait(0, e.Stop, i)
			earliest += 2*step + g.Gap
		} else if k >= g.Depth-1 {
			// The link sends messages one after the other; the gap of one overlaps with the
			// transmission of others.
			earliest = max(earliest, e.Start+units.Time(k/g.Depth)*g.Gap) + step
		}
	}
}

// LongLived starts flows that outlast the run.
type LongLived struct {
	Streams int         `yaml:"streams" doc:"flows per host"`
	Size    units.Bytes `yaml:"size,omitempty" doc:"size of each flow; 0: more than the link can carry until the run ends"`
}

// Uses implements Generator.
func (g *LongLived) Uses() Uses { return Uses{From: true, Pairs: "any", Start: true} }

// Check implements Generator.
func (g *LongLived) Check(e *Env) (float64, error) {
	if g.Size != 0 {
		if err := e.checkSize("size", g.Size); err != nil {
			return 0, err
		}
	}
	return float64(g.Streams) * float64(len(e.Pairs.From)), checkCount("streams", g.Streams, 1, maxRepeat)
}

// Generate implements Generator.
func (g *LongLived) Generate(e *Env) (*Plan, error) {
	p := &Plan{Endless: []string{""}}
	for _, src := range e.Pairs.From {
		size := g.Size
		if size == 0 {
			size = min(e.MaxSize, e.Fabric.Rates[src].In(e.End-e.Start)+1)
		}
		for range g.Streams {
			p.add(Flow{Start: e.Start, Src: src, Dst: e.Pairs.Destination(e.Rand, src), Size: size, Class: e.Classes.Next(),
				Group: -1, Hash: e.hash()})
		}
	}
	return p, nil
}
