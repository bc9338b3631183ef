package metrics

import (
	"math"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// portColumns is the layout of ports.parquet: one row per port and class of hosts and
// switches, ordered by node, port and class.
func (o *Outcome) portColumns() []probe.Column {
	cols := []probe.Column{
		{Name: "node", Type: probe.Text, Texts: o.Nodes, Doc: "name of the node"},
		{Name: "port", Doc: "port number, from 0"},
		{Name: "peer", Type: probe.Text, Nullable: true, Texts: o.Nodes, Doc: "peer node; null: not connected"},
		{Name: "class", Doc: "traffic class"},
		{Name: "kind", Type: probe.Text, Texts: []string{"unused", "control", "lossless", "lossy"}, Doc: "how the class is treated"},
		{Name: "pauses_sent", Doc: "PAUSE frames for a class that was not paused"},
		{Name: "resumes_sent", Doc: "RESUME frames for a class that was paused"},
		{Name: "blocked_ps", Doc: "total time for which the class was blocked at this port"},
		{Name: "marks", Doc: "ECN-marked frames of the egress queue"},
	}
	for r := range o.reasons() {
		cols = append(cols, probe.Column{Name: dropColumns[r], Doc: "dropped frames that arrived by this port: " + r.String()})
	}
	for _, m := range []struct{ name, doc string }{
		{"peak_egress_bytes", "peak of the egress queue"},
		{"peak_private_bytes", "peak of the ingress queue in its private segment"},
		{"peak_shared_bytes", "peak of the ingress queue in the shared segment"},
		{"peak_headroom_bytes", "peak of the ingress queue in headroom"},
	} {
		cols = append(cols, probe.Column{Name: m.name, Nullable: true, Doc: m.doc + "; null for a host, and where output.watermarks is false"})
	}
	return append(cols,
		probe.Column{Name: "headroom_bytes", Doc: "headroom reserved for the port, all classes together; with a headroom pool, the size of the pool"},
		probe.Column{Name: "sent_bytes", Doc: "bytes sent by the port, with preamble and gap as in switch.wire_overhead"},
		probe.Column{Name: "utilisation", Type: probe.Float, Doc: "fraction of the run for which they occupied the link; all classes together at most 1"},
		probe.Column{Name: "control_bytes", Doc: "bytes of link-local frames such as PAUSE, which belong to no class"})
}

var dropColumns = [probe.NumReasons]string{
	probe.NoRoute: "drops_no_route", probe.Overflow: "drops_overflow", probe.Lossless: "drops_lossless",
	probe.Handler: "drops_deadlock_handler", probe.Corrupt: "drops_link", probe.Expelled: "drops_expelled",
}

// reasons returns the number of drop reasons with a column. Expelled, the last one, has a
// column only if frames were expelled, so that tables of other runs do not change.
func (o *Outcome) reasons() probe.Reason {
	if o.Totals.Drops[probe.Expelled] == 0 {
		return probe.Expelled
	}
	return probe.NumReasons
}

func (o *Outcome) writePorts(t *Table) error {
	var words []int64
	for i := range o.Counters.Ports {
		p := &o.Counters.Ports[i]
		for c := range uint8(mmu.Classes) {
			if p.View.Kind(c) == mmu.Unused {
				continue
			}
			if err := t.Row(o.portRow(words[:0], p, c)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Outcome) portRow(row []int64, p *sim.PortResult, c uint8) []int64 {
	s, peer := &p.Stats, int64(p.Peer)
	if p.Peer < 0 {
		peer = probe.Null
	}
	row = append(row, int64(p.Node), int64(p.Port), peer, int64(c), int64(p.View.Kind(c)),
		int64(s.Pauses[c]), int64(s.Resumes[c]), int64(s.Blocked[c]), int64(s.Marks[c]))
	for _, n := range s.Drops[c][:o.reasons()] {
		row = append(row, int64(n))
	}
	peaks, ok := p.View.QueuePeaks(p.Port, c)
	for _, b := range [4]int64{int64(peaks.Egress), int64(peaks.Private), int64(peaks.Shared), int64(peaks.Headroom)} {
		if !ok || p.Host {
			b = probe.Null
		}
		row = append(row, b)
	}
	sent := units.Bytes(s.Sent[c])
	return append(row, int64(p.Headroom), int64(sent), int64(math.Float64bits(o.utilisation(p, sent))), int64(s.SentControl))
}

// poolColumns is the layout of pools.parquet: one row per switch and segment of its buffer,
// and one for the whole buffer.
func (o *Outcome) poolColumns() []probe.Column {
	return []probe.Column{
		{Name: "node", Type: probe.Text, Texts: o.Nodes, Doc: "name of the switch"},
		{Name: "pool", Type: probe.Text, Texts: []string{"all", "private", "shared", "headroom"}, Doc: "segment of the buffer; all: the whole buffer"},
		{Name: "size_bytes", Doc: "size of the segment; for the shared segment, its largest size during the run"},
		{Name: "peak_bytes", Doc: "peak of the bytes stored in it"},
		{Name: "end_bytes", Doc: "bytes stored in it at the end of the run"},
	}
}

func (o *Outcome) writePools(t *Table) error {
	for _, p := range o.Counters.Pools {
		v := p.View
		for pool, row := range [][3]int64{
			{int64(v.Size()), int64(v.PeakStored()), int64(v.Stored())},
			{int64(p.Private), int64(v.Peak(mmu.Private)), int64(v.Used(mmu.Private))},
			{int64(v.SharedTop()), int64(v.Peak(mmu.Shared)), int64(v.Used(mmu.Shared))},
			{int64(p.Headroom), int64(v.Peak(mmu.Headroom)), int64(v.Used(mmu.Headroom))},
		} {
			if err := t.Row([]int64{int64(p.Node), int64(pool), row[0], row[1], row[2]}); err != nil {
				return err
			}
		}
	}
	return nil
}
