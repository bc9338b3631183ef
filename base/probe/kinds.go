package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Kind is a kind of probe with its parameters.
type Kind struct {
	Columns []Column   // columns after the time and the node
	Every   units.Time // sampling period; 0: no samples
	Events  bool       // receives the events of its nodes
	At      Sites
	Watch   func(p *Target) Watcher
}

// Sites are the nodes at which a kind of probe can be placed.
type Sites uint8

// Sites.
const (
	Hosts Sites = 1 << iota
	Switches
	Anywhere = Hosts | Switches
)

// Target is the node that a probe watches, and where it writes. Node is set before the run starts.
type Target struct {
	Node  Node
	Host  bool
	Ports []bool // selected ports
	Out   *Recorder
}

// chosen calls use for each selected port.
func (p *Target) chosen(use func(port int)) {
	for i, on := range p.Ports {
		if on {
			use(i)
		}
	}
}

// New makes a kind of probe from its parameters.
type New = func(params any) (*Kind, error)

// Kinds is the table of all kinds of probes.
var Kinds = registry.NewTable("probe",
	registry.Entry[New]{Name: "pause", Doc: "events: every PAUSE, RESUME and refresh, sent and received", New: newPause},
	registry.Entry[New]{
		Name: "off_intervals", Doc: "events: each interval in which an ingress queue was OFF, with arrivals and departures",
		Paper: "DSH Fig. 8-10", Params: func() any { return new(OffParams) }, New: newOffIntervals,
	},
	registry.Entry[New]{
		Name: "headroom_peaks", Doc: "events: local maxima of headroom occupancy, with the number of OFF queues",
		Paper: "DSH Fig. 6, 7", Params: func() any { return &PeakParams{By: "queue"} }, New: newHeadroomPeaks,
	},
	registry.Entry[New]{Name: "drops", Doc: "events: every dropped frame, with the reason", New: newDrops},
	registry.Entry[New]{Name: "marks", Doc: "events: every congestion mark, with the queue length", New: newMarks},
	registry.Entry[New]{Name: "flows", Doc: "events: starts, deliveries, ends, timeouts and NACKs of flows", New: newFlows},
	registry.Entry[New]{
		Name: "occupancy", Doc: "samples: bytes stored, by ingress port, class and pool", Params: sampled("pool"), New: newOccupancy,
	},
	registry.Entry[New]{
		Name: "queues", Doc: "samples: bytes queued, by egress port and class", Params: sampled("port"), New: newQueues,
	},
	registry.Entry[New]{
		Name: "thresholds", Doc: "samples: occupancy and threshold of lossless ingress queues",
		Params: sampled(), New: newThresholds,
	},
	registry.Entry[New]{
		Name: "gauges", Doc: "samples: gauges that schemes export",
		Params: func() any { return &GaugeParams{Every: 10 * units.Microsecond} }, New: newGauges,
	},
	registry.Entry[New]{
		Name: "dsh", Doc: "samples: old name for gauges of flow control, at switches", Params: sampled(), New: newFlowControlGauges,
	},
	registry.Entry[New]{Name: "events", Doc: "events: events that schemes report", New: newEvents},
	registry.Entry[New]{
		Name: "rates", Doc: "samples: bytes sent in each period, by port and class", Params: sampled("port"), New: newRates,
	},
	registry.Entry[New]{
		Name: "cc", Doc: "samples: rate, window and bytes in flight of every open flow", Params: sampled(), New: newCC,
	},
)

// SampleParams are the parameters of a kind that samples.
type SampleParams struct {
	Every units.Time `yaml:"every" doc:"sampling period"`
	By    []string   `yaml:"by" doc:"group rows by these, besides the node"`
	Zeros bool       `yaml:"zeros" doc:"also write rows with value 0; without by they are always written"`
}

func sampled(by ...string) func() any {
	return func() any { return &SampleParams{Every: 10 * units.Microsecond, By: slices.Clone(by)} }
}

// check returns an error for parameters that the kind does not support. Messages begin
// with the key.
func (s *SampleParams) check(allowed ...string) error {
	if s.Every < units.Nanosecond || s.Every > units.MaxTime {
		return fmt.Errorf("every is %s (expected 1ns to %ds)", s.Every, units.MaxTime/units.Second)
	}
	for i, b := range s.By {
		if !slices.Contains(allowed, b) {
			if len(allowed) == 0 {
				return fmt.Errorf("by[%d] cannot be %q (expected an empty list: this probe does not group rows)", i, b)
			}
			return fmt.Errorf("by[%d] cannot be %q%s (allowed: %s)", i, b, registry.DidYouMean(b, allowed), strings.Join(allowed, ", "))
		}
		if slices.Contains(s.By[:i], b) {
			return fmt.Errorf("by[%d] repeats %q (expected each word once)", i, b)
		}
	}
	return nil
}

// by reports whether rows are grouped by what. A queue is a class of a port.
func (s *SampleParams) by(what string) bool {
	return slices.Contains(s.By, what) || what != "pool" && slices.Contains(s.By, "queue")
}

// Columns that several kinds share.
var (
	colPort  = Column{Name: "port", Doc: "port number, from 0"}
	colClass = Column{Name: "class", Doc: "traffic class"}
	colFlow  = Column{Name: "flow", Doc: "id of the flow, as in flows.parquet"}
)

// rateOf returns b per t as a rate, or Null if t is not positive.
func rateOf(b units.Bytes, t units.Time) int64 {
	if t <= 0 {
		return Null
	}
	return int64(units.RateOf(b, t))
}
