package plot

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Sizes in pixels.
const (
	nodeHeight = 20.0
	hostHeight = 18.0
	hostDrop   = 30.0  // from a switch to its hosts
	stem       = 6.0   // from a switch to the bar above its strip of hosts
	layerGap   = 78.0  // between layers of switches
	wideEnough = 1060  // width of a page
	leastHost  = 3.6   // smallest width of a host without a name, with its gap
	tightGap   = 6.0   // between switches of a crowded layer
	circleLeft = 0.001 // largest overlap of boxes on a circle
)

// netLayout has the positions of everything in a network drawing.
type netLayout struct {
	width, height float64
	boxes         []box   // by node
	lines         [][]vec // by link
	labels        []string
	named         bool // boxes of hosts show their names
	texts         []netText
	bars          [][2]vec // lines that connect a switch with its strip of hosts
}

type netText struct {
	text   string
	x, y   float64
	anchor anchor
}

func (l *netLayout) move(dx, dy float64) {
	for i := range l.boxes {
		b := &l.boxes[i]
		b.x0, b.x1, b.y0, b.y1 = b.x0+dx, b.x1+dx, b.y0+dy, b.y1+dy
	}
	for _, line := range l.lines {
		for i := range line {
			line[i].x, line[i].y = line[i].x+dx, line[i].y+dy
		}
	}
	for i := range l.bars {
		for k := range l.bars[i] {
			l.bars[i][k].x, l.bars[i][k].y = l.bars[i][k].x+dx, l.bars[i][k].y+dy
		}
	}
	for i := range l.texts {
		l.texts[i].x, l.texts[i].y = l.texts[i].x+dx, l.texts[i].y+dy
	}
}

func dist(a, b vec) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	return math.Sqrt(float64(dx*dx) + float64(dy*dy))
}

// netPlan is a layout under construction.
type netPlan struct {
	*Network
	*netLayout
	hosts    [][]int // by node: attached hosts
	peers    [][]int // by switch: connected switches, in order of links
	switches []int
	rank     []int          // by switch: links to the nearest host
	cell     float64        // width of a host with its gap
	wide     []float64      // by node: width of its box
	prefix   map[int]string // by rank: prefix of switch names that the labels omit
}

// layout places nodes and links.
func (n *Network) layout() *netLayout {
	p := &netPlan{Network: n, netLayout: &netLayout{boxes: make([]box, len(n.Nodes)), lines: make([][]vec, len(n.Links)),
		labels: make([]string, len(n.Nodes))}, hosts: make([][]int, len(n.Nodes)), peers: make([][]int, len(n.Nodes)),
		wide: make([]float64, len(n.Nodes)), prefix: make(map[int]string)}
	count := 0
	for i := range n.Nodes {
		if !n.Nodes[i].Host {
			p.switches = append(p.switches, i)
		}
	}
	for _, l := range n.Links {
		if n.Nodes[l.A].Host && !n.Nodes[l.B].Host {
			p.hosts[l.B] = append(p.hosts[l.B], l.A)
			count++
			continue
		}
		p.peers[l.A], p.peers[l.B] = append(p.peers[l.A], l.B), append(p.peers[l.B], l.A)
	}
	p.ranks()
	p.label(count)
	switch n.Shape {
	case Circle:
		p.circle()
	case Grid:
		p.grid()
	default:
		p.layers()
	}
	p.strays()
	p.connect()
	p.fit()
	return p.netLayout
}

// ranks counts the links from each switch to the nearest host.
func (p *netPlan) ranks() {
	p.rank = make([]int, len(p.Nodes))
	var queue []int
	for _, i := range p.switches {
		if len(p.hosts[i]) > 0 {
			p.rank[i] = 1
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, k := range p.peers[queue[0]] {
			if p.rank[k] == 0 && !p.Nodes[k].Host {
				p.rank[k] = p.rank[queue[0]] + 1
				queue = append(queue, k)
			}
		}
	}
	for _, i := range p.switches {
		p.rank[i] = max(p.rank[i], 1)
	}
}

// label chooses the labels and widths of boxes.
func (p *netPlan) label(hosts int) {
	widest := 0.0
	for i := range p.Nodes {
		if p.Nodes[i].Host {
			widest = max(widest, styleTick.widthOf(p.Nodes[i].Name)*slack+6)
		}
	}
	p.named = hosts == 0 || float64(hosts)*(widest+3) <= wideEnough
	p.cell = widest + 3
	if !p.named {
		racks := 0
		for _, list := range p.hosts {
			racks += min(1, len(list))
		}
		p.cell = min(max((wideEnough-tightGap*float64(racks))/float64(hosts), leastHost), 14)
	}
	short := p.shorten()
	for i := range p.Nodes {
		switch {
		case !p.Nodes[i].Host:
			p.labels[i] = short[i]
			p.wide[i] = max(styleTick.widthOf(short[i])*1.1+10, 26)
		case p.named:
			p.labels[i] = p.Nodes[i].Name
		}
	}
}

// shorten returns the labels of switches. In a crowded layer they omit the common prefix of
// their names, which is drawn once beside the layer.
func (p *netPlan) shorten() map[int]string {
	names := make(map[int]string)
	byRank := make(map[int][]int)
	for _, i := range p.switches {
		names[i] = p.Nodes[i].Name
		byRank[p.rank[i]] = append(byRank[p.rank[i]], i)
	}
	for r, list := range byRank {
		room := 0.0
		for _, i := range list {
			room += styleTick.widthOf(names[i])*1.1 + 18
		}
		if room <= wideEnough || p.Shape != Layers {
			continue
		}
		prefix := names[list[0]]
		for _, i := range list {
			for !strings.HasPrefix(names[i], prefix) {
				prefix = prefix[:len(prefix)-1]
			}
		}
		prefix = strings.TrimRight(prefix, "0123456789")
		p.prefix[r] = prefix
		for _, i := range list {
			names[i] = strings.TrimPrefix(names[i], prefix)
		}
	}
	return names
}

// strip returns the width of a switch's hosts side by side.
func (p *netPlan) strip(i int) float64 { return float64(len(p.hosts[i])) * p.cell }

// put places a switch at (x, y) and its hosts around (hostX, hostY).
func (p *netPlan) put(i int, x, y, hostX, hostY float64) {
	p.boxes[i] = box{x - p.wide[i]/2, y - nodeHeight/2, x + p.wide[i]/2, y + nodeHeight/2}
	left := hostX - p.strip(i)/2
	space := min(3, p.cell/4)
	for k, h := range p.hosts[i] {
		x0 := left + float64(p.cell*float64(k))
		p.boxes[h] = box{x0 + space/2, hostY - hostHeight/2, x0 + p.cell - space/2, hostY + hostHeight/2}
	}
	if n := len(p.hosts[i]); n > 0 && !p.named {
		bar := y + nodeHeight/2 + stem
		if hostY < y {
			bar = y - nodeHeight/2 - stem
		}
		p.bars = append(p.bars, [2]vec{{min(left+p.cell/2, x), bar}, {max(left+p.strip(i)-p.cell/2, x), bar}}, [2]vec{{x, y}, {x, bar}})
		side := hostHeight/2 + 13
		if hostY < y {
			side = -hostHeight/2 - 4
		}
		if text := p.hostNames(i); text != "" {
			p.texts = append(p.texts, netText{text, hostX, hostY + side, middle})
		}
	}
}

// hostNames returns the longest name for a switch's hosts that fits: host4–7, 4–7, 4 or "".
func (p *netPlan) hostNames(i int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_."
	list := p.hosts[i]
	first, last := p.Nodes[list[0]].Name, strings.TrimLeft(p.Nodes[list[len(list)-1]].Name, letters)
	number := strings.TrimLeft(first, letters)
	names := []string{first + "–" + last, number + "–" + last, number}
	if len(list) == 1 {
		names = []string{first, number}
	}
	for _, text := range names {
		if styleTick.widthOf(text)*slack <= max(p.strip(i), p.wide[i])+2 {
			return text
		}
	}
	return ""
}

// layers places switches by rank: switches with hosts side by side at the bottom, others
// above the switches they connect.
func (p *netPlan) layers() {
	top := 1
	rows := make(map[int][]int)
	for _, i := range p.switches {
		rows[p.rank[i]] = append(rows[p.rank[i]], i)
		top = max(top, p.rank[i])
	}
	base := float64(top-1)*layerGap + 20
	x := make([]float64, len(p.Nodes))
	at := 0.0
	total := 0.0
	for _, i := range rows[1] {
		total += max(p.wide[i], p.strip(i)) + 14
	}
	between := 14.0
	if total > wideEnough {
		between = tightGap
	}
	// Spread a few switches with few hosts below wide upper layers.
	extra := max(0, min(90, (560-total)/float64(max(1, len(rows[1])))))
	for _, i := range rows[1] {
		w := max(p.wide[i], p.strip(i)) + between + extra
		x[i] = at + w/2
		at += w
	}
	p.width = at
	for r := 2; r <= top; r++ {
		p.above(rows[r], x)
	}
	for r := 1; r <= top; r++ {
		y := base - float64(r-1)*layerGap
		for _, i := range rows[r] {
			p.put(i, x[i], y, x[i], y+nodeHeight/2+hostDrop+hostHeight/2)
		}
		if text := p.prefix[r]; text != "" {
			left := p.boxes[slices.MinFunc(rows[r], func(a, b int) int { return cmp.Compare(x[a], x[b]) })].x0
			p.texts = append(p.texts, netText{text, left - 6, y + 4, end})
		}
	}
}

// above places the switches of a rank above the switches they connect.
func (p *netPlan) above(row []int, x []float64) {
	type span struct {
		node   int
		lo, hi float64
	}
	var list []span
	for _, i := range row {
		s := span{i, math.Inf(1), math.Inf(-1)}
		for _, k := range p.peers[i] {
			if p.rank[k] == p.rank[i]-1 {
				s.lo, s.hi = min(s.lo, x[k]), max(s.hi, x[k])
			}
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Or(cmp.Compare(a.lo+a.hi, b.lo+b.hi), cmp.Compare(a.lo, b.lo)) })
	for from := 0; from < len(list); {
		to := from
		// Switches above overlapping spans share the room.
		lo, hi := list[from].lo, list[from].hi
		for to < len(list) && (to == from || list[to].lo == lo && list[to].hi == hi || list[to].lo < hi) {
			lo, hi = min(lo, list[to].lo), max(hi, list[to].hi)
			to++
		}
		n := float64(to - from)
		for k := from; k < to; k++ {
			// Divide the span evenly: two switches are a quarter from its ends.
			x[list[k].node] = lo + float64((hi-lo)*(float64(k-from)+0.5)/n)
		}
		from = to
	}
	// Resolve overlaps: move to the right first, then back into the width.
	apart, taken := 12.0, 0.0
	for _, s := range list {
		taken += p.wide[s.node]
	}
	if n := float64(len(list)); taken+n*apart > p.width {
		apart = max(2, (p.width-taken)/n)
	}
	gapOf := func(a, b int) float64 { return (p.wide[a]+p.wide[b])/2 + apart }
	for k := 1; k < len(list); k++ {
		a, b := list[k-1].node, list[k].node
		x[b] = max(x[b], x[a]+gapOf(a, b))
	}
	if n := len(list); n > 0 {
		last := list[n-1].node
		if over := x[last] + p.wide[last]/2 - p.width; over > 0 {
			x[last] -= over
			for k := n - 2; k >= 0; k-- {
				a, b := list[k].node, list[k+1].node
				x[a] = min(x[a], x[b]-gapOf(a, b))
			}
		}
	}
}

// unit returns the size of a switch with its hosts.
func (p *netPlan) unit(i int) (w, h float64) {
	w, h = p.wide[i], nodeHeight
	if len(p.hosts[i]) > 0 {
		w, h = max(w, p.strip(i)), nodeHeight+hostDrop+hostHeight
		if !p.named {
			h += 14
		}
	}
	return w, h
}

// circle places switches on the smallest ellipse without overlaps, with hosts outside.
func (p *netPlan) circle() {
	n := len(p.switches)
	units := make([]box, n)
	for rx, ry := 150.0, 80.0; ; rx, ry = rx*1.08, ry*1.08 {
		for k, i := range p.switches {
			turn := 2 * math.Pi * float64(k) / float64(max(n, 1))
			x, y := float64(rx*math.Sin(turn)), float64(-ry*math.Cos(turn))
			if n == 1 {
				x, y = 0, 0
			}
			side := 1.0
			if y < -1e-6 {
				side = -1
			}
			p.put(i, x, y, x, y+float64(side*(nodeHeight/2+hostDrop+hostHeight/2)))
			w, h := p.unit(i)
			out := y + float64(side*(h-nodeHeight/2))
			in := y - float64(side*nodeHeight/2)
			units[k] = box{x - w/2 - 8, min(in, out) - 6, x + w/2 + 8, max(in, out) + 6}
		}
		if !overlapping(units) {
			break
		}
		p.texts, p.bars = nil, nil
	}
}

func overlapping(list []box) bool {
	for i, a := range list {
		for _, b := range list[i+1:] {
			if min(a.x1, b.x1)-max(a.x0, b.x0) > circleLeft && min(a.y1, b.y1)-max(a.y0, b.y0) > circleLeft {
				return true
			}
		}
	}
	return false
}

// grid places switches in rows, with the hosts of each to its lower right, clear of links.
func (p *netPlan) grid() {
	columns := max(1, p.Columns)
	w, h := 0.0, 0.0
	for _, i := range p.switches {
		uw, uh := p.unit(i)
		w, h = max(w, uw), max(h, uh)
	}
	half := 0.0
	for _, i := range p.switches {
		half = max(half, p.wide[i]/2)
	}
	stepX, stepY := w+2*half+24, h+34
	for k, i := range p.switches {
		x, y := float64(k%columns)*stepX, float64(k/columns)*stepY
		p.put(i, x, y, x+half*0.4+10+p.strip(i)/2, y+nodeHeight/2+hostDrop+hostHeight/2)
	}
}

// strays places nodes that are not placed yet: hosts connected to hosts.
func (p *netPlan) strays() {
	at := 0.0
	bottom := 0.0
	for _, b := range p.boxes {
		bottom = max(bottom, b.y1)
	}
	for i := range p.Nodes {
		if p.boxes[i] == (box{}) {
			w := styleTick.widthOf(p.Nodes[i].Name)*slack + 6
			p.labels[i] = p.Nodes[i].Name
			p.boxes[i] = box{at, bottom + 30, at + w, bottom + 30 + hostHeight}
			at += w + 60
		}
	}
}

// fit moves the drawing to the origin and computes its size.
func (p *netPlan) fit() {
	all := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	grow := func(b box) {
		all = box{min(all.x0, b.x0), min(all.y0, b.y0), max(all.x1, b.x1), max(all.y1, b.y1)}
	}
	for _, b := range p.boxes {
		grow(b)
	}
	for _, line := range p.lines {
		for _, v := range line {
			grow(box{v.x, v.y, v.x, v.y})
		}
	}
	for _, t := range p.texts {
		long := styleTick.widthOf(t.text) * slack
		left := t.x - long/2
		if t.anchor == end {
			left = t.x - long
		}
		grow(box{left, t.y - 11, left + long, t.y + 4})
	}
	if len(p.boxes) == 0 {
		all = box{}
	}
	p.move(-all.x0, -all.y0)
	p.width, p.height = all.x1-all.x0, all.y1-all.y0
}
