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

// flowPath is the path of a flow, with all that decides its speed.
type flowPath struct {
	stages      []stage
	there, back [][]uint16 // paths of data packets and of ACKs, as stages; more than one: used in turn
	payload     units.Bytes
	header      units.Bytes
	ack         units.Bytes
	every       int        // packets per ACK
	window      int64      // in packets; 0: unlimited
	rate        units.Rate // of the sender
	overtakes   bool       // packets may overtake others, see equalise
}

// stage handles one frame at a time: a link, or a host that receives slowly.
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
	sprays  bool            // routers may send packets of a flow on different paths
	hashed  bool            // all routers choose by the hash alone: ecmp
	kinds   []uint32        // by link and direction: number of its kind of stage
	slow    []uint32        // by host: number of its kind of stage; noStage if it does not receive slowly
	base    []int           // by node: number of its first link
	steady  []steadyControl // by transport; nil: not a steadyControl
	windows []uint32        // by transport: limit of packets in flight; 0: unlimited
	name    []byte
	paths   [2][][]int32 // of the last walk: links of data packets and of ACKs
	rounds  uint32
	order   []visit // by link
}

// visit is the order in which a round first reached a link.
type visit struct {
	round uint32
	index uint32
}

// maxPaths limits the number of paths of sprayed packets.
const maxPaths = 64

// noStage is the kind of a host that does not receive slowly.
const noStage = 1<<32 - 1

func newWalker(l *layout.Layout, t *layout.Traffic) *walker {
	w := &walker{l: l, routers: make([]route.Router, l.Graph.Nodes()), hashed: true}
	w.tables = l.Routes(t, nil)
	dead := l.DeadLinks()
	after := w.tables
	spray, err := route.Routers.Get("spray")
	if err != nil {
		panic(err)
	}
	if len(dead) > 0 {
		after = l.Routes(t, func(link int) bool { return dead[link] })
	}
	for node := l.Graph.Hosts; node < l.Graph.Nodes(); node++ {
		entry, err := route.Routers.Get(l.RoutingAt(node).Name)
		if err != nil {
			panic(err) // the layout is valid
		}
		w.hashed = w.hashed && entry.Name == "ecmp"
		if entry.Promises&registry.InOrder == 0 {
			// Flowlets may take any of the paths, several at a time: no flow is faster than
			// one that sprays its packets over all of them.
			w.sprays = true
			w.routers[node], err = spray.New(nil, w.emptyEnv(node))
		} else {
			w.routers[node], err = l.Router(node, w.emptyEnv(node))
		}
		if err != nil {
			panic(err)
		}
		if len(dead) > 0 {
			w.routers[node].Replace(after[node])
		}
	}
	w.tables = after
	known := make(map[stage]uint32)
	number := func(s stage) uint32 {
		if _, ok := known[s]; !ok {
			known[s] = uint32(len(known))
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
		kind := uint32(noStage)
		if rate := l.Receive(host).Rate; rate > 0 {
			kind = number(stage{rate: rate})
		}
		w.slow = append(w.slow, kind)
	}
	w.order = make([]visit, len(w.kinds))
	for _, h := range l.Transports() {
		transport, err := l.Transport(h, l.GivenRTT())
		if err != nil {
			panic(err)
		}
		steady, _ := transport.Control().(steadyControl)
		if transport.Recovery == dataplane.GoBackN {
			transport.Window = 0
		}
		w.steady, w.windows = append(w.steady, steady), append(w.windows, transport.Window)
	}
	return w
}

// emptyEnv returns the environment of a router whose switch is empty.
func (w *walker) emptyEnv(node int) route.Env {
	ends := w.l.PortEnds()[node]
	rates := make([]units.Rate, len(ends))
	for i := range ends {
		rates[i] = ends[i].Rate
	}
	view := mmu.NewLedger(mmu.Spec{Ports: len(ends)}).View()
	return route.NewEnv(w.tables[node], view, rates, w.l.RouteSeed(node))
}

// steadyControl is a congestion control whose rate and window limit the ideal FCT.
type steadyControl interface {
	cc.Control
	cc.Steady
}

func (w *walker) link(node, port int) stage {
	e := &w.l.PortEnds()[node][port]
	return stage{e.Rate, w.l.Config.Switch.WireOverhead, e.Delay, w.l.Config.Compat.Tick}
}

// walk routes the packets of a flow and its ACKs and returns the name of the path. Flows with
// the same name and size have the same FCT. The name is valid until the next walk.
func (w *walker) walk(id uint32, f *dataplane.Flow) []byte {
	data := packet.Packet{Flow: id, Hash: f.Hash, To: f.Dst, Meta: packet.MakeMeta(packet.Data, f.Class)}
	if f.Pinned {
		data.Flags = packet.Pinned
	}
	ack := data
	ack.Hash, ack.To, ack.Meta = dataplane.ReplyHash(f.Hash), f.Src, packet.MakeMeta(packet.Ack, 0)
	w.paths[0] = w.spread(w.paths[0], &data, int(f.Src), int(f.Dst))
	w.paths[1] = w.spread(w.paths[1], &ack, int(f.Dst), int(f.Src))
	w.name = w.name[:0]
	put := func(x uint32) { w.name = binary.LittleEndian.AppendUint32(w.name, x) }
	for _, paths := range w.paths {
		put(uint32(len(paths)))
		w.rounds++
		met := uint32(0)
		for _, path := range paths {
			put(uint32(len(path)))
			for _, l := range path {
				put(w.kinds[l])
				if len(paths) > 1 { // only which links are shared matters, not which links they are
					m := &w.order[l]
					if m.round != w.rounds {
						*m = visit{w.rounds, met}
						met++
					}
					put(m.index)
				}
			}
		}
	}
	put(w.slow[f.Dst])
	put(w.slow[f.Src])
	put(uint32(f.Transport))
	put(uint32(w.l.HostAt(int(f.Dst)).Group))
	return w.name
}

// spread returns the paths that the packets of a flow use in turn.
func (w *walker) spread(paths [][]int32, p *packet.Packet, src, dst int) [][]int32 {
	add := func(k int) int {
		if k == len(paths) {
			paths = append(paths, nil)
		}
		choices := 0
		paths[k], choices = w.follow(paths[k][:0], p, src, dst)
		return choices
	}
	paths = paths[:cap(paths)]
	n := add(0)
	if !w.sprays || p.Flags&packet.Pinned != 0 && p.Kind() == packet.Data {
		return paths[:1]
	}
	n = min(n, maxPaths)
	for k := 1; k < n; k++ {
		add(k)
	}
	return paths[:n]
}

// follow appends the links of a packet's path, and returns the number of equal-cost paths, at
// most maxPaths. The path ends early at a switch without a route.
func (w *walker) follow(links []int32, p *packet.Packet, src, dst int) ([]int32, int) {
	paths := 1
	for node, port := src, 0; ; {
		links = append(links, int32(w.base[node]+port))
		e := &w.l.PortEnds()[node][port]
		node = e.To
		if node == dst || node < w.l.Graph.Hosts || len(links) > w.l.Graph.Nodes() {
			return links, paths
		}
		paths = min(maxPaths, paths*max(1, len(w.tables[node].Set(p.Dst()))))
		if port = w.routers[node].Route(0, e.Port, p); port < 0 {
			return links, paths
		}
	}
}

// path returns the path of the last walk, for a flow with a transport.
func (w *walker) path(src, dst int, transport uint8) *flowPath {
	h := w.l.Transports()[transport]
	receiving := w.l.HostAt(dst).Variant(h.Name)
	c := &flowPath{payload: h.Payload, header: h.HeaderSize(), ack: receiving.AckSize(h.Records), every: receiving.Ack.Every}
	index := make(map[int32]uint16)
	for dir, paths := range w.paths {
		var list [][]uint16
		receiver := -1
		if rate := w.l.Receive([2]int{dst, src}[dir]).Rate; rate > 0 {
			receiver = len(c.stages)
			c.stages = append(c.stages, stage{rate: rate})
		}
		for _, path := range paths {
			var stages []uint16
			for _, l := range path {
				// Links are full duplex: each direction is a stage of its own. Both
				// directions of a flow use it only if a pinned route turns back.
				at := l<<1 | int32(dir)
				if _, ok := index[at]; !ok {
					index[at] = uint16(len(c.stages))
					c.stages = append(c.stages, w.stageOf(l))
				}
				stages = append(stages, index[at])
			}
			if receiver >= 0 {
				stages = append(stages, uint16(receiver))
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
	if steady := w.steady[h.Number]; steady != nil {
		steady.Start(0, &cc.Flow{Line: line, MTU: h.Payload + h.HeaderSize(), MSS: h.Payload, BaseRTT: w.l.GivenRTT()})
		c.rate = min(c.rate, steady.Rate(0))
		if window := steady.Window(0); window < cc.Unlimited {
			c.window = int64((window + h.Payload - 1) / h.Payload)
		}
	}
	if n := int64(w.windows[h.Number]); n > 0 {
		if c.window == 0 || n < c.window {
			c.window = n
		}
		c.overtakes = len(c.there) > 1 // a short packet is faster, and the receiver accepts it
	}
	c.equalise(c.there)
	c.equalise(c.back)
	return c
}

// equalise gives every path the best rate and delay of each hop. If the paths differ, packets
// overtake each other and only a simulation gives the FCT; the result is then a lower bound.
func (c *flowPath) equalise(paths [][]uint16) {
	hops := len(paths[0])
	for _, path := range paths {
		hops = min(hops, len(path))
		c.overtakes = c.overtakes || len(path) != len(paths[0])
	}
	for i := range hops {
		best := c.stages[paths[0][i]]
		for _, path := range paths {
			s := &c.stages[path[i]]
			best.rate, best.delay = max(best.rate, s.rate), min(best.delay, s.delay)
		}
		for _, path := range paths {
			c.overtakes = c.overtakes || c.stages[path[i]] != best
			c.stages[path[i]] = best
		}
	}
}

// stageOf returns the stage of a link.
func (w *walker) stageOf(link int32) stage {
	node := sort.Search(len(w.base), func(n int) bool { return w.base[n] > int(link) }) - 1
	return w.link(node, int(link)-w.base[node])
}
