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

// This file names classes, ports and nodes in findings.

// lossless returns the lossless classes.
func (s *Survey) lossless() packet.ClassMask { return mmu.ClassesOf(s.Kinds, mmu.Lossless) }

// classIDs returns the numbers of the classes in a mask, for JSON.
func classIDs(mask packet.ClassMask) []int {
	var list []int
	for c := range mask.All() {
		list = append(list, int(c))
	}
	return list
}

// classes names the classes in a mask: "class 3", "classes 1-7", "classes 1, 2, 5".
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

// ClassNames names classes as findings do: "class 3", "classes 1-7".
func ClassNames(ids []int) string {
	mask := packet.ClassMask(0)
	for _, id := range ids {
		mask |= 1 << id
	}
	return classes(mask)
}

// count returns n with the singular or the plural noun.
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

// brief joins names; of more than four it lists three and the number of others.
func brief(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return list(names)
}

// Brief joins names as findings do: of more than four it lists three and the number of others.
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

// family returns the pattern of a node's name without its number: leaf* for leaf12.
func family(name string) string {
	return strings.TrimRight(name, "0123456789_") + "*"
}

// portName names a port by its number, which is unique even with parallel cables.
func (c *checker) portName(p *surveyedPort) string {
	number, _ := c.Graph.PortNames(p.Node, p.Port, p.Peer)
	return number
}

// portByPeer names a port by its peer, such as leaf0.to-spine1.
func (c *checker) portByPeer(p *surveyedPort) string {
	_, name := c.Graph.PortNames(p.Node, p.Port, p.Peer)
	return name
}

// pattern returns a pattern for overrides that matches exactly the given ports, or "" if no
// simple pattern does.
func (c *checker) pattern(ports []*surveyedPort) string {
	if len(ports) == 1 {
		return c.portName(ports[0])
	}
	p := family(c.Graph.Names[ports[0].Node]) + ".to-" + family(c.Graph.Names[ports[0].Peer])
	matches := 0
	for i := range c.Switches {
		for k := range c.Switches[i].Ports {
			if topo.Match(p, c.portByPeer(&c.Switches[i].Ports[k])) {
				matches++
			}
		}
	}
	for _, port := range ports {
		if !topo.Match(p, c.portByPeer(port)) {
			return ""
		}
	}
	if matches != len(ports) {
		return ""
	}
	return p
}

// portNames names ports: by a pattern if it matches exactly them, else briefly one by one.
func (c *checker) portNames(ports []*surveyedPort) string {
	if p := c.pattern(ports); p != "" && len(ports) > 1 {
		return fmt.Sprintf("%s (%d ports)", p, len(ports))
	}
	var names []string
	for _, p := range ports {
		names = append(names, fmt.Sprintf("%s to %s", c.portName(p), c.Graph.Names[p.Peer]))
	}
	return brief(names)
}

// where returns the names of all ports, for Finding.Where.
func (c *checker) where(ports []*surveyedPort) []string {
	var names []string
	for _, p := range ports {
		names = append(names, c.portName(p))
	}
	return names
}

// portsBy groups ports with the same finding, in the order in which the findings were made.
type portsBy[K comparable] struct {
	order []K
	ports map[K][]*surveyedPort
}

func (g *portsBy[K]) add(key K, p *surveyedPort) {
	if g.ports == nil {
		g.ports = make(map[K][]*surveyedPort)
	}
	if g.ports[key] == nil {
		g.order = append(g.order, key)
	}
	g.ports[key] = append(g.ports[key], p)
}

func (g *portsBy[K]) all() iter.Seq2[K, []*surveyedPort] {
	return func(yield func(K, []*surveyedPort) bool) {
		for _, key := range g.order {
			if !yield(key, g.ports[key]) {
				return
			}
		}
	}
}
