package probe

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// perQueue samples a value per egress queue, summed over the ports and classes that rows
// are not grouped by.
type perQueue struct {
	Ignore
	*Target
	params *SampleParams
	value  func(port int, class uint8) units.Bytes
	extra  func(b units.Bytes) int64 // computes an additional word of a row; nil: none
	words  []int64
}

// newPerQueue returns the columns of a kind that samples egress queues.
func newPerQueue(s *SampleParams, columns ...Column) ([]Column, error) {
	if err := s.check("port", "class", "queue"); err != nil {
		return nil, err
	}
	var cols []Column
	if s.by("port") {
		c := colPort
		c.Doc = "egress port number"
		cols = append(cols, c)
	}
	if s.by("class") {
		cols = append(cols, colClass)
	}
	return append(cols, columns...), nil
}

// Sample implements Watcher.
func (w *perQueue) Sample(now units.Time) {
	var sums [mmu.Classes]units.Bytes
	byPort, byClass := w.params.by("port"), w.params.by("class")
	w.chosen(func(port int) {
		for c := range uint8(mmu.Classes) {
			b := w.value(port, c)
			if !byClass {
				sums[0] += b
			} else {
				sums[c] += b
			}
		}
		if byPort {
			w.rows(now, port, &sums)
			clear(sums[:])
		}
	})
	if !byPort {
		w.rows(now, 0, &sums)
	}
}

func (w *perQueue) rows(now units.Time, port int, sums *[mmu.Classes]units.Bytes) {
	byPort, byClass := w.params.by("port"), w.params.by("class")
	v := w.Node.View()
	for c, b := range sums {
		if c > 0 && !byClass {
			return
		}
		if b == 0 && len(w.params.By) > 0 && !w.params.Zeros || byClass && v.Kind(uint8(c)) == mmu.Unused {
			continue
		}
		w.words = w.words[:0]
		if byPort {
			w.words = append(w.words, int64(port))
		}
		if byClass {
			w.words = append(w.words, int64(c))
		}
		w.words = append(w.words, int64(b))
		if w.extra != nil {
			w.words = append(w.words, w.extra(b))
		}
		w.Out.Add(now, w.words...)
	}
}

func newQueues(params any) (*Kind, error) {
	s := params.(*SampleParams)
	cols, err := newPerQueue(s, Column{Name: "bytes", Doc: "bytes queued"})
	if err != nil {
		return nil, err
	}
	return &Kind{
		Columns: cols, Every: s.Every, At: Switches,
		Watch: func(p *Target) Watcher {
			return &perQueue{Target: p, params: s, value: func(port int, c uint8) units.Bytes { return p.Node.View().Egress(port, c) }}
		},
	}, nil
}

func newRates(params any) (*Kind, error) {
	s := params.(*SampleParams)
	cols, err := newPerQueue(s,
		Column{Name: "bytes", Doc: "bytes of the frames whose first bit left since the last sample, without link-local frames"},
		Column{Name: "bps", Nullable: true, Doc: "bytes over the period"},
	)
	if err != nil {
		return nil, err
	}
	return &Kind{
		Columns: cols, Every: s.Every, Events: true, At: Anywhere,
		Watch: func(p *Target) Watcher {
			r := &rates{sent: make([]units.Bytes, len(p.Ports)*mmu.Classes)}
			r.perQueue = perQueue{
				Target: p, params: s,
				value: func(port int, c uint8) units.Bytes { return r.sent[port*mmu.Classes+int(c)] },
				extra: func(b units.Bytes) int64 { return rateOf(b, s.Every) },
			}
			return r
		},
	}, nil
}

// rates counts the bytes that leave between two samples.
type rates struct {
	perQueue
	sent []units.Bytes // by port and class
}

// Depart implements Sink.
func (w *rates) Depart(_ units.Time, port int, p *packet.Packet) {
	if !p.Control() {
		w.sent[port*mmu.Classes+int(p.Class())] += units.Bytes(p.Size)
	}
}

// Sample implements Watcher.
func (w *rates) Sample(now units.Time) {
	w.perQueue.Sample(now)
	clear(w.sent)
}
