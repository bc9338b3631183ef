package headroom

import "github.com/xoff-net/xoff/base/units"

// Group are alike ports of a switch.
type Group struct {
	Count int
	Link  Link
}

// Budget is what two ways to set headroom aside leave of a buffer, by one rule for
// the headroom of a queue.
type Budget struct {
	Rule string `json:"rule"` // eq1 or exact
	SIH  Split  `json:"sih"`  // DSH eq. 3: of every queue
	DSH  Split  `json:"dsh"`  // DSH eq. 9: of every port
}

// Plan divides a buffer between groups of ports by both rules.
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
