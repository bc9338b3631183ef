package cc

import "github.com/xoff-net/xoff/base/units"

// NewRenoParams are the parameters of NewReno.
type NewRenoParams struct {
	InitialSegments int  `yaml:"initial_segments" doc:"initial window; 0: one bandwidth-delay product"`
	ECN             bool `yaml:"ecn" doc:"react to marks as to losses (RFC 3168)"`
}

func newNewReno(params any) (Factory, error) {
	p := *params.(*NewRenoParams)
	if err := checkInitial(p.InitialSegments); err != nil {
		return nil, err
	}
	return func() Control { return &newReno{params: &p} }, nil
}

// newReno is the congestion control of RFC 5681 with the recovery of RFC 6582.
type newReno struct {
	tcp
	params *NewRenoParams
}

// Start implements Control.
func (n *newReno) Start(_ units.Time, f *Flow) { n.begin(f, n.params.InitialSegments) }

// OnAck implements Control.
func (n *newReno) OnAck(_ units.Time, a *Ack) {
	marked := a.CE && n.params.ECN
	grows := n.take(a, marked)
	switch {
	case grows:
		n.grow(a.Bytes)
	case marked && n.newMark(a):
		to := max(n.cwnd/2, 2*n.mss)
		n.lower(to, to)
	}
}

// OnLoss implements Control.
func (n *newReno) OnLoss(_ units.Time, timeout bool) {
	if timeout {
		n.timeout(n.half())
		return
	}
	if n.beginRecovery(); n.unmarked() {
		to := n.half()
		n.lower(to, to)
	}
}
