package flowctl

import (
	"fmt"
	"unsafe"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// DSHParams are the parameters of Dynamic and Shared Headroom.
type DSHParams struct {
	Headroom       link.Headroom `yaml:"headroom" doc:"PHI, the largest headroom that a queue can need: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Insurance      Insurance     `yaml:"insurance" doc:"headroom reserved per port: phi, or a size; 0: none, which drops frames"`
	SharedHeadroom bool          `yaml:"shared_headroom" doc:"false: queues get no headroom from the shared segment, only the insurance of their port"`
	PortLevel      bool          `yaml:"port_level" since:"0.3" doc:"false: only queues are paused, never whole ports, which drops frames"`
	Estimator      string        `yaml:"estimator" allowed:"ideal,table" doc:"how the headroom of a queue is estimated: ideal (floating point), or table (integer arithmetic of a switching chip)"`
	Gradient       units.Ratio   `yaml:"w_g" doc:"weight of the last gradient of a queue in its moving average; with estimator table a power of two"`
	Deviation      units.Ratio   `yaml:"w_v" doc:"weight of the last deviation from that average in the mean deviation; with estimator table a power of two"`
	K              units.Ratio   `yaml:"k" doc:"number of mean deviations added to the average gradient; with estimator table a power of two"`
	Window         units.Time    `yaml:"window_length" doc:"a port that receives frames of one queue only for this long needs no headroom besides its insurance"`
	DeltaQueue     units.Bytes   `yaml:"delta_q" doc:"a queue resumes this far below its threshold"`
	DeltaPort      units.Bytes   `yaml:"delta_p" doc:"a port resumes this far below its threshold"`
}

func defaultDSH() any {
	quarter := units.Ratio{Num: 1, Den: 4}
	return &DSHParams{
		Headroom: link.Headroom{Rule: link.RuleExact}, Insurance: Insurance{Phi: true}, SharedHeadroom: true, PortLevel: true, Estimator: "ideal",
		Gradient: quarter, Deviation: quarter, K: units.Ratio{Num: 4, Den: 1}, Window: 10 * units.Millisecond,
	}
}

// Insurance is the size of a port's insurance: `phi`, the headroom that one queue can need, or a
// number of bytes.
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
			return fmt.Errorf("invalid insurance %q (expected phi, 0, or a size such as 60000B)", s)
		}
		if b < 0 || b > mmu.MaxBuffer {
			return fmt.Errorf("insurance is %s (expected 0B to %dB)", b, int64(mmu.MaxBuffer))
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

// Pattern returns a regular expression for the texts that UnmarshalText reads, used by editors.
func (Insurance) Pattern() string { return `^(phi|0|` + units.BytesPattern + `)$` }

// dsh is Dynamic and Shared Headroom (DSH section IV): an insurance per port instead of headroom
// per queue, and pauses at two levels. A queue that comes close to T(t) is paused early enough
// for the bytes it will still receive to fit the shared segment. If that was not enough, the
// whole port is paused, and the insurance takes the bytes in flight. docs/dsh.md lists what the
// paper leaves open.
type dsh struct {
	params DSHParams
	rules  []*dshRule // distinct rules of all ports
}

func newDSH(params any) (Scheme, error) {
	p := params.(*DSHParams)
	w := weights{p.Gradient, p.Deviation, p.K}
	switch _, powers := newTables(w, 0, 0); {
	case p.DeltaQueue < 0:
		return nil, fmt.Errorf("delta_q is %s (expected 0B or more)", p.DeltaQueue)
	case p.DeltaPort < 0:
		return nil, fmt.Errorf("delta_p is %s (expected 0B or more)", p.DeltaPort)
	case p.Window < 0 || p.Window > units.MaxTime:
		return nil, fmt.Errorf("window_length is %s (expected 0s to %ds)", p.Window, units.MaxTime/units.Second)
	case p.Estimator != "ideal" && p.Estimator != "table":
		return nil, fmt.Errorf("estimator is %q (allowed: ideal, table)", p.Estimator)
	case p.Gradient.Num > p.Gradient.Den:
		return nil, fmt.Errorf("w_g is %d/%d (expected more than 0 and at most 1)", p.Gradient.Num, p.Gradient.Den)
	case p.Deviation.Num > p.Deviation.Den:
		return nil, fmt.Errorf("w_v is %d/%d (expected more than 0 and at most 1)", p.Deviation.Num, p.Deviation.Den)
	case p.Estimator == "table" && !powers:
		return nil, fmt.Errorf("estimator table needs powers of two: w_g is %d/%d, w_v is %d/%d, k is %d/%d (expected w_g and w_v of 1, 1/2, 1/4 ..., k of 1, 2, 4 ..., or estimator: ideal)",
			p.Gradient.Num, p.Gradient.Den, p.Deviation.Num, p.Deviation.Den, p.K.Num, p.K.Den)
	}
	return &dsh{params: *p}, nil
}

// insurance returns the insurance of a port in bytes.
func (s *dsh) insurance(p *link.Port) units.Bytes {
	if s.params.Insurance.Phi {
		return s.params.Headroom.Of(p)
	}
	return s.params.Insurance.Bytes
}

// Reserve implements Scheme: once per port (DSH eq. 9).
func (s *dsh) Reserve(p *link.Port) units.Bytes {
	if p.Lossless == 0 {
		return 0
	}
	return s.insurance(p)
}

// Properties implements Scheme. Any queue can use the whole insurance; without one, or without
// pauses of ports, frames are dropped.
func (s *dsh) Properties() Properties {
	p := Properties{Sizing: Sizing{Queue: s.insurance, Enough: headroomExact, Port: neededOnce}}
	if !s.params.Insurance.Phi {
		p.Sizing.Enough += ", insurance: phi"
	}
	if !s.params.PortLevel {
		p.Sizing.Enough += ", port_level: true"
	}
	if s.params.Insurance == (Insurance{}) || !s.params.PortLevel {
		p.Breaks = registry.Lossless
	}
	return p
}

// neededOnce returns the headroom of a port whose queues share it.
func neededOnce(p *link.Port) units.Bytes {
	if p.Lossless == 0 {
		return 0
	}
	return link.Needed(p)
}

// Gate implements Scheme. PFC has one state per class, so the upstream gets the union of both
// levels.
func (s *dsh) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *dsh) Receiver(p Port) Receiver {
	spec := p.Spec()
	w, phi := weights{s.params.Gradient, s.params.Deviation, s.params.K}, s.params.Headroom.Of(spec)
	rule := dshRule{
		all: spec.Lossless, queues: spec.Queues(), private: p.View().PrivateSize(), phi: phi, insurance: s.insurance(spec), sharing: s.params.SharedHeadroom, ports: s.params.PortLevel,
		window: s.params.Window, deltaQ: s.params.DeltaQueue, deltaP: s.params.DeltaPort, ideal: newIdeal(w, phi, spec.Rate),
	}
	if prop, ok := p.Policy().(buffer.Proportional); ok {
		rule.share, rule.direct = prop.Share()
	}
	r := &dshReceiver{dshRule: s.rule(rule), PauseSender: NewPauseSender(p), in: p.View().Port(p.Index()), policy: p.Policy(), last: noQueue}
	if s.params.Estimator == "table" {
		r.table, _ = newTables(w, phi, spec.Rate)
	}
	for i := range r.gradients {
		r.gradients[i].at = never
	}
	return r
}

// rule returns the shared copy of a rule.
func (s *dsh) rule(r dshRule) *dshRule {
	for _, old := range s.rules {
		if *old == r {
			return old
		}
	}
	s.rules = append(s.rules, &r)
	return &r
}

// dshRule has the constants of a port. Identical ports share it, so that it stays in the cache.
// Fields that every frame needs come first.
type dshRule struct {
	share     mmu.Share   // share of the free shared segment, see buffer.Proportional
	queues    units.Bytes // N_q
	phi       units.Bytes // PHI
	direct    bool        // the policy is proportional: T is computed here
	sharing   bool
	ports     bool             // pause whole ports
	all       packet.ClassMask // lossless classes
	ideal     ideal
	private   units.Bytes
	insurance units.Bytes // insurance of the port
	window    units.Time
	deltaQ    units.Bytes
	deltaP    units.Bytes
	_         [8]byte // pads to whole cache lines
}

// noQueue is no class.
const noQueue = 0xff

type dshReceiver struct {
	// Fields that every frame needs fill one cache line, up to PauseSender.want, plus half a line
	// for its queue.
	*dshRule
	in          mmu.PortView
	since       units.Time       // arrival of the first frame of the current streak to one queue
	table       *tables          // nil: ideal
	last        uint8            // queue of that streak
	off         packet.ClassMask // OFF queues
	portOff     bool
	PauseSender // 48 bytes
	policy      buffer.Policy
	_           [8]byte
	gradients   [mmu.Classes]gradient // for the ideal estimator, see gradient
	quiet
}

// A receiver fills an odd number of cache lines, so that the most used ones spread over all sets
// of a cache.
var _ = [1]struct{}{}[unsafe.Sizeof(dshReceiver{})-7*64+unsafe.Offsetof(dshReceiver{}.gradients)%64]

// gradient returns the gradient of a class. Class 0, usually not lossless, comes last, so that
// classes 1 and 2 share a cache line, and so do 3 and 4.
func (r *dshReceiver) gradient(class uint8) *gradient { return &r.gradients[(class-1)&7] }

// Shortcuts implements Quick. A frame that is not stored changes the estimate, but nothing that
// is compared with a threshold. Arrived is offered if T is a share of the free bytes, nothing is
// private, and the estimate is a few operations.
func (r *dshReceiver) Shortcuts() Shortcuts {
	s := Shortcuts{Passing: true, Release: true, Margin: r.phi, Levels: int64(r.queues)}
	if r.direct && r.private == 0 && r.table == nil {
		s.Arrived = r
	}
	return s
}

// tau returns how far below T(t) a queue is paused. It is 0 if, at the last arrival, all frames
// of the port had gone to one queue for a window.
func (r *dshReceiver) tau(class uint8) units.Bytes {
	if r.arrived()-r.since > r.window || !r.sharing {
		return 0
	}
	return r.estimate(class)
}

// arrived returns the time of the last arrival.
func (r *dshReceiver) arrived() units.Time {
	if r.table == nil {
		return r.gradient(r.last).at
	}
	return r.table.queues[r.last&7].at
}

// estimate returns phi^ of a queue.
func (r *dshReceiver) estimate(class uint8) units.Bytes {
	if r.table == nil {
		return r.ideal.estimate(r.gradient(class))
	}
	return r.table.estimate(class)
}

// level returns the length of a queue as the policy measures it, and T(t).
func (r *dshReceiver) level(now units.Time, class uint8) (q, t units.Bytes) {
	if r.direct {
		q, _ = r.in.Queue(class)
		return q, r.share.Of(r.in.All().SharedFree())
	}
	return r.policy.Level(now, r.in.All(), r.in.Index(), class)
}

// threshold returns T(t).
func (r *dshReceiver) threshold(now units.Time, class uint8) units.Bytes {
	_, t := r.level(now, class)
	return t
}

// Arrived implements Arriver. For any tau, a queue that stays PHI or its phi^ below T is not
// paused. A port is not paused while the bytes of all ports together are below its limit. It
// calls no other function, which saves a stack frame.
func (r *dshReceiver) Arrived(now units.Time, class uint8, b units.Bytes) bool {
	length, only := r.in.Queue(class)
	if !only {
		return false
	}
	length += b
	used, free := r.in.Use()
	r.follow(now, class)
	rule, q := r.dshRule, r.gradient(class)
	rule.ideal.arrive(q, now, length)
	t := rule.share.Of(free - b)
	if r.want.Has(class) || length+rule.phi > t && length+rule.ideal.estimate(q) > t {
		return false
	}
	limit := rule.queues*t - b
	return used <= limit || r.in.Shared() <= limit
}

// follow updates the streak that Algorithm 4 needs.
func (r *dshReceiver) follow(now units.Time, class uint8) {
	since := r.since
	if class != r.last {
		since = now
	}
	r.last, r.since = class, since
}

// Place implements Receiver: private, shared, insurance, drop.
func (r *dshReceiver) Place(now units.Time, a *mmu.Arrival) mmu.Segment {
	view, port := r.in.All(), r.in.Index()
	in := view.Ingress(port, a.Class)
	r.follow(now, a.Class)
	if length := in.Total() + a.Bytes; r.table == nil {
		r.ideal.arrive(r.gradient(a.Class), now, length) // no change after Arrived: no time has passed
	} else {
		r.table.arrive(now, a.Class, length)
	}
	if r.private > 0 && in.Private+a.Bytes <= r.private {
		return mmu.Private
	}
	shared, t := view.PortIn(port, mmu.Shared), r.threshold(now, a.Class)
	used, limit := shared, r.queues*t
	if !r.sharing {
		used, limit = in.Shared, t
	}
	switch {
	case (used+a.Bytes <= limit || r.sharing && !r.ports) && a.Bytes <= view.SharedFree():
		return mmu.Shared
	case view.PortIn(port, mmu.Headroom)+a.Bytes <= r.insurance:
		return mmu.Headroom
	case !r.ports:
		r.look(now, a.Class)
	case shared > 0:
		// No insurance, or too little. Charged is not called for a dropped frame, so the port
		// turns OFF here. An empty port does not: no departure would turn it ON again.
		r.portOff = true
		r.Want(now, r.all)
	}
	return mmu.Drop
}

// Charged implements Receiver.
func (r *dshReceiver) Charged(now units.Time, a *mmu.Arrival, s mmu.Segment) {
	if s == mmu.Headroom {
		r.portOff = r.ports
	}
	r.look(now, a.Class)
}

// Released implements Receiver.
func (r *dshReceiver) Released(now units.Time, a *mmu.Arrival) {
	before := r.want
	r.look(now, a.Class)
	if (before | r.want).Has(a.Class) {
		r.quiet[a.Class&7] = now
	}
}

// look turns the queue ON or OFF by its length as the policy measures it, and the port by its
// stored bytes, and sends the union upstream. Headroom, and a reserve used instead of it, must be
// free before a port turns ON.
func (r *dshReceiver) look(now units.Time, class uint8) {
	q, t := r.level(now, class)
	limit := r.queues * t
	if !r.want.Has(class) && !r.portOff && q+r.phi <= t && r.in.Shared() <= limit {
		return // see Arrived
	}
	r.turn(now, class, q, t, limit)
}

// turn is the slow path of look, for a state that may have to change. A queue without bytes is
// ON, although a filtered length can still be above the threshold.
func (r *dshReceiver) turn(now units.Time, class uint8, q, t, limit units.Bytes) {
	view, port := r.in.All(), r.in.Index()
	in, shared := view.Ingress(port, class), view.PortIn(port, mmu.Shared)
	xoff := max(0, t-r.tau(class))
	switch bit := packet.MaskOf(class); {
	case r.queueGoesOn(&in, q, xoff):
		r.off &^= bit
	case q > xoff:
		r.off |= bit
	}
	switch {
	case shared > limit:
		r.portOff = r.ports
	case r.portGoesOn(view, shared, limit):
		r.portOff = false
	}
	want := r.off
	if r.portOff {
		want = r.all
	}
	r.Want(now, want)
}

// queueGoesOn reports whether a queue that is OFF turns ON. Without the second condition, a queue
// that emptied while T was below tau, or while a filtered length lags behind, would stay OFF: no
// departure would turn it ON again.
func (r *dshReceiver) queueGoesOn(in *mmu.Ingress, q, xoff units.Bytes) bool {
	return q < xoff-r.deltaQ || in.Shared+in.Headroom+in.Reserve == 0
}

// portGoesOn reports whether a port that is OFF turns ON.
func (r *dshReceiver) portGoesOn(v mmu.View, shared, limit units.Bytes) bool {
	return (shared < limit-r.deltaP || shared == 0) && v.PortIn(r.in.Index(), mmu.Headroom)+v.PortIn(r.in.Index(), mmu.Reserve) == 0
}

// WholePort implements PortPauser.
func (r *dshReceiver) WholePort() bool { return r.portOff }

// Resumes implements Resuming. The port is checked when a frame of any of its queues leaves, a
// queue only for its own frames.
func (r *dshReceiver) Resumes(now units.Time, rest *Rest) bool {
	if !r.pauses(rest.Class) {
		return true
	}
	q, t := r.policy.Level(now, rest.View, r.in.Index(), rest.Class)
	if r.portOff && (rest.Moves == 0 || !r.portGoesOn(rest.View, rest.View.PortIn(r.in.Index(), mmu.Shared), r.queues*t)) {
		return false
	}
	bit := packet.MaskOf(rest.Class)
	in := rest.View.Ingress(r.in.Index(), rest.Class)
	return r.off&bit == 0 || rest.Moves&bit != 0 && r.queueGoesOn(&in, q, max(0, t-r.tau(rest.Class)))
}

// dshGauges are the gauges of a queue and its port.
var dshGauges = []registry.Export{
	{Name: "estimate_bytes", Doc: "estimated headroom of the queue, phi^"},
	{Name: "tau_bytes", Doc: "part of phi^ that the queue gets from the shared segment"},
	{Name: "shared_bytes", Doc: "shared bytes of the queue"},
	{Name: "xqoff_bytes", Doc: "threshold of shared_bytes, X_qoff"},
	{Name: "insurance_bytes", Doc: "insurance bytes of the queue"},
	{Name: "port_shared_bytes", Doc: "shared bytes of the port's lossless queues"},
	{Name: "xpoff_bytes", Doc: "threshold of port_shared_bytes, X_poff"},
	{Name: "port_insurance_bytes", Doc: "insurance bytes in use at the port"},
	{Name: "port_reserved_bytes", Doc: "size of the insurance"},
	{Name: "queue_off", Doc: "1: the queue is OFF"},
	{Name: "port_off", Doc: "1: the port is OFF, and with it all of its queues"},
}

var dshGaugeNames = registry.NamesOf(dshGauges)

// Gauges implements probe.Gauged.
func (r *dshReceiver) Gauges() []string { return dshGaugeNames }

// Measure implements probe.Gauged. Empty queues that are ON have no values.
func (r *dshReceiver) Measure(now units.Time, _ int, class uint8, values []float64) bool {
	v, port := r.in.All(), r.in.Index()
	in := v.Ingress(port, class)
	off := r.off.Has(class)
	if !r.all.Has(class) || in.Total() == 0 && !off && !r.portOff {
		return false
	}
	t, tau := r.threshold(now, class), r.tau(class)
	for i, b := range [...]units.Bytes{
		r.estimate(class), tau, in.Shared, max(0, t-tau), in.Headroom,
		v.PortIn(port, mmu.Shared), r.queues * t, v.PortIn(port, mmu.Headroom), r.insurance,
	} {
		values[i] = float64(b)
	}
	values[9], values[10] = flag(off), flag(r.portOff)
	return true
}

// flag returns 1 for true, 0 for false.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
