package plot

import "cmp"

// connect computes the lines of links from box to box: straight, or curved around boxes
// between them.
func (p *netPlan) connect() {
	type pair struct{ a, b int }
	lanes := make(map[pair]int)
	count := make(map[pair]int)
	key := func(l *Link) pair { return pair{min(l.A, l.B), max(l.A, l.B)} }
	for i := range p.Links {
		count[key(&p.Links[i])]++
	}
	for i := range p.Links {
		l := &p.Links[i]
		k := key(l)
		shift := 9 * (float64(lanes[k]) - float64(count[k]-1)/2)
		lanes[k]++
		p.lines[i] = p.line(l, shift)
	}
}

// line returns the line from A to B, shifted sideways for parallel cables.
func (p *netPlan) line(l *Link, shift float64) []vec {
	a, b := p.boxes[l.A], p.boxes[l.B]
	ca, cb := a.centre(), b.centre()
	if p.Nodes[l.A].Host && !p.Nodes[l.B].Host {
		return p.hostLine(a, b)
	}
	sameRow := ca.y == cb.y
	switch {
	case p.Shape == Grid && sameRow && abs(ca.x-cb.x) > p.near(ca.x, cb.x, true)+1:
		return bow(vec{ca.x, a.y0}, vec{cb.x, b.y0}, vec{0, -34 + shift})
	case p.Shape == Grid && ca.x == cb.x && abs(ca.y-cb.y) > p.near(ca.y, cb.y, false)+1:
		return bow(vec{a.x0, ca.y}, vec{b.x0, cb.y}, vec{-34 + shift, 0})
	case p.Shape == Layers && sameRow && p.between(l):
		return bow(vec{ca.x, a.y0}, vec{cb.x, b.y0}, vec{0, -min(abs(ca.x-cb.x)/3, layerGap*0.8) + shift})
	case p.Shape == Layers && !sameRow:
		lower, upper := a, b
		if ca.y < cb.y {
			lower, upper = b, a
		}
		from, to := vec{lower.centre().x + shift, lower.y0}, vec{upper.centre().x + shift, upper.y1}
		if lower == a {
			return []vec{from, to}
		}
		return []vec{to, from}
	case sameRow:
		from, to := vec{a.x1, ca.y + shift}, vec{b.x0, cb.y + shift}
		if ca.x > cb.x {
			from.x, to.x = a.x0, b.x1
		}
		return []vec{from, to}
	}
	d := dist(ca, cb)
	if d == 0 {
		return []vec{ca, cb}
	}
	nx, ny := -(cb.y-ca.y)/d*shift, (cb.x-ca.x)/d*shift
	ca, cb = vec{ca.x + nx, ca.y + ny}, vec{cb.x + nx, cb.y + ny}
	return []vec{a.edge(ca, cb), b.edge(cb, ca)}
}

// hostLine returns the line from a host to its switch.
func (p *netPlan) hostLine(host, sw box) []vec {
	c := host.centre()
	y, from := sw.y1, host.y0
	if c.y < sw.y0 {
		y, from = sw.y0, host.y1
	}
	if !p.named {
		// Hosts in a strip end at the bar of their switch.
		end := y + stem
		if c.y < sw.y0 {
			end = y - stem
		}
		return []vec{{c.x, from}, {c.x, end}}
	}
	// End at the box of the switch, as close to the host as possible.
	x := min(max(c.x, sw.x0+4), sw.x1-4)
	return []vec{{c.x, from}, {x, y}}
}

// between reports whether there are other switches between two of the same row.
func (p *netPlan) between(l *Link) bool {
	a, b := p.boxes[l.A].centre(), p.boxes[l.B].centre()
	for i := range p.boxes {
		c := p.boxes[i].centre()
		if !p.Nodes[i].Host && c.y == a.y && c.x > min(a.x, b.x) && c.x < max(a.x, b.x) {
			return true
		}
	}
	return false
}

// near returns the smallest distance between columns or rows of a grid.
func (p *netPlan) near(a, b float64, columns bool) float64 {
	least := abs(a - b)
	for _, i := range p.switches {
		c := p.boxes[i].centre()
		v := c.y
		if columns {
			v = c.x
		}
		if d := abs(v - a); d > 1e-6 {
			least = min(least, d)
		}
	}
	return least
}

func abs(v float64) float64 { return cmp.Or(max(v, -v), 0) }

func (b box) centre() vec { return vec{(b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2} }

// edge returns the point where a line from a point inside the box to another point leaves
// the box.
func (b box) edge(from, to vec) vec {
	if _, q, ok := b.clip(from, to); ok {
		return q
	}
	return from
}

// bow returns a curve from a to b that bends by the vector by.
func bow(a, b, by vec) []vec {
	const n = 16
	var list []vec
	for i := range n + 1 {
		t := float64(i) / n
		bend := 4 * t * (1 - t)
		list = append(list, vec{a.x + float64(t*(b.x-a.x)) + float64(bend*by.x), a.y + float64(t*(b.y-a.y)) + float64(bend*by.y)})
	}
	return list
}
