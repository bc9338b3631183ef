package check

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// filling is the buffer of a switch and its policy, to see what frames it takes.
type filling struct {
	ledger   *mmu.Ledger
	view     mmu.View
	policy   buffer.Policy
	egress   buffer.EgressLimiting // nil: egress queues are not bounded
	observer buffer.Observer       // nil: the policy does not look on
}

// empty is a switch without a frame; nil: its buffer is promised twice.
func (c *checker) empty(s *surveyedSwitch) *filling {
	set := c.l.SwitchAt(s.Node)
	entry, err := buffer.Policies.Get(set.Policy.Name)
	if err != nil {
		panic(err) // validate has looked
	}
	b := c.budget(s, c.lossless())
	if b.Shared <= 0 {
		return nil
	}
	_, private := c.private(s)
	spec := mmu.Spec{
		Ports: len(s.Ports), Size: s.Buffer.Size - units.Bytes(b.Ports-len(s.Ports))*private, Shared: b.Shared,
		Private: s.Buffer.PrivatePerQueue, Cell: s.Buffer.Cell, PerPacket: s.Buffer.PerPacket, Kinds: c.Kinds,
		Parts: s.Buffer.Partitions, ChipPorts: s.Chip,
	}
	var env buffer.Env
	for i := range s.Ports {
		own := s.Ports[i].Scheme.Properties().Profile
		env.Rates, env.Profiles = append(env.Rates, s.Ports[i].Spec.Rate), append(env.Profiles, own)
		spec.Minimum = append(spec.Minimum, s.Buffer.PrivatePerQueue)
		if own.Minimum > 0 {
			spec.Minimum[i] = own.Minimum
		}
	}
	f := &filling{ledger: mmu.NewLedger(spec)}
	f.view = f.ledger.View()
	env.View = f.view
	if f.policy, err = entry.New(set.Policy.Params, env); err != nil {
		panic(err)
	}
	if _, ok := f.policy.(buffer.Pairs); ok {
		f.ledger.KeepPairs()
	}
	if f.egress, _ = f.policy.(buffer.EgressLimiting); f.egress != nil {
		f.ledger.KeepEgress(f.egress.EgressMinimum())
	}
	f.observer, _ = f.policy.(buffer.Observer)
	return f
}

// place returns where a frame would be kept; false: it is not taken there.
func (f *filling) place(a *mmu.Arrival) (mmu.Segment, bool) {
	if f.egress != nil && !f.egress.Admits(f.view, a) {
		return 0, false
	}
	if f.view.In(a.In, a.Class, mmu.Private)+a.Bytes <= f.view.PrivateOf(a.In, a.Class) {
		return mmu.Private, true
	}
	return mmu.Shared, f.policy.Fits(0, f.view, a)
}

func (f *filling) charge(a *mmu.Arrival, segment mmu.Segment) {
	f.ledger.Charge(a, segment)
	if f.observer != nil {
		f.observer.Enqueued(0, f.view, a)
	}
}

// neverTaken finds ports whose empty queue has no room for a frame of a lossy class: all of
// them are dropped, whatever the load.
func (c *checker) neverTaken() {
	used := packet.ClassMask(0)
	for _, u := range c.Uses {
		used |= u.Classes
	}
	if used &= mmu.ClassesOf(c.Kinds, mmu.Lossy); used == 0 {
		return
	}
	type kind struct {
		classes packet.ClassMask
		frame   units.Bytes
		shared  units.Bytes
	}
	var found alike[kind]
	for i := range c.Switches {
		s := &c.Switches[i]
		f := c.empty(s)
		if f == nil || len(s.Ports) < 2 {
			continue
		}
		for in := range s.Ports {
			p := &s.Ports[in]
			k := kind{frame: f.ledger.Cells(p.Spec.MTU), shared: f.view.SharedSize()}
			for class := range used.All() {
				a := &mmu.Arrival{In: in, Out: (in + 1) % len(s.Ports), Class: class, Bytes: k.frame, Kind: mmu.Lossy}
				if _, ok := f.place(a); !ok {
					k.classes |= 1 << class
				}
			}
			if k.classes != 0 {
				found.add(k, p)
			}
		}
	}
	for k, ports := range found.all() {
		c.add(Finding{
			Level: Problem, Kind: OfBuffer, Where: c.where(ports), Classes: numbers(k.classes),
			What: fmt.Sprintf("%s: a frame of %d B is not taken by an empty queue of lossy %s, with %d B to share: all that long are dropped", c.ports(ports), k.frame, classes(k.classes), k.shared),
			Fix:  "a larger threshold of switch.policy, or more buffer to share",
		})
	}
}
