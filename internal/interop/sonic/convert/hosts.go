package convert

import (
	"strings"

	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// hostTier returns the switches whose ports without a neighbour get assumed hosts. Hosts on a
// spine would make routes through leaves, down and up again, and with them loops of buffers
// that the fabric does not have. So a switch that has only switches as neighbours gets none.
//
// If no configuration names a host, the tier follows from the types of the switches or, without
// them, from the cables: leaves are cabled to spines only and outnumber them.
func hostTier(switches []*sonic.Completed, wires []sonic.Wire) []bool {
	tier, named := make([]bool, len(switches)), false
	for i, s := range switches {
		wired, host := false, false
		for _, p := range s.Ports {
			wired = wired || p.Wire != nil
			host = host || p.Wire == nil && p.Peer != nil
		}
		tier[i], named = host || !wired, named || host
	}
	if len(wires) == 0 || named {
		return tier
	}
	if lowest, differ := lowestRole(switches); differ {
		return lowest
	}
	return largerSide(switches, wires)
}

// roles ranks the types of DEVICE_METADATA, from hosts upwards.
var roles = []string{"ToRRouter", "LeafRouter", "SpineRouter"}

// lowestRole returns the switches with the lowest role, and whether the roles of the switches
// are known and differ.
func lowestRole(switches []*sonic.Completed) (lowest []bool, differ bool) {
	rank := func(s *sonic.Completed) int {
		for i, r := range roles {
			if strings.EqualFold(s.Role, r) {
				return i
			}
		}
		return -1
	}
	least := len(roles)
	for _, s := range switches {
		r := rank(s)
		if r < 0 {
			return nil, false
		}
		least = min(least, r)
	}
	lowest = make([]bool, len(switches))
	for i, s := range switches {
		lowest[i] = rank(s) == least
		differ = differ || !lowest[i]
	}
	return lowest, differ
}

// largerSide divides the switches into two sides with all cables between them, and returns the
// larger side: more switches, or else more ports without a neighbour. It returns all switches if
// the sides are equal or a cable stays within one.
func largerSide(switches []*sonic.Completed, wires []sonic.Wire) []bool {
	all, index := make([]bool, len(switches)), map[*sonic.Switch]int{}
	for i, s := range switches {
		all[i], index[s.Switch] = true, i
	}
	side := make([]int, len(switches)) // 0: not visited, else 1 or 2
	side[0] = 1
	for changed := true; changed; {
		changed = false
		for i := range wires {
			a, b := index[wires[i].A.Switch], index[wires[i].B.Switch]
			if side[a] == 0 {
				a, b = b, a
			}
			switch {
			case side[a] == side[b] && side[a] != 0:
				return all
			case side[a] != 0 && side[b] == 0:
				side[b], changed = 3-side[a], true
			}
		}
	}
	var count, free [3]int
	for i, s := range switches {
		count[side[i]]++
		for _, p := range s.Ports {
			if p.Wire == nil && p.Peer == nil {
				free[side[i]]++
			}
		}
	}
	larger := 0
	switch {
	case free[1] == 0 || free[2] == 0: // no choice
	case count[1] != count[2]:
		larger = 1
		if count[2] > count[1] {
			larger = 2
		}
	case free[1] != free[2]:
		larger = 1
		if free[2] > free[1] {
			larger = 2
		}
	}
	if larger == 0 {
		return all
	}
	for i := range all {
		all[i] = side[i] == larger
	}
	return all
}
