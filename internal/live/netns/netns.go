// Package netns makes network namespaces with veth pairs between them, and removes what it
// has made: also what a run left behind that was killed. All its names begin with a prefix,
// and a file under /run/xoff lists them before they are made; what is not on that list is
// never touched.
package netns

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

// Plan is what to make.
type Plan struct {
	Prefix string // of the names of namespaces
	Pairs  []Pair
}

// Pair is a cable.
type Pair struct{ A, B End }

// End is one end of a veth pair.
type End struct {
	Space string // namespace, without the prefix
	Name  string // of the interface
	MAC   string
	MTU   int
	// Address makes it the interface of a host that the kernel speaks for; otherwise the
	// kernel says nothing there of its own accord.
	Address netip.Prefix
}

// Full is the name of a namespace with its prefix.
func (p *Plan) Full(space string) string { return p.Prefix + "-" + space }

// Spaces lists the namespaces of a plan, without prefix, in the order of their first use.
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

// CheckPrefix rejects prefixes that would not do as part of a name.
func CheckPrefix(prefix string) error {
	if !prefixes.MatchString(prefix) {
		return fmt.Errorf("%q is no prefix; allowed: up to 16 letters and digits, such as xoff", prefix)
	}
	return nil
}

// maxInterface is IFNAMSIZ less the zero at its end.
const maxInterface = 15

// Cable is an end of a cable, for a name of its interface: from a port of a node to a peer.
type Cable struct {
	Here, Peer string
	Node, Port int
}

// InterfaceNames are those of the ends of cables in one namespace: their nodes, if that is
// short enough and leaves no doubt (there may be several cables between two nodes), else
// their numbers.
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
