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
	Headroom       link.Headroom `yaml:"headroom" doc:"PHI, the most that a queue can need: exact (all that can be in flight), eq1 (DSH eq. 1), or a size"`
	Insurance      Insurance     `yaml:"insurance" doc:"set aside for each port: phi, or a size; 0 for none, which loses frames"`
	SharedHeadroom bool          `yaml:"shared_headroom" doc:"false: queues get no headroom from the shared segment, only the insurance of their port"`
	Estimator      string        `yaml:"estimator" allowed:"ideal,table" doc:"how the headroom of a queue is estimated: ideal (floating point), or table (as a switching chip can)"`
	Gradient       units.Ratio   `yaml:"w_g" doc:"weight of the last gradient of a queue in its average; with estimator table a power of two"`
	Deviation      units.Ratio   `yaml:"w_v" doc:"weight of the last deviation from that average in the mean deviation; with estimator table a power of two"`
	K              units.Ratio   `yaml:"k" doc:"mean deviations that are added to the average gradient; with estimator table a power of two"`
	Window         units.Time    `yaml:"window_length" doc:"a port that sees one queue only for so long needs no headroom besides its insurance"`
	DeltaQueue     units.Bytes   `yaml:"delta_q" doc:"a queue is resumed this far below its threshold"`
	DeltaPort      units.Bytes   `yaml:"delta_p" doc:"a port is resumed this far below its threshold"`
}

func defaultDSH() any {
	quarter := units.Ratio{Num: 1, Den: 4}
	return &DSHParams{
		Headroom: link.Headroom{Rule: link.RuleExact}, Insurance: Insurance{Phi: true}, SharedHeadroom: true, Estimator: "ideal",
		Gradient: quarter, Deviation: quarter, K: units.Ratio{Num: 4, Den: 1}, Window: 10 * units.Millisecond,
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

// dsh is Dynamic and Shared Headroom (DSH section IV): an insurance per port instead
// of headroom per queue, and a pause of two levels. A queue that comes close to T(t) is
// paused early enough for what it will still receive to fit the shared segment; if that
// was not enough, the whole port is paused, and the insurance takes what is in flight.
// docs/dsh.md has what the paper leaves open.
type dsh struct {
	params DSHParams
	rules  []*dshRule // of all ports
}

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
	return &dsh{params: *p}, nil
}

// insurance returns what a port sets aside.
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

// Properties implements Scheme. Any queue can take the whole insurance; without one frames
// are lost.
func (s *dsh) Properties() Properties {
	p := Properties{Sizing: Sizing{s.insurance, headroomExact, neededOnce}}
	if !s.params.Insurance.Phi {
		p.Sizing.Enough += ", insurance: phi"
	}
	if s.params.Insurance == (Insurance{}) {
		p.Breaks = registry.Lossless
	}
	return p
}

// neededOnce is the headroom of a port whose queues share it.
func neededOnce(p *link.Port) units.Bytes {
	if p.Lossless == 0 {
		return 0
	}
	return link.Needed(p)
}

// Gate implements Scheme: over PFC the upstream has one state per class, so it is told
// the union of both levels.
func (s *dsh) Gate(p Port) Gate { return NewPauseGate(p) }

// Receiver implements Scheme.
func (s *dsh) Receiver(p Port) Receiver {
	spec := p.Spec()
	w, phi := weights{s.params.Gradient, s.params.Deviation, s.params.K}, s.params.Headroom.Of(spec)
	rule := dshRule{
		all: spec.Lossless, queues: spec.Queues(), private: p.View().PrivateSize(), phi: phi, insurance: s.insurance(spec), sharing: s.params.SharedHeadroom,
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

// rule returns the one copy of a rule.
func (s *dsh) rule(r dshRule) *dshRule {
	for _, old := range s.rules {
		if *old == r {
			return old
		}
	}
	s.rules = append(s.rules, &r)
	return &r
}

// dshRule is what does not change at a port. Ports that are alike share it, so that it
// stays in the cache. What every frame needs comes first.
type dshRule struct {
	share     mmu.Share   // of the free shared segment, see buffer.Proportional
	queues    units.Bytes // N_q
	phi       units.Bytes // PHI
	direct    bool        // the policy is proportional: T need not be asked for
	sharing   bool
	all       packet.ClassMask // lossless classes
	ideal     ideal
	private   units.Bytes
	insurance units.Bytes // of the port
	window    units.Time
	deltaQ    units.Bytes
	deltaP    units.Bytes
	_         [8]byte // to whole cache lines
}

// noQueue is no class.
const noQueue = 0xff

type dshReceiver struct {
	// What every frame needs fills a cache line, up to PauseSender.want, and half a
	// one for its queue.
	*dshRule
	in          mmu.PortView
	since       units.Time       // when the first one of those in a row came that went to the same queue
	table       *tables          // nil: ideal
	last        uint8            // that queue
	off         packet.ClassMask // queues that are OFF
	portOff     bool
	PauseSender // 48 bytes
	policy      buffer.Policy
	_           [8]byte
	gradients   [mmu.Classes]gradient // of ideal, see gradient
	quiet
}

// A receiver fills an odd number of cache lines: those that are used most then spread
// over all sets of a cache.
var _ = [1]struct{}{}[unsafe.Sizeof(dshReceiver{})-7*64+unsafe.Offsetof(dshReceiver{}.gradients)%64]

// gradient returns that of a class. Class 0, most often not lossless, comes last, so that
// classes 1 and 2 share a cache line, and 3 and 4.
func (r *dshReceiver) gradient(class uint8) *gradient { return &r.gradients[(class-1)&7] }

// Shortcuts implements Quick: a frame that is not held changes the estimate, but
// nothing that a threshold is held against. Arrived is for where T is a share of what is
// free, nothing is private, and the estimate is a few operations.
func (r *dshReceiver) Shortcuts() Shortcuts {
	s := Shortcuts{Passing: true, Release: true, Margin: r.phi, Levels: int64(r.queues)}
	if r.direct && r.private == 0 && r.table == nil {
		s.Arrived = r
	}
	return s
}

// tau is what a queue is paused ahead of T(t): nothing if all frames of the port went
// to one queue for a window, as of the last arrival.
func (r *dshReceiver) tau(class uint8) units.Bytes {
	if r.arrived()-r.since > r.window || !r.sharing {
		return 0
	}
	return r.estimate(class)
}

// arrived is when the last frame came.
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

// threshold is T(t), the policy's.
func (r *dshReceiver) threshold(now units.Time, class uint8) units.Bytes {
	if r.direct {
		return r.share.Of(r.in.All().SharedFree())
	}
	_, t := r.policy.Level(now, r.in.All(), r.in.Index(), class)
	return t
}

// Arrived implements Arriver. Whatever tau is, a queue is not paused that stays PHI or its
// phi^ below T, and a port is not while all ports together hold no more than it may. It
// calls nothing, which spares it a frame on the stack.
func (r *dshReceiver) Arrived(now units.Time, class uint8, b units.Bytes) bool {
	length, only := r.in.Held(class)
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

// follow keeps what Algorithm 4 needs of an arrival.
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
		r.ideal.arrive(r.gradient(a.Class), now, length) // after Arrived nothing new: no time has passed
	} else {
		r.table.arrive(now, a.Class, length)
	}
	if r.private > 0 && in.Private+a.Bytes <= r.private {
		return mmu.Private
	}
	shared, t := view.PortIn(port, mmu.Shared), r.threshold(now, a.Class)
	held, limit := shared, r.queues*t
	if !r.sharing {
		held, limit = in.Shared, t
	}
	switch {
	case held+a.Bytes <= limit && a.Bytes <= view.SharedFree():
		return mmu.Shared
	case view.PortIn(port, mmu.Headroom)+a.Bytes <= r.insurance:
		return mmu.Headroom
	case shared > 0:
		// No insurance, or too little. Nobody charges a frame that is dropped, so the
		// port turns OFF here. One that holds nothing would have nothing to turn it ON
		// again.
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
func (r *dshReceiver) Released(now units.Time, a *mmu.Arrival) {
	held := r.want
	r.look(now, a.Class)
	if (held | r.want).Has(a.Class) {
		r.quiet[a.Class&7] = now
	}
}

// look turns the queue and the port ON or OFF by what they hold now and tells the
// upstream the union. A reserve may stand in for headroom, which must be free again
// before an ON.
func (r *dshReceiver) look(now units.Time, class uint8) {
	t := r.threshold(now, class)
	limit := r.queues * t
	if shared, _ := r.in.Held(class); !r.want.Has(class) && !r.portOff && shared+r.phi <= t && r.in.Shared() <= limit {
		return // see Arrived
	}
	r.turn(now, class, t, limit)
}

// turn is look for a port that may have to change.
func (r *dshReceiver) turn(now units.Time, class uint8, t, limit units.Bytes) {
	view, port := r.in.All(), r.in.Index()
	in, shared := view.Ingress(port, class), view.PortIn(port, mmu.Shared)
	xoff := max(0, t-r.tau(class))
	switch bit := packet.MaskOf(class); {
	case in.Shared > xoff:
		r.off |= bit
	case r.queueGoesOn(&in, xoff):
		r.off &^= bit
	}
	switch {
	case shared > limit:
		r.portOff = true
	case r.portGoesOn(view, shared, limit):
		r.portOff = false
	}
	want := r.off
	if r.portOff {
		want = r.all
	}
	r.Want(now, want)
}

// queueGoesOn reports whether a queue that is OFF turns ON. The second part: one that
// emptied while T was below tau would stay OFF.
func (r *dshReceiver) queueGoesOn(in *mmu.Ingress, xoff units.Bytes) bool {
	return in.Shared < xoff-r.deltaQ || in.Shared+in.Headroom+in.Reserve == 0
}

// portGoesOn reports whether a port that is OFF turns ON.
func (r *dshReceiver) portGoesOn(v mmu.View, shared, limit units.Bytes) bool {
	return (shared < limit-r.deltaP || shared == 0) && v.PortIn(r.in.Index(), mmu.Headroom)+v.PortIn(r.in.Index(), mmu.Reserve) == 0
}

// WholePort implements Whole.
func (r *dshReceiver) WholePort() bool { return r.portOff }

// Resumes implements Resuming: the port is looked at whenever a frame of any of its
// queues leaves, a queue only for its own.
func (r *dshReceiver) Resumes(now units.Time, rest *Rest) bool {
	if !r.holds(rest.Class) {
		return true
	}
	_, t := r.policy.Level(now, rest.View, r.in.Index(), rest.Class)
	if r.portOff && (rest.Moves == 0 || !r.portGoesOn(rest.View, rest.View.PortIn(r.in.Index(), mmu.Shared), r.queues*t)) {
		return false
	}
	bit := packet.MaskOf(rest.Class)
	in := rest.View.Ingress(r.in.Index(), rest.Class)
	return r.off&bit == 0 || rest.Moves&bit != 0 && r.queueGoesOn(&in, max(0, t-r.tau(rest.Class)))
}

// dshGauges are what a receiver shows of a queue and its port.
var dshGauges = []registry.Shown{
	{Name: "estimate_bytes", Doc: "headroom that the queue is thought to need, phi^"},
	{Name: "tau_bytes", Doc: "of that, what it gets from the shared segment"},
	{Name: "shared_bytes", Doc: "what the queue holds in the shared segment"},
	{Name: "xqoff_bytes", Doc: "threshold that it is held against, X_qoff"},
	{Name: "insurance_bytes", Doc: "what the queue holds of its port's insurance"},
	{Name: "port_shared_bytes", Doc: "what the lossless queues of the port hold in the shared segment"},
	{Name: "xpoff_bytes", Doc: "threshold that they are held against, X_poff"},
	{Name: "port_insurance_bytes", Doc: "what they hold of the insurance"},
	{Name: "port_reserved_bytes", Doc: "size of the insurance"},
	{Name: "queue_off", Doc: "1: the queue is OFF"},
	{Name: "port_off", Doc: "1: the port is OFF, and with it all of its queues"},
}

var dshGaugeNames = registry.NamesOf(dshGauges)

// Gauges implements probe.Gauged.
func (r *dshReceiver) Gauges() []string { return dshGaugeNames }

// Measure implements probe.Gauged. Queues that hold nothing and are ON show nothing.
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

// flag is a truth value as a number.
func flag(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
