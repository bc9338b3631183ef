package metrics

import (
	"encoding/json"
	"io"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// SchemaVersion numbers the layout of summary.json and of the tables. It rises
// when a field changes its meaning or goes away; new fields do not raise it.
const SchemaVersion = 2

// Summary is summary.json. Times are in picoseconds of simulated time, sizes in
// bytes. It holds nothing about the machine or how long the run took there.
type Summary struct {
	Schema     int         `json:"schema"`
	Scenario   string      `json:"scenario"`
	Seed       uint64      `json:"seed"`
	End        units.Time  `json:"end_ps"`  // simulated time at which the run ended
	Partial    bool        `json:"partial"` // the run was interrupted
	Flows      Counts      `json:"flows"`
	FCT        *Times      `json:"fct_ps"`               // of measured finished flows, start to last ACK; null for none
	Slowdown   *Ratios     `json:"slowdown"`             // FCT over that in an empty network
	GroupBy    string      `json:"group_by"`             // which parts are told apart by size, too: workload, class, none
	Throughput Throughput  `json:"throughput"`           // of the measured flows
	Operations *Operations `json:"operations,omitempty"` // collectives, requests and bursts; absent where there are none
	Workloads  []Part      `json:"workloads"`
	Classes    []Part      `json:"classes,omitempty"` // by traffic class, when group_by says so
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
	Offered    int `json:"offered"`    // generated, whether or not they count
	Completed  int `json:"completed"`  // of the offered ones
	Measured   int `json:"measured"`   // started in the measurement window, or wait for one that did and have started
	Finished   int `json:"finished"`   // of the measured ones
	Unfinished int `json:"unfinished"` // of the measured ones
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
	Operations *Operations `json:"operations,omitempty"` // of a workload that has any
	Sizes      []Part      `json:"sizes,omitempty"`      // the same by size, when group_by says so
}

// Pauses is what flow control did.
type Pauses struct {
	Pauses    uint64     `json:"pauses"`     // classes paused by a frame
	Resumes   uint64     `json:"resumes"`    // classes resumed by a frame
	Refreshes uint64     `json:"refreshes"`  // frames that only renew pauses
	Blocked   units.Time `json:"blocked_ps"` // summed over egress queues
	MaxDepth  int        `json:"max_depth"`  // of the deepest pause: how far pauses spread
	Depths    []uint64   `json:"depths"`     // pauses by depth, from depth 1
}

// pausesOf reports on pauses. Depths past the deepest pause are left out.
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

// Drops are lost frames by reason.
type Drops struct {
	Lossless uint64 `json:"lossless"`        // of lossless classes, for want of buffer
	Broken   uint64 `json:"lossless_broken"` // of these, where the scheme promised that none would be
	Overflow uint64 `json:"overflow"`        // of lossy classes, for want of buffer
	NoRoute  uint64 `json:"no_route"`
	Handler  uint64 `json:"deadlock_handler"`
	Link     uint64 `json:"link"` // damaged, or the link was down
	// Expelled are of lossy classes, stored and then taken back by the policy.
	Expelled uint64 `json:"expelled,omitempty"`
}

// Transport is what hosts did to recover and to slow down.
type Transport struct {
	Retransmissions uint64 `json:"retransmissions"` // data packets sent again
	Timeouts        uint64 `json:"timeouts"`
	Nacks           uint64 `json:"nacks"`
	CNPs            uint64 `json:"cnps"`
}

// Network counts frames.
type Network struct {
	Hops    uint64 `json:"hops"`           // data frames and replies that finished a link
	Control uint64 `json:"control_frames"` // control frames that finished a link
	Bytes   uint64 `json:"control_bytes"`  // of these, without preamble and gap
	Marks   uint64 `json:"ecn_marks"`
	Forced  uint64 `json:"forced_sends"` // sent from a paused class by a deadlock handler

	Kinds   ControlKinds `json:"control"`      // control frames by kind
	Headers uint64       `json:"header_bytes"` // of headers that rode on PFC frames
}

// ControlKinds counts control frames by what they are for.
type ControlKinds struct {
	PFC      ControlCount `json:"pfc"`
	Feedback ControlCount `json:"feedback"` // of flow control, to the sender
	Request  ControlCount `json:"request"`  // of flow control, to the receiver
	Loop     ControlCount `json:"loop"`     // of deadlock handling
}

// ControlCount is a number of frames, and of their bytes.
type ControlCount struct {
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"`
}

// networkOf reports on frames.
func networkOf(t *sim.Totals) Network {
	n := Network{Hops: t.Hops, Control: t.Control, Marks: t.Marks, Forced: t.Forced, Headers: t.Headers}
	of := [packet.ControlKinds]*ControlCount{&n.Kinds.PFC, &n.Kinds.Feedback, &n.Kinds.Request, &n.Kinds.Loop}
	for i, k := range t.Controls {
		*of[i] = ControlCount{k.Frames, k.Bytes}
		n.Bytes += k.Bytes
	}
	return n
}

// Buffer is the fullest moment of the fullest switch.
type Buffer struct {
	Peak         units.Bytes `json:"peak_bytes"`
	PeakHeadroom units.Bytes `json:"peak_headroom_bytes"`
}

// Invariants is what the checks of the run found.
type Invariants struct {
	Checked bool   `json:"checked"`
	Broken  uint64 `json:"broken"` // how often one did not hold
	First   string `json:"first"`  // the first time at the first node, in words
}

// Summarize computes the summary of a run.
func (o *Outcome) Summarize() *Summary {
	s := o.Counters()
	s.Schema, s.Scenario, s.Seed, s.End, s.Partial = SchemaVersion, o.Scenario, o.Seed, o.End, o.Partial
	s.Deadlock, s.PauseTrees, s.Invariants = o.deadlock(), o.pauseTrees(), o.invariants()
	o.groupFlows(s)
	s.Operations, s.Links = o.operationsOf(every), o.links()
	return s
}

// Counters is the part of a summary that nodes count themselves: it needs no look at
// flows and is cheap at any time.
func (o *Outcome) Counters() *Summary {
	t := &o.Totals
	return &Summary{
		Pauses: pausesOf(t),
		Drops: Drops{
			Lossless: t.Drops[probe.Lossless], Broken: t.Broken, Overflow: t.Drops[probe.Overflow], NoRoute: t.Drops[probe.NoRoute],
			Handler: t.Drops[probe.Handler], Link: t.Drops[probe.Corrupt], Expelled: t.Drops[probe.Expelled],
		},
		Transport: Transport{Retransmissions: t.Resent, Timeouts: t.Timeouts, Nacks: t.Nacks, CNPs: t.CNPs},
		Network:   networkOf(t),
		Buffer:    Buffer{Peak: t.PeakUsed, PeakHeadroom: t.PeakHead},
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

// Write writes the summary as indented JSON with a newline at the end.
func (s *Summary) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(s)
}
