package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/buffer"
	"github.com/xoff-net/xoff/mmu"
	"github.com/xoff-net/xoff/registry"
	"github.com/xoff-net/xoff/units"
)

// DSHParams are the parameters of Dynamic and Shared Headroom.
type DSHParams struct {
	Headroom       Headroom     `yaml:"headroom"`                        // PHI, the most that a queue can need: exact (all that can be in flight), eq1 (DSH eq. 1), or a size
	Insurance      Insurance    `yaml:"insurance"`                       // set aside for each port: phi, or a size; 0 for none, which loses frames
	SharedHeadroom bool         `yaml:"shared_headroom"`                 // false: queues get no headroom from the shared segment, only the insurance of their port
	Estimator      string       `yaml:"estimator" allowed:"ideal,table"` // how the headroom of a queue is estimated: ideal (floating point), or table (as a switching chip can)
	Gradient       buffer.Ratio `yaml:"w_g"`                             // weight of the last gradient of a queue in its average; with estimator table a power of two
	Deviation      buffer.Ratio `yaml:"w_v"`                             // weight of the last deviation from that average in the mean deviation; with estimator table a power of two
	K              buffer.Ratio `yaml:"k"`                               // mean deviations that are added to the average gradient; with estimator table a power of two
	Window         units.Time   `yaml:"window_length"`                   // a port that sees one queue only for so long needs no headroom besides its insurance
	DeltaQueue     units.Bytes  `yaml:"delta_q"`                         // a queue is resumed this far below its threshold
	DeltaPort      units.Bytes  `yaml:"delta_p"`                         // a port is resumed this far below its threshold
}

func defaultDSH() any {
	quarter := buffer.Ratio{Num: 1, Den: 4}
	return &DSHParams{
		Headroom: Headroom{Rule: HeadroomExact}, Insurance: Insurance{Phi: true}, SharedHeadroom: true, Estimator: "ideal",
		Gradient: quarter, Deviation: quarter, K: buffer.Ratio{Num: 4, Den: 1}, Window: 10 * units.Millisecond,
	}
}

// Insurance is the size of a port's insurance: `phi`, as much as one queue can need,
// or a number of bytes.
type Insurance struct {
	Phi   bool
	Bytes units.Bytes
}

// UnmarshalText reads "phi", "0" or a size.
func (i *Insurance) UnmarshalText(text []byte) error {
	switch s := string(text); s {
	case "phi":
		*i = Insurance{Phi: true}
	case "0":
		*i = Insurance{}
	default:
		b, err := units.ParseBytes(s)
		if err != nil {
			return fmt.Errorf("%q is not an insurance; allowed: phi, 0, or a size such as 60000B", s)
		}
		if b < 0 || b > mmu.MaxBuffer {
			return fmt.Errorf("insurance is %s; allowed: 0B to %dB", b, int64(mmu.MaxBuffer))
		}
		*i = Insurance{Bytes: b}
	}
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (i Insurance) MarshalText() ([]byte, error) {
	if i.Phi {
		return []byte("phi"), nil
	}
	return []byte(i.Bytes.String()), nil
}

// Pattern is a regular expression of what UnmarshalText reads, for editors.
func (Insurance) Pattern() string { return `^(phi|0|` + units.BytesPattern + `)$` }

// DSH is Dynamic and Shared Headroom (DSH section IV): an insurance per port instead
// of headroom per queue, and a pause of two levels. A queue that comes close to T(t) is
// paused early enough for what it will still receive to fit the shared segment; if that
// was not enough, the whole port is paused, and the insurance takes what is in flight.
// docs/dsh.md has what the paper leaves open.
type DSH struct{ params DSHParams }

func newDSH(params any) (Scheme, error) {
	p := params.(*DSHParams)
	w := weights{p.Gradient, p.Deviation, p.K}
	switch _, powers := newTables(w, 0, 0); {
	case p.DeltaQueue < 0:
		return nil, fmt.Errorf("delta_q is %s; allowed: 0B or more", p.DeltaQueue)
	case p.DeltaPort < 0:
		return nil, fmt.Errorf("delta_p is %s; allowed: 0B or more", p.DeltaPort)
	case p.Window < 0 || p.Window > units.MaxTime:
		return nil, fmt.Errorf("window_length is %s; allowed: 0s to %ds", p.Window, units.MaxTime/units.Second)
	case p.Estimator != "ideal" && p.Estimator != "table":
		return nil, fmt.Errorf("estimator cannot be %q; allowed: ideal, table", p.Estimator)
	case p.Gradient.Num > p.Gradient.Den:
		return nil, fmt.Errorf("w_g is above 1; allowed: more than 0, at most 1")
	case p.Deviation.Num > p.Deviation.Den:
		return nil, fmt.Errorf("w_v is above 1; allowed: more than 0, at most 1")
	case p.Estimator == "table" && !powers:
		return nil, fmt.Errorf("estimator table shifts, and w_g, w_v or k is no power of two; allowed: w_g and w_v of 1, 1/2, 1/4 and so on, k of 1, 2, 4 and so on, or estimator: ideal")
	}
	return &DSH{params: *p}, nil
}

// insurance returns what a port sets aside.
func (s *DSH) insurance(p *PortSpec) units.Bytes {
	if s.params.Insurance.Phi {
		return s.params.Headroom.Of(p)
	}
	return s.params.Insurance.Bytes
}

// Reserve implements Scheme: once per port (DSH eq. 9).
func (s *DSH) Reserve(p *PortSpec) units.Bytes {
	if p.Lossless == 0 {
		return 0
	}
	return s.insurance(p)
}

// Keeps implements Conditional: without insurance frames are lost.
func (s *DSH) Keeps(p registry.Promise) registry.Promise {
	if s.params.Insurance == (Insurance{}) {
		p &^= registry.Lossless
	}
	return p
}

// Gate implements Scheme: over PFC the upstream has one state per class, so it is told
// the union of both levels.
func (s *DSH) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *DSH) Receiver(p Port) Receiver {
	spec := p.Spec()
	r := &dshReceiver{
		PauseSender: NewPauseSender(p), view: p.View(), policy: p.Policy(), index: p.Index(), all: spec.Lossless,
		queues: spec.queues(), private: p.View().PrivateSize(), insurance: s.insurance(spec),
		sharing: s.params.SharedHeadroom, window: s.params.Window, last: noQueue, deltaQ: s.params.DeltaQueue, deltaP: s.params.DeltaPort,
	}
	if prop, ok := p.Policy().(buffer.Proportional); ok {
		r.share, r.shift, r.direct = prop.Share()
	}
	w, phi := weights{s.params.Gradient, s.params.Deviation, s.params.K}, s.params.Headroom.Of(spec)
	if s.params.Estimator == "table" {
		r.table, _ = newTables(w, phi, spec.Rate)
	} else {
		r.ideal = newIdeal(w, phi, spec.Rate)
	}
	return r
}

// noQueue is no class.
const noQueue = 0xff

type dshReceiver struct {
	// What every frame needs, within two cache lines.
	view      mmu.View
	ideal     *ideal // nil: table
	table     *tables
	share     int64 // of the free shared segment, see buffer.Proportional
	shift     uint8
	direct    bool // the policy is proportional: T need not be asked for
	sharing   bool
	single    bool  // all frames went to one queue for a window (Algorithm 4)
	last      uint8 // class of the last frame
	off       uint8 // queues that are OFF
	portOff   bool
	all       uint8 // lossless classes
	index     int
	private   units.Bytes
	queues    units.Bytes // N_q
	insurance units.Bytes // PHI of the port
	since     units.Time  // of the first frame in a row that went to the queue last
	window    units.Time
	deltaQ    units.Bytes
	deltaP    units.Bytes
	policy    buffer.Policy
	PauseSender
}

// Passing implements Passing: a frame that is not held changes the estimate, in Place,
// but nothing that a threshold is held against.
func (r *dshReceiver) Passing() {}

// Summing implements Summing.
func (r *dshReceiver) Summing() {}

// threshold is T(t), the policy's.
func (r *dshReceiver) threshold(now units.Time, class uint8) units.Bytes {
	if r.direct {
		return units.Bytes(int64(r.view.SharedFree()) * r.share >> (r.shift & 63))
	}
	_, t := r.policy.Level(now, r.view, r.index, class)
	return t
}

// estimate returns phi^ of a queue.
func (r *dshReceiver) estimate(class uint8) units.Bytes {
	if r.ideal != nil {
		return units.Bytes(r.ideal.queues[class&7].phi)
	}
	return units.Bytes(r.table.queues[class&7].phi)
}

// tau is what a queue is paused ahead of T(t).
func (r *dshReceiver) tau(class uint8) units.Bytes {
	if r.single || !r.sharing {
		return 0
	}
	return r.estimate(class)
}

// Place implements Receiver: the estimate of the queue, then private, shared,
// insurance, drop.
func (r *dshReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	in := r.view.Ingress(r.index, a.Class)
	if r.ideal != nil {
		r.ideal.arrive(now, a.Class, in.Total()+a.Bytes)
	} else {
		r.table.arrive(now, a.Class, in.Total()+a.Bytes)
	}
	if a.Class != r.last {
		r.last, r.since, r.single = a.Class, now, false
	} else {
		r.single = now-r.since > r.window
	}
	if r.private > 0 && in.Private+a.Bytes <= r.private {
		return mmu.Private
	}
	sum := r.view.PortSum(r.index)
	held, limit := sum.Shared, r.threshold(now, a.Class)
	if r.sharing {
		limit *= r.queues
	} else {
		held = in.Shared
	}
	switch {
	case held+a.Bytes <= limit && a.Bytes <= r.view.SharedFree():
		return mmu.Shared
	case sum.Headroom+a.Bytes <= r.insurance:
		return mmu.Headroom
	case r.insurance == 0 && sum.Shared > 0:
		// Nobody charges a frame that is dropped, so the port turns OFF here. One
		// that holds nothing would have nothing to turn it ON again.
		r.portOff = true
		r.Want(now, r.all)
	}
	return mmu.Drop
}

// Charged implements Receiver.
func (r *dshReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	if s == mmu.Headroom {
		r.portOff = true
	}
	r.look(now, a.Class)
}

// Released implements Receiver.
func (r *dshReceiver) Released(now units.Time, a *mmu.Arrival) { r.look(now, a.Class) }

// look turns the queue and the port ON or OFF by what they hold now and tells the
// upstream the union. A reserve may stand in for headroom, which must be free again
// before an ON.
func (r *dshReceiver) look(now units.Time, class uint8) {
	t := r.threshold(now, class)
	in, sum := r.view.Ingress(r.index, class), r.view.PortSum(r.index)
	queue, port := max(0, t-r.tau(class)), r.queues*t
	off, portOff := r.off, r.portOff
	switch bit := uint8(1) << class; {
	case in.Shared > queue:
		off |= bit
	case in.Shared < queue-r.deltaQ || in.Shared+in.Headroom+in.Reserve == 0:
		// The second part: a queue that emptied while T was below tau would stay OFF.
		off &^= bit
	}
	switch {
	case sum.Shared > port:
		portOff = true
	case sum.Headroom+sum.Reserve == 0 && (sum.Shared < port-r.deltaP || sum.Shared == 0):
		portOff = false
	}
	if off == r.off && portOff == r.portOff && !portOff {
		return
	}
	r.off, r.portOff = off, portOff
	if portOff {
		off = r.all
	}
	r.Want(now, off)
}

// Levels implements Leveled.
func (r *dshReceiver) Levels(now units.Time, class uint8) Levels {
	t, tau := r.threshold(now, class), r.tau(class)
	return Levels{
		Estimate: r.estimate(class), Tau: tau, Queue: max(0, t-tau), Port: r.queues * t,
		QueueOff: r.off&(1<<class) != 0, PortOff: r.portOff,
	}
}
