// Package openmetrics writes the counters of a run or a sweep in the text format of
// OpenMetrics 1.0, for collectors that read files. Counters that SAI also defines have SAI's
// names in lower case, with the class as a label instead of a part of the name.
package openmetrics

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// Run is the state of a run at one point in time.
type Run struct {
	Scenario string
	Seed     uint64
	Now      units.Time
	Complete bool // the run has ended
	Flows    int  // number of flows in the workloads
	Nodes    []string
	Totals   sim.Totals
	Counters sim.Counters // ports and pools
}

// Sweep is the progress of a sweep.
type Sweep struct {
	Points, Done, Reused int
	Hops                 uint64 // simulated so far
	Complete             bool
}

// kind is the type of a metric family.
type kind string

const (
	counter kind = "counter"
	gauge   kind = "gauge"
	info    kind = "info"
)

// suffixes has the suffix of sample names by kind.
var suffixes = map[kind]string{counter: "_total", info: "_info"}

// writer writes families one after the other.
type writer struct {
	out    *bufio.Writer
	sample string // name of the current family's samples
	labels strings.Builder
}

// family begins a family. It states the unit if the name ends with one.
func (w *writer) family(name string, k kind, help string) {
	w.sample = name + suffixes[k]
	fmt.Fprintf(w.out, "# TYPE %s %s\n", name, k)
	for _, unit := range []string{"seconds", "bytes"} {
		if strings.HasSuffix(name, "_"+unit) {
			fmt.Fprintf(w.out, "# UNIT %s %s\n", name, unit)
		}
	}
	fmt.Fprintf(w.out, "# HELP %s %s\n", name, escape(help))
}

func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(text)
}

// value writes a sample; labels are alternating names and values.
func (w *writer) value(v string, labels ...string) {
	w.labels.Reset()
	for i := 0; i < len(labels); i += 2 {
		if i > 0 {
			w.labels.WriteByte(',')
		}
		fmt.Fprintf(&w.labels, `%s="%s"`, labels[i], escape(labels[i+1]))
	}
	if len(labels) == 0 {
		fmt.Fprintf(w.out, "%s %s\n", w.sample, v)
		return
	}
	fmt.Fprintf(w.out, "%s{%s} %s\n", w.sample, w.labels.String(), v)
}

func (w *writer) count(n uint64, labels ...string) { w.value(strconv.FormatUint(n, 10), labels...) }

// single writes a family with one sample.
func (w *writer) single(name string, k kind, help string, n uint64) {
	w.family(name, k, help)
	w.count(n)
}

// end writes the end of the text.
func (w *writer) end() error {
	fmt.Fprint(w.out, "# EOF\n")
	return w.out.Flush()
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// seconds formats a time in seconds, exactly.
func seconds(t units.Time) string { return fmt.Sprintf("%d.%012d", t/units.Second, t%units.Second) }

// Write writes the counters of a sweep.
func (s *Sweep) Write(out io.Writer) error {
	w := &writer{out: bufio.NewWriter(out)}
	w.single("xoff_sweep_points", gauge, "points of the sweep", uint64(s.Points))
	w.single("xoff_sweep_points_done", counter, "points with results", uint64(s.Done))
	w.single("xoff_sweep_points_reused", counter, "points whose results were reused", uint64(s.Reused))
	w.single("xoff_frame_hops", counter, "data frames and replies that finished a link", s.Hops)
	w.single("xoff_complete", gauge, "1: the sweep has ended", boolean(s.Complete))
	return w.end()
}

// Write writes the counters of a run.
func (r *Run) Write(out io.Writer) error {
	w := &writer{out: bufio.NewWriter(out)}
	w.family("xoff_run", info, "scenario and seed of the run")
	w.value("1", "scenario", r.Scenario, "seed", strconv.FormatUint(r.Seed, 10))
	w.family("xoff_simulated_seconds", gauge, "simulated time")
	w.value(seconds(r.Now))
	w.single("xoff_complete", gauge, "1: the run has ended", boolean(r.Complete))
	t := &r.Totals
	w.single("xoff_flows_offered", gauge, "flows in the workloads", uint64(r.Flows))
	w.single("xoff_flows_finished", counter, "flows whose last ACK arrived", t.Finished)
	w.single("xoff_frame_hops", counter, "data frames and replies that finished a link", t.Hops)
	w.family("xoff_control_frames", counter, "control frames that finished a link")
	for i, k := range t.Controls {
		w.count(k.Frames, "kind", (packet.PFC + packet.Kind(i)).String())
	}
	w.single("xoff_retransmissions", counter, "retransmitted data packets", t.Resent)
	w.single("xoff_timeouts", counter, "retransmission timeouts", t.Timeouts)
	w.single("xoff_nacks", counter, "NACKs sent", t.Nacks)
	w.single("xoff_cnps", counter, "CNPs sent, or marks echoed in ACKs", t.CNPs)
	w.single("xoff_pause_refreshes", counter, "PFC frames that only refresh a pause", t.Refreshes)
	w.family("xoff_pauses_by_depth", counter, "pauses by depth: 1, or one more than the deepest pause that caused them")
	for depth, n := range t.Depths {
		if n > 0 {
			w.count(n, "depth", strconv.Itoa(depth))
		}
	}
	r.ports(w)
	r.pools(w)
	return w.end()
}

// perQueue is a family with a sample for each port and class.
type perQueue struct {
	name     string
	kind     kind
	help     string
	switches bool // only switches have it
	value    func(p *sim.PortResult, class uint8) (n uint64, ok bool)
}

// peaks returns a watermark, which exists only with output.watermarks.
func peaks(of func(mmu.QueuePeaks) units.Bytes) func(p *sim.PortResult, class uint8) (uint64, bool) {
	return func(p *sim.PortResult, class uint8) (uint64, bool) {
		q, ok := p.View.QueuePeaks(p.Port, class)
		return uint64(of(q)), ok
	}
}

// always returns a value that always exists.
func always(of func(p *sim.PortResult, class uint8) uint64) func(p *sim.PortResult, class uint8) (uint64, bool) {
	return func(p *sim.PortResult, class uint8) (uint64, bool) { return of(p, class), true }
}

var queues = []perQueue{
	{"sai_queue_stat_bytes", counter, "bytes sent", false, always(func(p *sim.PortResult, c uint8) uint64 { return p.Stats.Sent[c] })},
	{"sai_queue_stat_wred_ecn_marked_packets", counter, "frames marked with congestion experienced", true,
		always(func(p *sim.PortResult, c uint8) uint64 { return p.Stats.Marks[c] })},
	{"sai_queue_stat_curr_occupancy_bytes", gauge, "bytes stored for the egress queue", true,
		always(func(p *sim.PortResult, c uint8) uint64 { return uint64(p.View.Egress(p.Port, c)) })},
	{"sai_queue_stat_watermark_bytes", gauge, "largest number of bytes stored for the egress queue", true,
		peaks(func(q mmu.QueuePeaks) units.Bytes { return q.Egress })},
	{"sai_ingress_priority_group_stat_curr_occupancy_bytes", gauge, "bytes stored for the ingress queue", true,
		always(func(p *sim.PortResult, c uint8) uint64 {
			q := p.View.Ingress(p.Port, c)
			return uint64(q.Total())
		})},
	{"sai_ingress_priority_group_stat_xoff_room_curr_occupancy_bytes", gauge, "bytes of the ingress queue in headroom", true,
		always(func(p *sim.PortResult, c uint8) uint64 { return uint64(p.View.In(p.Port, c, mmu.Headroom)) })},
	{"sai_ingress_priority_group_stat_shared_watermark_bytes", gauge, "largest number of bytes of the ingress queue in the shared segment", true,
		peaks(func(q mmu.QueuePeaks) units.Bytes { return q.Shared })},
	{"sai_ingress_priority_group_stat_xoff_room_watermark_bytes", gauge, "largest number of bytes of the ingress queue in headroom", true,
		peaks(func(q mmu.QueuePeaks) units.Bytes { return q.Headroom })},
	{"sai_ingress_priority_group_stat_dropped_packets", counter, "frames dropped for lack of room, or expelled", false,
		always(func(p *sim.PortResult, c uint8) uint64 {
			d := &p.Stats.Drops[c]
			return uint64(d[probe.Overflow]) + uint64(d[probe.Lossless]) + uint64(d[probe.Expelled])
		})},
	{"sai_port_stat_pfc_rx_pause_duration_us", counter, "time for which the class was blocked, in whole microseconds", false,
		always(func(p *sim.PortResult, c uint8) uint64 { return uint64(p.Stats.Blocked[c] / units.Microsecond) })},
	{"xoff_port_pauses_sent", counter, "PAUSE sent for a class that was not paused", false,
		always(func(p *sim.PortResult, c uint8) uint64 { return p.Stats.Pauses[c] })},
	{"xoff_port_resumes_sent", counter, "RESUME sent for a class that was paused", false,
		always(func(p *sim.PortResult, c uint8) uint64 { return p.Stats.Resumes[c] })},
}

// ports writes the counters of each class of each port.
func (r *Run) ports(w *writer) {
	for _, q := range queues {
		w.family(q.name, q.kind, q.help)
		for i := range r.Counters.Ports {
			p := &r.Counters.Ports[i]
			if p.Host && q.switches {
				continue
			}
			for c := range uint8(mmu.Classes) {
				if n, ok := q.value(p, c); ok && p.View.Kind(c) != mmu.Unused {
					w.count(n, append(r.port(p), "class", strconv.Itoa(int(c)))...)
				}
			}
		}
	}
	w.family("xoff_port_drops", counter, "received frames that were dropped, by reason")
	for i := range r.Counters.Ports {
		p := &r.Counters.Ports[i]
		for reason := range probe.NumReasons {
			n := uint64(0)
			for c := range p.Stats.Drops {
				n += uint64(p.Stats.Drops[c][reason])
			}
			if n > 0 {
				w.count(n, append(r.port(p), "reason", reason.String())...)
			}
		}
	}
}

// port returns the labels of a port.
func (r *Run) port(p *sim.PortResult) []string {
	peer := ""
	if p.Peer >= 0 {
		peer = r.Nodes[p.Peer]
	}
	return []string{"node", r.Nodes[p.Node], "port", strconv.Itoa(p.Port), "peer", peer}
}

// pools writes the occupancy of the switches' buffers.
func (r *Run) pools(w *writer) {
	for _, f := range []struct {
		name, help string
		of         func(v mmu.View) units.Bytes
	}{
		{"sai_buffer_pool_stat_curr_occupancy_bytes", "bytes stored", mmu.View.Stored},
		{"sai_buffer_pool_stat_watermark_bytes", "largest number of bytes stored at once", mmu.View.PeakStored},
		{"sai_buffer_pool_stat_xoff_room_watermark_bytes", "largest number of bytes in headroom at once", func(v mmu.View) units.Bytes { return v.Peak(mmu.Headroom) }},
	} {
		w.family(f.name, gauge, f.help)
		for _, p := range r.Counters.Pools {
			w.count(uint64(f.of(p.View)), "node", r.Nodes[p.Node])
		}
	}
}
