// Package scenario is the description of an experiment, usually a YAML file, as a
// Config: decoded strictly, with defaults, and with the place in the file of every
// mistake. Package build makes a fabric of it, package run runs it.
package scenario

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Config is a scenario. The zero value of a field means its default, which
// Default and Resolve fill in.
type Config struct {
	Name     string           `yaml:"name" doc:"of the results"`
	Seed     uint64           `yaml:"seed" doc:"every generator and node derives its own random stream from it"`
	Topology Topology         `yaml:"topology" doc:"hosts, switches and cables"`
	Classes  map[string]Class `yaml:"classes" doc:"groups of traffic classes; what is not listed does not exist"`
	Switch   Switch           `yaml:"switch" doc:"every switch; exceptions in overrides"`
	Routing  Routing          `yaml:"routing" doc:"by which port a frame leaves a switch"`
	Hosts    Hosts            `yaml:"hosts" doc:"every host; exceptions in overrides"`
	Workload []Workload       `yaml:"workload" doc:"generators of flows"`
	Faults   []Fault          `yaml:"faults,omitempty" doc:"what goes wrong, and when"`
	Run      Run              `yaml:"run" doc:"how long, and what counts"`
	Compat   Compat           `yaml:"compat,omitempty" doc:"quirks of other simulators, to agree with their results"`
	Probes   []Probe          `yaml:"probes,omitempty" doc:"what is watched while the run goes"`
	Output   Output           `yaml:"output" doc:"what is written"`
	Expect   []Expectation    `yaml:"expect,omitempty" doc:"what the run must show, or its exit code is 1: conditions such as drops.lossless == 0"`

	places *yaml.Places // where the keys were written; nil when no file was read
	apart  *apart       // nil: it may read any file of this machine
}

// Topology names a generator with its parameters, and says what is different on
// single links. Links are called by their nodes, in either order, joined by a dash;
// * stands for any text.
type Topology struct {
	Choice    `yaml:",inline"`
	Down      []string       `yaml:"down,omitempty" doc:"links that do not exist: names or patterns"`
	Overrides []LinkOverride `yaml:"overrides,omitempty" doc:"in order; the last one wins"`
}

// LinkOverride changes the links whose names match.
type LinkOverride struct {
	Match string     `yaml:"match" doc:"a pattern of links"`
	Rate  units.Rate `yaml:"rate,omitempty" doc:"instead of the usual one"`
	Delay units.Time `yaml:"delay,omitempty" takes:"length" doc:"instead of the usual one"`
}

// Fabric returns a topology without exceptions.
func Fabric(name string, params any) Topology { return Topology{Choice: choice(name, params)} }

// Class is a group of traffic classes that are treated alike.
type Class struct {
	IDs  []int  `yaml:"ids" doc:"0 to 7"`
	Kind string `yaml:"kind" allowed:"control,lossless,lossy" doc:"control: never paused; lossless: paused rather than dropped; lossy: dropped when the buffer is full"`
}

// Choice is a named scheme with its parameters, which stand beside the name.
type Choice struct {
	Name   string
	Params any // pointer to the scheme's parameter struct; nil when it has none
}

// Switch describes every switch of the fabric.
type Switch struct {
	Ports        int         `yaml:"ports,omitempty" follows:"as many as are cabled" doc:"of the chip; 0: as many as are cabled"`
	Buffer       Buffer      `yaml:"buffer" doc:"packet memory"`
	Policy       Choice      `yaml:"policy" doc:"how the queues share the buffer"`
	FlowControl  Choice      `yaml:"flow_control" scope:"port" doc:"what keeps lossless classes lossless; of every port"`
	PFC          PFC         `yaml:"pfc" scope:"port" doc:"how ports speak IEEE 802.1Qbb"`
	Scheduler    Scheduler   `yaml:"scheduler" scope:"port" doc:"which class of a port sends next"`
	ECN          ECN         `yaml:"ecn" scope:"port" doc:"which frames get the congestion mark"`
	Deadlock     Choice      `yaml:"deadlock" doc:"what is done about loops of paused queues"`
	Latency      units.Time  `yaml:"latency" doc:"of the pipeline, for every frame"`
	WireOverhead units.Bytes `yaml:"wire_overhead" scope:"fabric" doc:"preamble and gap per frame, on every link of the fabric"`
	MTU          units.Bytes `yaml:"mtu,omitempty" scope:"port" follows:"the largest that hosts send" doc:"largest frame a port takes, for which headroom is sized; 0: the largest that hosts send"`
	Overrides    []Override  `yaml:"overrides,omitempty" scope:"fabric" doc:"exceptions: keys of switch for the switches or ports that match; the last one wins"`
}

// Buffer is the packet memory of a switch.
type Buffer struct {
	Size            units.Bytes `yaml:"size" doc:"of everything: private, shared, headroom"`
	PrivatePerQueue units.Bytes `yaml:"private_per_queue" doc:"guaranteed to each ingress queue that is not for control"`
	Cell            units.Bytes `yaml:"cell" doc:"unit of storage: a frame takes whole cells"`
	ReserveFor      string      `yaml:"reserve_for" allowed:"chip,cabled" follows:"chip if switch.ports is given, else cabled" doc:"which ports headroom is set aside for"`
	PerPacket       units.Bytes `yaml:"per_packet,omitempty" doc:"what a frame costs beside its cells"`
	Partitions      int         `yaml:"partitions,omitempty" doc:"parts of the shared segment and of headroom_pool; a port sees one of them, the first ports the first; 0 or 1: undivided"`
	HeadroomPool    units.Bytes `yaml:"headroom_pool,omitempty" doc:"headroom that all lossless queues share and can use up, in place of headroom set aside for each; 0B: none"`
}

// PFC is how a port speaks IEEE 802.1Qbb: what it sends, and how fast it acts on
// what it gets.
type PFC struct {
	Hold       string     `yaml:"hold" allowed:"timed,indefinite" doc:"how long a pause lasts that the port sends: for its quanta, repeated while wanted, or until it is withdrawn"`
	Quanta     int        `yaml:"quanta" doc:"pause time of a frame, in units of 512 bit times"`
	Processing units.Time `yaml:"processing" doc:"from the arrival of a pause to its effect"`
	Coalesce   bool       `yaml:"coalesce" doc:"a pause withdrawn before it was sent is not sent; false: up to two changes per class wait"`
}

// Scheduler says which class of a port sends next. Groups are names in Classes.
type Scheduler struct {
	Choice `yaml:",inline"`
	Strict []string `yaml:"strict" follows:"the groups of kind control" doc:"groups that go first, the lowest class number before the next"`
	Groups []string `yaml:"groups,omitempty" follows:"all others" doc:"groups that the scheme serves"`

	// idle is the quantum beside rr in the older form. It does nothing, but hashes know
	// it. Nil: another form.
	idle *units.Bytes
}

// ECN is the marker of every port.
type ECN struct {
	Choice  `yaml:",inline"`
	Classes []string          `yaml:"classes,omitempty" follows:"the groups of kind lossless and lossy" doc:"groups that are marked"`
	At      string            `yaml:"at" allowed:"dequeue,enqueue" doc:"when the queue is looked at: as a frame leaves or as it joins"`
	ByClass map[string]Choice `yaml:"by_class,omitempty" kind:"ecn" doc:"groups with a marker of their own, such as {tcp: {name: step, k: 65KB, per: 10Gbps}}"`
}

// Routing chooses the router of every switch.
type Routing struct {
	Choice       `yaml:",inline"`
	RerouteAfter units.Time `yaml:"reroute_after" scope:"fabric" doc:"how long after a link event the tables follow"`
	Pinned       []Pin      `yaml:"pinned,omitempty" scope:"fabric" doc:"routes of single flows"`
	Overrides    []Override `yaml:"overrides,omitempty" scope:"fabric" doc:"exceptions: another router, or other parameters, for the switches that match; the last one wins"`
}

// Pin gives the data of flows from some hosts to others a route of its own.
type Pin struct {
	From string   `yaml:"from" doc:"a host, or a pattern of hosts, groups and switches"`
	To   string   `yaml:"to" doc:"the same"`
	Via  []string `yaml:"via" doc:"switches, in order, or ports such as leaf0.port3 by which the route leaves them"`
}

// Hosts describes every host.
type Hosts struct {
	Payload     units.Bytes        `yaml:"payload" scope:"transport" doc:"of a full packet"`
	Header      units.Bytes        `yaml:"header" scope:"transport" doc:"of every data packet: all of the frame that is not payload"`
	Ack         Ack                `yaml:"ack" scope:"transport" doc:"how data is acknowledged"`
	CNP         CNP                `yaml:"cnp" scope:"transport" doc:"how congestion marks come back"`
	Reliability Reliability        `yaml:"reliability" scope:"transport" doc:"how lost packets are recovered"`
	CC          Choice             `yaml:"cc" scope:"transport" doc:"congestion control"`
	Telemetry   Telemetry          `yaml:"telemetry" scope:"transport" doc:"what records of switches take of a frame, for congestion control that reads them"`
	Transports  map[string]Variant `yaml:"transports,omitempty" scope:"fabric" doc:"are other ways to carry flows, by name, for workloads that choose one: keys of hosts that are different then"`
	Receive     Receive            `yaml:"receive" doc:"hosts that take frames slowly"`
	Overrides   []Override         `yaml:"overrides,omitempty" scope:"fabric" doc:"exceptions: keys of hosts for the hosts that match; the last one wins"`
}

// Telemetry is the room for records in frames of congestion control that reads
// them.
type Telemetry struct {
	Header units.Bytes `yaml:"header" doc:"more bytes of every data packet"`
	Ack    units.Bytes `yaml:"ack" doc:"more bytes of every ACK, NACK and CNP"`
}

// Ack is how data is acknowledged.
type Ack struct {
	Every int         `yaml:"every" doc:"packets per ACK"`
	Class string      `yaml:"class" follows:"the first group of kind control, by name" doc:"group in classes, whose first id is used; or same: the class of the data"`
	Size  units.Bytes `yaml:"size" doc:"of the frame"`
}

// CNP is how congestion marks come back.
type CNP struct {
	Mode     string     `yaml:"mode" allowed:"interval,ack" doc:"in frames of their own, or in the ACK of the marked packet"`
	Interval units.Time `yaml:"interval" doc:"shortest time between two frames for a flow"`
}

// Reliability is how lost packets are recovered.
type Reliability struct {
	Name         string     `yaml:"name" allowed:"go-back-n,sack,irn" doc:"what is retransmitted: all from the lost packet on (go-back-n), or gaps, after three selective ACKs (sack) or one (irn)"`
	Timeout      units.Time `yaml:"timeout" doc:"without progress, before packets are sent again; sack: before the first round-trip time is known; irn: RTO_high"`
	MaxTimeout   units.Time `yaml:"max_timeout" follows:"64ms, or timeout if that is more" doc:"bound of the doubling after each timeout"`
	NackInterval units.Time `yaml:"nack_interval" doc:"go-back-n: shortest time between two NACKs for the same gap"`
	MinRTO       units.Time `yaml:"min_rto" doc:"sack: least timeout that follows from round-trip times"`
	RTOLow       units.Time `yaml:"rto_low" doc:"irn: timeout when few packets are in the network"`
	Few          int        `yaml:"few" doc:"irn: fewer packets than this are few"`
	Window       int        `yaml:"window" doc:"sack, irn: packets that may be sent from the first unacknowledged one on; 0: 16384 for sack, one BDP for irn"`
}

// Receive is a host that takes frames slowly.
type Receive struct {
	Rate   units.Rate  `yaml:"rate" doc:"at which frames are taken; 0bps: at once"`
	Buffer units.Bytes `yaml:"buffer" doc:"where received frames wait; the rest is dropped. A host that is only stuck also has room for xoff and headroom"`
	Xoff   units.Bytes `yaml:"xoff" doc:"per class: the host pauses above it"`
	Hosts  []string    `yaml:"hosts,omitempty" follows:"all" doc:"which ones"`
}

// Workload is one generator of flows. The generator's own parameters stand beside
// the keys that all share.
type Workload struct {
	Name      string      `yaml:"name" doc:"of the rows in results"`
	Generator string      `yaml:"generator" kind:"generator" doc:"how flows come about; its parameters stand beside it"`
	Params    any         `yaml:"-" doc:"pointer to the generator's parameter struct"`
	Load      Load        `yaml:"load,omitempty" doc:"how much is sent"`
	Pairs     string      `yaml:"pairs,omitempty" follows:"by generator" doc:"which hosts talk to each other: any | other_rack | .."`
	From      Selection   `yaml:"from,omitempty" follows:"all" doc:"hosts that send"`
	To        Selection   `yaml:"to,omitempty" follows:"all" doc:"hosts that receive"`
	Transport string      `yaml:"transport,omitempty" follows:"what hosts say" doc:"one of hosts.transports"`
	Class     ClassChoice `yaml:"class" follows:"the lowest id that is not of kind control" doc:"of the flows: an id, a group (its first id), {random: group}, or {shares: {1: 0.3, 4: 0.7}}"`
	Start     units.Time  `yaml:"start,omitempty" follows:"0s" doc:"flows start from then on"`
	Stop      units.Time  `yaml:"stop,omitempty" follows:"run.arrivals" doc:"and before that"`
}

// Load is a share of a capacity.
type Load struct {
	Share float64 `yaml:"share" doc:"of the capacity"`
	Of    string  `yaml:"of" doc:"host_links | all_host_links | receiver_links | uplinks | a pattern of links"`
}

// Example shows the keys where something else was written.
func (*Load) Example(string, string) string { return "{share: 0.5, of: host_links}" }

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
	At      units.Time `yaml:"at" doc:"when it begins"`
	Link    string     `yaml:"link,omitempty" doc:"two node names joined by a dash"`
	DownFor units.Time `yaml:"down_for,omitempty" takes:"forever" doc:"the link fails for so long"`
	Times   int        `yaml:"times,omitempty" doc:"flapping: how often"`
	Every   units.Time `yaml:"every,omitempty" doc:"flapping: from failure to failure"`
	Corrupt float64    `yaml:"corrupt,omitempty" doc:"share of damaged frames"`
	For     units.Time `yaml:"for,omitempty" takes:"forever" doc:"how long frames are damaged (to the end if it is not given), or the host is stuck"`
	Host    string     `yaml:"host,omitempty" doc:"instead of a link"`
	Stuck   bool       `yaml:"stuck,omitempty" doc:"the host takes nothing and pauses everything"`
}

// Example shows the keys where something else was written.
func (*Fault) Example(string, string) string { return "{at: 10us, link: leaf0-spine0, down_for: 1ms}" }

// Run says how long and what counts.
type Run struct {
	Arrivals units.Time `yaml:"arrivals" doc:"flows start before this time"`
	Measure  Measure    `yaml:"measure" doc:"which flows count in summaries"`
	Stop     Stop       `yaml:"stop" doc:"when the run ends"`
}

// Measure is the window in which flows must start to count.
type Measure struct {
	From units.Time `yaml:"from" doc:"leaves out the warm-up"`
	To   units.Time `yaml:"to" follows:"run.arrivals" doc:"flows that start from then on do not count"`
}

// Example shows the keys where something else was written.
func (*Measure) Example(string, string) string { return "{from: 0s, to: 1ms}" }

// Stop ends a run.
type Stop struct {
	When     string     `yaml:"when" allowed:"measured_flows_done,all_flows_done,time" doc:"what must have happened"`
	AtMost   units.Time `yaml:"at_most" doc:"end of the run at the latest"`
	Deadlock bool       `yaml:"deadlock" doc:"ends the run at the first deadlock, too: at the next multiple of 10 us"`
}

// Compat is what other simulators do otherwise. The zero value does nothing.
type Compat struct {
	Tick     units.Time  `yaml:"tick,omitempty" doc:"times that frames take on a wire, and between paced packets, are cut to whole multiples; 0s: exact"`
	PFCSize  units.Bytes `yaml:"pfc_size,omitempty" doc:"of PFC frames; 0B: 64 bytes"`
	NIC      string      `yaml:"nic,omitempty" allowed:"lists,scan" doc:"how a host finds the next queue pair: in lists of ready ones, or by a scan of all, as public RDMA simulators do"`
	EveryEnd bool        `yaml:"every_end,omitempty" doc:"the end of every frame is an event of the switch, for which a frame that arrives at that moment may have to wait"`
	Ties     string      `yaml:"ties,omitempty" allowed:"key,insertion" doc:"order of simultaneous events: that of their kinds and ports, or that in which they were planned, as in ns-3"`
	BaseRTT  units.Time  `yaml:"base_rtt,omitempty" doc:"that congestion control is told; 0s: computed from the longest path"`
	AckQueue int         `yaml:"ack_queue,omitempty" doc:"class whose pauses hold back all ACKs of a host, in one queue, whatever their own; 0: their own"`
}

// Output says what is written, and which flows have statistics of their own.
type Output struct {
	GroupBy     string        `yaml:"group_by" doc:"workload | class | none: told apart by size, too"`
	SizeBuckets []units.Bytes `yaml:"size_buckets" doc:"upper ends, rising; one more bucket is open"`
	CSV         bool          `yaml:"csv" doc:"every table as text, too"`
	Watermarks  bool          `yaml:"watermarks" doc:"of every queue, in ports.parquet; costs a few per cent of speed"`
	FlowTrace   bool          `yaml:"flow_trace" doc:"the flows as a trace, and a scenario that replays it"`
	Deadlocks   bool          `yaml:"deadlocks" doc:"look for deadlocks while the run goes, not only at its end, and write deadlocks.parquet; costs a few per cent of speed"`
	PauseTree   bool          `yaml:"pause_tree" doc:"keep every pause with its cause, and write pause_tree.parquet"`
}
