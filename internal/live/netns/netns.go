// Package netns creates network namespaces connected by veth pairs, for `xoff live --setup`, and
// removes them again, also after a run was killed. Their names start with a prefix. A file in
// /run/xoff lists them before they are created; no other namespace is ever removed.
package netns

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

// Plan lists the namespaces and veth pairs to create.
type Plan struct {
	Prefix string // prefix of the names of namespaces
	Pairs  []Pair
}

// Pair is a veth pair.
type Pair struct{ A, B End }

// End is one end of a veth pair.
type End struct {
	Space string // namespace, without the prefix
	Name  string // interface
	MAC   string
	MTU   int
	// Address is the address of a real host, whose traffic the kernel handles. If it is invalid,
	// the kernel sends nothing on the interface.
	Address netip.Prefix
}

// Full returns the name of a namespace with the prefix.
func (p *Plan) Full(space string) string { return p.Prefix + "-" + space }

// Spaces returns the namespaces of a plan, without prefix, in order of first use.
func (p *Plan) Spaces() []string {
	var all []string
	for i := range p.Pairs {
		for _, e := range []*End{&p.Pairs[i].A, &p.Pairs[i].B} {
			if !slices.Contains(all, e.Space) {
				all = append(all, e.Space)
			}
		}
	}
	return all
}

var prefixes = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)

// CheckPrefix checks that a prefix is valid.
func CheckPrefix(prefix string) error {
	if !prefixes.MatchString(prefix) {
		return fmt.Errorf("%q is not a valid prefix (expected a letter, then up to 15 letters and digits, such as xoff)", prefix)
	}
	return nil
}

// maxInterface is the longest name of an interface: IFNAMSIZ without the terminating zero.
const maxInterface = 15

// Cable is one end of a cable, for which InterfaceNames finds a name.
type Cable struct {
	Here, Peer string
	Node, Port int
}

// InterfaceNames returns names for the ends of cables in one namespace. A name has the two nodes;
// if it would be too long or ambiguous, it has the numbers of node and port.
func InterfaceNames(ends []Cable) []string {
	names, count := make([]string, len(ends)), make(map[string]int)
	for i, e := range ends {
		names[i] = e.Here + "-" + e.Peer
		if len(names[i]) > maxInterface {
			names[i] = e.numbered()
		}
		count[names[i]]++
	}
	if len(count) < len(ends) {
		for i := range ends {
			names[i] = ends[i].numbered()
		}
	}
	return names
}

func (c *Cable) numbered() string { return fmt.Sprintf("node%d-%d", c.Node, c.Port) }
