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

// suspects returns the ports that cause pauses, the most important first. Pauses of a switch are
// caused by its egress ports which are not paused by another switch: then that one has the cause.
func (f *model) suspects() []Suspect {
	byNode, order := map[string][]*port{}, []string{}
	for _, p := range f.ports {
		if byNode[p.Node] == nil {
			order = append(order, p.Node)
		}
		byNode[p.Node] = append(byNode[p.Node], p)
	}
	var list []Suspect
	total := 0.0
	for _, node := range order {
		ports := byNode[node]
		pauses := 0.0
		for _, p := range ports {
			pauses += p.sum(counters.PFCSent)
		}
		if pauses == 0 {
			continue
		}
		weights, sum := f.weigh(ports)
		for i, p := range ports {
			if weights[i].share > 0 {
				list = append(list, Suspect{p.Switch, p.Name, p.Host, pauses * weights[i].share / sum, weights[i].why, p})
			}
		}
		if sum > 0 {
			total += pauses
		}
	}
	if total == 0 {
		list, total = f.withoutPauses()
	}
	for i := range list {
		list[i].Share /= total
	}
	slices.SortStableFunc(list, func(a, b Suspect) int { return cmp.Compare(b.Share, a.Share) })
	return slices.DeleteFunc(list, func(s Suspect) bool { return s.Share < 0.02 })
}

// weight is the share of a port in the pauses of its switch, not normalised.
type weight struct {
	share float64
	why   string
}

// weigh returns the weights of the ports of a switch that pauses.
func (f *model) weigh(ports []*port) ([]weight, float64) {
	weights, sum := make([]weight, len(ports)), 0.0
	marks, hosts := 0.0, 0.0
	innocent := func(p *port) bool { return p.Host == "" && p.sum(counters.PFCReceived) > 0 }
	for _, p := range ports {
		if !innocent(p) {
			marks += p.sum(counters.Marks)
		}
		if p.Host != "" {
			hosts += p.sum(counters.PFCReceived)
		}
	}
	for i, p := range ports {
		if innocent(p) {
			continue
		}
		w := &weights[i]
		if x := p.sum(counters.Marks); x > 0 {
			*w = weight{x / marks, whyMarks}
		}
		if x := p.sum(counters.PFCReceived); x > 0 {
			*w = weight{w.share + 2*x/hosts, whyHost}
		}
		if marks == 0 && hosts == 0 {
			*w = weight{f.timed(p, ports), whyTime}
		}
		sum += w.share
	}
	return weights, sum
}

// timed returns how well the bytes of a port follow the pauses of its switch over time, times its
// utilisation. With few samples only utilisation counts.
func (f *model) timed(p *port, ports []*port) float64 {
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
