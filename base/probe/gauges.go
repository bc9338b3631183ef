package probe

import (
	"math"
	"slices"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
)

// GaugeParams are the parameters of gauges.
type GaugeParams struct {
	Every units.Time `yaml:"every" doc:"sampling period"`
	Of    []string   `yaml:"of,omitempty" allowed:"policy,flow_control,deadlock,cc" doc:"plug points whose gauges are sampled; default: all"`
	Only  []string   `yaml:"only,omitempty" doc:"names of gauges; default: all"`
}

// schemeColumns returns the common columns of gauges and events, followed by columns.
func schemeColumns(columns ...Column) []Column {
	return append([]Column{
		{Name: "scheme", Type: Text, Texts: sourceNames[:], Doc: "plug point of the scheme: policy, flow_control, deadlock, cc"},
		{Name: "port", Nullable: true, Doc: "port number; null: the whole node, or a flow"},
		{Name: "class", Nullable: true, Doc: "traffic class; null: all"},
		{Name: "flow", Nullable: true, Doc: "id of the flow, as in flows.parquet; null: no flow"},
	}, columns...)
}

func newGauges(params any) (*Kind, error) {
	p := params.(*GaugeParams)
	if err := (&SampleParams{Every: p.Every}).check(); err != nil {
		return nil, err
	}
	return &Kind{
		Columns: schemeColumns(
			Column{Name: "gauge", Type: Text, Doc: "name of the gauge; `xoff list KIND NAME` describes it"},
			Column{Name: "value", Type: Float, Doc: "value of the gauge"},
		),
		Every: p.Every, At: Anywhere,
		Watch: func(at *Target) Watcher { return &gauges{Target: at, params: p} },
	}, nil
}

// newFlowControlGauges makes the probe "dsh", which older scenarios use. It samples the
// gauges of flow control. zeros has no effect: schemes leave out empty values.
func newFlowControlGauges(params any) (*Kind, error) {
	s := params.(*SampleParams)
	if err := s.check(); err != nil {
		return nil, err
	}
	k, err := newGauges(&GaugeParams{Every: s.Every, Of: []string{FlowControl.String()}})
	if err == nil {
		k.At = Switches
	}
	return k, err
}

// gauges samples the gauges that the schemes of a node export.
type gauges struct {
	Ignore
	*Target
	params *GaugeParams
	values []float64
}

// Sample implements Watcher.
func (w *gauges) Sample(now units.Time) {
	w.Node.EachGauged(func(g Gauges) {
		if len(w.params.Of) > 0 && !slices.Contains(w.params.Of, g.Of.String()) {
			return
		}
		if whole := g.Whole; whole != nil {
			w.rows(now, g.Of, Null, Null, Null, whole.NodeGauges(), func(values []float64) bool { return whole.MeasureNode(now, values) })
		}
		switch {
		case g.Scheme == nil:
		case g.Of == CC:
			w.at(now, &g, Null, Null, int64(g.Flow))
		case g.Of == FlowControl:
			if w.Ports[g.Port] {
				w.classes(now, &g, g.Port)
			}
		default:
			w.chosen(func(port int) { w.classes(now, &g, port) })
		}
	})
}

func (w *gauges) classes(now units.Time, g *Gauges, port int) {
	v := w.Node.View()
	for c := range uint8(mmu.Classes) {
		if v.Kind(c) != mmu.Unused {
			w.at(now, g, int64(port), int64(c), Null)
		}
	}
}

// at writes the gauges of a scheme for a port and class, or for a flow if flow is not Null.
func (w *gauges) at(now units.Time, g *Gauges, port, class, flow int64) {
	atPort, atClass := 0, uint8(0)
	if flow == Null {
		atPort, atClass = int(port), uint8(class)
	}
	w.rows(now, g.Of, port, class, flow, g.Scheme.Gauges(), func(values []float64) bool {
		return g.Scheme.Measure(now, atPort, atClass, values)
	})
}

// rows writes gauge values, if measure returns any.
func (w *gauges) rows(now units.Time, of Source, port, class, flow int64, names []string, measure func(values []float64) bool) {
	w.values = append(w.values[:0], make([]float64, len(names))...)
	if !measure(w.values) {
		return
	}
	for i, name := range names {
		if len(w.params.Only) == 0 || slices.Contains(w.params.Only, name) {
			w.Out.Add(now, int64(of), port, class, flow, w.Out.Word(name), int64(math.Float64bits(w.values[i])))
		}
	}
}

func newEvents(any) (*Kind, error) {
	return &Kind{
		Columns: schemeColumns(
			Column{Name: "event", Type: Text, Doc: "name of the event; `xoff list KIND NAME` describes it"},
			Column{Name: "number", Nullable: true, Doc: "value that the scheme reports with it; null: none"},
		),
		Events: true, At: Anywhere,
		Watch: func(p *Target) Watcher { return &events{Target: p} },
	}, nil
}

// events writes the events that the schemes of a node report.
type events struct {
	Ignore
	*Target
}

// Reported implements Sink.
func (w *events) Reported(now units.Time, e *Event) {
	if e.Port >= 0 && !w.Ports[e.Port] {
		return
	}
	none := func(n int64) int64 {
		if n < 0 {
			return Null
		}
		return n
	}
	w.Out.Add(now, int64(e.Of), none(int64(e.Port)), none(int64(e.Class)), none(e.Flow), w.Out.Word(e.Name), e.Number)
}
