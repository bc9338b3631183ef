package topo

import (
	"fmt"
	"path"
	"strings"
)

// LinkName returns the name of a link: its nodes joined by a dash, such as leaf0-spine1.
// Parallel links have a number appended: leaf0-spine1#0, leaf0-spine1#1.
func (g *Graph) LinkName(i int) string {
	l := &g.Links[i]
	return g.linkName(l, l.A, l.B)
}

func (g *Graph) linkName(l *Link, a, b int) string {
	name := g.Names[a] + "-" + g.Names[b]
	if l.Lanes > 1 {
		name += fmt.Sprintf("#%d", l.Lane)
	}
	return name
}

// LinkNamed returns the link with a given name; its nodes may be in either order.
func (g *Graph) LinkNamed(name string) (int, error) {
	base, _, _ := strings.Cut(name, "#")
	lanes := 0
	for i := range g.Links {
		l := &g.Links[i]
		// Compare lengths first: most names differ there, and building names is slow.
		if len(base) != len(g.Names[l.A])+1+len(g.Names[l.B]) {
			continue
		}
		for _, full := range [2]string{g.linkName(l, l.A, l.B), g.linkName(l, l.B, l.A)} {
			if full == name {
				return i, nil
			}
			if l.Lanes > 1 && strings.HasPrefix(full, name+"#") {
				lanes = l.Lanes
			}
		}
	}
	if lanes > 0 {
		return -1, fmt.Errorf("there are %d links %q (expected %s#0 to %s#%d)", lanes, name, name, name, lanes-1)
	}
	return -1, fmt.Errorf("there is no link %q%s (expected two neighbours joined by a dash, such as %s)", name,
		didYouMean(name, g.linkNames()), g.LinkName(len(g.Links)-1))
}

func (g *Graph) linkNames() []string {
	names := make([]string, len(g.Links))
	for i := range names {
		names[i] = g.LinkName(i)
	}
	return names
}

// LinksLike returns the links whose name, with nodes in either order, matches a pattern: *
// stands for any text, ? for any character, [a-c] for a range. Without #, a pattern matches
// every parallel link. A pattern without matches is an error.
func (g *Graph) LinksLike(pattern string) ([]int, error) {
	if err := CheckPattern(pattern); err != nil {
		return nil, err
	}
	lane := strings.Contains(pattern, "#")
	var found []int
	for i := range g.Links {
		l := &g.Links[i]
		there, back := g.linkName(l, l.A, l.B), g.linkName(l, l.B, l.A)
		if !lane {
			there, _, _ = strings.Cut(there, "#")
			back, _, _ = strings.Cut(back, "#")
		}
		if Match(pattern, there) || Match(pattern, back) {
			found = append(found, i)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no link matches %q%s (expected two neighbours joined by a dash, such as %s, with * for any text)",
			pattern, didYouMean(pattern, g.linkNames()), g.LinkName(len(g.Links)-1))
	}
	return found, nil
}

// Match reports whether a name matches a pattern. An invalid pattern matches nothing.
func Match(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// CheckPattern returns an error if a pattern is invalid.
func CheckPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err == nil {
		return nil
	}
	return fmt.Errorf("%q is not a pattern (expected a name, with * for any text, ? for any letter, [0-3] for a range)", pattern)
}

// HostsLike returns the hosts that match a list of patterns. A pattern matches names of hosts
// (host1*), groups (rack3, dc0, all) and switches, which stand for their hosts (leaf0). A
// pattern that begins with ! removes its matches. Hosts are in the order of the list, then
// by number, each once. On an error, pattern is the index of the failing one.
func (g *Graph) HostsLike(patterns []string) (hosts []int, pattern int, err error) {
	in := make([]bool, g.Hosts)
	for i, p := range patterns {
		word, without := strings.CutPrefix(p, "!")
		found, err := g.hostsLike(word)
		if err != nil {
			return nil, i, err
		}
		for _, h := range found {
			if !in[h] && !without {
				hosts = append(hosts, h)
			}
			in[h] = !without
		}
		if without {
			kept := hosts[:0]
			for _, h := range hosts {
				if in[h] {
					kept = append(kept, h)
				}
			}
			hosts = kept
		}
	}
	return hosts, 0, nil
}

// hostsLike returns the hosts that match one pattern, ordered by number.
func (g *Graph) hostsLike(pattern string) ([]int, error) {
	if err := CheckPattern(pattern); err != nil {
		return nil, err
	}
	match := func(name string) bool { return Match(pattern, name) }
	if !strings.ContainsAny(pattern, `*?[\`) {
		match = func(name string) bool { return name == pattern }
	}
	in, matched := make([]bool, g.Hosts), false
	for h := range g.Hosts {
		in[h] = match(g.Names[h])
		matched = matched || in[h]
	}
	for _, group := range g.Groups {
		if match(group.Name) {
			matched = true
			for _, h := range group.Hosts {
				in[h] = true
			}
		}
	}
	for _, l := range g.Links {
		if l.A < g.Hosts && match(g.Names[l.B]) {
			in[l.A], matched = true, true
		}
	}
	if !matched {
		return nil, fmt.Errorf("no host matches %q%s (expected names and patterns of hosts (%s), groups (%s) and switches with hosts)", pattern, didYouMean(pattern, g.hostWords()), Brief(g.Names[:g.Hosts]), Brief(g.groupNames()))
	}
	var hosts []int
	for h, on := range in {
		if on {
			hosts = append(hosts, h)
		}
	}
	return hosts, nil
}

func (g *Graph) groupNames() []string {
	var names []string
	for _, group := range g.Groups {
		names = append(names, group.Name)
	}
	return names
}

// hostWords returns the names that stand for hosts.
func (g *Graph) hostWords() []string {
	words := g.groupNames()
	on := make([]bool, g.Nodes())
	for _, l := range g.Links {
		if l.A < g.Hosts && !on[l.B] {
			on[l.B] = true
			words = append(words, g.Names[l.B])
		}
	}
	return append(words, g.Names[:g.Hosts]...)
}

// Brief lists names for a message: all of a few, or the first and last of many.
func Brief(names []string) string {
	if len(names) > 8 {
		return strings.Join(names[:3], ", ") + " ... " + names[len(names)-1]
	}
	return strings.Join(names, ", ")
}
