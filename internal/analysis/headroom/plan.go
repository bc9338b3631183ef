package headroom

import "github.com/xoff-net/xoff/base/units"

// Group is a number of identical ports of a switch.
type Group struct {
	Count int
	Link  Link
}

// Budget divides a buffer with static and with dynamic headroom, for one rule that sizes the
// headroom of a queue.
type Budget struct {
	Rule string `json:"rule"` // eq1 or exact
	SIH  Split  `json:"sih"`  // headroom per queue, DSH eq. 3
	DSH  Split  `json:"dsh"`  // headroom per port, DSH eq. 9
}

// Plan returns the budgets of a buffer for groups of ports, one per rule.
func Plan(buffer units.Bytes, classes int, groups []Group) []Budget {
	var list []Budget
	for _, rule := range []struct {
		name string
		phi  func(*Link) units.Bytes
	}{{"eq1", (*Link).Eq1}, {"exact", (*Link).Exact}} {
		var ports []Ports
		for _, g := range groups {
			ports = append(ports, Ports{g.Count, rule.phi(&g.Link)})
		}
		list = append(list, Budget{rule.name, Divide(buffer, SIH(classes, ports...)), Divide(buffer, DSH(ports...))})
	}
	return list
}
