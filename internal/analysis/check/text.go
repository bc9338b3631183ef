package check

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/topo"
)

// This file is how findings name things.

// lossless returns the lossless classes.
func (s *Survey) lossless() packet.ClassMask { return mmu.ClassesOf(s.Kinds, mmu.Lossless) }

// numbers are classes as JSON writes them.
func numbers(mask packet.ClassMask) []int {
	var list []int
	for c := range mask.All() {
		list = append(list, int(c))
	}
	return list
}

// classes names classes: "class 3", "classes 1-7", "classes 1, 2, 5".
func classes(mask packet.ClassMask) string {
	ids := slices.Collect(mask.All())
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		switch {
		case j > i+1:
			parts = append(parts, fmt.Sprintf("%d-%d", ids[i], ids[j]))
		case j == i+1:
			parts = append(parts, fmt.Sprint(ids[i]), fmt.Sprint(ids[j]))
		default:
			parts = append(parts, fmt.Sprint(ids[i]))
		}
		i = j + 1
	}
	word := "classes "
	if len(ids) == 1 {
		word = "class "
	}
	return word + strings.Join(parts, ", ")
}

// ClassNames names classes as findings do.
func ClassNames(ids []int) string {
	mask := packet.ClassMask(0)
	for _, id := range ids {
		mask |= 1 << id
	}
	return classes(mask)
}

// count says how many there are.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// list joins names: a, b and c.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// brief names a few of many.
func brief(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return list(names)
}

// Brief names a few of many, as findings do.
func Brief(names []string) string { return brief(names) }

func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// family is the name of nodes of a kind: leaf* of leaf12.
func family(name string) string {
	return strings.TrimRight(name, "0123456789_") + "*"
}

// port names a port by its number, which tells parallel cables apart.
func (c *checker) port(p *surveyedPort) string {
	number, _ := c.Graph.PortNames(p.Node, p.Port, p.Peer)
	return number
}

// toward names a port by its neighbour.
func (c *checker) toward(p *surveyedPort) string {
	_, neighbour := c.Graph.PortNames(p.Node, p.Port, p.Peer)
	return neighbour
}

// pattern returns one that means exactly the given ports of all that there are, as
// overrides understand it; empty when a simple one does not exist.
func (c *checker) pattern(ports []*surveyedPort) string {
	if len(ports) == 1 {
		return c.port(ports[0])
	}
	p := family(c.Graph.Names[ports[0].Node]) + ".to-" + family(c.Graph.Names[ports[0].Peer])
	means := 0
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			if topo.Match(p, c.toward(&c.Switches[i].Ports[k])) {
				means++
			}
		}
	}
	for _, port := range ports {
		if !topo.Match(p, c.toward(port)) {
			return ""
		}
	}
	if means != len(ports) {
		return ""
	}
	return p
}

// ports names some ports: by a pattern where that is exact.
func (c *checker) ports(ports []*surveyedPort) string {
	if p := c.pattern(ports); p != "" && len(ports) > 1 {
		return fmt.Sprintf("%s (%d ports)", p, len(ports))
	}
	var names []string
	for _, p := range ports {
		names = append(names, fmt.Sprintf("%s to %s", c.port(p), c.Graph.Names[p.Peer]))
	}
	return brief(names)
}

// where lists all ports.
func (c *checker) where(ports []*surveyedPort) []string {
	var names []string
	for _, p := range ports {
		names = append(names, c.port(p))
	}
	return names
}

// alike is ports of which the same is to be said, in the order in which that was found.
type alike[K comparable] struct {
	order []K
	ports map[K][]*surveyedPort
}

func (a *alike[K]) add(what K, p *surveyedPort) {
	if a.ports == nil {
		a.ports = make(map[K][]*surveyedPort)
	}
	if a.ports[what] == nil {
		a.order = append(a.order, what)
	}
	a.ports[what] = append(a.ports[what], p)
}

func (a *alike[K]) all() iter.Seq2[K, []*surveyedPort] {
	return func(yield func(K, []*surveyedPort) bool) {
		for _, what := range a.order {
			if !yield(what, a.ports[what]) {
				return
			}
		}
	}
}
