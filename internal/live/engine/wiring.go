package engine

import (
	"fmt"
	"os"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Names of wires.
const (
	WireMemory = "memory" // packets, in this process
	WireFrames = "frames" // encoded frames, in this process
	WireUDP    = "udp"    // UDP sockets, also between processes
	WirePacket = "packet" // Linux network interfaces
)

// Setup selects the clock and the wires of a run.
type Setup struct {
	Wire     string
	Manual   bool     // use a clock that is never late and does not wait
	Map      []string // udp: file with addresses, if any
	Port     int      // udp: first port, without a file
	Anywhere bool     // udp: permit addresses beyond the loopback interface
	Here     []bool   // nodes of this process; nil: all
	System   *System
}

// MatchNodes marks the nodes that match any of the patterns; nil if there are no patterns.
func MatchNodes(g *topo.Graph, patterns []string) ([]bool, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	here := make([]bool, g.Nodes())
	for _, pattern := range patterns {
		found := false
		for i, name := range g.Names {
			if topo.Match(pattern, name) {
				here[i], found = true, true
			}
		}
		if !found {
			return nil, registry.Unknown("node", pattern, g.Names)
		}
	}
	return here, nil
}

// addresses returns the addresses of the ports; nil if all nodes are in this process.
func (s *Setup) addresses(g *topo.Graph, spec *sim.Spec) (Addresses, error) {
	if len(s.Map) == 0 {
		if s.Here == nil {
			return nil, nil
		}
		return Generated(spec, s.Port)
	}
	file := s.Map[0]
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	where, err := ReadAddresses(file, data, g)
	if err != nil {
		return nil, err
	}
	if name := where.Missing(g, s.Here); name != "" {
		return nil, fmt.Errorf("%s: %s has no address (expected one for every port of the nodes of this process, and of their neighbours)", file, name)
	}
	return where, nil
}

// Engine returns the engine of a run.
func (s *Setup) Engine(g *topo.Graph, spec *sim.Spec, progress func(units.Time)) (*Engine, error) {
	o := Options{Progress: progress, Here: s.Here, Outside: s.System.hosts()}
	if s.Manual {
		o.Clock, o.Check = &Manual{}, sim.CheckPeriod
	}
	switch s.Wire {
	case WireFrames:
		o.Wires = NewFrames(spec)
	case WireUDP:
		where, err := s.addresses(g, spec)
		if err != nil {
			return nil, err
		}
		udp, err := NewUDP(spec, where, s.Here, s.System.away(), s.Anywhere)
		if err != nil {
			return nil, err
		}
		o.Wires = udp
	case WirePacket:
		packet, err := NewPacket(spec, s.System.ports(), s.Here, s.System.away())
		if err != nil {
			return nil, err
		}
		o.Wires = packet
	}
	return New(spec, o)
}
