// Package buffer holds the policies that share a switch's buffer: one file per
// scheme. A policy sets thresholds; what happens above them (headroom, pauses)
// is the business of package flowctl.
package buffer

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Policy decides who may use the shared segment. One instance serves one switch.
//
// Calls come in the order of events at that switch; now never decreases. A
// policy reads the switch through the view and keeps no pointer into it.
type Policy interface {
	// Fits reports whether the shared segment takes this frame: the one
	// admission question, asked with ingress and egress known, for lossless and
	// lossy frames. A refused lossy frame is dropped; a refused lossless frame is
	// offered to the headroom.
	Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool
	// Level returns the occupancy of a lossless ingress queue as this policy
	// measures it and the threshold it is held against, Xoff.
	Level(now units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes)
}

// Dropping is a policy that can say against what it holds lossy frames. Nothing depends on
// it: it explains drops.
type Dropping interface {
	// LossyLevel returns the occupancy of the egress queue of a lossy frame, as the policy
	// measures it, and its threshold. What else may refuse a frame is not in it.
	LossyLevel(now units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes)
}

// Counting is a policy that can hold a lossless frame against the threshold as it
// will be once the frame is counted, which is lower.
type Counting interface {
	FitsCounted(now units.Time, v mmu.View, a *mmu.Arrival) bool
}

// Reaching is a policy that knows when a lossless queue has no room for another frame:
// flow control can pause then, and not at the first frame that is beyond the threshold.
type Reaching interface {
	Reached(v mmu.View, port int, class uint8) bool
}

// EgressLimiting is a policy that has limits on the egress side, too. Every frame is asked
// about, before anything else; one that is not admitted is dropped, whatever its kind.
type EgressLimiting interface {
	Admits(v mmu.View, a *mmu.Arrival) bool
	EgressMinimum() units.Bytes // what a queue holds outside of View.EgressPool
}

// Profile is what the flow control of a port says of its lossless ingress queues. The zero
// value says nothing.
type Profile struct {
	Minimum units.Bytes // their private segment
	Alpha   units.Ratio // of their threshold
}

// Observer is a policy that follows every stored frame. Frames that pass
// straight through an idle port are reported too, both calls at the same time.
type Observer interface {
	Enqueued(now units.Time, v mmu.View, a *mmu.Arrival)
	Dequeued(now units.Time, v mmu.View, a *mmu.Arrival)
}

// PauseObserver is a policy that wants to know which egress queues are paused.
type PauseObserver interface {
	EgressPaused(now units.Time, port int, class uint8, on bool)
}

// Waker is a policy with a timer. Wake is called at the time that NextWake
// returned; NextWake is asked again after every Wake and once at the start.
type Waker interface {
	NextWake() units.Time
	Wake(now units.Time, v mmu.View)
}

// Expeller is a policy that takes frames of lossy classes back which are stored already
// (push-out). They go from the head of their egress queue, are told by Dequeued like
// those that are sent, and count as drops for a reason of their own.
type Expeller interface {
	Observer
	// ExpelAt returns from when on a frame may be taken back; Never: there is none. It is
	// asked after every Enqueued, Dequeued and Expel. A time that has passed means when the
	// current event is over.
	ExpelAt(now units.Time, v mmu.View) units.Time
	// Expel names the lossy egress queue whose first frame is given up now. It is asked
	// again until it says false, and says true at least once if ExpelAt has passed.
	Expel(now units.Time, v mmu.View) (port int, class uint8, ok bool)
}

// Proportional is a policy that takes every lossless frame as long as its ingress
// queue stays within a fixed share of the free part of the shared segment; Level
// returns the same share. See flowctl.Shortcuts for what that saves.
type Proportional interface {
	Share() (share mmu.Share, ok bool)
}

// Partnered is a policy that relies on how certain flow controls place frames and resume
// queues: every port of its switch must run one of them.
type Partnered interface{ FlowControls() []string }

// Pairs is a policy that reads View.Pair.
type Pairs interface{ NeedsPairs() }

// Env is what a policy may know about its switch when it is built.
type Env struct {
	View  mmu.View
	Rates []units.Rate  // of each port; 0 where nothing is connected
	MTUs  []units.Bytes // of each port; may be missing
	// Quanta are those of each port, by class: classes with frames share the port in
	// their ratio. A class without one goes before the others. May be missing.
	Quanta [][mmu.Classes]units.Bytes
	// Profiles are those of the ports; nil: none has one.
	Profiles []Profile
	// Report tells probe events of something that the scheme says in its entry; port
	// and class -1 are none. Nothing depends on it; nil where nobody could listen.
	Report func(now units.Time, event string, port, class int, number int64)
}

// New builds a policy from its parameters.
type New = func(params any, env Env) (Policy, error)

// whole is all of something.
var whole = units.Ratio{Num: 1, Den: 1}

// Policies is the table of all policies.
var Policies = registry.NewTable("policy",
	registry.Entry[New]{
		Name: "dt", Colour: "vermillion", Doc: "Dynamic Threshold: alpha times the free shared buffer",
		Paper: "Choudhury and Hahne 1998; DSH eq. 2", Promises: registry.Bounded,
		Params: func() any {
			return &DTParams{Alpha: units.Ratio{Num: 1, Den: 16}, AlphaLossy: units.Ratio{Num: 1, Den: 1}}
		}, New: newDT,
	},
	registry.Entry[New]{
		Name: "static", Colour: "purple", Doc: "a fixed share of the shared buffer for every queue",
		Promises: registry.Bounded,
		Params:   func() any { return &StaticParams{Limit: 100 * units.KB} }, New: newStatic,
	},
	registry.Entry[New]{
		Name: "sonic", Colour: "sky", Gauges: sonicGauges, Doc: "the pools of SONiC with Dynamic Threshold: lossless queues at the ingress, lossy ones in a pool of their own at the egress",
		Paper: "Reverie section 2.2", Promises: registry.Bounded,
		Params: func() any {
			return &SONiCParams{Alpha: whole, AlphaLossy: whole, LossyPool: units.Ratio{Num: 4, Den: 5}, LosslessPool: whole}
		}, New: newSONiC,
	},
	registry.Entry[New]{
		Name: "abm", Colour: "orange", Gauges: abmGauges, Doc: "Active Buffer Management: Dynamic Threshold over the number of congested queues, times the drain rate",
		Paper: "Addanki et al., SIGCOMM 2022; Reverie section 4.1",
		Params: func() any {
			return &ABMParams{Where: "both", Alpha: whole, AlphaLossy: whole, LossyPool: units.Ratio{Num: 4, Den: 5}, Window: 20 * units.Microsecond}
		}, New: newABM,
	},
	registry.Entry[New]{
		Name: "l2bm", Colour: "green", Gauges: l2bmGauges, Doc: "thresholds by how long frames of an ingress queue will stay: more for those that leave soon",
		Paper: "L2BM section III", Promises: registry.Bounded,
		Params: func() any {
			return &L2BMParams{Algorithm: "mended", Alpha: units.Ratio{Num: 1, Den: 8}, AlphaLossy: whole, C: Norm{Rule: "sum"}, PausedTime: "ignore", LossyPool: whole}
		}, New: newL2BM,
	},
	registry.Entry[New]{
		Name: "reverie", Colour: "blue", Gauges: reverieGauges, Doc: "one pool for lossless and lossy queues, and thresholds for filtered queue lengths",
		Paper:  "Reverie section 3",
		Params: func() any { return &ReverieParams{Alpha: whole, AlphaLossy: whole, Gamma: 0.999, Filter: "plain"} }, New: newReverie,
	},
	registry.Entry[New]{
		Name: "occamy", Colour: "grey", Gauges: occamyGauges, Doc: "Dynamic Threshold that takes frames back from lossy queues above it, with memory bandwidth that is spare",
		Paper: "Shan et al., EuroSys 2025", Promises: registry.Bounded,
		Params: func() any {
			return &OccamyParams{Alpha: whole, AlphaLossy: units.Ratio{Num: 8, Den: 1}, MemorySpeedup: whole, Bucket: 1600}
		}, New: newOccamy,
	},
	registry.Entry[New]{
		Name: "chip", Colour: "purple", Doc: "Dynamic Threshold as measured switching chips have it: parts of a buffer, alphas of ports, pools on the egress side",
		Paper: "SONiC buffer model; SAI", Promises: registry.Bounded,
		Params: func() any { return &ChipParams{Alpha: whole, AlphaLossy: whole} }, New: newChip,
	},
)
