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
	Name     string           `yaml:"name"`             // of the results
	Seed     uint64           `yaml:"seed"`             // every generator and node derives its own random stream from it
	Topology Topology         `yaml:"topology"`         // hosts, switches and cables
	Classes  map[string]Class `yaml:"classes"`          // groups of traffic classes; what is not listed does not exist
	Switch   Switch           `yaml:"switch"`           // every switch; exceptions in overrides
	Routing  Routing          `yaml:"routing"`          // by which port a frame leaves a switch
	Hosts    Hosts            `yaml:"hosts"`            // every host; exceptions in overrides
	Workload []Workload       `yaml:"workload"`         // generators of flows
	Faults   []Fault          `yaml:"faults,omitempty"` // what goes wrong, and when
	Run      Run              `yaml:"run"`              // how long, and what counts
	Compat   Compat           `yaml:"compat,omitempty"` // quirks of other simulators, to agree with their results
	Probes   []Probe          `yaml:"probes,omitempty"` // what is watched while the run goes
	Output   Output           `yaml:"output"`           // what is written

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
	Match string     `yaml:"match"`           // a pattern of links
	Rate  units.Rate `yaml:"rate,omitempty"`  // instead of the usual one
	Delay units.Time `yaml:"delay,omitempty"` // instead of the usual one
}

// Fabric returns a topology without exceptions.
func Fabric(name string, params any) Topology { return Topology{Choice: choice(name, params)} }

// Class is a group of traffic classes that are treated alike.
type Class struct {
	IDs []int `yaml:"ids"` // 0 to 7
	// Kind is what the fabric does for the group: control frames are never paused,
	// lossless ones are paused rather than dropped, lossy ones are dropped.
	Kind string `yaml:"kind" allowed:"control,lossless,lossy"`
}

// Choice is a named scheme with its parameters, which stand beside the name.
type Choice struct {
	Name   string
	Params any // pointer to the scheme's parameter struct; nil when it has none
}

// Switch describes every switch of the fabric.
type Switch struct {
	Ports        int         `yaml:"ports,omitempty"`     // of the chip; 0: as many as are cabled
	Buffer       Buffer      `yaml:"buffer"`              // packet memory
	Policy       Choice      `yaml:"policy"`              // how the queues share the buffer
	FlowControl  Choice      `yaml:"flow_control"`        // what keeps lossless classes lossless; of every port
	PFC          PFC         `yaml:"pfc"`                 // how ports speak IEEE 802.1Qbb
	Scheduler    Scheduler   `yaml:"scheduler"`           // which class of a port sends next
	ECN          ECN         `yaml:"ecn"`                 // which frames get the congestion mark
	Deadlock     Choice      `yaml:"deadlock"`            // what is done about loops of paused queues
	Latency      units.Time  `yaml:"latency"`             // of the pipeline, for every frame
	WireOverhead units.Bytes `yaml:"wire_overhead"`       // preamble and gap per frame, on every link of the fabric
	MTU          units.Bytes `yaml:"mtu,omitempty"`       // largest frame a port takes, for which headroom is sized; 0: the largest that hosts send
	Overrides    []Override  `yaml:"overrides,omitempty"` // exceptions: keys of switch for the switches or ports that match; the last one wins
}

// Buffer is the packet memory of a switch.
type Buffer struct {
	Size            units.Bytes `yaml:"size"`                              // of everything: private, shared, headroom
	PrivatePerQueue units.Bytes `yaml:"private_per_queue"`                 // guaranteed to each ingress queue that is not for control
	Cell            units.Bytes `yaml:"cell"`                              // unit of storage: a frame takes whole cells
	ReserveFor      string      `yaml:"reserve_for" allowed:"chip,cabled"` // which ports headroom is set aside for; chip when switch.ports is given
}

// PFC is how a port speaks IEEE 802.1Qbb: what it sends, and how fast it acts on
// what it gets.
type PFC struct {
	Hold       string     `yaml:"hold" allowed:"timed,indefinite"` // how long a pause lasts that the port sends: for its quanta, repeated while wanted, or until it is withdrawn
	Quanta     int        `yaml:"quanta"`                          // pause time of a frame, in units of 512 bit times
	Processing units.Time `yaml:"processing"`                      // from the arrival of a pause to its effect
	Coalesce   bool       `yaml:"coalesce"`                        // a pause withdrawn before it was sent is not sent; false: up to two changes per class wait
}

// Scheduler says how the classes of a port compete. Groups are names in Classes.
type Scheduler struct {
	Strict  []string    `yaml:"strict"`            // groups that go first, the lowest class number before the next
	DWRR    []string    `yaml:"dwrr,omitempty"`    // groups that share the rest by deficit weighted round robin
	RR      []string    `yaml:"rr,omitempty"`      // groups that share the rest frame by frame, instead of dwrr
	Quantum units.Bytes `yaml:"quantum,omitempty"` // bytes that a class may send per round of dwrr
	// Quanta overrides the quantum per class id.
	Quanta map[int]units.Bytes `yaml:"quanta,omitempty"`
}

// ECN is the marker of every port.
type ECN struct {
	Choice  `yaml:",inline"`
	Classes []string `yaml:"classes,omitempty"`            // groups that are marked; default: every lossless and lossy one
	At      string   `yaml:"at" allowed:"dequeue,enqueue"` // when the queue is looked at: as a frame leaves or as it joins
}

// Routing chooses the router of every switch.
type Routing struct {
	Name         string     `yaml:"name" kind:"routing"` // how one of several equally good paths is chosen
	RerouteAfter units.Time `yaml:"reroute_after"`       // how long after a link event the tables follow
	Pinned       []Pin      `yaml:"pinned,omitempty"`    // routes of single flows
}

// Pin gives the data of flows from some hosts to others a route of its own.
type Pin struct {
	From string   `yaml:"from"` // a host, or a pattern of hosts, groups and switches
	To   string   `yaml:"to"`   // the same
	Via  []string `yaml:"via"`  // switches, in order, or ports such as leaf0.port3 by which the route leaves them
}

// Hosts describes every host.
type Hosts struct {
	Payload     units.Bytes `yaml:"payload"`     // of a full packet
	Header      units.Bytes `yaml:"header"`      // of every data packet: all of the frame that is not payload
	Ack         Ack         `yaml:"ack"`         // how data is acknowledged
	CNP         CNP         `yaml:"cnp"`         // how congestion marks come back
	Reliability Reliability `yaml:"reliability"` // how lost packets are recovered
	CC          Choice      `yaml:"cc"`          // congestion control
	Telemetry   Telemetry   `yaml:"telemetry"`   // what records of switches take of a frame, for congestion control that reads them
	// Transports are other ways to carry flows, by name, for workloads that choose
	// one: keys of hosts that are different then.
	Transports map[string]Variant `yaml:"transports,omitempty"`
	Receive    Receive            `yaml:"receive"`             // hosts that take frames slowly
	Overrides  []Override         `yaml:"overrides,omitempty"` // exceptions: keys of hosts for the hosts that match; the last one wins
}

// Telemetry is the room for records in frames of congestion control that reads
// them.
type Telemetry struct {
	Header units.Bytes `yaml:"header"` // more bytes of every data packet
	Ack    units.Bytes `yaml:"ack"`    // more bytes of every ACK, NACK and CNP
}

// Ack is how data is acknowledged.
type Ack struct {
	Every int         `yaml:"every"` // packets per ACK
	Class string      `yaml:"class"` // group in classes, whose first id is used; or same: the class of the data
	Size  units.Bytes `yaml:"size"`  // of the frame
}

// CNP is how congestion marks come back.
type CNP struct {
	Mode     string     `yaml:"mode" allowed:"interval,ack"` // in frames of their own, or in the ACK of the marked packet
	Interval units.Time `yaml:"interval"`                    // shortest time between two frames for a flow
}

// Reliability is how lost packets are recovered.
type Reliability struct {
	// Name is what is sent again: everything from the lost packet on (go-back-n), or
	// what selective ACKs show to be missing, after three of them (sack, as TCP
	// does) or at the first (irn).
	Name         string     `yaml:"name" allowed:"go-back-n,sack,irn"`
	Timeout      units.Time `yaml:"timeout"`       // without progress, before packets are sent again; sack: before the first round-trip time is known; irn: RTO_high
	MaxTimeout   units.Time `yaml:"max_timeout"`   // bound of the doubling after each timeout
	NackInterval units.Time `yaml:"nack_interval"` // go-back-n: shortest time between two NACKs for the same gap
	MinRTO       units.Time `yaml:"min_rto"`       // sack: least timeout that follows from round-trip times
	RTOLow       units.Time `yaml:"rto_low"`       // irn: timeout when few packets are in the network
	Few          int        `yaml:"few"`           // irn: fewer packets than this are few
	Window       int        `yaml:"window"`        // sack, irn: packets from the first unacknowledged one on that may be sent; 0: 16384 for sack, one bandwidth-delay product for irn
}

// Receive is a host that takes frames slowly.
type Receive struct {
	Rate   units.Rate  `yaml:"rate"`            // at which frames are taken; 0bps: at once
	Buffer units.Bytes `yaml:"buffer"`          // where they wait meanwhile
	Xoff   units.Bytes `yaml:"xoff"`            // per class: the host pauses above it
	Hosts  []string    `yaml:"hosts,omitempty"` // which ones; default: all
}

// Workload is one generator of flows. The generator's own parameters stand beside
// the keys that all share.
type Workload struct {
	Name      string      `yaml:"name"`                       // of the rows in results
	Generator string      `yaml:"generator" kind:"generator"` // how flows come about; its parameters stand beside it
	Params    any         `yaml:"-"`                          // pointer to the generator's parameter struct
	Load      Load        `yaml:"load,omitempty"`             // how much is sent
	Pairs     string      `yaml:"pairs,omitempty"`            // which hosts talk to each other: any | other_rack | ...
	From      Selection   `yaml:"from,omitempty"`             // hosts that send; default: all
	To        Selection   `yaml:"to,omitempty"`               // hosts that receive; default: all
	Transport string      `yaml:"transport,omitempty"`        // one of hosts.transports; default: what hosts say
	Class     ClassChoice `yaml:"class"`                      // of the flows: an id, a group (its first id), {random: group}, or {shares: {1: 0.3, 4: 0.7}}; default: the lowest that carries data
	Start     units.Time  `yaml:"start,omitempty"`            // flows start from then on
	Stop      units.Time  `yaml:"stop,omitempty"`             // and before that; default: run.arrivals
}

// Load is a share of a capacity.
type Load struct {
	Share float64 `yaml:"share"` // of the capacity
	Of    string  `yaml:"of"`    // host_links | all_host_links | receiver_links | uplinks | a pattern of links
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
	At      units.Time `yaml:"at"`                 // when it begins
	Link    string     `yaml:"link,omitempty"`     // two node names joined by a dash
	DownFor units.Time `yaml:"down_for,omitempty"` // the link fails for so long
	Times   int        `yaml:"times,omitempty"`    // flapping: how often
	Every   units.Time `yaml:"every,omitempty"`    // flapping: from failure to failure
	Corrupt float64    `yaml:"corrupt,omitempty"`  // share of damaged frames
	For     units.Time `yaml:"for,omitempty"`      // how long frames are damaged (to the end if it is not given), or the host is stuck
	Host    string     `yaml:"host,omitempty"`     // instead of a link
	Stuck   bool       `yaml:"stuck,omitempty"`    // the host takes nothing and pauses everything
}

// Run says how long and what counts.
type Run struct {
	Arrivals units.Time `yaml:"arrivals"` // flows start before this time
	Measure  Measure    `yaml:"measure"`  // which flows count in summaries
	Stop     Stop       `yaml:"stop"`     // when the run ends
}

// Measure is the window in which flows must start to count.
type Measure struct {
	From units.Time `yaml:"from"` // leaves out the warm-up
	To   units.Time `yaml:"to"`   // default: run.arrivals
}

// Stop ends a run.
type Stop struct {
	When   string     `yaml:"when" allowed:"measured_flows_done,all_flows_done,time"` // what must have happened
	AtMost units.Time `yaml:"at_most"`                                                // end of the run at the latest
	// Deadlock ends the run at the first deadlock, too: at the next multiple of 10 us.
	Deadlock bool `yaml:"deadlock"`
}

// Compat is what other simulators do otherwise. The zero value does nothing.
type Compat struct {
	Tick     units.Time  `yaml:"tick,omitempty"`                         // times that frames take on a wire, and between paced packets, are cut to whole multiples; 0s: exact
	PFCSize  units.Bytes `yaml:"pfc_size,omitempty"`                     // of PFC frames; 0B: 64 bytes
	NIC      string      `yaml:"nic,omitempty" allowed:"lists,scan"`     // how a host finds the next queue pair: in lists of those that may send, or by looking at all of them in turn as the public RDMA simulators do
	EveryEnd bool        `yaml:"every_end,omitempty"`                    // the end of every frame is an event of the switch, for which a frame that arrives at that moment may have to wait
	Ties     string      `yaml:"ties,omitempty" allowed:"key,insertion"` // order of simultaneous events: that of their kinds and ports, or that in which they were planned, as in ns-3
	BaseRTT  units.Time  `yaml:"base_rtt,omitempty"`                     // that congestion control is told; 0s: computed from the longest path
	AckQueue int         `yaml:"ack_queue,omitempty"`                    // class whose pauses hold back all ACKs of a host, in one queue, whatever their own; 0: their own
}

// Output says what is written, and which flows have statistics of their own.
type Output struct {
	GroupBy     string        `yaml:"group_by"`     // workload | class | none: told apart by size, too
	SizeBuckets []units.Bytes `yaml:"size_buckets"` // upper ends, rising; one more bucket is open
	CSV         bool          `yaml:"csv"`          // every table as text, too
	Watermarks  bool          `yaml:"watermarks"`   // of every queue, in ports.parquet; costs a few per cent of speed
	FlowTrace   bool          `yaml:"flow_trace"`   // the flows as a trace, and a scenario that replays it
	Deadlocks   bool          `yaml:"deadlocks"`    // look for deadlocks while the run goes, not only at its end, and write deadlocks.parquet; costs a few per cent of speed
	PauseTree   bool          `yaml:"pause_tree"`   // keep every pause with its cause, and write pause_tree.parquet
}
