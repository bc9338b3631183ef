package rules

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/headroom"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// Group is a lossless priority group of a port: what it needs, what it has, and
// where it pauses and drops when it fills its pool alone.
type Group struct {
	Port    string      `json:"port"`
	Group   int         `json:"priority_group"`
	Rate    units.Rate  `json:"rate_bps"`
	Cable   string      `json:"cable"`
	Profile string      `json:"profile"`
	Need    units.Bytes `json:"need_bytes"`               // by the quanta of 802.3
	Small   units.Bytes `json:"need_small_packets_bytes"` // and with packets that waste most
	Exact   units.Bytes `json:"exact_bytes"`              // all that can arrive, frame by frame
	Have    units.Bytes `json:"headroom_bytes"`
	PFC     units.Bytes `json:"pfc_at_bytes"`
	Drop    units.Bytes `json:"drop_at_bytes"`
	Spare   units.Bytes `json:"spare_bytes"` // Have - Small
	Unit    units.Bytes `json:"cell_bytes"`
}

// groups adds the table of priority groups.
func (l *look) groups() {
	l.report.Groups = []Group{}
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		points := l.pointsOf(p, profile)
		g := Group{
			Port: p.Name, Group: group, Rate: p.Speed, Profile: profile.Name, Have: l.Available(p, profile),
			PFC: points.Bytes(points.PFC), Drop: points.Bytes(points.Drop), Unit: points.Unit,
		}
		if p.Cable != nil && p.Speed > 0 {
			g.Cable = p.Cable.Text
			need := sonic.NeedOf(p, p.Cable.Metres, l.Pattern.MTU, l.Chip)
			g.Need, g.Small, g.Spare = need.One, need.All, g.Have-need.All
			g.Exact = l.exact(p)
		}
		l.report.Groups = append(l.report.Groups, g)
	})
}

// exact is the bound of the simulator, for a peer that takes all the time that
// 802.3 allows.
func (l *look) exact(p *sonic.Port) units.Bytes {
	link := headroom.Link{
		Rate: p.Speed, Delay: Delay(p.Cable.Metres), MTU: p.MTU, MinFrame: 64, Cell: l.Unit(),
		Processing: p.Speed.TxTime(sonic.Response(p.Speed)),
	}
	return link.Exact()
}

// Delay is that of a cable one way, as the formulas of SONiC count it: light at
// 1.98e8 m/s.
func Delay(metres int64) units.Time {
	return units.Time((metres*int64(units.Second) + 198_000_000 - 1) / 198_000_000)
}
