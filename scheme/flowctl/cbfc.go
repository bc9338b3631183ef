package flowctl

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// CBFCParams are the parameters of credit-based flow control.
type CBFCParams struct {
	Form   string      `yaml:"form" allowed:"ib,uec" doc:"ib: InfiniBand, credits are sent in every period; uec: Ultra Ethernet, also as soon as enough of them are free"`
	Field  string      `yaml:"field" allowed:"ideal,12bit" doc:"size of the credit field in a frame: ideal (unlimited), or 12bit as in InfiniBand"`
	Period units.Time  `yaml:"period" doc:"interval at which each end sends its counters"`
	After  units.Bytes `yaml:"after" doc:"form uec: free bytes of a class, beyond those last sent, that trigger a credit frame at once"`
	Buffer units.Bytes `yaml:"buffer" doc:"buffer of each lossless class of a port; 0: full frames of a round trip and two periods at line rate, in blocks"`
}

func defaultCBFC() any {
	return &CBFCParams{Form: formIB, Field: fieldIdeal, Period: 30 * units.Microsecond, After: 4 * units.KB}
}

// Values of the keys form and field.
const (
	formIB     = "ib"
	formUEC    = "uec"
	fieldIdeal = "ideal"
	field12    = "12bit"
)

// cbfc is credit-based flow control. Each class of a port has its own buffer, and its upstream is
// told how many blocks it may have sent in total. The upstream returns its count of sent blocks,
// so that lost frames do not lose credit. There are no pauses.
type cbfc struct{ params CBFCParams }

// creditBlock is the number of bytes per credit (InfiniBand Architecture Specification, 7.9).
const creditBlock units.Bytes = 64

func newCBFC(params any) (Scheme, error) {
	p := params.(*CBFCParams)
	switch {
	case p.Form != formIB && p.Form != formUEC:
		return nil, fmt.Errorf("form is %q (allowed: %s, %s)", p.Form, formIB, formUEC)
	case p.Field != fieldIdeal && p.Field != field12:
		return nil, fmt.Errorf("field is %q (allowed: %s, %s)", p.Field, fieldIdeal, field12)
	case p.Form == formUEC && p.Field == field12:
		return nil, fmt.Errorf("field is 12bit, which is specific to InfiniBand (expected ideal with form: uec)")
	case p.Period < 100*units.Nanosecond || p.Period > units.Second:
		return nil, fmt.Errorf("period is %s (expected 100ns to 1s)", p.Period)
	case p.After < 0 || p.After > mmu.MaxBuffer:
		return nil, fmt.Errorf("after is %s (expected 0B to %dB)", p.After, int64(mmu.MaxBuffer))
	case p.Buffer < 0 || p.Buffer > mmu.MaxBuffer:
		return nil, fmt.Errorf("buffer is %s (expected 0B to %dB)", p.Buffer, int64(mmu.MaxBuffer))
	}
	return &cbfc{*p}, nil
}

// Properties implements Scheme: hosts give credits too.
func (s *cbfc) Properties() Properties {
	return Properties{Dialect: s.dialect(), AtHosts: true, Grant: s.grant, Check: s.check, Advise: s.advise}
}

// grant is Properties.Grant: the whole buffer of a class, as far as counters can express it.
func (s *cbfc) grant(p *link.Port) units.Bytes {
	_, most := s.counter()
	return units.Bytes(min(s.lane(p), most)) * creditBlock
}

func (s *cbfc) dialect() Dialect {
	switch {
	case s.params.Form == formUEC:
		return "credits of Ultra Ethernet"
	case s.params.Field == field12:
		return "credits of InfiniBand"
	}
	return "credits of InfiniBand without their bound"
}

// counter returns the mask of counters and the largest number of credits that they can express.
func (s *cbfc) counter() (mask, most uint64) {
	if s.params.Field == field12 {
		return 1<<12 - 1, 1 << 11
	}
	return 1<<64 - 1, 1 << 62
}

// lane returns the buffer of a class in blocks.
func (s *cbfc) lane(p *link.Port) uint64 {
	if s.params.Buffer != 0 {
		return uint64(s.params.Buffer / creditBlock)
	}
	b := p.Rate.In(p.RoundTrip()+2*s.params.Period) + 4*p.MTU
	return max(uint64(p.Cells(b)/creditBlock), uint64(inBlocks(p, b)/creditBlock))
}

// inBlocks returns the credits, in bytes, that b bytes in full frames take.
func inBlocks(p *link.Port, b units.Bytes) units.Bytes {
	return (b + p.MTU - 1) / p.MTU * units.Bytes(blocks(p.Store().Cost(p.MTU))) * creditBlock
}

// Reserve implements Scheme: a buffer for every class of a port.
func (s *cbfc) Reserve(p *link.Port) units.Bytes {
	return p.Queues() * units.Bytes(s.lane(p)) * creditBlock
}

// check is Properties.Check.
func (s *cbfc) check(p *link.Port) error {
	_, most := s.counter()
	limit := units.Bytes(most) * creditBlock
	control := 2 * p.Queues() * (packet.PFCSize + p.WireOverhead)
	switch lane := units.Bytes(s.lane(p)) * creditBlock; {
	case s.params.Field == field12 && link.BDP(p) > limit:
		reach := max(0, p.RoundTrip()-p.PeerPFC().Processing-p.Rate.TxTime(link.BDP(p)-limit)) / 2
		return fmt.Errorf("field is 12bit, which allows %d bytes in flight, but a round trip needs %d (expected ideal, or a cable of at most %s one way)",
			int64(limit), int64(link.BDP(p)), reach)
	case lane < p.Cells(2*p.MTU):
		return fmt.Errorf("buffer is %d bytes (expected two frames, %d bytes, or more)", int64(lane), int64(p.Cells(2*p.MTU)))
	case p.Queues()*lane > mmu.MaxBuffer:
		return fmt.Errorf("buffer is %d bytes for all classes of a port (expected at most %d)", int64(p.Queues()*lane), int64(mmu.MaxBuffer))
	case 4*control > p.Rate.In(s.params.Period):
		return fmt.Errorf("period is %s, and credits would take more than a quarter of the line (expected %s or more)", s.params.Period, p.Rate.TxTime(4*control))
	}
	return nil
}

// advise is Properties.Advise.
func (s *cbfc) advise(p *link.Port) (what, better string) {
	wait := s.params.Period
	if s.params.Form == formUEC {
		wait = p.Rate.TxTime(min(s.params.After, p.Rate.In(wait)))
	}
	_, most := s.counter()
	lane := min(units.Bytes(s.lane(p)), units.Bytes(most)) * creditBlock
	need := inBlocks(p, link.BDP(p)+p.Rate.In(wait))
	if lane >= need {
		return "", ""
	}
	return fmt.Sprintf("there are credits for %d B, but full frames sent before a credit returns take %d B: the link does not reach line rate", lane, need), "a larger buffer, or a shorter period"
}

// blocks returns the credits for b bytes of the receiver's buffer. Both ends count the cost of a
// frame there, in whole cells and with the overhead per packet.
func blocks(b units.Bytes) uint64 { return uint64((b + creditBlock - 1) / creditBlock) }

// Receiver implements Scheme: its gate knows the first credits from link.Port.PeerGrant.
func (s *cbfc) Receiver(p Port) Receiver {
	r := &cbfcReceiver{port: p, period: s.params.Period, lane: s.lane(p.Spec()), after: 1<<64 - 1}
	r.mask, r.most = s.counter()
	if s.params.Form == formUEC {
		r.after = uint64(s.params.After / creditBlock)
	}
	for c := range p.Spec().Lossless.All() {
		r.told[c] = r.limit(c)
	}
	p.WakeAt(0, s.params.Period)
	return r
}

// Gate implements Scheme.
func (s *cbfc) Gate(p Port) Gate {
	g := &cbfcGate{port: p, period: s.params.Period, store: p.Spec().StoreOfPeer()}
	g.mask, g.most = s.counter()
	for c := range p.Spec().Lossless.All() {
		g.limit[c] = uint64(p.Spec().PeerGrant/creditBlock) & g.mask
	}
	p.Meter(p.Spec().Lossless)
	p.WakeAt(0, s.params.Period)
	return g
}

type cbfcReceiver struct {
	port     Port
	period   units.Time
	lane     uint64                  // buffer of each class in blocks
	mask     uint64                  // mask of counters
	most     uint64                  // largest number of credits that counters can express
	after    uint64                  // new free blocks that trigger a frame
	due      packet.ClassMask        // classes whose credits are to be sent
	received [mmu.Classes]uint64     // blocks in total, modulo mask
	stored   [mmu.Classes]uint64     // blocks in the buffer
	told     [mmu.Classes]uint64     // limit in the last frame
	left     [mmu.Classes]units.Time // time of the last departure
}

// limit returns the blocks that the upstream may have sent in total: received blocks plus free
// ones (FCCL of InfiniBand).
func (r *cbfcReceiver) limit(class uint8) uint64 {
	return (r.received[class] + min(r.lane-r.stored[class], r.most)) & r.mask
}

// blocks returns the credits of an arrived frame. A host gets the size in bytes, not in cells.
func (r *cbfcReceiver) blocks(b units.Bytes) uint64 {
	if spec := r.port.Spec(); spec.Host {
		b = spec.Store().Cost(b)
	}
	return blocks(b)
}

// Place implements Receiver.
func (r *cbfcReceiver) Place(_ units.Time, a *mmu.Arrival) mmu.Segment {
	if r.stored[a.Class]+r.blocks(a.Bytes) <= r.lane {
		return mmu.Headroom
	}
	return mmu.Drop
}

// Charged implements Receiver.
func (r *cbfcReceiver) Charged(_ units.Time, a *mmu.Arrival, _ mmu.Segment) {
	n := r.blocks(a.Bytes)
	r.received[a.Class] = (r.received[a.Class] + n) & r.mask
	r.stored[a.Class] += n
}

// Released implements Receiver.
func (r *cbfcReceiver) Released(now units.Time, a *mmu.Arrival) {
	r.left[a.Class] = now
	r.stored[a.Class] -= r.blocks(a.Bytes)
	if bit := packet.MaskOf(a.Class); r.due&bit == 0 && (r.limit(a.Class)-r.told[a.Class])&r.mask >= r.after {
		r.due |= bit
		r.port.Request(now)
	}
}

// Control implements Receiver: the peer's counter of a class. Anything that the peer sent before
// and that did not arrive is lost.
func (r *cbfcReceiver) Control(_ units.Time, f *packet.Packet, ext packet.Ext) {
	if len(ext) > 0 {
		r.received[f.Class()] = ext[0]
	}
}

// Frame implements Receiver: one frame for each class.
func (r *cbfcReceiver) Frame(_ units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if r.due == 0 {
		return ext, false
	}
	c := r.due.Lowest()
	r.due &= r.due - 1
	r.told[c] = r.limit(c)
	*f = packet.Packet{Size: uint16(packet.PFCSize), Meta: packet.MakeMeta(packet.Feedback, c)}
	return append(ext, r.told[c]), true
}

// Wake implements Receiver: the credits of all classes are due.
func (r *cbfcReceiver) Wake(now units.Time, _ int) {
	r.due = r.port.Spec().Lossless
	r.port.WakeAt(0, now+r.period)
	r.port.Request(now)
}

// Reset implements Receiver: both ends restart their counters.
func (r *cbfcReceiver) Reset(now units.Time, up bool) {
	r.received = [mmu.Classes]uint64{}
	if up {
		r.Wake(now, 0)
	}
}

// Resumes implements Resuming: there will be credit for the next frame. The remaining bytes are
// counted in as few blocks as they fill.
func (r *cbfcReceiver) Resumes(_ units.Time, rest *Rest) bool {
	stored := r.stored[rest.Class]
	if rest.Moves.Has(rest.Class) {
		in := rest.View.Ingress(r.port.Index(), rest.Class)
		stored = uint64((in.Total() + creditBlock - 1) / creditBlock)
	}
	return stored+blocks(r.port.Spec().Store().Cost(rest.Next)) <= r.lane
}

// Quiet implements Resuming.
func (r *cbfcReceiver) Quiet(class uint8) units.Time { return r.left[class] }

type cbfcGate struct {
	port   Port
	period units.Time
	store  link.Store // buffer of the receiver
	mask   uint64
	most   uint64
	due    packet.ClassMask
	limit  [mmu.Classes]uint64 // blocks that may be sent in total
	sent   [mmu.Classes]uint64 // blocks sent (FCTBS)
}

// Control implements Gate.
func (g *cbfcGate) Control(now units.Time, f *packet.Packet, ext packet.Ext) {
	if f.Kind() == packet.Feedback && len(ext) > 0 {
		g.limit[f.Class()] = ext[0]
		g.port.Kick(now)
	}
}

// Frame implements Gate: one frame for each class.
func (g *cbfcGate) Frame(_ units.Time, f *packet.Packet, ext packet.Ext) (packet.Ext, bool) {
	if g.due == 0 {
		return ext, false
	}
	c := g.due.Lowest()
	g.due &= g.due - 1
	*f = packet.Packet{Size: uint16(packet.PFCSize), Meta: packet.MakeMeta(packet.Request, c)}
	return append(ext, g.sent[c]), true
}

// Wake implements Gate.
func (g *cbfcGate) Wake(now units.Time, _ int) {
	g.due = g.port.Spec().Lossless
	g.port.WakeAt(0, now+g.period)
	g.port.Request(now)
}

// Reset implements Gate.
func (g *cbfcGate) Reset(units.Time, bool) {
	g.limit, g.sent = [mmu.Classes]uint64{}, [mmu.Classes]uint64{}
	g.due = 0
}

// May implements Meter. Counters wrap, so a difference of more than half their range is negative.
func (g *cbfcGate) May(_ units.Time, class uint8, b units.Bytes) bool {
	return (g.limit[class]-g.sent[class]-blocks(g.store.Cost(b)))&g.mask <= g.most
}

// Sent implements Meter.
func (g *cbfcGate) Sent(_ units.Time, class uint8, b units.Bytes) {
	g.sent[class] = (g.sent[class] + blocks(g.store.Cost(b))) & g.mask
}

var cbfcGauges = []registry.Export{
	{Name: "stored_bytes", Doc: "receiver: stored bytes of the queue, in whole blocks"},
	{Name: "told_credits", Doc: "receiver: blocks that the upstream may send in total, as last announced"},
	{Name: "credits", Doc: "gate: blocks that may be sent now"},
}

// Gauges implements probe.Gauged.
func (r *cbfcReceiver) Gauges() []string { return cbfcReceiverGauges }

// Measure implements probe.Gauged.
func (r *cbfcReceiver) Measure(_ units.Time, _ int, class uint8, values []float64) bool {
	values[0], values[1] = float64(r.stored[class&7])*float64(creditBlock), float64(r.told[class&7])
	return r.port.Spec().Lossless.Has(class)
}

// Gauges implements probe.Gauged.
func (g *cbfcGate) Gauges() []string { return cbfcGateGauges }

// Measure implements probe.Gauged.
func (g *cbfcGate) Measure(_ units.Time, _ int, class uint8, values []float64) bool {
	values[0] = float64((g.limit[class&7] - g.sent[class&7]) & g.mask)
	return g.port.Spec().Lossless.Has(class)
}

var cbfcReceiverGauges, cbfcGateGauges = registry.NamesOf(cbfcGauges[:2]), registry.NamesOf(cbfcGauges[2:])
