// Package convert makes scenarios of SONiC configurations and configurations of
// scenarios. Both meet in a small description of a fabric, so that what is imported
// and exported again is the same.
package convert

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// fabric is what scenarios and configurations both can say.
type fabric struct {
	name                     string
	lossless, lossy, control []int // traffic classes
	switches                 []*node
	links                    []cable
	left                     []string // what has no counterpart
}

// node is a switch.
type node struct {
	name  string
	chip  string // in comments
	file  string
	set   settings
	ports []port
}

// settings are those of a switch. Alike ones are equal.
type settings struct {
	size, cell, perPacket, pool units.Bytes // of everything; of storage; of a frame; of shared headroom
	partitions                  int64
	alphaLossy                  int64       // exponents of 2
	egressLossless              units.Bytes // pool; 0: none
	egressLimit                 units.Bytes // of a lossless queue; 0: all
	egressLossy                 units.Bytes
	mtu                         units.Bytes
	watchdog                    watchdog
}

// watchdog has times in ms; without action there is none.
type watchdog struct {
	action                       string
	poll, detection, restoration int64
}

// port is a port of a switch that is cabled.
type port struct {
	name   string // in comments
	rate   units.Rate
	metres int64
	set    portSettings
}

// portSettings are those of a port.
type portSettings struct {
	headroom, xon, offset, minimum units.Bytes
	alpha                          int64 // exponent of 2
	borrow                         bool
	processing                     units.Time
	kmin, kmax                     units.Bytes // kmax 0: no marks
	pmax                           int64       // per cent
	weights                        [8]int64    // of classes; 0: none given
}

// cable joins ports of switches; the second switch is -1 for a host.
type cable struct {
	a, portA, b, portB int
	rate               units.Rate
	metres             int64
}

// hostName is that of the host on a port: numbers of ports survive an export.
func (f *fabric) hostName(c *cable) string {
	return fmt.Sprintf("%s-h%d", f.switches[c.a].name, c.portA)
}

// shared is the part of a buffer that is neither headroom nor minimum.
func (f *fabric) shared(n *node) units.Bytes {
	return n.set.size - n.set.pool - n.taken(len(f.lossless))
}

// taken is what ports have for themselves: minimums, and headroom where there is
// no pool of it.
func (n *node) taken(classes int) units.Bytes {
	sum := units.Bytes(0)
	for _, p := range n.ports {
		each := p.set.minimum
		if n.set.pool == 0 {
			each += p.set.headroom
		}
		sum += each * units.Bytes(classes)
	}
	return sum
}

// usual returns the settings of most, and of those the first.
func usual[T any, S comparable](list []T, of func(*T) S) S {
	count := map[S]int{}
	for i := range list {
		count[of(&list[i])]++
	}
	var best S
	for i := range list {
		if s := of(&list[i]); i == 0 || count[s] > count[best] {
			best = s
		}
	}
	return best
}

// omit notes what has no counterpart.
func (f *fabric) omit(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(f.left, s) {
		f.left = append(f.left, s)
	}
}

// perWeight is what a weight of 1 may send per round.
const perWeight units.Bytes = 160
