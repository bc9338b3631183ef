package validate

import (
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
)

// The policy and the flow control that support partitions and headroom pools.
const (
	chipName  = "chip"
	sonicName = "sonic"
)

// maxParts is the maximum number of partitions.
const maxParts = 64

// maxBuffer returns the largest buffer that the policy of a switch supports.
func maxBuffer(s *scenario.Switch) units.Bytes {
	if s.Policy.Name == chipName {
		return mmu.MaxDivided
	}
	return mmu.MaxBuffer
}

// checkDivided checks partitions and headroom pools: only some policies and flow controls
// support them.
func (f fabric) checkDivided() error {
	for node := f.Graph.Hosts; node < f.Graph.Nodes(); node++ {
		s := f.SwitchAt(node)
		ports, name := max(s.Ports, len(f.PortEnds()[node])), f.Graph.Names[node]
		parts := s.Buffer.Partitions
		switch {
		case parts > ports:
			return f.OfSwitch(s, yaml.Atf("switch.buffer.partitions", "%s has %d ports and %d partitions (expected at most one partition per port)", name, ports, parts))
		case parts > 1 && s.Policy.Name != chipName:
			return f.OfSwitch(s, yaml.Atf("switch.buffer.partitions", "policy %s does not support partitions (expected 1, or policy %s)", s.Policy.Name, chipName))
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
		return f.OfSwitch(s, yaml.Atf(key, "not supported by flow control %s of %s (expected flow control %s on every port)", here.FlowControl.Name, name, sonicName))
	}
	of := scheme.Properties()
	if of.Profile.Alpha.Den != 0 && s.Policy.Name != chipName {
		return f.OfSwitch(here, yaml.Atf("switch.flow_control.alpha", "policy %s ignores alpha of ports (expected policy %s, or alpha of the policy)", s.Policy.Name, chipName))
	}
	// Counters of a queue, and of all queues of a port, have 32 bits.
	if of.Sizing.Queue != nil && s.Buffer.Size > mmu.MaxBuffer {
		port := f.PortSpec(node, i)
		if all := port.Queues() * max(of.Sizing.Queue(&port), of.Profile.Minimum); all > mmu.MaxBuffer {
			return f.OfSwitch(here, yaml.Atf("switch.flow_control", "lossless queues of %s have %d bytes of headroom or minimum (expected at most %d per port)", name, int64(all), int64(mmu.MaxBuffer)))
		}
	}
	return nil
}
