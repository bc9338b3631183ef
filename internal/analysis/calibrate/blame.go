package calibrate

import (
	"cmp"
	"math"
	"slices"

	"github.com/xoff-net/xoff/internal/interop/counters"
)

// Suspect is a port that explains pauses of the fabric.
type Suspect struct {
	Switch string  `json:"switch"`
	Port   string  `json:"port"`
	Host   string  `json:"host,omitempty"`
	Share  float64 `json:"share"` // of all pauses, or of all marks if there are no pauses
	Why    string  `json:"why"`
	port   *port
}

// Reasons for suspecting a port.
const (
	whyHost  = "the host sends pauses"
	whyMarks = "frames are marked in its queue"
	whyTime  = "it sends most when the switch pauses"
	whyBusy  = "it is the busiest port"
)

// suspects returns the ports that cause pauses, the most important first.
func (f *model) suspects() []Suspect {
	b := &blame{model: f, nodes: map[string][]*port{}, shares: map[*port]float64{}, why: map[*port]string{}}
	var order []string
	for _, p := range f.ports {
		if b.nodes[p.Node] == nil {
			order = append(order, p.Node)
		}
		b.nodes[p.Node] = append(b.nodes[p.Node], p)
	}
	total := 0.0
	for _, node := range order {
		pauses := 0.0
		for _, p := range b.nodes[node] {
			pauses += p.sum(counters.PFCSent)
		}
		b.charge(node, pauses, mostHops)
		total += pauses
	}
	var list []Suspect
	for _, p := range f.ports {
		if b.shares[p] > 0 {
			list = append(list, Suspect{p.Switch, p.Name, p.Host, b.shares[p], b.why[p], p})
		}
	}
	if len(list) == 0 {
		list, total = f.withoutPauses()
	}
	for i := range list {
		list[i].Share = math.Round(1e4*list[i].Share/total) / 1e4
	}
	slices.SortStableFunc(list, func(a, b Suspect) int { return cmp.Compare(b.Share, a.Share) })
	return slices.DeleteFunc(list, func(s Suspect) bool { return s.Share < 0.02 })
}

// blame distributes pauses over the ports that cause them.
type blame struct {
	*model
	nodes  map[string][]*port
	shares map[*port]float64
	why    map[*port]string
}

// mostHops bounds how far pauses are followed.
const mostHops = 8

// charge distributes pauses of a switch over its egress ports: by pauses of hosts and by marks, else
// by how well their bytes follow the pauses. What falls to a port that another switch pauses is
// charged to that switch.
func (b *blame) charge(node string, pauses float64, hops int) {
	ports := b.nodes[node]
	if pauses == 0 || hops == 0 || len(ports) == 0 {
		return
	}
	marks, hosts, passed := 0.0, 0.0, 0.0
	for _, p := range ports {
		marks += p.sum(counters.Marks)
		if p.Host != "" {
			hosts += p.sum(counters.PFCReceived)
		} else {
			passed += p.sum(counters.PFCReceived)
		}
	}
	weights, sum := make([]float64, len(ports)), 0.0
	for i, p := range ports {
		received, why := p.sum(counters.PFCReceived), whyMarks
		if marks > 0 {
			weights[i] = p.sum(counters.Marks) / marks
		}
		switch {
		case p.Host != "" && received > 0:
			weights[i], why = weights[i]+2*received/hosts, whyHost
		case marks == 0 && hosts == 0 && passed > 0:
			weights[i] = received / passed
		case marks == 0 && hosts == 0:
			weights[i], why = b.timed(p, ports), whyTime
		}
		sum += weights[i]
		b.why[p] = why
	}
	for i, p := range ports {
		switch {
		case weights[i] == 0:
		case p.Host == "" && p.sum(counters.PFCReceived) > 0:
			b.charge(p.Peer, pauses*weights[i]/sum, hops-1)
		default:
			b.shares[p] += pauses * weights[i] / sum
		}
	}
}

// timed returns how well the bytes of a port follow the pauses of its switch over time, times its
// utilisation. With few samples only utilisation counts.
func (b *blame) timed(p *port, ports []*port) float64 {
	share := 0.0
	for c := range classes {
		busy := p.rate[counters.QueueBytes][c] * 8 / float64(p.Rate)
		own := p.series[counters.QueueBytes][c]
		if busy == 0 {
			continue
		}
		follows := 1.0
		if own != nil && len(own.Samples) >= 5 {
			pauses := make([]float64, len(own.Samples)-1)
			for _, q := range ports {
				if s := q.series[counters.PFCSent][c]; s != nil && len(s.Samples) == len(own.Samples) {
					for i, x := range steps(s) {
						pauses[i] += x
					}
				}
			}
			follows = max(0.01, correlation(steps(own), pauses))
		}
		share += follows * busy
	}
	return share
}

func steps(s *counters.Series) []float64 {
	list := make([]float64, len(s.Samples)-1)
	for i := range list {
		list[i] = float64(s.Samples[i+1].Value - s.Samples[i].Value)
	}
	return list
}

// correlation returns Pearson's coefficient, or 0 if one side is constant.
func correlation(a, b []float64) float64 {
	n := float64(len(a))
	ma, mb := 0.0, 0.0
	for i := range a {
		ma, mb = ma+a[i]/n, mb+b[i]/n
	}
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		x, y := a[i]-ma, b[i]-mb
		ab, aa, bb = ab+float64(x*y), aa+float64(x*x), bb+float64(y*y)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// withoutPauses suspects ports by pauses of hosts, else by marks, else by utilisation.
func (f *model) withoutPauses() (list []Suspect, total float64) {
	for _, x := range []struct {
		of  func(p *port) float64
		why string
	}{
		{func(p *port) float64 {
			if p.Host == "" {
				return 0
			}
			return p.sum(counters.PFCReceived)
		}, whyHost},
		{func(p *port) float64 { return p.sum(counters.Marks) }, whyMarks},
		{func(p *port) float64 {
			if busy := p.sum(counters.QueueBytes) * 8 / float64(p.Rate); busy > 0.8 {
				return busy
			}
			return 0
		}, whyBusy},
	} {
		for _, p := range f.ports {
			if n := x.of(p); n > 0 {
				list = append(list, Suspect{p.Switch, p.Name, p.Host, n, x.why, p})
				total += n
			}
		}
		if total > 0 {
			return list, total
		}
	}
	return nil, 1
}
