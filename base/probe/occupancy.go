package probe

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// pools are the segments of a buffer.
var pools = [...]mmu.Segment{mmu.Private, mmu.Shared, mmu.Headroom, mmu.Reserve}

func poolNames() []string {
	var list []string
	for _, s := range pools {
		list = append(list, s.String())
	}
	return list
}

func newOccupancy(params any) (*Kind, error) {
	s := params.(*SampleParams)
	if err := s.check("port", "class", "queue", "pool"); err != nil {
		return nil, err
	}
	var cols []Column
	if s.by("port") {
		c := colPort
		c.Doc = "ingress port number"
		cols = append(cols, c)
	}
	if s.by("class") {
		cols = append(cols, colClass)
	}
	if s.by("pool") {
		cols = append(cols, Column{Name: "pool", Type: Text, Texts: poolNames(),
			Doc: "segment of the buffer: private, shared, headroom, reserve"})
	}
	return &Kind{
		Columns: append(cols, Column{Name: "bytes", Doc: "bytes stored, counted at their ingress"}),
		Every:   s.Every, At: Switches,
		Watch: func(p *Target) Watcher { return &occupancy{Target: p, params: s} },
	}, nil
}

// occupancy sums ingress queues over the dimensions that rows are not grouped by.
type occupancy struct {
	Ignore
	*Target
	params *SampleParams
	cells  []units.Bytes // scratch: [port][class][pool]; dimensions that are not grouped by have length 1
	words  []int64
}

// Sample implements Watcher.
func (w *occupancy) Sample(now units.Time) {
	byPort, byClass, byPool := w.params.by("port"), w.params.by("class"), w.params.by("pool")
	size := func(asked bool, n int) int {
		if asked {
			return n
		}
		return 1
	}
	ports, cs, ps := size(byPort, len(w.Ports)), size(byClass, mmu.Classes), size(byPool, len(pools))
	if w.cells == nil {
		w.cells = make([]units.Bytes, ports*cs*ps)
	}
	clear(w.cells)
	v := w.Node.View()
	w.chosen(func(port int) {
		for c := range uint8(mmu.Classes) {
			for k, s := range pools {
				at := 0
				if byPort {
					at = port
				}
				at *= cs
				if byClass {
					at += int(c)
				}
				at *= ps
				if byPool {
					at += k
				}
				w.cells[at] += v.In(port, c, s)
			}
		}
	})
	for at, b := range w.cells {
		port, class := at/ps/cs, uint8(at/ps%cs)
		if b == 0 && len(w.params.By) > 0 && !w.params.Zeros || byPort && !w.Ports[port] || byClass && v.Kind(class) == mmu.Unused {
			continue
		}
		w.words = w.words[:0]
		if byPort {
			w.words = append(w.words, int64(port))
		}
		if byClass {
			w.words = append(w.words, int64(class))
		}
		if byPool {
			w.words = append(w.words, int64(at%ps))
		}
		w.Out.Add(now, append(w.words, int64(b))...)
	}
}
