package check

import (
	"fmt"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/buffer"
)

// trialBuffer is a switch's buffer and policy, used to test which frames are admitted.
type trialBuffer struct {
	ledger   *mmu.Ledger
	view     mmu.View
	policy   buffer.Policy
	egress   buffer.EgressLimiting // nil: the policy does not limit egress queues
	observer buffer.Observer       // nil: the policy observes no frames
}

// trialBuffer returns the empty buffer of a switch, or nil if the buffer is overcommitted.
func (c *checker) trialBuffer(s *surveyedSwitch) *trialBuffer {
	set := c.l.SwitchAt(s.Node)
	entry, err := buffer.Policies.Get(set.Policy.Name)
	if err != nil {
		panic(err) // validated before
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
		profile := s.Ports[i].Scheme.Properties().Profile
		env.Rates, env.Profiles = append(env.Rates, s.Ports[i].Spec.Rate), append(env.Profiles, profile)
		spec.Minimum = append(spec.Minimum, s.Buffer.PrivatePerQueue)
		if profile.Minimum > 0 {
			spec.Minimum[i] = profile.Minimum
		}
	}
	f := &trialBuffer{ledger: mmu.NewLedger(spec)}
	f.view = f.ledger.View()
	env.View, env.Ports = f.view, c.l.PolicyPorts(s.Node)
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

// admit returns the segment that would store a frame; false if there is no room.
func (f *trialBuffer) admit(a *mmu.Arrival) (mmu.Segment, bool) {
	if f.egress != nil && !f.egress.Admits(f.view, a) {
		return 0, false
	}
	if f.view.In(a.In, a.Class, mmu.Private)+a.Bytes <= f.view.PrivateOf(a.In, a.Class) {
		return mmu.Private, true
	}
	return mmu.Shared, f.policy.Fits(0, f.view, a)
}

func (f *trialBuffer) charge(a *mmu.Arrival, segment mmu.Segment) {
	f.ledger.Charge(a, segment)
	if f.observer != nil {
		f.observer.Enqueued(0, f.view, a)
	}
}

// alwaysDropped finds ports whose empty queue has no room for a full frame of a lossy class:
// such frames are dropped at any load.
func (c *checker) alwaysDropped() {
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
	var found portsBy[kind]
	for i := range c.Switches {
		s := &c.Switches[i]
		f := c.trialBuffer(s)
		if f == nil || len(s.Ports) < 2 {
			continue
		}
		for in := range s.Ports {
			p := &s.Ports[in]
			k := kind{frame: f.ledger.Cells(p.Spec.MTU), shared: f.view.SharedSize()}
			for class := range used.All() {
				a := &mmu.Arrival{In: in, Out: (in + 1) % len(s.Ports), Class: class, Bytes: k.frame, Kind: mmu.Lossy}
				if _, ok := f.admit(a); !ok {
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
			Level: Problem, Kind: KindBuffer, Where: c.where(ports), Classes: classIDs(k.classes),
			What: fmt.Sprintf("%s: even an empty queue of lossy %s has no room for a frame of %d B (shared buffer %d B): every such frame is dropped", c.portNames(ports), classes(k.classes), k.frame, k.shared),
			Fix:  "raise the threshold of switch.policy, or enlarge the shared buffer",
		})
	}
}
