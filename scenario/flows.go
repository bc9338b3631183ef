package scenario

import (
	"strconv"

	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/units"
	"github.com/xoff-net/xoff/workload"
)

// originFlow is a flow and the workload it comes from.
type originFlow struct {
	workload.Flow
	origin int
}

// flows generates the flows of every workload, in order of their start.
func (b *builder) flows() ([]dataplane.Flow, error) {
	fabric := &workload.Fabric{Rack: b.graph.Rack, Rates: b.graph.HostRates()}
	var all []originFlow
	for i := range b.cfg.Workload {
		flows, err := b.generate(i, fabric)
		if err != nil {
			return nil, err
		}
		for _, f := range flows {
			all = append(all, originFlow{f, i})
		}
	}
	sortFlows(all)
	hashes := workload.Stream(b.cfg.Seed, "hash")
	flows := make([]dataplane.Flow, len(all))
	for i, f := range all {
		flows[i] = dataplane.Flow{Start: f.Start, Size: f.Size, Src: uint16(f.Src), Dst: uint16(f.Dst), Class: f.Class, Hash: hashes.Uint32()}
		b.out.Origin = append(b.out.Origin, f.origin)
		b.out.Groups = append(b.out.Groups, f.Group)
	}
	return flows, nil
}

// generate runs one generator on its own random stream.
func (b *builder) generate(i int, fabric *workload.Fabric) ([]workload.Flow, error) {
	w := &b.cfg.Workload[i]
	r := workload.Stream(b.cfg.Seed, "workload/"+w.Name)
	pairs := workload.AnyPair
	if w.Pairs == "other_rack" {
		pairs = workload.OtherRack
	}
	classes := b.classesOf(w.Class)
	switch w.Generator {
	case "poisson":
		sizes, err := sizesOf(w.Sizes)
		if err != nil {
			return nil, at(key("workload", i, "sizes"), err)
		}
		g := workload.Poisson{Sizes: sizes, Share: w.Load.Share, Pairs: pairs, Classes: classes, Until: b.cfg.Run.Arrivals}
		return g.Generate(fabric, r), nil
	case "incast":
		g := workload.Incast{Senders: w.Senders, Size: w.Size, Share: w.Load.Share, Pairs: pairs, Classes: classes, Until: b.cfg.Run.Arrivals}
		if w.To != "" {
			return g.Burst(fabric, r, w.At, b.host(w.To), 0), nil
		}
		return g.Generate(fabric, r), nil
	default:
		var flows []workload.Flow
		for _, f := range w.Flows {
			class := classes[0]
			if f.Class != "" {
				class = b.classesOf(ClassChoice{Fixed: f.Class})[0]
			}
			flows = append(flows, workload.Flow{Start: f.Start, Size: f.Size, Src: b.host(f.From), Dst: b.host(f.To), Class: class, Group: -1})
		}
		return flows, nil
	}
}

// sizesOf reads a table name or a single size.
func sizesOf(s string) (*workload.CDF, error) {
	if size, err := units.ParseBytes(s); err == nil {
		return &workload.CDF{Name: s, Points: []workload.Point{{Size: size, P: 0}, {Size: size, P: 1}}}, nil
	}
	return workload.FindCDF(s)
}

// classesOf returns the classes among which a flow's is drawn.
func (b *builder) classesOf(c ClassChoice) []uint8 {
	if c.Random != "" {
		return ids(b.masks[c.Random])
	}
	if id, err := strconv.Atoi(c.Fixed); err == nil {
		return []uint8{uint8(id)}
	}
	if c.Fixed != "" {
		return ids(b.masks[c.Fixed])[:1]
	}
	id, _ := b.cfg.firstDataClass()
	return []uint8{uint8(id)}
}

// host returns the node number of a host, -1 when there is none of that name.
func (b *builder) host(name string) int { return b.graph.Host(name) }
