package metrics

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/job"
)

// Critical describes the critical path of an iteration: the computes and messages that
// determine its time.
type Critical struct {
	Iteration int        `json:"iteration"`
	Compute   units.Time `json:"compute_ps"`
	Network   units.Time `json:"network_ps"`  // messages over NICs
	ScaleUp   units.Time `json:"scale_up_ps"` // messages inside scale-up domains
	Straggler int        `json:"straggler"`   // rank with the most time on the path, computing and sending
	Host      string     `json:"straggler_host"`
	Took      units.Time `json:"straggler_ps"`
	Message   *Late      `json:"message"` // message over NICs that lost most time compared with an empty network; null: none
}

// Late is a message that took longer than in an empty network.
type Late struct {
	Flow  int        `json:"flow"`
	From  string     `json:"from"`
	To    string     `json:"to"`
	Took  units.Time `json:"took_ps"`
	Ideal units.Time `json:"ideal_ps"`
}

// critical summarizes the critical path of an iteration; nil if there is none.
func (o *Outcome) critical(j *job.Job, iteration int) *Critical {
	if iteration < 0 {
		return nil
	}
	path := j.CriticalPath(iteration, o.End)
	if len(path) == 0 {
		return nil
	}
	c := &Critical{Iteration: iteration}
	byRank := make(map[uint32]units.Time)
	for _, s := range path {
		op, took := &j.Ops[s.Op], s.To-s.From
		byRank[op.Rank] += took
		switch op.Kind {
		case job.Compute:
			c.Compute += took
		case job.Copy:
			c.ScaleUp += took
		case job.Send:
			c.Network += took
			flow := int(j.Flow0 + op.To)
			if l := took - o.Ideal[flow]; l > 0 && (c.Message == nil || l > c.Message.Took-c.Message.Ideal) {
				f := &o.Flows.Flow[flow]
				c.Message = &Late{flow, o.Nodes[f.Src], o.Nodes[f.Dst], took, o.Ideal[flow]}
			}
		}
	}
	for rank := range uint32(len(j.Ranks)) {
		if byRank[rank] > c.Took {
			c.Took, c.Straggler, c.Host = byRank[rank], int(rank), o.Nodes[j.Ranks[rank].Host]
		}
	}
	return c
}

// Rail is the utilisation of the NICs at one position of all servers.
type Rail struct {
	Rail     int         `json:"rail"`
	NICs     int         `json:"nics"`
	Sent     Utilisation `json:"sent"`     // of the links from the NICs
	Received Utilisation `json:"received"` // of the links to the NICs
}

// Utilisation is the share of the run in which links were busy.
type Utilisation struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

func (u *Utilisation) add(share float64, n int) {
	u.Mean += share / float64(n)
	u.Max = max(u.Max, share)
}

// rails returns the utilisation by rail, or nil without jobs or with one NIC per server.
func (o *Outcome) rails() []Rail {
	if len(o.Jobs) == 0 || o.NICs < 2 {
		return nil
	}
	list := make([]Rail, o.NICs)
	servers := len(o.Hosts) / o.NICs
	for i := range list {
		list[i].Rail, list[i].NICs = i, servers
	}
	for i := range o.Counters.Ports {
		p := &o.Counters.Ports[i]
		switch use := o.utilisation(p, allSent(p)); {
		case p.Host:
			list[p.Node%o.NICs].Sent.add(use, servers)
		case p.Peer >= 0 && p.Peer < len(o.Hosts):
			list[p.Peer%o.NICs].Received.add(use, servers)
		}
	}
	return list
}
