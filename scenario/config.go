// Package scenario turns a description of an experiment, usually a YAML file,
// into a run: strict decoding, validation with positions, defaults, wiring.
// All registries meet here.
package scenario

import (
	"github.com/xoff-net/xoff/units"
)

// Config is a scenario. The zero value of a field means its default, which
// Default and Resolve fill in.
type Config struct {
	Name     string           `yaml:"name"`
	Seed     uint64           `yaml:"seed"`
	Topology Topology         `yaml:"topology"`
	Classes  map[string]Class `yaml:"classes"`
	Switch   Switch           `yaml:"switch"`
	Routing  Routing          `yaml:"routing"`
	Hosts    Hosts            `yaml:"hosts"`
	Workload []Workload       `yaml:"workload"`
	Faults   []Fault          `yaml:"faults,omitempty"`
	Run      Run              `yaml:"run"`
	Probes   []Probe          `yaml:"probes,omitempty"`
	Output   Output           `yaml:"output"`

	source *source // where the keys were written; nil when no file was read
}

// Topology names a generator with its parameters, and says what is different on
// single links. Links are called by their nodes, in either order, joined by a dash;
// * stands for any text.
type Topology struct {
	Choice    `yaml:",inline"`
	Down      []string       `yaml:"down,omitempty"`      // links that do not exist: names or patterns
	Overrides []LinkOverride `yaml:"overrides,omitempty"` // in order; the last one wins
}

// LinkOverride changes the links whose names match.
type LinkOverride struct {
	Match string     `yaml:"match"`
	Rate  units.Rate `yaml:"rate,omitempty"`
	Delay units.Time `yaml:"delay,omitempty"`
}

// Fabric returns a topology without exceptions.
func Fabric(name string, params any) Topology { return Topology{Choice: choice(name, params)} }

// Class is a group of traffic classes that are treated alike.
type Class struct {
	IDs  []int  `yaml:"ids"`
	Kind string `yaml:"kind"` // control | lossless | lossy
}

// Choice is a named scheme with its parameters, which stand beside the name.
type Choice struct {
	Name   string
	Params any // pointer to the scheme's parameter struct; nil when it has none
}

// Switch describes every switch of the fabric.
type Switch struct {
	Ports        int         `yaml:"ports,omitempty"` // of the chip; 0: as many as are cabled
	Buffer       Buffer      `yaml:"buffer"`
	Policy       Choice      `yaml:"policy"`
	FlowControl  Choice      `yaml:"flow_control"`
	PFC          PFC         `yaml:"pfc"`
	Scheduler    Scheduler   `yaml:"scheduler"`
	ECN          ECN         `yaml:"ecn"`
	Deadlock     Choice      `yaml:"deadlock"`
	Latency      units.Time  `yaml:"latency"`       // fixed pipeline latency
	WireOverhead units.Bytes `yaml:"wire_overhead"` // preamble and gap per frame, on every link
}

// Buffer is the packet memory of a switch.
type Buffer struct {
	Size            units.Bytes `yaml:"size"`
	PrivatePerQueue units.Bytes `yaml:"private_per_queue"`
	Cell            units.Bytes `yaml:"cell"`
	ReserveFor      string      `yaml:"reserve_for"` // chip | cabled: which ports headroom is set aside for
}

// PFC is how every port speaks IEEE 802.1Qbb.
type PFC struct {
	Hold       string     `yaml:"hold"` // timed | indefinite
	Quanta     int        `yaml:"quanta"`
	Processing units.Time `yaml:"processing"`
	Coalesce   bool       `yaml:"coalesce"` // a pause withdrawn before it was sent is not sent; false: up to two changes per class wait
}

// Scheduler says how the classes of a port compete. Groups are names in Classes.
type Scheduler struct {
	Strict  []string    `yaml:"strict"`
	DWRR    []string    `yaml:"dwrr,omitempty"`
	RR      []string    `yaml:"rr,omitempty"`
	Quantum units.Bytes `yaml:"quantum,omitempty"`
	// Quanta overrides the quantum per class id.
	Quanta map[int]units.Bytes `yaml:"quanta,omitempty"`
}

// ECN is the marker of every port.
type ECN struct {
	Choice  `yaml:",inline"`
	Classes []string `yaml:"classes,omitempty"` // groups that are marked; default: every lossless and lossy one
	At      string   `yaml:"at"`                // dequeue | enqueue
}

// Routing chooses the router of every switch.
type Routing struct {
	Name string `yaml:"name"`
	// RerouteAfter is how long after a link event the tables follow.
	RerouteAfter units.Time `yaml:"reroute_after"`
	Pinned       []Pin      `yaml:"pinned,omitempty"`
}

// Pin gives the data of flows from some hosts to others a route of its own.
type Pin struct {
	From string   `yaml:"from"` // a host, or a pattern of hosts, groups and switches
	To   string   `yaml:"to"`
	Via  []string `yaml:"via"` // switches, in order
}

// Hosts describes every host.
type Hosts struct {
	Payload     units.Bytes `yaml:"payload"`
	Header      units.Bytes `yaml:"header"`
	Ack         Ack         `yaml:"ack"`
	CNP         CNP         `yaml:"cnp"`
	Reliability Reliability `yaml:"reliability"`
	CC          Choice      `yaml:"cc"`
	Receive     Receive     `yaml:"receive"`
}

// Ack is how data is acknowledged.
type Ack struct {
	Every int         `yaml:"every"`
	Class string      `yaml:"class"` // group in Classes; its first id is used
	Size  units.Bytes `yaml:"size"`
}

// CNP is how congestion marks come back.
type CNP struct {
	Mode     string     `yaml:"mode"` // interval | ack
	Interval units.Time `yaml:"interval"`
}

// Reliability is how lost packets are recovered.
type Reliability struct {
	Name         string     `yaml:"name"` // go-back-n
	Timeout      units.Time `yaml:"timeout"`
	MaxTimeout   units.Time `yaml:"max_timeout"`
	NackInterval units.Time `yaml:"nack_interval"`
}

// Receive is a host that takes frames slowly. Rate 0bps takes them at once.
type Receive struct {
	Rate   units.Rate  `yaml:"rate"`
	Buffer units.Bytes `yaml:"buffer"`
	Xoff   units.Bytes `yaml:"xoff"`
	Hosts  []string    `yaml:"hosts,omitempty"` // which ones; default: all
}

// Workload is one generator of flows. The generator's own parameters stand beside
// the keys that all share.
type Workload struct {
	Name      string      `yaml:"name"`
	Generator string      `yaml:"generator"`
	Params    any         `yaml:"-"` // pointer to the generator's parameter struct
	Load      Load        `yaml:"load,omitempty"`
	Pairs     string      `yaml:"pairs,omitempty"` // which hosts talk to each other: any | other_rack | ...
	From      Selection   `yaml:"from,omitempty"`  // hosts that send; default: all
	To        Selection   `yaml:"to,omitempty"`    // hosts that receive; default: all
	Class     ClassChoice `yaml:"class"`
	Start     units.Time  `yaml:"start,omitempty"` // flows start from then on
	Stop      units.Time  `yaml:"stop,omitempty"`  // and before that; default: run.arrivals
}

// Load is a share of a capacity.
type Load struct {
	Share float64 `yaml:"share"`
	Of    string  `yaml:"of"` // host_links | all_host_links | receiver_links | uplinks | a pattern of links
}

// Selection is a list of hosts by name, group, switch or pattern.
type Selection []string

// ClassChoice assigns classes to flows: one id or group, one at random, or one by
// shares.
type ClassChoice struct {
	Fixed  string // id or group (its first id)
	Random string // group
	Shares []ClassShare
}

// ClassShare is the share of the flows that a class gets.
type ClassShare struct {
	Class string // id or group (its first id)
	Share float64
}

// Fault is one thing that goes wrong.
type Fault struct {
	At      units.Time `yaml:"at"`
	Link    string     `yaml:"link,omitempty"`     // two node names joined by a dash
	DownFor units.Time `yaml:"down_for,omitempty"` // the link fails
	Times   int        `yaml:"times,omitempty"`    // flapping: how often
	Every   units.Time `yaml:"every,omitempty"`    // flapping: from failure to failure
	Corrupt float64    `yaml:"corrupt,omitempty"`  // share of damaged frames
	For     units.Time `yaml:"for,omitempty"`      // how long frames are damaged, or the host is stuck
	Host    string     `yaml:"host,omitempty"`
	Stuck   bool       `yaml:"stuck,omitempty"` // the host takes nothing and pauses everything
}

// Run says how long and what counts.
type Run struct {
	Arrivals units.Time `yaml:"arrivals"`
	Measure  Measure    `yaml:"measure"`
	Stop     Stop       `yaml:"stop"`
}

// Measure is the window in which flows must start to count.
type Measure struct {
	From units.Time `yaml:"from"`
	To   units.Time `yaml:"to"`
}

// Stop ends a run.
type Stop struct {
	When   string     `yaml:"when"` // measured_flows_done | all_flows_done | time
	AtMost units.Time `yaml:"at_most"`
}

// Output says what is written, and which flows have statistics of their own.
type Output struct {
	GroupBy     string        `yaml:"group_by"`     // workload | class | none: told apart by size, too
	SizeBuckets []units.Bytes `yaml:"size_buckets"` // upper ends, rising; one more bucket is open
	CSV         bool          `yaml:"csv"`          // every table as text, too
	Watermarks  bool          `yaml:"watermarks"`   // of every queue, in ports.parquet; costs a few per cent of speed
	FlowTrace   bool          `yaml:"flow_trace"`   // the flows as a trace, and a scenario that replays it
}
