package metrics

import (
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// Throughput is the payload that a set of measured flows, finished or not, delivered in order.
type Throughput struct {
	Delivered units.Bytes `json:"delivered_bytes"`
	Rate      float64     `json:"goodput_bps"`      // aggregate, from the first start to the last delivery, or to the end of the run
	Flows     *Rates      `json:"flow_goodput_bps"` // per flow, from its own start; null: none has started
}

// Rates are the statistics of a set of rates in bits per second, with low percentiles.
type Rates struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P1   float64 `json:"p1"`
	P5   float64 `json:"p5"`
	P50  float64 `json:"p50"`
	Max  float64 `json:"max"`
}

// ratesOf returns statistics, or nil for no values. It sorts its argument.
func ratesOf(v []float64) *Rates {
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return &Rates{
		Mean: sum / float64(len(v)), Min: v[0], P1: NearestRank(v, 10), P5: NearestRank(v, 50), P50: NearestRank(v, 500), Max: v[len(v)-1],
	}
}

// delivered returns the payload of a flow that was delivered in order by the end of the run.
func (o *Outcome) delivered(i int) units.Bytes {
	f, recv := &o.Flows.Flow[i], &o.Flows.Recv[i]
	if recv.Delivered != 0 {
		return f.Size
	}
	return min(f.Size, units.Bytes(recv.Next)*o.Payloads[f.Transport])
}

// until returns when a flow was delivered, or the end of the run.
func (o *Outcome) until(i int) units.Time {
	if t := o.Flows.Recv[i].Delivered; t != 0 {
		return t
	}
	return o.End
}

// started reports whether a flow has begun.
func (o *Outcome) started(i int) bool {
	at, ok := o.Flows.Began(i)
	return ok && at <= o.End
}

// goodput returns the rate of a started flow, from its start to its delivery or to the end
// of the run.
func (o *Outcome) goodput(i int) float64 { return bps(o.delivered(i), o.until(i)-o.start(i)) }

// bps returns b per t in bits per second. Both numbers convert exactly, so the quotient has
// the same bits on every machine.
func bps(b units.Bytes, t units.Time) float64 {
	if t <= 0 {
		return 0
	}
	return float64(8*b) / float64(t) * 1e12
}

// volume sums up the delivered bytes of flows.
type volume struct {
	Throughput
	first, last units.Time
	rates       []float64
}

func (v *volume) add(o *Outcome, i int) {
	v.Delivered += o.delivered(i)
	v.first, v.last = min(v.first, o.start(i)), max(v.last, o.until(i))
	v.rates = append(v.rates, o.goodput(i))
}

func (v *volume) sum() Throughput {
	t := v.Throughput
	if len(v.rates) > 0 {
		t.Rate = bps(t.Delivered, v.last-v.first)
	}
	t.Flows = ratesOf(v.rates)
	return t
}

// Links is the traffic of one kind of port.
type Links struct {
	Name        string      `json:"name"` // from_hosts, to_hosts or between_switches
	Ports       int         `json:"ports"`
	Sent        units.Bytes `json:"sent_bytes"`
	Utilisation struct {
		Mean float64 `json:"mean"` // over the ports and the duration of the run; 1: always busy
		Max  float64 `json:"max"`
	} `json:"utilisation"`
	Busiest string `json:"busiest"` // port with the maximum
}

// links sums up the ports by the nodes they connect.
func (o *Outcome) links() []Links {
	list := []Links{{Name: "from_hosts"}, {Name: "to_hosts"}, {Name: "between_switches"}}
	for i := range o.Counters.Ports {
		p := &o.Counters.Ports[i]
		l := &list[2]
		switch {
		case p.Peer < 0:
			continue // no cable
		case p.Host:
			l = &list[0]
		case p.Peer < len(o.Hosts):
			l = &list[1]
		}
		sent := allSent(p)
		l.Ports++
		l.Sent += sent
		use := o.utilisation(p, sent)
		l.Utilisation.Mean += use
		if use > l.Utilisation.Max {
			l.Utilisation.Max, l.Busiest = use, o.Nodes[p.Node]+" to "+o.Nodes[p.Peer]
		}
	}
	for i := range list {
		if n := list[i].Ports; n > 0 {
			list[i].Utilisation.Mean /= float64(n)
		}
	}
	return list
}

// allSent returns the bytes that a port sent in all classes, and its control frames.
func allSent(p *sim.PortResult) units.Bytes {
	sent := units.Bytes(p.Stats.SentControl)
	for _, n := range p.Stats.Sent {
		sent += units.Bytes(n)
	}
	return sent
}

// utilisation returns the fraction of the run for which some of the bytes that a port sent
// occupied its link. A frame in transmission at the end counts in full; if all bytes together
// need longer than the run, each share is reduced, so that the sum is 1.
func (o *Outcome) utilisation(p *sim.PortResult, sent units.Bytes) float64 {
	if o.End <= 0 || p.Rate <= 0 {
		return 0
	}
	rate := max(float64(p.Rate), bps(allSent(p), o.End))
	return bps(sent, o.End) / rate
}
