// Package calibrate fits a scenario to counters of switches: the traffic matrix from bytes, the
// fan-in and the size of bursts from pauses and marks. It serves `xoff calibrate`.
package calibrate

import (
	"fmt"
	"math"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/interop/counters"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
)

const classes = counters.Classes

// port is a port of the fabric with what was measured there, per second.
type port struct {
	convert.Port
	rate   [counters.NumKinds][classes]float64 // counters of the whole port are in class 0
	known  [counters.NumKinds][classes]bool
	series [counters.NumKinds][classes]*counters.Series
}

// at is the sum of a kind over classes.
func (p *port) sum(kind counters.Kind) float64 {
	sum := 0.0
	for _, x := range p.rate[kind] {
		sum += x
	}
	return sum
}

// has reports whether any counter of a kind is known.
func (p *port) has(kind counters.Kind) bool {
	for _, ok := range p.known[kind] {
		if ok {
			return true
		}
	}
	return false
}

// model has the ports of all switches, with the matrix of each class.
type model struct {
	made  *convert.Imported
	ports []*port
	hosts []*port // those with a host
	// by class: offered wire bytes per second from a host to another, by index in hosts
	matrix   [classes][][]float64
	findings []Finding // on the whole fabric
	ratio    float64   // payload per wire byte
	packet   float64   // mean size of data packets; 0: unknown
	window   float64   // seconds of the longest series
}

// measure finds the port of each counter and computes rates.
func measure(made *convert.Imported, set *counters.Set) (*model, error) {
	f := &model{made: made}
	byName, switches := map[[2]string]*port{}, []string{}
	for _, p := range made.Ports {
		own := &port{Port: p}
		f.ports = append(f.ports, own)
		if p.Host != "" {
			f.hosts = append(f.hosts, own)
		}
		for _, s := range []string{p.Switch, p.Node} {
			for _, name := range []string{fmt.Sprintf("port%d", p.Index), p.Alias, p.Name} {
				byName[[2]string{s, name}] = own
			}
		}
		if n := len(switches); n == 0 || switches[n-1] != p.Switch {
			switches = append(switches, p.Switch)
		}
	}
	for _, s := range set.Series {
		name := s.Switch
		if name == "" && len(switches) == 1 {
			name = switches[0]
		}
		p := byName[[2]string{name, s.Port}]
		if p == nil {
			return nil, f.unknown(s, name, switches)
		}
		if s.Seconds() <= 0 {
			return nil, fmt.Errorf("%s: %s has one sample (expected two or more: rates are differences)", s.Place(), s.Key)
		}
		class := max(0, s.Class)
		p.series[s.Kind][class], p.known[s.Kind][class] = s, true
		p.rate[s.Kind][class] = float64(s.Delta()) / s.Seconds()
		f.window = max(f.window, s.Seconds())
		if err := p.tooFast(s); err != nil {
			return nil, err
		}
	}
	f.packets()
	return f, f.spread()
}

// tooFast returns an error if bytes of a port grow faster than its link can carry: their times
// are not seconds, or they belong to another port. Clocks of counters that a switch polls every
// few seconds differ, so twice the rate is accepted.
func (p *port) tooFast(s *counters.Series) error {
	switch s.Kind {
	case counters.QueueBytes, counters.GroupBytes, counters.InOctets, counters.OutOctets:
	default:
		return nil
	}
	if bytes := p.rate[s.Kind][max(0, s.Class)]; p.Rate > 0 && 8*bytes > 2*float64(p.Rate) {
		return fmt.Errorf("%s: %s grows by %s, but the link has %s (expected less; times are seconds)", s.Place(), s.Key, RateText(bytes), p.Rate)
	}
	return nil
}

// unknown returns the error for counters of a port that no configuration has.
func (f *model) unknown(s *counters.Series, name string, switches []string) error {
	if name == "" {
		return fmt.Errorf("%s: the counters of %s are of no switch (expected its name; there are %d switches)", s.Place(), s.Port, len(switches))
	}
	var names []string
	for _, p := range f.ports {
		if p.Switch == name || p.Node == name {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: %w", s.Place(), registry.Unknown("switch", name, switches))
	}
	return fmt.Errorf("%s: %s: %w", s.Place(), name, registry.Unknown("port", s.Port, names))
}

// Header of a data frame, as the default of hosts.header, and the payload of a full packet.
const header, fullPayload = 48, 1000

// packets computes the mean size of data packets in lossless queues, and the share of payload.
func (f *model) packets() {
	bytes, packets := 0.0, 0.0
	for _, p := range f.hosts {
		for _, c := range f.made.Classes[:f.made.Pausing] {
			if p.known[counters.QueueBytes][c] && p.known[counters.QueuePackets][c] {
				bytes += p.rate[counters.QueueBytes][c]
				packets += p.rate[counters.QueuePackets][c]
			}
		}
	}
	size := float64(header + fullPayload)
	if packets > 0 {
		f.packet = bytes / packets
		if f.packet > 2*header && f.packet < 9000 {
			size = f.packet
		}
	}
	f.ratio = (size - header) / size
}

// payload returns the payload of a full packet in the scenario, or 0 for the default.
func (f *model) payload() int {
	if f.packet <= 2*header || f.packet >= 9000 || math.Abs(f.packet-header-fullPayload) < fullPayload/20 {
		return 0
	}
	return int(math.Round(f.packet)) - header
}

// spread computes the matrix of every class.
func (f *model) spread() error {
	total, sources := [classes]float64{}, false
	all, sum := make([][classes]float64, len(f.hosts)), 0.0
	for j, p := range f.hosts {
		for _, c := range f.made.Classes {
			switch {
			case p.known[counters.QueueBytes][c]:
				all[j][c] = p.rate[counters.QueueBytes][c]
			case len(f.made.Classes) == 1:
				all[j][c] = p.rate[counters.OutOctets][0]
			}
			total[c] += all[j][c]
			sum += all[j][c]
		}
		sources = sources || p.has(counters.GroupBytes) || p.has(counters.InOctets)
	}
	if sum == 0 {
		return fmt.Errorf("no bytes to hosts in the counters (expected %s of ports with hosts that grow)", counters.Key{Kind: counters.QueueBytes}.Name())
	}
	for _, c := range f.made.Classes {
		if total[c] == 0 {
			continue
		}
		in, out := make([]float64, len(f.hosts)), make([]float64, len(f.hosts))
		for i, p := range f.hosts {
			out[i] = all[i][c]
			switch {
			case p.known[counters.GroupBytes][c]:
				in[i] = p.rate[counters.GroupBytes][c]
			case p.known[counters.InOctets][0]:
				in[i] = p.rate[counters.InOctets][0] * total[c] / sum
			case !sources:
				in[i] = float64(p.Rate)
			}
		}
		f.balance(c, in, out, sources)
	}
	return nil
}

// balance computes the matrix of a class by iterative proportional fitting: it starts with gravity
// and meets what each host sends and receives, and what racks send to others.
func (f *model) balance(c int, in, out []float64, sources bool) {
	n := len(f.hosts)
	sent, received := 0.0, 0.0
	for i := range n {
		sent, received = sent+in[i], received+out[i]
	}
	if gap := math.Abs(sent-received) / max(sent, received); sources && gap > 0.1 {
		reason, what := NoSource, "receive more than they send: bytes without source"
		if sent > received {
			reason, what = NoSink, "send more than they receive: bytes without destination"
		}
		f.findings = append(f.findings, Finding{reason, fmt.Sprintf("class %d: hosts %s (%s received, %s sent)", c, what, RateText(received), RateText(sent))})
	}
	for i := range n {
		in[i] *= received / max(sent, 1e-9)
	}
	m := make([][]float64, n)
	for i := range n {
		m[i] = make([]float64, n)
		for j := range n {
			if i != j {
				m[i][j] = in[i] * out[j] / received
			}
		}
	}
	racks := f.racks(c, in, out)
	for range 100 {
		for i := range n {
			scale(m[i], in[i])
		}
		for _, r := range racks {
			r.scale(f, m)
		}
		for j := range n {
			sum := 0.0
			for i := range n {
				sum += m[i][j]
			}
			if sum > 0 {
				for i := range n {
					m[i][j] *= out[j] / sum
				}
			}
		}
	}
	f.matrix[c] = m
}

func scale(row []float64, to float64) {
	sum := 0.0
	for _, x := range row {
		sum += x
	}
	for j := range row {
		if sum > 0 {
			row[j] *= to / sum
		}
	}
}

// rack is a switch with hosts and uplinks that only carry traffic of its own hosts.
type rack struct {
	node     string
	sent     float64 // by its hosts
	up, down float64
}

// racks returns the switches whose uplinks count what their hosts exchange with others.
func (f *model) racks(c int, in, out []float64) []rack {
	var list []rack
	index := map[string]int{}
	at := func(node string) *rack {
		i, ok := index[node]
		if !ok {
			i = len(list)
			index[node] = i
			list = append(list, rack{node: node})
		}
		return &list[i]
	}
	received := map[string]float64{}
	for i, p := range f.hosts {
		at(p.Node).sent += in[i]
		received[p.Node] += out[i]
	}
	for _, p := range f.ports {
		if _, leaf := index[p.Node]; leaf && p.Host == "" {
			at(p.Node).up += p.rate[counters.QueueBytes][c]
			at(p.Node).down += p.rate[counters.GroupBytes][c]
		}
	}
	var good []rack
	for _, r := range list {
		if r.up > 0 && r.up <= 1.02*r.sent && r.down <= 1.02*received[r.node] {
			good = append(good, r)
		}
	}
	return good
}

// scale meets the bytes of the uplinks of a rack, and with them those inside it.
func (r *rack) scale(f *model, m [][]float64) {
	inside, outside, back := 0.0, 0.0, 0.0
	each := func(use func(x *float64, from, to bool)) {
		for i, p := range f.hosts {
			for j, q := range f.hosts {
				if from, to := p.Node == r.node, q.Node == r.node; from || to {
					use(&m[i][j], from, to)
				}
			}
		}
	}
	each(func(x *float64, from, to bool) {
		switch {
		case from && to:
			inside += *x
		case from:
			outside += *x
		default:
			back += *x
		}
	})
	each(func(x *float64, from, to bool) {
		switch {
		case from && to && inside > 0:
			*x *= max(0, r.sent-r.up) / inside
		case from && !to && outside > 0:
			*x *= r.up / outside
		case !from && r.down > 0 && back > 0:
			*x *= r.down / back
		}
	})
}
