package validate

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
)

// The policy and the flow control that know of parts and pools.
const (
	chipName  = "chip"
	sonicName = "sonic"
)

// maxParts is more than any chip has.
const maxParts = 64

// maxBuffer is the largest buffer that the policy of a switch can keep the books of.
func maxBuffer(s *scenario.Switch) units.Bytes {
	if s.Policy.Name == chipName {
		return mmu.MaxDivided
	}
	return mmu.MaxBuffer
}

// checkDivided checks keys of the buffer that need a policy and a flow control that heed
// them.
func (f fabric) checkDivided() error {
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		s := f.SwitchAt(node)
		ports, name := max(s.Ports, len(f.PortEnds()[node])), f.Graph.Names[node]
		parts := s.Buffer.Partitions
		switch {
		case parts > ports:
			return f.OfSwitch(s, yaml.Atf("switch.buffer.partitions", "%s has %d ports, and %d parts; allowed: at most as many parts as ports", name, ports, parts))
		case parts > 1 && s.Policy.Name != chipName:
			return f.OfSwitch(s, yaml.Atf("switch.buffer.partitions", "policy %s does not know of parts; allowed: 1, or policy: %s", s.Policy.Name, chipName))
		}
		for i := range f.PortEnds()[node] {
			if err := f.checkDividedPort(s, node, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f fabric) checkDividedPort(s *layout.Setting, node, i int) error {
	here := f.PortAt(node, i)
	name := f.portName(node, i)
	scheme, err := here.Flow()
	if err != nil {
		return f.OfSwitch(here, err)
	}
	pool, parts := s.Buffer.HeadroomPool > 0, s.Buffer.Partitions > 1
	if (pool || parts) && here.FlowControl.Name != sonicName {
		key := "switch.buffer.partitions"
		if pool {
			key = "switch.buffer.headroom_pool"
		}
		return f.OfSwitch(s, yaml.Atf(key, "flow control %s of %s does not know of it; allowed: flow_control: %s on every port", here.FlowControl.Name, name, sonicName))
	}
	of := scheme.Properties()
	if of.Profile.Alpha.Den != 0 && s.Policy.Name != chipName {
		return f.OfSwitch(here, yaml.Atf("switch.flow_control.alpha", "policy %s does not ask ports; allowed: policy: %s, or alpha of the policy", s.Policy.Name, chipName))
	}
	// A queue is counted in 32 bits, and so are all queues of a port together.
	if of.Sizing.Queue != nil && s.Buffer.Size > mmu.MaxBuffer {
		port := f.PortSpec(node, i)
		if all := port.Queues() * max(of.Sizing.Queue(&port), of.Profile.Minimum); all > mmu.MaxBuffer {
			return f.OfSwitch(here, yaml.Atf("switch.flow_control", "lossless queues of %s have %d bytes of headroom or minimum; allowed: at most %d for all of a port", name, int64(all), int64(mmu.MaxBuffer)))
		}
	}
	return nil
}
