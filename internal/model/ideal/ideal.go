// Package ideal computes ideal flow completion times: the FCT of each flow alone in an empty
// network. Slowdowns are computed from it.
package ideal

import (
	"cmp"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/model/layout"
)

// walked is a flow whose path is known.
type walked struct {
	flow        dataplane.Flow
	index, path uint32
	set         bool
}

// leads reports whether another flow takes the same path: flows of one connection follow each
// other, as in the steps of a collective.
func (w *walked) leads(f *dataplane.Flow) bool {
	g := &w.flow
	return w.set && f.Src == g.Src && f.Dst == g.Dst && f.Hash == g.Hash && f.Class == g.Class && f.Transport == g.Transport && !f.Pinned
}

// FCTs returns the ideal FCT of each flow. It computes the path of every packet through an
// empty network with unlimited queues and without marks. Sprayed packets arrive in order:
// they wait for each other where their paths meet. Flows with equivalent paths share one
// computation.
func FCTs(l *layout.Layout, t *layout.Traffic) []units.Time {
	flows := t.Flows.Flow
	w := newWalker(l, t)
	var paths []*flowPath
	known := make(map[string]uint32)
	which := make([]uint32, len(flows)) // the path; or with the bit equal, an earlier flow with the same FCT
	const equal = 1 << 31
	var order []uint32
	var recent [1 << 12]walked
	for i := range flows {
		last := &recent[flows[i].Hash%uint32(len(recent))]
		if last.leads(&flows[i]) {
			if last.flow.Size == flows[i].Size {
				which[i] = last.index | equal
				continue
			}
			last.flow, last.index, which[i] = flows[i], uint32(i), last.path
			order = append(order, uint32(i))
			continue
		}
		order = append(order, uint32(i))
		name := w.walk(uint32(i), &flows[i])
		c, ok := known[string(name)]
		if !ok {
			c = uint32(len(paths))
			known[string(name)] = c
			paths = append(paths, w.path(int(flows[i].Src), int(flows[i].Dst), flows[i].Transport))
		}
		which[i] = c
		if w.hashed && !flows[i].Pinned {
			*last = walked{flows[i], uint32(i), c, true}
		}
	}
	slices.SortFunc(order, func(x, y uint32) int {
		return cmp.Or(cmp.Compare(which[x], which[y]), cmp.Compare(flows[x].Size, flows[y].Size))
	})
	ideal := make([]units.Time, len(flows))
	var p *pipeline
	for k, i := range order {
		switch {
		case k == 0 || which[i] != which[order[k-1]]:
			p = newPipeline(paths[which[i]])
		case flows[i].Size == flows[order[k-1]].Size:
			ideal[i] = ideal[order[k-1]]
			continue
		}
		ideal[i] = p.fct(flows[i].Size)
	}
	for i, x := range which {
		if x&equal != 0 {
			ideal[i] = ideal[x&^equal]
		}
	}
	return ideal
}
