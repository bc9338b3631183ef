package publicsim

import (
	"fmt"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/buffer"
	"github.com/xoff-net/xoff/scheme/flowctl"
	"github.com/xoff-net/xoff/scheme/mark"
)

// portKind has the properties of a link on which the settings of a port depend.
type portKind struct {
	rate  units.Rate
	delay units.Time
}

// headroom returns the headroom of a queue. Like in the public simulator, rate x delay is
// rounded to whole bytes before the factor.
func (k portKind) headroom() units.Bytes {
	return k.rate.In(k.delay) * headroomRTT
}

// switches returns memory, PFC and marking of the switches: the most common settings, and
// overrides.
func (in *Input) switches(s scenario.Switch, compat bool) (scenario.Switch, error) {
	ports := in.ports()
	common := mostCommon(ports)
	s.Ports = 0
	s.Policy = scenario.Choice{Name: "dt", Params: &buffer.DTParams{Alpha: units.Ratio{Num: 1, Den: alphaDen},
		AlphaLossy: units.Ratio{Num: 1, Den: 1}}}
	s.FlowControl = scenario.Choice{Name: "sonic", Params: &flowctl.SONiCParams{
		Headroom: link.Headroom{Rule: link.RuleBytes, Bytes: common.headroom()}, Xon: xon, Offset: xonOffset,
	}}
	s.Scheduler = scenario.Scheduler{Choice: scenario.Choice{Name: "rr"}, Strict: []string{"control"}, Groups: []string{"rdma"}}
	s.ECN.Classes, s.ECN.At = []string{"rdma"}, "dequeue"
	var err error
	if s.ECN.Choice, err = in.marking(common.rate); err != nil {
		return s, err
	}
	if compat {
		s.PFC.Hold, s.PFC.Coalesce = "indefinite", false
	}
	sizes := make([][]units.Bytes, len(ports)) // one entry per switch
	for n := range ports {
		if in.Fabric.Switch[n] {
			sizes[n] = []units.Bytes{in.memory(ports[n])}
		}
	}
	s.Buffer = scenario.Buffer{Size: mostCommon(sizes), Cell: 1, ReserveFor: "cabled"}
	for n, size := range sizes {
		if len(size) > 0 && size[0] != s.Buffer.Size {
			s.Overrides = append(s.Overrides, scenario.Override{Match: in.nodeName(n),
				Keys: scenario.NewPatch("buffer", scenario.NewPatch("size", exact(size[0])))})
		}
	}
	return s, in.exceptions(&s, ports, common)
}

// exact formats a size without rounding.
func exact(b units.Bytes) string { return fmt.Sprintf("%dB", int64(b)) }

// exceptions adds overrides for ports that differ from the most common kind.
func (in *Input) exceptions(s *scenario.Switch, ports [][]portKind, common portKind) error {
	for _, k := range distinct(ports) {
		var keys []any
		if k.headroom() != common.headroom() {
			keys = append(keys, "flow_control", scenario.NewPatch("headroom", exact(k.headroom())))
		}
		if k.rate != common.rate {
			m, err := in.marking(k.rate)
			if err != nil {
				return err
			}
			if p, ok := m.Params.(*mark.REDParams); ok {
				keys = append(keys, "ecn", scenario.NewPatch("kmin", exact(p.KMin), "kmax", exact(p.KMax), "pmax", p.PMax))
			}
		}
		if len(keys) == 0 {
			continue
		}
		for _, match := range in.patterns(ports, k) {
			s.Overrides = append(s.Overrides, scenario.Override{Match: match, Keys: scenario.NewPatch(keys...)})
		}
	}
	return nil
}

// patterns returns match patterns for the ports of a kind: a single pattern if they are
// exactly the ports to hosts, else one per port.
func (in *Input) patterns(ports [][]portKind, k portKind) []string {
	toHost := make([][]bool, len(ports))
	for _, l := range in.Fabric.Links {
		toHost[l.A] = append(toHost[l.A], !in.Fabric.Switch[l.B])
		toHost[l.B] = append(toHost[l.B], !in.Fabric.Switch[l.A])
	}
	var list []string
	together := true
	for n := range ports {
		for p := range ports[n] {
			if ports[n][p] == k {
				list = append(list, fmt.Sprintf("%s.port%d", in.nodeName(n), p))
			}
			together = together && (ports[n][p] == k) == toHost[n][p]
		}
	}
	if together {
		return []string{"*.to-host*"}
	}
	return list
}

// ports returns the ports of each switch in order.
func (in *Input) ports() [][]portKind {
	list := make([][]portKind, in.Fabric.Nodes)
	for _, l := range in.Fabric.Links {
		for _, n := range [2]int{l.A, l.B} {
			if in.Fabric.Switch[n] {
				list[n] = append(list[n], portKind{l.Rate, l.Delay})
			}
		}
	}
	return list
}

// distinct returns the distinct entries of lists, in order of first use.
func distinct[T comparable](lists [][]T) []T {
	var kinds []T
	seen := make(map[T]bool)
	for _, l := range lists {
		for _, k := range l {
			if !seen[k] {
				seen[k] = true
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}

// mostCommon returns the most common entry; among equally common ones, the first.
func mostCommon[T comparable](lists [][]T) T {
	count := make(map[T]int)
	for _, l := range lists {
		for _, k := range l {
			count[k]++
		}
	}
	var most T
	for _, k := range distinct(lists) {
		if count[k] > count[most] {
			most = k
		}
	}
	return most
}

// memory returns the buffer of a switch: the shared pool plus headroom for every port and
// class.
func (in *Input) memory(ports []portKind) units.Bytes {
	size := units.Bytes(in.Settings.BufferMB) * units.MiB
	for _, k := range ports {
		size += k.headroom() * units.Bytes(len(in.classes()))
	}
	return size
}

// marking returns the ECN scheme for ports of a rate.
func (in *Input) marking(rate units.Rate) (scenario.Choice, error) {
	s := in.Settings
	if !s.Marks || len(s.ECN) == 0 {
		return scenario.Choice{Name: "none"}, nil
	}
	for _, m := range s.ECN {
		switch {
		case m.Rate != rate:
		case m.Pmax == 0:
			return scenario.Choice{}, s.wrong("PMAX_MAP",
				"has no probability above 0 for links of %s (expected one for every rate of the topology)", rate)
		default:
			return scenario.Choice{Name: "red", Params: &mark.REDParams{KMin: m.Kmin, KMax: m.Kmax, PMax: m.Pmax}}, nil
		}
	}
	return scenario.Choice{}, s.wrong("KMIN_MAP",
		"has no entry for links of %s (expected one for every rate of the topology, in KMAX_MAP and PMAX_MAP, too)", rate)
}
