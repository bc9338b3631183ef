package workload

import (
	"fmt"
	"math/rand/v2"
	"sort"
)

// Rule is which hosts may send to each other.
type Rule uint8

// Rules.
const (
	AnyPair    Rule = iota // any two different hosts
	OtherRack              // hosts in different racks
	SameRack               // different hosts of one rack
	NextRack               // each rack to the next one, the last to the first
	OtherGroup             // hosts of different pods or data centres
	SameGroup              // different hosts of one pod or data centre
	Matched                // the first sender to the first receiver, and so on
)

// RuleNames are the names of the rules in scenarios, indexed by Rule.
var RuleNames = []string{"any", "other_rack", "same_rack", "next_rack", "other_group", "same_group", "matched"}

// Pairs draws sources and destinations according to a rule.
type Pairs struct {
	From, To []int32 // hosts with at least one partner
	rule     Rule
	key      []int // rack or group of each host
	keys     int
	isFrom   []bool // by host
	isTo     []bool
	from, to [][]int32 // by key
	partner  []int32   // matched, by host: its destination, or -1
	source   []int32   // matched, by host: its sender, or -1
	sources  chooser
	sinks    chooser
	used     []uint32 // by host: the last burst it was part of
	burst    uint32
}

// NewPairs returns the pairs of senders and receivers that a rule permits. The lists must not
// contain duplicates. Hosts without a partner are left out.
func NewPairs(f *Fabric, rule Rule, from, to []int32) (*Pairs, error) {
	p := &Pairs{From: from, To: to, rule: rule, key: f.Rack, used: make([]uint32, f.Hosts())}
	if rule == OtherGroup || rule == SameGroup {
		p.key = f.Group
	}
	for _, k := range p.key {
		p.keys = max(p.keys, k+1)
	}
	if rule == Matched && len(from) != len(to) {
		return nil, fmt.Errorf("the number of senders is %d, the number of receivers %d (expected equal numbers)", len(from), len(to))
	}
	p.match(f.Hosts())
	p.index(f.Hosts())
	senders := filter(from, func(h int32) bool { return p.Destinations(h) > 0 })
	receivers := filter(to, func(h int32) bool { return p.Sources(h) > 0 })
	p.From, p.To = senders, receivers
	if len(p.From) == 0 || len(p.To) == 0 {
		return nil, fmt.Errorf("none of %d senders has a partner among %d receivers (expected pairs that exist in this topology)", len(from), len(to))
	}
	p.index(f.Hosts())
	p.sources, p.sinks = newChooser(f, p.From), newChooser(f, p.To)
	return p, nil
}

func (p *Pairs) match(hosts int) {
	if p.rule != Matched {
		return
	}
	p.partner, p.source = make([]int32, hosts), make([]int32, hosts)
	for i := range hosts {
		p.partner[i], p.source[i] = -1, -1
	}
	for i, h := range p.From {
		if d := p.To[i]; d != h {
			p.partner[h], p.source[d] = d, h
		}
	}
}

// index groups the hosts by rack or group.
func (p *Pairs) index(hosts int) {
	p.isFrom, p.isTo = make([]bool, hosts), make([]bool, hosts)
	p.from, p.to = make([][]int32, p.keys), make([][]int32, p.keys)
	for _, h := range p.From {
		p.isFrom[h] = true
		p.from[p.key[h]] = append(p.from[p.key[h]], h)
	}
	for _, h := range p.To {
		p.isTo[h] = true
		p.to[p.key[h]] = append(p.to[p.key[h]], h)
	}
}

func filter(list []int32, keep func(int32) bool) []int32 {
	var out []int32
	for _, h := range list {
		if keep(h) {
			out = append(out, h)
		}
	}
	return out
}

// Destinations returns the number of hosts that src may send to.
func (p *Pairs) Destinations(src int32) int {
	return p.count(src, p.To, p.to, p.isTo, p.next(p.key[src]), func() bool { return p.partner[src] >= 0 })
}

// Sources returns the number of hosts that may send to dst.
func (p *Pairs) Sources(dst int32) int {
	return p.count(dst, p.From, p.from, p.isFrom, p.previous(p.key[dst]), func() bool { return p.source[dst] >= 0 })
}

func (p *Pairs) next(key int) int     { return (key + 1) % p.keys }
func (p *Pairs) previous(key int) int { return (key + p.keys - 1) % p.keys }

func (p *Pairs) count(h int32, list []int32, byKey [][]int32, in []bool, beside int, matched func() bool) int {
	self := 0
	if in[h] {
		self = 1
	}
	switch p.rule {
	case OtherRack, OtherGroup:
		return len(list) - len(byKey[p.key[h]])
	case SameRack, SameGroup:
		return len(byKey[p.key[h]]) - self
	case NextRack:
		n := len(byKey[beside])
		if beside == p.key[h] {
			n -= self
		}
		return n
	case Matched:
		if matched() {
			return 1
		}
		return 0
	default:
		return len(list) - self
	}
}

// Source draws a sender with a probability proportional to its link rate.
func (p *Pairs) Source(r *rand.Rand) int32 { return p.sources.draw(r) }

// Sink draws a receiver with a probability proportional to its link rate.
func (p *Pairs) Sink(r *rand.Rand) int32 { return p.sinks.draw(r) }

// Destination draws a host that src may send to.
func (p *Pairs) Destination(r *rand.Rand, src int32) int32 {
	if p.rule == Matched {
		return p.partner[src]
	}
	return p.draw(r, src, p.To, p.to, p.next(p.key[src]))
}

// SourceFor draws a host that may send to dst.
func (p *Pairs) SourceFor(r *rand.Rand, dst int32) int32 {
	if p.rule == Matched {
		return p.source[dst]
	}
	return p.draw(r, dst, p.From, p.from, p.previous(p.key[dst]))
}

func (p *Pairs) draw(r *rand.Rand, h int32, list []int32, byKey [][]int32, beside int) int32 {
	switch p.rule {
	case SameRack, SameGroup:
		list = byKey[p.key[h]]
	case NextRack:
		list = byKey[beside]
	}
	other := p.rule == OtherRack || p.rule == OtherGroup
	for {
		x := list[r.IntN(len(list))]
		if x != h && !(other && p.key[x] == p.key[h]) {
			return x
		}
	}
}

// Fan draws n senders for dst. No host is drawn twice before all were drawn once.
func (p *Pairs) Fan(r *rand.Rand, dst int32, n int, use func(src int32)) {
	p.distinct(n, p.Sources(dst), func() int32 { return p.SourceFor(r, dst) }, use)
}

// First calls use for the first n senders that may send to dst, in order.
func (p *Pairs) First(dst int32, n int, use func(src int32)) {
	for _, src := range p.From {
		if n == 0 {
			return
		}
		if p.Permits(src, dst) {
			use(src)
			n--
		}
	}
}

// Permits reports whether src may send to dst.
func (p *Pairs) Permits(src, dst int32) bool {
	a, b := p.key[src], p.key[dst]
	switch p.rule {
	case Matched:
		return p.partner[src] == dst
	case OtherRack, OtherGroup:
		return a != b
	case SameRack, SameGroup:
		return a == b && src != dst
	case NextRack:
		return p.next(a) == b && src != dst
	default:
		return src != dst
	}
}

// Spread draws n receivers for src. No host is drawn twice before all were drawn once.
func (p *Pairs) Spread(r *rand.Rand, src int32, n int, use func(dst int32)) {
	p.distinct(n, p.Destinations(src), func() int32 { return p.Destination(r, src) }, use)
}

func (p *Pairs) distinct(n, candidates int, draw func() int32, use func(int32)) {
	for k := range n {
		if k%candidates == 0 {
			p.burst++
		}
		h := draw()
		for p.used[h] == p.burst {
			h = draw()
		}
		p.used[h] = p.burst
		use(h)
	}
}

// FewestSources returns the smallest number of possible senders of any receiver.
func (p *Pairs) FewestSources() int {
	least := len(p.From)
	for _, h := range p.To {
		least = min(least, p.Sources(h))
	}
	return least
}

// chooser draws hosts with probabilities proportional to their link rates.
type chooser struct {
	hosts []int32
	sums  []int64 // cumulative rates; nil if all rates are equal
}

func newChooser(f *Fabric, hosts []int32) chooser {
	c := chooser{hosts: hosts}
	equal := true
	sums := make([]int64, len(hosts))
	sum := int64(0)
	for i, h := range hosts {
		equal = equal && f.Rates[h] == f.Rates[hosts[0]]
		sum += int64(f.Rates[h])
		sums[i] = sum
	}
	if !equal {
		c.sums = sums
	}
	return c
}

func (c *chooser) draw(r *rand.Rand) int32 {
	if c.sums == nil {
		return c.hosts[r.IntN(len(c.hosts))]
	}
	x := r.Int64N(c.sums[len(c.sums)-1])
	return c.hosts[sort.Search(len(c.sums), func(i int) bool { return c.sums[i] > x })]
}
