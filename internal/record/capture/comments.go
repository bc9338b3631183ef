package capture

import (
	"fmt"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
)

// comment returns what the frame itself does not contain, or "".
func (n *node) comment(now units.Time, number int, at *port, out bool, p *packet.Packet, ext packet.Ext) string {
	var parts []string
	switch {
	case p.Kind() == packet.PFC:
		return n.pause(now, number, at, out, p)
	case p.Control():
		return ""
	}
	if p.Flags&packet.Retransmit != 0 && p.Kind() == packet.Data {
		parts = append(parts, "retransmission")
	}
	if out && n.marked.set && n.marked.at == now && n.marked.flow == p.Flow && n.marked.seq == p.Seq {
		parts = append(parts, fmt.Sprintf("marked here: queue %s B", thousands(n.marked.queue)))
	}
	if n.message.TCP && p.Flags&packet.Telemetry != 0 && len(ext) > 0 {
		parts = append(parts, fmt.Sprintf("telemetry of %d words, not in the frame", len(ext)))
	}
	return strings.Join(parts, "; ")
}

// pause describes a PFC frame: who pauses or resumes whom, with depth and occupancies.
func (n *node) pause(now units.Time, number int, at *port, out bool, p *packet.Packet) string {
	enable, pause, quanta := p.PFC()
	if quanta == 0 {
		pause = 0
	}
	var parts []string
	for c := range enable.All() {
		switch {
		case !pause.Has(c) && out:
			parts = append(parts, fmt.Sprintf("resumes class %d of %s", c, at.peerName))
		case !pause.Has(c):
			parts = append(parts, fmt.Sprintf("class %d resumed by %s", c, at.peerName))
		case !out:
			parts = append(parts, fmt.Sprintf("class %d paused by %s, depth %d", c, at.peerName, p.PauseDepth(c)))
		default:
			in := n.n.View().Ingress(number, c)
			q, xoff := n.n.Level(now, number, c)
			parts = append(parts, fmt.Sprintf("pauses class %d of %s, depth %d: threshold %s B, queue %s B, headroom %s B",
				c, at.peerName, p.PauseDepth(c), thousands(xoff), thousands(q), thousands(in.Headroom)))
		}
	}
	return strings.Join(parts, "; ")
}

// dropped describes why a frame was dropped.
func (n *node) dropped(now units.Time, number int, p *packet.Packet, why probe.Reason) string {
	v, c := n.n.View(), p.Class()
	text := fmt.Sprintf("dropped: %s", why)
	switch {
	case why == probe.NoRoute || why == probe.Handler:
		return text
	case v.Kind(c) == mmu.Lossless:
		q, xoff := n.n.Level(now, number, c)
		text += fmt.Sprintf("; threshold %s B, queue %s B, headroom %s B", thousands(xoff), thousands(q), thousands(v.In(number, c, mmu.Headroom)))
	}
	return text + fmt.Sprintf("; %s B of %s B stored, %s B of the shared segment free", thousands(v.Stored()), thousands(v.Size()), thousands(v.SharedFree()))
}

func thousands(b units.Bytes) string {
	if b < 0 {
		return "-" + units.Thousands(uint64(-b))
	}
	return units.Thousands(uint64(b))
}
