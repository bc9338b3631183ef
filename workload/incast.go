package workload

import (
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// Incast makes bursts in which many hosts send to one at the same time. With a load, bursts
// are a Poisson process; without one, there is a single burst.
type Incast struct {
	Senders int         `yaml:"senders" doc:"number of sending hosts per burst"`
	Size    units.Bytes `yaml:"size,omitempty" doc:"size of each flow"`
	Sizes   string      `yaml:"sizes,omitempty" doc:"or a size drawn for each flow: a table by name, or a file"`
	Flows   int         `yaml:"flows,omitempty" doc:"flows per burst; 0: one per sender"`
	Fewest  int         `yaml:"fewest,omitempty" doc:"draw the number of senders of each burst between this and senders; 0: always senders"`
	Draw    string      `yaml:"draw" since:"0.3" allowed:"distinct,repeated,in_order" doc:"senders of a burst: distinct hosts at random, hosts at random that may repeat, or the first ones in order"`
	Mixed   bool        `yaml:"mixed,omitempty" doc:"draw a class for each flow instead of one for the burst"`
	Skip    int         `yaml:"skip,omitempty" doc:"leave out this many first bursts of each receiver"`
	At      units.Time  `yaml:"at,omitempty" doc:"time of the single burst"`
}

// Values of Incast.Draw. The empty word is drawDistinct.
const (
	drawDistinct = "distinct"
	drawRepeated = "repeated"
	drawInOrder  = "in_order"
)

// Uses implements Generator.
func (g *Incast) Uses() Uses {
	return Uses{Load: true, From: true, Pairs: "any", Start: true, Stop: true, Clock: true}
}

// File implements FileUser.
func (g *Incast) File() *string { return fileOf(&g.Sizes) }

func (g *Incast) flows() int {
	if g.Flows == 0 {
		return g.Senders
	}
	return g.Flows
}

// Check implements Generator.
func (g *Incast) Check(e *Env) (float64, error) {
	sizes, err := g.sizes(e)
	most := e.Pairs.FewestSources()
	if g.Draw == drawRepeated {
		most = maxRepeat
	}
	err = first(checkCount("senders", g.Senders, 1, most), err)
	if err == nil && g.Flows != 0 {
		err = checkCount("flows", g.Flows, g.Senders, maxRepeat)
	}
	switch {
	case err != nil:
		return 0, err
	case !slices.Contains([]string{"", drawDistinct, drawRepeated, drawInOrder}, g.Draw):
		return 0, keyf("draw", "%q is unknown (allowed: %s, %s, %s)", g.Draw, drawDistinct, drawRepeated, drawInOrder)
	case g.Skip < 0:
		return 0, keyf("skip", "%d is too small (expected 0 or more)", g.Skip)
	case g.Skip > 0 && e.Load == 0:
		return 0, keyf("skip", "there is only one burst; fix: set load, or remove skip")
	case g.Fewest != 0 && g.Flows != 0:
		return 0, keyf("fewest", "flows is given as well (expected only one of fewest and flows)")
	case g.Fewest != 0 && (g.Fewest < 1 || g.Fewest > g.Senders):
		return 0, keyf("fewest", "%d is out of range (expected 1 to senders, %d)", g.Fewest, g.Senders)
	case g.Mixed && len(e.Classes.IDs) == 1:
		return 0, keyf("mixed", "flows have only class %d (expected several classes with mixed: class: {random: ...} or {shares: ...})", e.Classes.IDs[0])
	case e.Load > 0 && g.At != 0:
		return 0, keyf("at", "load and at are both set (expected only one of them)")
	case e.Load > 0:
		return e.Load * e.seconds() / sizes.Mean(), nil
	}
	return g.meanFlows(), e.checkStart("at", g.At)
}

// meanFlows returns the mean number of flows per burst.
func (g *Incast) meanFlows() float64 {
	if g.Fewest != 0 {
		return float64(g.Fewest+g.Senders) / 2
	}
	return float64(g.flows())
}

// sizes returns the distribution of flow sizes.
func (g *Incast) sizes(e *Env) (*CDF, error) {
	switch {
	case g.Size != 0 && g.Sizes != "":
		return nil, keyf("sizes", "size is given as well (expected size or sizes)")
	case g.Sizes != "":
		return e.sizes("sizes", g.Sizes)
	}
	return &CDF{Points: []Point{{g.Size, 0}, {g.Size, 1}}}, e.checkSize("size", g.Size)
}

// checkStart checks that a flow starts before arrivals stop.
func (e *Env) checkStart(key string, t units.Time) error {
	if t < 0 || t >= e.Stop {
		return keyf(key, "%s is outside the run (expected 0s or more, before run.arrivals or stop, %s)", t, e.Stop)
	}
	return nil
}

// Generate implements Generator. Flows are ordered by start.
func (g *Incast) Generate(e *Env) (*Plan, error) {
	sizes, err := g.sizes(e)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	if e.Load == 0 {
		g.burst(e, p, sizes, max(e.Start, g.At), e.Pairs.Sink(e.Rand), 0)
		return p, nil
	}
	flows := e.Load / sizes.Mean()
	p.Flows = make([]Flow, 0, capacity(flows*e.seconds())+g.flows())
	group, skipped := int32(0), make(map[int32]int)
	e.arrivals(flows/g.meanFlows(), func(at units.Time) {
		dst := e.Pairs.Sink(e.Rand)
		if skipped[dst] < g.Skip {
			skipped[dst]++
			return
		}
		g.burst(e, p, sizes, at, dst, group)
		group++
	})
	return p, nil
}

// burst adds the flows of one burst to dst, all of one class unless mixed. If there are more flows
// than senders, senders take turns.
func (g *Incast) burst(e *Env, p *Plan, sizes *CDF, at units.Time, dst, group int32) {
	class := e.Classes.Next()
	begin := len(p.Flows)
	add := func(src int32) {
		if g.Mixed && len(p.Flows) > begin {
			class = e.Classes.Next()
		}
		p.add(Flow{Start: at, Src: src, Dst: dst, Size: sizes.Draw(e.Rand), Class: class, Group: group, Hash: e.hash()})
	}
	senders, flows := g.Senders, g.flows()
	if g.Fewest != 0 {
		senders = g.Fewest + e.Rand.IntN(g.Senders-g.Fewest+1)
		flows = senders
	}
	switch g.Draw {
	case drawRepeated:
		for range senders {
			add(e.Pairs.SourceFor(e.Rand, dst))
		}
	case drawInOrder:
		e.Pairs.First(dst, senders, add)
	default:
		e.Pairs.Fan(e.Rand, dst, senders, add)
	}
	for k := senders; k < flows; k++ {
		add(p.Flows[begin+k-senders].Src)
	}
}
