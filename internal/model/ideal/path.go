package ideal

import (
	"encoding/binary"
	"sort"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/scheme/cc"
	"github.com/xoff-net/xoff/scheme/route"
)

// flowPath is the way of a flow and all that decides how fast it goes along.
type flowPath struct {
	stages      []stage
	there, back [][]uint16 // stages of data packets and of ACKs; more than one: taken in turn
	payload     units.Bytes
	header      units.Bytes
	ack         units.Bytes
	every       int        // packets per ACK
	window      int64      // in packets; 0: none
	rate        units.Rate // of the sender
	overtakes   bool       // packets may overtake others, see alike
}

// stage is what frames pass one at a time: a link, or a host that takes them
// slowly.
type stage struct {
	rate     units.Rate
	overhead units.Bytes
	delay    units.Time
	tick     units.Time // see link.Port
}

// walker finds the paths of flows.
type walker struct {
	l       *layout.Layout
	routers []route.Router // by node; nil for hosts
	tables  []*route.Table
	turns   bool            // routers may send packets of a flow different ways
	kinds   []uint16        // by link and direction: number of its kind of stage
	slow    []uint16        // by host: number of its kind of stage, none when it takes frames at once
	base    []int           // by node: number of its first link
	steady  []steadyControl // by transport; nil: not one of these
	windows []uint32        // by transport: packets that may be under way; 0: any number
	name    []byte
	ways    [2][][]int32 // of the last walk: links, there and back
	rounds  uint32
	order   []mention // by link
}

// mention is when a link was first met in a round.
type mention struct {
	round uint32
	place uint16
}

// maxTurns bounds how many ways of sprayed packets are told apart.
const maxTurns = 64

// noStage is the kind of a host that takes frames at once.
const noStage = 0xffff

func newWalker(l *layout.Layout, t *layout.Traffic) *walker {
	w := &walker{l: l, routers: make([]route.Router, l.Graph.Nodes())}
	w.tables = l.Routes(t, nil)
	dead := l.DeadLinks()
	after := w.tables
	if len(dead) > 0 {
		after = l.Routes(t, func(link int) bool { return dead[link] })
	}
	for node := l.Graph.Hosts; node < l.Graph.Nodes(); node++ {
		entry, err := route.Routers.Get(l.RoutingAt(node).Name)
		if err != nil {
			panic(err) // Validate has looked
		}
		w.turns = w.turns || entry.Promises&registry.InOrder == 0
		if w.routers[node], err = l.Router(node, w.emptyEnv(node)); err != nil {
			panic(err)
		}
		if len(dead) > 0 {
			w.routers[node].Replace(after[node])
		}
	}
	w.tables = after
	known := make(map[stage]uint16)
	number := func(s stage) uint16 {
		if _, ok := known[s]; !ok {
			known[s] = uint16(len(known))
		}
		return known[s]
	}
	for node, ends := range l.PortEnds() {
		w.base = append(w.base, len(w.kinds))
		for port := range ends {
			w.kinds = append(w.kinds, number(w.link(node, port)))
		}
	}
	for host := range l.Graph.Hosts {
		kind := uint16(noStage)
		if rate := l.Receive(host).Rate; rate > 0 {
			kind = number(stage{rate: rate})
		}
		w.slow = append(w.slow, kind)
	}
	w.order = make([]mention, len(w.kinds))
	for _, h := range l.Transports() {
		way, err := l.Transport(h, l.GivenRTT())
		if err != nil {
			panic(err)
		}
		steady, _ := way.Control().(steadyControl)
		if way.Recovery == dataplane.GoBackN {
			way.Window = 0
		}
		w.steady, w.windows = append(w.steady, steady), append(w.windows, way.Window)
	}
	return w
}

// emptyEnv is what the router of a switch sees in which nothing waits.
func (w *walker) emptyEnv(node int) route.Env {
	ends := w.l.PortEnds()[node]
	rates := make([]units.Rate, len(ends))
	for i := range ends {
		rates[i] = ends[i].Rate
	}
	view := mmu.NewLedger(mmu.Spec{Ports: len(ends)}).View()
	return route.NewEnv(w.tables[node], view, rates, w.l.RouteSeed(node))
}

// steadyControl is a congestion control that counts in an ideal.
type steadyControl interface {
	cc.Control
	cc.Steady
}

func (w *walker) link(node, port int) stage {
	e := &w.l.PortEnds()[node][port]
	return stage{e.Rate, w.l.Config.Switch.WireOverhead, e.Delay, w.l.Config.Compat.Tick}
}

// walk sends the packets of a flow and its ACKs through the routers and returns a
// name of the path: flows with the same name fare alike. It is valid until the
// next walk.
func (w *walker) walk(id uint32, f *dataplane.Flow) []byte {
	data := packet.Packet{Flow: id, Hash: f.Hash, Dst: f.Dst, Meta: packet.MakeMeta(packet.Data, f.Class)}
	if f.Pinned {
		data.Flags = packet.Pinned
	}
	ack := data
	ack.Hash, ack.Dst, ack.Meta = dataplane.ReplyHash(f.Hash), f.Src, packet.MakeMeta(packet.Ack, 0)
	w.ways[0] = w.spread(w.ways[0], &data, int(f.Src), int(f.Dst))
	w.ways[1] = w.spread(w.ways[1], &ack, int(f.Dst), int(f.Src))
	w.name = w.name[:0]
	put := func(x uint16) { w.name = binary.LittleEndian.AppendUint16(w.name, x) }
	for _, ways := range w.ways {
		put(uint16(len(ways)))
		w.rounds++
		met := uint16(0)
		for _, way := range ways {
			put(uint16(len(way)))
			for _, l := range way {
				put(w.kinds[l])
				if len(ways) > 1 { // which links are the same one matters, not which they are
					m := &w.order[l]
					if m.round != w.rounds {
						*m = mention{w.rounds, met}
						met++
					}
					put(m.place)
				}
			}
		}
	}
	put(w.slow[f.Dst])
	put(w.slow[f.Src])
	put(uint16(f.Transport))
	put(uint16(w.l.HostAt(int(f.Dst)).Group))
	return w.name
}

// spread returns the ways that packets of a flow take in turn.
func (w *walker) spread(ways [][]int32, p *packet.Packet, src, dst int) [][]int32 {
	add := func(k int) int {
		if k == len(ways) {
			ways = append(ways, nil)
		}
		choices := 0
		ways[k], choices = w.follow(ways[k][:0], p, src, dst)
		return choices
	}
	ways = ways[:cap(ways)]
	turns := add(0)
	if !w.turns || p.Flags&packet.Pinned != 0 && p.Kind() == packet.Data {
		return ways[:1]
	}
	turns = min(turns, maxTurns)
	for k := 1; k < turns; k++ {
		add(k)
	}
	return ways[:turns]
}

// follow appends the links that a packet takes, and returns how many ways there
// would be. A packet that finds none stays where it is.
func (w *walker) follow(links []int32, p *packet.Packet, src, dst int) ([]int32, int) {
	ways := 1
	for node, port := src, 0; ; {
		links = append(links, int32(w.base[node]+port))
		e := &w.l.PortEnds()[node][port]
		node = e.To
		if node == dst || node < w.l.Graph.Hosts || len(links) > w.l.Graph.Nodes() {
			return links, ways
		}
		ways = min(maxTurns, ways*max(1, len(w.tables[node].Set(p.Dst))))
		if port = w.routers[node].Route(0, e.Port, p); port < 0 {
			return links, ways
		}
	}
}

// path describes the last walk, of a flow with a transport.
func (w *walker) path(src, dst int, transport uint8) *flowPath {
	h := w.l.Transports()[transport]
	answers := w.l.HostAt(dst).Variant(h.Name)
	c := &flowPath{payload: h.Payload, header: h.HeaderSize(), ack: answers.AckSize(h.Records), every: answers.Ack.Every}
	index := make(map[int32]uint16)
	for dir, ways := range w.ways {
		var list [][]uint16
		receiver := uint16(noStage)
		if rate := w.l.Receive([2]int{dst, src}[dir]).Rate; rate > 0 {
			receiver = uint16(len(c.stages))
			c.stages = append(c.stages, stage{rate: rate})
		}
		for _, way := range ways {
			var stages []uint16
			for _, l := range way {
				// A link that both directions use counts once for each: there is no
				// such path, but for pinned routes that turn back.
				at := l<<1 | int32(dir)
				if _, ok := index[at]; !ok {
					index[at] = uint16(len(c.stages))
					c.stages = append(c.stages, w.stageOf(l))
				}
				stages = append(stages, index[at])
			}
			if receiver != noStage {
				stages = append(stages, receiver)
			}
			list = append(list, stages)
		}
		if dir == 0 {
			c.there = list
		} else {
			c.back = list
		}
	}
	line := w.l.PortEnds()[src][0].Rate
	c.rate = line
	if steady := w.steady[h.Way]; steady != nil {
		steady.Start(0, &cc.Flow{Line: line, MTU: h.Payload + h.HeaderSize(), MSS: h.Payload, BaseRTT: w.l.GivenRTT()})
		c.rate = min(c.rate, steady.Rate(0))
		if window := steady.Window(0); window < cc.Unlimited {
			c.window = int64((window + h.Payload - 1) / h.Payload)
		}
	}
	if n := int64(w.windows[h.Way]); n > 0 {
		if c.window == 0 || n < c.window {
			c.window = n
		}
		c.overtakes = len(c.there) > 1 // a short packet is quicker, and nobody minds
	}
	c.alike(c.there)
	c.alike(c.back)
	return c
}

// alike lets packets that go different ways in turn have the best of each hop: ways
// stay apart, but all are as fast and as short as any. Where they are not, some packets
// overtake others, and nothing short of the engine could tell how they fare; this is a
// bound that none beats.
func (c *flowPath) alike(ways [][]uint16) {
	hops := len(ways[0])
	for _, way := range ways {
		hops = min(hops, len(way))
		c.overtakes = c.overtakes || len(way) != len(ways[0])
	}
	for i := range hops {
		best := c.stages[ways[0][i]]
		for _, way := range ways {
			s := &c.stages[way[i]]
			best.rate, best.delay = max(best.rate, s.rate), min(best.delay, s.delay)
		}
		for _, way := range ways {
			c.overtakes = c.overtakes || c.stages[way[i]] != best
			c.stages[way[i]] = best
		}
	}
}

// stageOf returns the stage of a link by its number.
func (w *walker) stageOf(link int32) stage {
	node := sort.Search(len(w.base), func(n int) bool { return w.base[n] > int(link) }) - 1
	return w.link(node, int(link)-w.base[node])
}
