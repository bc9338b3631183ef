package dataplane

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/telemetry"
	"github.com/xoff-net/xoff/base/units"
)

// Possible reports whether a packet from an untrusted peer is consistent with the state of this
// host, such as packets that are still unacknowledged. Live drivers call it before Arrive;
// simulated peers are trusted. The caller has checked that the flow exists and the size fits.
func (n *NIC) Possible(now units.Time, p *packet.Packet, ext packet.Ext) bool {
	f := &n.flows.Flow[p.Flow]
	if p.Kind() == packet.Data {
		return f.Dst == n.id && len(ext) <= telemetry.MaxWords
	}
	if f.Src != n.id {
		return false
	}
	i := n.flows.slot[p.Flow]
	if i == 0 {
		return true // the flow is complete: the packet is ignored
	}
	q := &n.qps[i]
	if p.Seq > q.high {
		return false // acknowledges packets that were never sent
	}
	if q.tr.selective && len(ext) > 0 {
		head := ext[0]
		k := int(head >> 56)
		if k > maxBlocks || len(ext) < 1+k || uint32(head) >= q.high {
			return false
		}
		for _, w := range ext[1 : 1+k] {
			if from, to := uint32(w), uint32(w>>32); from >= to || to > q.high {
				return false
			}
		}
		ext = ext[1+k:]
	} else if q.tr.stamped && len(ext) > 0 {
		return len(ext) == 1 && ext[0] <= uint64(now)
	}
	return len(ext) <= telemetry.MaxWords
}
