package workload

import (
	"sort"

	"github.com/xoff-net/xoff/base/units"
)

// fileRequest has the parameters of requests for a file.
type fileRequest struct {
	Size    units.Bytes // size of the file
	Request units.Bytes // size of the request message; 0: servers send without a request
	Think   units.Time  // server delay between request and answer
}

func (r *fileRequest) check(e *Env, servers int) error {
	if err := first(e.checkSize("size", r.Size), e.checkSpan("think", r.Think)); err != nil {
		return err
	}
	switch {
	case int(r.Size) < servers:
		return keyf("size", "%s divided among %d servers leaves empty parts (expected at least a byte for each)", r.Size, servers)
	case r.Request != 0:
		return e.checkSize("request", r.Request)
	case r.Think != 0:
		return keyf("think", "request is missing (expected think only together with request)")
	}
	return nil
}

// add adds the flows of one request: each server sends its part of the file.
func (r *fileRequest) add(e *Env, p *Plan, at units.Time, client int32, servers []int32, group int32) {
	class := e.Classes.Next()
	n := units.Bytes(len(servers))
	for i, s := range servers {
		part := r.Size / n
		if units.Bytes(i) < r.Size%n {
			part++
		}
		answer := Flow{Start: at, Src: s, Dst: client, Size: part, Class: class, Group: group, Hash: e.hash()}
		if r.Request == 0 {
			p.add(answer)
			continue
		}
		on := p.add(Flow{Start: at, Src: client, Dst: s, Size: r.Request, Class: class, Group: group, Hash: e.hash()})
		p.add(answer)
		p.wait(r.Think, 0, on)
	}
}

// perServer returns the number of flows per server and request.
func (r *fileRequest) perServer() float64 {
	if r.Request > 0 {
		return 2
	}
	return 1
}

// pace returns the number of requests per second, from a load or a rate per host.
func pace(e *Env, rate float64, size units.Bytes) (float64, error) {
	switch {
	case rate < 0 || rate > 1e12:
		return 0, keyf("rate", "%v is out of range (expected 0 to 1e12 per second)", rate)
	case rate > 0 && e.Load > 0:
		return 0, keyf("rate", "load is given as well (expected only one of load and rate)")
	case rate > 0:
		return rate * float64(len(e.Pairs.From)), nil
	}
	return e.Load / float64(size), nil
}

// QueryResponse is the incast of Reverie: each host requests a file from all servers of
// another rack, at random times; each sends its part. Hosts of `from` request, hosts of
// `to` answer.
type QueryResponse struct {
	Size    units.Bytes `yaml:"size" doc:"size of the file"`
	Rate    float64     `yaml:"rate,omitempty" doc:"requests per second and host, instead of a load"`
	Request units.Bytes `yaml:"request,omitempty" doc:"size of the request message; 0: no request is sent"`
	Think   units.Time  `yaml:"think,omitempty" doc:"server delay between request and answer"`
}

// Uses implements Generator.
func (g *QueryResponse) Uses() Uses {
	return Uses{Load: true, From: true, Pairs: "other_rack", Start: true, Stop: true}
}

func (g *QueryResponse) fileRequest() *fileRequest { return &fileRequest{g.Size, g.Request, g.Think} }

// Check implements Generator.
func (g *QueryResponse) Check(e *Env) (float64, error) {
	if r := e.Pairs.rule; r != OtherRack && r != NextRack {
		return 0, keyf("pairs", "%q does not select a rack (allowed: other_rack, next_rack)", RuleNames[r])
	}
	largest := 0
	for _, rack := range e.Pairs.to {
		largest = max(largest, len(rack))
	}
	perSecond, err := pace(e, g.Rate, g.Size)
	if err = first(g.fileRequest().check(e, largest), err); err != nil {
		return 0, err
	}
	if perSecond == 0 {
		return 0, keyf("rate", "no requests are generated (expected load, or rate in requests per second of each host)")
	}
	return perSecond * e.seconds() * float64(largest) * g.fileRequest().perServer(), nil
}

// Generate implements Generator. Flows are ordered by start.
func (g *QueryResponse) Generate(e *Env) (*Plan, error) {
	perSecond, err := pace(e, g.Rate, g.Size)
	if err != nil {
		return nil, err
	}
	p, file, group := &Plan{}, g.fileRequest(), int32(0)
	e.arrivals(perSecond, func(at units.Time) {
		client := e.Pairs.Source(e.Rand)
		file.add(e, p, at, client, e.Pairs.rackFor(e, client), group)
		group++
	})
	return p, nil
}

// rackFor draws a rack for the request of a client, with equal probabilities.
func (p *Pairs) rackFor(e *Env, client int32) []int32 {
	own := p.key[client]
	if p.rule == NextRack {
		return p.to[p.next(own)]
	}
	for {
		if k := e.Rand.IntN(p.keys); k != own && len(p.to[k]) > 0 {
			return p.to[k]
		}
	}
}

// Request is the incast of L2BM: a host requests a file from N others; each sends its part.
// Hosts of `from` request, hosts of `to` answer.
type Request struct {
	Size    units.Bytes `yaml:"size" doc:"size of the file"`
	Servers int         `yaml:"servers" doc:"number of servers that send a part of the file"`
	Count   int         `yaml:"count,omitempty" doc:"total number of requests, at random times; instead of load or rate"`
	Rate    float64     `yaml:"rate,omitempty" doc:"requests per second and host"`
	Request units.Bytes `yaml:"request,omitempty" doc:"size of the request message; 0: no request is sent"`
	Think   units.Time  `yaml:"think,omitempty" doc:"server delay between request and answer"`
}

// Uses implements Generator.
func (g *Request) Uses() Uses {
	return Uses{Load: true, From: true, Pairs: "any", Start: true, Stop: true}
}

func (g *Request) fileRequest() *fileRequest { return &fileRequest{g.Size, g.Request, g.Think} }

// Check implements Generator.
func (g *Request) Check(e *Env) (float64, error) {
	fewest := len(e.Pairs.To)
	for _, h := range e.Pairs.From {
		fewest = min(fewest, e.Pairs.Destinations(h))
	}
	perSecond, err := pace(e, g.Rate, g.Size)
	err = first(checkCount("servers", g.Servers, 1, fewest), g.fileRequest().check(e, g.Servers), err, checkCount("count", g.Count, 0, maxRepeat))
	requests := perSecond * e.seconds()
	switch {
	case err != nil:
		return 0, err
	case g.Count > 0 && perSecond > 0:
		return 0, keyf("count", "load or rate is given as well (expected one of load, rate and count)")
	case g.Count == 0 && perSecond == 0:
		return 0, keyf("count", "no requests are generated (expected load, rate in requests per second of each host, or the total count)")
	case g.Count > 0:
		requests = float64(g.Count)
	}
	return requests * float64(g.Servers) * g.fileRequest().perServer(), nil
}

// Generate implements Generator. Flows are ordered by start.
func (g *Request) Generate(e *Env) (*Plan, error) {
	perSecond, err := pace(e, g.Rate, g.Size)
	if err != nil {
		return nil, err
	}
	p, file, group := &Plan{}, g.fileRequest(), int32(0)
	servers := make([]int32, 0, g.Servers)
	ask := func(at units.Time) {
		client := e.Pairs.Source(e.Rand)
		servers = servers[:0]
		e.Pairs.Spread(e.Rand, client, g.Servers, func(s int32) { servers = append(servers, s) })
		file.add(e, p, at, client, servers, group)
		group++
	}
	if g.Count == 0 {
		e.arrivals(perSecond, ask)
		return p, nil
	}
	// Arrivals of a Poisson process with a known count are uniform.
	times := make([]units.Time, g.Count)
	for i := range times {
		times[i] = e.Start + units.Time(e.Rand.Int64N(int64(e.Stop-e.Start)))
	}
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	for _, at := range times {
		ask(at)
	}
	return p, nil
}
