package rules

import (
	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// Group is a lossless priority group of a port: the headroom it needs and has, and the
// occupancies at which it pauses and drops when it fills its pool alone.
type Group struct {
	Port    string      `json:"port"`
	Group   int         `json:"priority_group"`
	Rate    units.Rate  `json:"rate_bps"`
	Cable   string      `json:"cable"`
	Profile string      `json:"profile"`
	Least   units.Bytes `json:"least_bytes"`              // cable and one frame: the minimum that the verdict requires
	Need    units.Bytes `json:"need_bytes"`               // with the pause quanta of 802.3
	Small   units.Bytes `json:"need_small_packets_bytes"` // also with the packet size that wastes the most cell space
	Exact   units.Bytes `json:"exact_bytes"`              // worst case of the simulator, with its smallest frames
	Have    units.Bytes `json:"headroom_bytes"`
	PFC     units.Bytes `json:"pfc_at_bytes"`
	Drop    units.Bytes `json:"drop_at_bytes"`
	Spare   units.Bytes `json:"spare_bytes"` // Have - Least
	Unit    units.Bytes `json:"cell_bytes"`
}

// groups adds the table of priority groups.
func (l *inspector) groups() {
	l.report.Groups = []Group{}
	l.EachLossless(func(p *sonic.Port, group int, profile *sonic.Profile) {
		thresholds := l.thresholdsOf(p, profile)
		g := Group{
			Port: p.Name, Group: group, Rate: p.Speed, Profile: profile.Name, Have: l.Available(p, profile),
			PFC: thresholds.Bytes(thresholds.PFC), Drop: thresholds.Bytes(thresholds.Drop), Unit: thresholds.Unit,
		}
		if p.Cable != nil && p.Speed > 0 {
			g.Cable = p.Cable.Text
			rate, metres := p.Link()
			need := sonic.NeedOf(rate, metres, p.MTU, l.Pattern.MTU, l.Chip)
			g.Least, g.Need, g.Small, g.Spare = need.FastPeer, need.Standard, need.SmallPackets, g.Have-need.FastPeer
			g.Exact = l.exact(rate, metres, p.MTU)
		}
		l.report.Groups = append(l.report.Groups, g)
	})
}

// MinFrame is the smallest frame that hosts of an imported scenario send: a header of 48 B and
// one byte.
const MinFrame units.Bytes = 49

// exact returns the worst case of the imported scenario: the peer takes all the time that 802.3
// allows, and frames have the size that wastes the most cell space.
func (l *inspector) exact(rate units.Rate, metres int64, mtu units.Bytes) units.Bytes {
	delay, cell := sonic.Delay(metres), l.Chip.Cell.Bytes()
	p := link.Port{
		Rate: rate, DelayIn: delay, DelayOut: delay, MTU: mtu, MinFrame: MinFrame, Cell: cell, Lossless: 1,
		PFC: link.PFC{Processing: rate.TxTime(sonic.ResponseBytes(rate))},
	}
	if l.Chip.Packet.N < l.Chip.Cell.N { // counts bytes, plus a fixed charge per frame
		p.Cell, p.PerPacket = 1, l.Chip.Packet.Bytes()-64
	}
	return link.Needed(&p)
}
