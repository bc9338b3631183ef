// Package convert converts SONiC configurations to scenarios and back, for xoff import and
// xoff export. Both directions use the same description of a fabric, so that importing
// an exported fabric gives the same scenario.
package convert

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/units"
)

// fabric describes what both a scenario and SONiC configurations can express.
type fabric struct {
	name                     string
	lossless, lossy, control []int // traffic classes
	switches                 []*node
	links                    []cable
	omitted                  []string // settings without an equivalent
	assumed                  []string // ports with assumed hosts
}

// node is a switch.
type node struct {
	name  string
	chip  string // for comments
	file  string
	set   settings
	ports []port
}

// settings are the settings of a switch; they are comparable.
type settings struct {
	size, cell, perPacket, pool units.Bytes // whole buffer; cell; bytes charged per frame; headroom pool
	partitions                  int64
	alphaLossy                  int64       // exponent of 2
	egressLossless              units.Bytes // pool; 0: none
	egressLimit                 units.Bytes // limit of a lossless queue; 0: the whole pool
	egressLossy                 units.Bytes // pool; 0: none
	watchdog                    watchdog
}

// watchdog has times in ms; an empty action means no watchdog.
type watchdog struct {
	action                       string
	poll, detection, restoration int64
}

// port is a cabled port of a switch.
type port struct {
	name   string // for comments
	rate   units.Rate
	metres int64
	set    portSettings
}

// portSettings are the settings of a port; they are comparable.
type portSettings struct {
	headroom, xon, offset, minimum units.Bytes
	alpha                          int64 // exponent of 2
	borrow                         bool
	mtu                            units.Bytes
	processing                     units.Time
	kmin, kmax                     units.Bytes // kmax 0: no marking
	pmax                           int64       // per cent
	weights                        [8]int64    // by class; 0: not set
}

// cable connects port portA of switch a to port portB of switch b, or to a host if b is -1.
type cable struct {
	a, portA, b, portB int
	rate               units.Rate
	metres             int64
}

// hostName returns the name of a port's host. It contains the port's number, which thus
// survives an export.
func (f *fabric) hostName(c *cable) string {
	return fmt.Sprintf("%s-h%d", f.switches[c.a].name, c.portA)
}

// shared returns the part of the buffer that is neither headroom nor minimum.
func (f *fabric) shared(n *node) units.Bytes {
	return n.set.size - n.set.pool - n.reserved(len(f.lossless))
}

// reserved returns the bytes reserved by ports: minimums and, without a headroom pool,
// headroom.
func (n *node) reserved(classes int) units.Bytes {
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

// mostCommon returns the most common value of list; among equally common ones, the first.
func mostCommon[T any, S comparable](list []T, of func(*T) S) S {
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

// omit records a setting without an equivalent.
func (f *fabric) omit(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(f.omitted, s) {
		f.omitted = append(f.omitted, s)
	}
}

// perWeight is the quantum of a weight of 1.
const perWeight units.Bytes = 160
