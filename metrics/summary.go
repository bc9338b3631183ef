package metrics

import (
	"encoding/json"
	"io"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// SchemaVersion is the version of summary.json and of the tables. It increases when a field
// changes its meaning or is removed, but not for new fields.
const SchemaVersion = 2

// Summary is the content of summary.json. Times are in picoseconds of simulated time, sizes
// in bytes. It has nothing that depends on the machine or its speed.
type Summary struct {
	Schema     int         `json:"schema"`
	Scenario   string      `json:"scenario"`
	Seed       uint64      `json:"seed"`
	End        units.Time  `json:"end_ps"`  // simulated end time
	Partial    bool        `json:"partial"` // the run was interrupted
	Flows      Counts      `json:"flows"`
	FCT        *Times      `json:"fct_ps"`               // of measured finished flows, start to last ACK; null: none
	Slowdown   *Ratios     `json:"slowdown"`             // FCT over the FCT in an empty network
	GroupBy    string      `json:"group_by"`             // parts that are also split by size: workload, class, none
	Throughput Throughput  `json:"throughput"`           // of the measured flows
	Operations *Operations `json:"operations,omitempty"` // collectives, requests and bursts; absent if there are none
	Jobs       []Job       `json:"jobs,omitempty"`
	Rails      []Rail      `json:"rails,omitempty"` // with jobs and several NICs per server
	Workloads  []Part      `json:"workloads"`
	Classes    []Part      `json:"classes,omitempty"` // by traffic class, with group_by: class
	Sizes      []Part      `json:"sizes"`             // by flow size
	Links      []Links     `json:"links"`
	Pauses     Pauses      `json:"pauses"`
	Deadlock   Deadlock    `json:"deadlock"`
	PauseTrees *PauseTrees `json:"pause_trees,omitempty"` // with output.pause_tree
	Drops      Drops       `json:"drops"`
	Transport  Transport   `json:"transport"`
	Network    Network     `json:"network"`
	Buffer     Buffer      `json:"buffer"`
	Invariants Invariants  `json:"invariants"`
}

// Counts are numbers of flows.
type Counts struct {
	Offered    int `json:"offered"`    // all generated flows
	Completed  int `json:"completed"`  // completed offered flows
	Measured   int `json:"measured"`   // started in the measurement window, or started after waiting for one that did
	Finished   int `json:"finished"`   // finished measured flows
	Unfinished int `json:"unfinished"` // unfinished measured flows
}

// Part is a subset of the measured flows.
type Part struct {
	Name       string      `json:"name"`
	Measured   int         `json:"measured"`
	Finished   int         `json:"finished"`
	Unfinished int         `json:"unfinished"`
	FCT        *Times      `json:"fct_ps"`
	Slowdown   *Ratios     `json:"slowdown"`
	Throughput Throughput  `json:"throughput"`
	Operations *Operations `json:"operations,omitempty"` // of a workload with operations
	Sizes      []Part      `json:"sizes,omitempty"`      // by size, depending on group_by
}

// Pauses are the totals of flow control.
type Pauses struct {
	Pauses    uint64     `json:"pauses"`     // classes paused by a frame
	Resumes   uint64     `json:"resumes"`    // classes resumed by a frame
	Refreshes uint64     `json:"refreshes"`  // frames that only renew pauses
	Blocked   units.Time `json:"blocked_ps"` // summed over egress queues
	MaxDepth  int        `json:"max_depth"`  // depth of the deepest pause: how far pauses spread
	Depths    []uint64   `json:"depths"`     // pauses by depth, from depth 1
}

// pausesOf returns the totals of pauses, without depths beyond the deepest one.
func pausesOf(t *sim.Totals) Pauses {
	p := Pauses{Pauses: t.Pauses, Resumes: t.Resumes, Refreshes: t.Refreshes, Blocked: t.Blocked, Depths: []uint64{}}
	for d, n := range t.Depths {
		if n > 0 {
			p.MaxDepth = d
		}
	}
	p.Depths = append(p.Depths, t.Depths[1:p.MaxDepth+1]...)
	return p
}

// Drops are dropped frames by reason.
type Drops struct {
	Lossless uint64 `json:"lossless"`        // of lossless classes, for lack of buffer
	Broken   uint64 `json:"lossless_broken"` // lossless drops although the scheme promises none
	Overflow uint64 `json:"overflow"`        // of lossy classes, for lack of buffer
	NoRoute  uint64 `json:"no_route"`
	Handler  uint64 `json:"deadlock_handler"`
	Link     uint64 `json:"link"` // corrupted, or the link was down
	// Expelled counts stored lossy frames that the policy expelled.
	Expelled uint64 `json:"expelled,omitempty"`
}

// Transport are the totals of loss recovery and congestion control at hosts.
type Transport struct {
	Retransmissions uint64 `json:"retransmissions"` // retransmitted data packets
	Timeouts        uint64 `json:"timeouts"`
	Nacks           uint64 `json:"nacks"`
	CNPs            uint64 `json:"cnps"`
}

// Network are the totals of frames.
type Network struct {
	Hops    uint64 `json:"hops"`           // data frames and replies that finished a link
	Control uint64 `json:"control_frames"` // control frames that finished a link
	Bytes   uint64 `json:"control_bytes"`  // bytes of control frames, without preamble and gap
	Marks   uint64 `json:"ecn_marks"`
	Forced  uint64 `json:"forced_sends"` // sent from a paused class by a deadlock handler

	Kinds   ControlKinds `json:"control"`      // control frames by kind
	Headers uint64       `json:"header_bytes"` // bytes of headers carried by PFC frames
}

// ControlKinds are the totals of control frames by kind.
type ControlKinds struct {
	PFC      ControlCount `json:"pfc"`
	Feedback ControlCount `json:"feedback"` // of flow control, to the sender
	Request  ControlCount `json:"request"`  // of flow control, to the receiver
	Loop     ControlCount `json:"loop"`     // of deadlock handling
}

// ControlCount is a number of frames and their bytes.
type ControlCount struct {
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"`
}

// networkOf returns the totals of frames.
func networkOf(t *sim.Totals) Network {
	n := Network{Hops: t.Hops, Control: t.Control, Marks: t.Marks, Forced: t.Forced, Headers: t.Headers}
	of := [packet.ControlKinds]*ControlCount{&n.Kinds.PFC, &n.Kinds.Feedback, &n.Kinds.Request, &n.Kinds.Loop}
	for i, k := range t.Controls {
		*of[i] = ControlCount{k.Frames, k.Bytes}
		n.Bytes += k.Bytes
	}
	return n
}

// Buffer has the peak occupancies over all switches.
type Buffer struct {
	Peak         units.Bytes `json:"peak_bytes"`
	PeakHeadroom units.Bytes `json:"peak_headroom_bytes"`
}

// Invariants are the results of invariant checks.
type Invariants struct {
	Checked bool   `json:"checked"`
	Broken  uint64 `json:"broken"` // number of violations
	First   string `json:"first"`  // description of the first violation at the first node
}

// Summarize computes the summary of a run.
func (o *Outcome) Summarize() *Summary {
	s := o.SummarizeCounters()
	s.Schema, s.Scenario, s.Seed, s.End, s.Partial = SchemaVersion, o.Scenario, o.Seed, o.End, o.Partial
	s.Deadlock, s.PauseTrees, s.Invariants = o.deadlock(), o.pauseTrees(), o.invariants()
	o.groupFlows(s)
	s.Operations, s.Links = o.operationsOf(every), o.links()
	s.Jobs, s.Rails = o.jobs(), o.rails()
	return s
}

// SummarizeCounters returns the part of a summary that nodes count themselves. It does not visit
// flows, so it is cheap at any time.
func (o *Outcome) SummarizeCounters() *Summary {
	t := &o.Totals
	return &Summary{
		Pauses: pausesOf(t),
		Drops: Drops{
			Lossless: t.Drops[probe.Lossless], Broken: t.Broken, Overflow: t.Drops[probe.Overflow], NoRoute: t.Drops[probe.NoRoute],
			Handler: t.Drops[probe.Handler], Link: t.Drops[probe.Corrupt], Expelled: t.Drops[probe.Expelled],
		},
		Transport: Transport{Retransmissions: t.Resent, Timeouts: t.Timeouts, Nacks: t.Nacks, CNPs: t.CNPs},
		Network:   networkOf(t),
		Buffer:    Buffer{Peak: t.PeakUsed, PeakHeadroom: t.PeakHeadroom},
	}
}

func (o *Outcome) invariants() Invariants {
	v := Invariants{Checked: o.Checks != nil}
	for _, c := range o.Checks {
		v.Broken += c.Broken
		if v.First == "" {
			v.First = c.First
		}
	}
	return v
}

// Write writes the summary as indented JSON with a trailing newline.
func (s *Summary) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(s)
}
