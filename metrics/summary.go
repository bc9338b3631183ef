package metrics

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/xoff-net/xoff/probe"
	"github.com/xoff-net/xoff/units"
)

// SchemaVersion numbers the layout of summary.json and of the flow table. It
// rises when a field changes its meaning or goes away; new fields do not raise
// it.
const SchemaVersion = 1

// Summary is summary.json. Times are in picoseconds of simulated time, sizes in
// bytes. It holds nothing about the machine or how long the run took there.
type Summary struct {
	Schema     int        `json:"schema"`
	Scenario   string     `json:"scenario"`
	Seed       uint64     `json:"seed"`
	End        units.Time `json:"end_ps"`  // simulated time at which the run ended
	Partial    bool       `json:"partial"` // the run was interrupted
	Flows      Counts     `json:"flows"`
	FCT        *Times     `json:"fct_ps"`   // of measured finished flows, start to last ACK; null for none
	Slowdown   *Ratios    `json:"slowdown"` // FCT over that in an empty network
	Workloads  []Part     `json:"workloads"`
	Sizes      []Part     `json:"sizes"` // by flow size
	Pauses     Pauses     `json:"pauses"`
	Drops      Drops      `json:"drops"`
	Transport  Transport  `json:"transport"`
	Network    Network    `json:"network"`
	Buffer     Buffer     `json:"buffer"`
	Invariants Invariants `json:"invariants"`
}

// Counts are numbers of flows.
type Counts struct {
	Offered    int `json:"offered"`    // generated, whether or not they count
	Completed  int `json:"completed"`  // of the offered ones
	Measured   int `json:"measured"`   // started in the measurement window
	Finished   int `json:"finished"`   // of the measured ones
	Unfinished int `json:"unfinished"` // of the measured ones
}

// Part is a subset of the measured flows.
type Part struct {
	Name       string  `json:"name"`
	Measured   int     `json:"measured"`
	Finished   int     `json:"finished"`
	Unfinished int     `json:"unfinished"`
	FCT        *Times  `json:"fct_ps"`
	Slowdown   *Ratios `json:"slowdown"`
}

// Pauses is what flow control did.
type Pauses struct {
	Pauses    uint64     `json:"pauses"`     // classes paused by a frame
	Resumes   uint64     `json:"resumes"`    // classes resumed by a frame
	Refreshes uint64     `json:"refreshes"`  // frames that only renew pauses
	Blocked   units.Time `json:"blocked_ps"` // summed over egress queues
}

// Drops are lost frames by reason.
type Drops struct {
	Lossless uint64 `json:"lossless"`        // of lossless classes, for want of buffer
	Broken   uint64 `json:"lossless_broken"` // of these, where the scheme promised that none would be
	Overflow uint64 `json:"overflow"`        // of lossy classes, for want of buffer
	NoRoute  uint64 `json:"no_route"`
	Handler  uint64 `json:"deadlock_handler"`
	Link     uint64 `json:"link"` // damaged, or the link was down
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
	Marks   uint64 `json:"ecn_marks"`
	Forced  uint64 `json:"forced_sends"` // sent from a paused class by a deadlock handler
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

// sizeLimits are the upper ends of the size buckets; one more is open.
var sizeLimits = []units.Bytes{10 * units.KB, 100 * units.KB, units.MB, 10 * units.MB}

// Summarize computes the summary of a run.
func (o *Outcome) Summarize() *Summary {
	t := &o.Totals
	s := &Summary{
		Schema: SchemaVersion, Scenario: o.Scenario, Seed: o.Seed, End: o.End, Partial: o.Partial,
		Pauses: Pauses{Pauses: t.Pauses, Resumes: t.Resumes, Refreshes: t.Refreshes, Blocked: t.Blocked},
		Drops: Drops{
			Lossless: t.Drops[probe.Lossless], Broken: t.Broken, Overflow: t.Drops[probe.Overflow], NoRoute: t.Drops[probe.NoRoute],
			Handler: t.Drops[probe.Handler], Link: t.Drops[probe.Corrupt],
		},
		Transport:  Transport{Retransmissions: t.Resent, Timeouts: t.Timeouts, Nacks: t.Nacks, CNPs: t.CNPs},
		Network:    Network{Hops: t.Hops, Control: t.Control, Marks: t.Marks, Forced: t.Forced},
		Buffer:     Buffer{Peak: t.PeakUsed, PeakHeadroom: t.PeakHead},
		Invariants: o.invariants(),
	}
	all := newCollector("")
	workloads := collectors(o.Workloads)
	sizes := collectors(sizeNames())
	for i := range o.Flows.Flow {
		if !o.Flows.Offered(i) {
			continue
		}
		s.Flows.Offered++
		fct, done := o.fct(i)
		if done {
			s.Flows.Completed++
		}
		if !o.Measured[i] {
			continue
		}
		for _, c := range [3]*collector{all, workloads[o.Origin[i]], sizes[bucketOf(o.Flows.Flow[i].Size)]} {
			c.part.Measured++
			if done {
				c.fcts = append(c.fcts, fct)
				c.slowdowns = append(c.slowdowns, o.slowdown(i, fct))
			}
		}
	}
	p := all.finish()
	s.Flows.Measured, s.Flows.Finished, s.Flows.Unfinished = p.Measured, p.Finished, p.Unfinished
	s.FCT, s.Slowdown = p.FCT, p.Slowdown
	s.Workloads, s.Sizes = finishAll(workloads), finishAll(sizes)
	return s
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

// collector gathers the flows of one part.
type collector struct {
	part      Part
	fcts      []units.Time
	slowdowns []float64
}

func newCollector(name string) *collector { return &collector{part: Part{Name: name}} }

func collectors(names []string) []*collector {
	var list []*collector
	for _, n := range names {
		list = append(list, newCollector(n))
	}
	return list
}

func (c *collector) finish() Part {
	c.part.Finished = len(c.fcts)
	c.part.Unfinished = c.part.Measured - c.part.Finished
	c.part.FCT, c.part.Slowdown = timesOf(c.fcts), ratiosOf(c.slowdowns)
	return c.part
}

func finishAll(list []*collector) []Part {
	parts := []Part{}
	for _, c := range list {
		parts = append(parts, c.finish())
	}
	return parts
}

func bucketOf(size units.Bytes) int {
	for i, limit := range sizeLimits {
		if size <= limit {
			return i
		}
	}
	return len(sizeLimits)
}

func sizeNames() []string {
	var names []string
	for _, limit := range sizeLimits {
		names = append(names, fmt.Sprintf("up to %s", limit))
	}
	return append(names, fmt.Sprintf("over %s", sizeLimits[len(sizeLimits)-1]))
}

// Write writes the summary as indented JSON with a newline at the end.
func (s *Summary) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(s)
}
