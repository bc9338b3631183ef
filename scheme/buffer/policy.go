// Package buffer provides the policies by which switches share their buffer, one file per
// scheme. A policy sets thresholds; package flowctl decides what happens above them (headroom,
// pauses).
package buffer

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// Policy decides which frames may use the shared segment. One instance serves one switch.
//
// Calls come in the order of events at that switch; now never decreases. A policy reads the
// switch through the view and keeps no pointer into it.
type Policy interface {
	// Fits reports whether the shared segment takes this frame, lossless or lossy. Ingress and
	// egress are known. A refused lossy frame is dropped; a refused lossless frame is offered to
	// the headroom.
	Fits(now units.Time, v mmu.View, a *mmu.Arrival) bool
	// Level returns the occupancy of a lossless ingress queue as the policy measures it, and its
	// threshold, Xoff. The occupancy may lag behind the stored bytes (reverie), so flow control
	// must not rely on it for room, nor keep an empty queue OFF.
	Level(now units.Time, v mmu.View, port int, class uint8) (q, xoff units.Bytes)
}

// Dropping is a policy that reports the threshold of lossy frames. It only explains drops.
type Dropping interface {
	// LossyLevel returns the occupancy of the egress queue of a lossy frame, as the policy
	// measures it, and its threshold. Other reasons to refuse the frame are not included.
	LossyLevel(now units.Time, v mmu.View, a *mmu.Arrival) (q, limit units.Bytes)
}

// Counting is a policy that can compare a lossless frame with the threshold after the frame is
// counted, which is lower.
type Counting interface {
	FitsCounted(now units.Time, v mmu.View, a *mmu.Arrival) bool
}

// Reaching is a policy that reports when a lossless queue has no room for another frame. Flow
// control can then pause at once, not at the first frame above the threshold.
type Reaching interface {
	Reached(v mmu.View, port int, class uint8) bool
}

// EgressLimiting is a policy that also has limits on the egress side. Admits is called for every
// frame, before any other check; a rejected frame is dropped, whatever its kind.
type EgressLimiting interface {
	Admits(v mmu.View, a *mmu.Arrival) bool
	EgressMinimum() units.Bytes // bytes of a queue that View.EgressPool does not count
}

// Profile has the settings that a port's flow control makes for its lossless ingress queues. The
// zero value sets nothing.
type Profile struct {
	Minimum units.Bytes // private segment of each queue
	Alpha   units.Ratio // alpha of their thresholds
}

// Observer is a policy that is told of every stored frame. A frame that passes straight through
// an idle port is reported too, with both calls at the same time.
type Observer interface {
	Enqueued(now units.Time, v mmu.View, a *mmu.Arrival)
	Dequeued(now units.Time, v mmu.View, a *mmu.Arrival)
}

// PauseObserver is a policy that is told when an egress queue is paused or resumed.
type PauseObserver interface {
	EgressPaused(now units.Time, port int, class uint8, on bool)
}

// Waker is a policy with a timer. Wake is called at the time that NextWake returned; NextWake is
// called once at the start and again after every Wake.
type Waker interface {
	NextWake() units.Time
	Wake(now units.Time, v mmu.View)
}

// Expeller is a policy that drops stored frames of lossy classes (push-out). They leave from the
// head of their egress queue, are reported by Dequeued like sent frames, and count as drops with
// their own reason.
type Expeller interface {
	Observer
	// ExpelAt returns the earliest time at which a frame may be expelled, or Never. It is called
	// after every Enqueued, Dequeued and Expel. A time in the past means at the end of the
	// current event.
	ExpelAt(now units.Time, v mmu.View) units.Time
	// Expel returns the lossy egress queue whose first frame is dropped now. It is called until
	// it returns false, and returns true at least once if ExpelAt has passed.
	Expel(now units.Time, v mmu.View) (port int, class uint8, ok bool)
}

// Proportional is a policy that takes a lossless frame if its ingress queue stays within a fixed
// share of the free part of the shared segment. Level returns the same share. See
// flowctl.Shortcuts.
type Proportional interface {
	Share() (share mmu.Share, ok bool)
}

// Breaking is a parameter struct of a policy with which flow control may not keep its promises.
type Breaking interface{ Breaks() registry.Promise }

// Pairs is a policy that reads View.Pair.
type Pairs interface{ NeedsPairs() }

// Env describes the switch to a policy when it is built.
type Env struct {
	View  mmu.View
	Rates []units.Rate  // by port; 0: nothing is connected
	MTUs  []units.Bytes // by port; may be missing
	// Quanta are the scheduling quanta by port and class: backlogged classes share the port in
	// their ratio. A class without a quantum goes before the others. May be missing.
	Quanta [][mmu.Classes]units.Bytes
	// Profiles are indexed by port; nil: no port sets one.
	Profiles []Profile
	// Ports has the parameters of the policy by port; nil: no port has its own.
	Ports []any
	// Report passes an event listed in the scheme's entry to probes. Port or class -1 means none.
	// It has no effect on the run; nil: no probe listens.
	Report func(now units.Time, event string, port, class int, number int64)
}

// New builds a policy from its parameters.
type New = func(params any, env Env) (Policy, error)

// whole is the ratio 1.
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
		Name: "static", Colour: "purple", Doc: "a fixed limit in the shared buffer for every queue",
		Promises: registry.Bounded,
		Params:   func() any { return &StaticParams{Limit: 100 * units.KB} }, New: newStatic,
	},
	registry.Entry[New]{
		Name: "sonic", Colour: "sky", Gauges: sonicGauges, Doc: "SONiC's pools with Dynamic Threshold: lossless queues limited at the ingress, lossy queues in their own egress pool",
		Paper: "Reverie section 2.2", Promises: registry.Bounded,
		Params: func() any {
			return &SONiCParams{Alpha: whole, AlphaLossy: whole, LossyPool: units.Ratio{Num: 4, Den: 5}, LosslessPool: whole}
		}, New: newSONiC,
	},
	registry.Entry[New]{
		Name: "abm", Colour: "orange", Gauges: abmGauges, Doc: "Active Buffer Management: Dynamic Threshold divided by the number of congested queues, times the drain rate",
		Paper: "Addanki et al., SIGCOMM 2022; Reverie section 4.1",
		Params: func() any {
			return &ABMParams{Where: "both", Alpha: whole, AlphaLossy: whole, LossyPool: units.Ratio{Num: 4, Den: 5}, Window: 20 * units.Microsecond}
		}, New: newABM,
	},
	registry.Entry[New]{
		Name: "l2bm", Colour: "green", Gauges: l2bmGauges, Doc: "thresholds by expected sojourn time: more buffer for ingress queues whose frames leave soon",
		Paper: "L2BM section III", Promises: registry.Bounded,
		Params: func() any {
			return &L2BMParams{Algorithm: "mended", Alpha: units.Ratio{Num: 1, Den: 8}, AlphaLossy: whole, C: Norm{Rule: "sum"}, PausedTime: "ignore", LossyPool: whole}
		}, New: newL2BM,
	},
	registry.Entry[New]{
		Name: "reverie", Colour: "blue", Gauges: reverieGauges, Doc: "one pool for lossless and lossy queues; thresholds apply to low-pass filtered queue lengths",
		Paper:  "Reverie section 3",
		Params: func() any { return &ReverieParams{Alpha: whole, AlphaLossy: whole, Gamma: 0.999, Filter: "plain"} }, New: newReverie,
	},
	registry.Entry[New]{
		Name: "occamy", Colour: "grey", Gauges: occamyGauges, Doc: "Dynamic Threshold that expels frames from lossy queues above it, using spare memory bandwidth",
		Paper: "Shan et al., EuroSys 2025", Promises: registry.Bounded,
		Params: func() any {
			return &OccamyParams{Alpha: whole, AlphaLossy: units.Ratio{Num: 8, Den: 1}, MemorySpeedup: whole, Bucket: 1600}
		}, New: newOccamy,
	},
	registry.Entry[New]{
		Name: "chip", Colour: "purple", Doc: "Dynamic Threshold as measured on switching chips: buffer partitions, alphas per port, egress pools",
		Paper: "SONiC buffer model; SAI", Promises: registry.Bounded,
		Params: func() any { return &ChipParams{Alpha: whole, AlphaLossy: whole} }, New: newChip,
	},
)
