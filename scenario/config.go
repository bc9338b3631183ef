// Package scenario reads scenarios, the YAML files that describe a simulation, into the Config
// that packages fabric and run use. Decoding is strict, fills in defaults and reports the
// location of every mistake.
package scenario

import (
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// Config is a scenario. Start from Default: it fills in the defaults. Resolve fills in those
// that depend on other keys.
type Config struct {
	Name     string           `yaml:"name" doc:"name of the results"`
	Seed     uint64           `yaml:"seed" doc:"random seed; every generator and node derives its own stream from it"`
	Topology Topology         `yaml:"topology" doc:"hosts, switches and cables"`
	Nodes    Nodes            `yaml:"nodes,omitempty" doc:"servers with several GPUs and NICs, for jobs"`
	Classes  map[string]Class `yaml:"classes" doc:"groups of traffic classes; a class in no group is unused"`
	Switch   Switch           `yaml:"switch" doc:"settings of all switches; exceptions in overrides"`
	Routing  Routing          `yaml:"routing" doc:"how switches choose the egress port of a frame"`
	Hosts    Hosts            `yaml:"hosts" doc:"settings of all hosts; exceptions in overrides"`
	Workload []Workload       `yaml:"workload" doc:"generators of flows"`
	Faults   []Fault          `yaml:"faults,omitempty" doc:"failing links, corrupted frames and stuck hosts"`
	Run      Run              `yaml:"run" doc:"duration, and which flows are measured"`
	Compat   Compat           `yaml:"compat,omitempty" doc:"behaviour of other simulators, to reproduce their results"`
	Probes   []Probe          `yaml:"probes,omitempty" doc:"time series and event tables recorded during the run"`
	Output   Output           `yaml:"output" doc:"which result files are written"`
	Expect   []Expectation    `yaml:"expect,omitempty" doc:"conditions such as drops.lossless == 0; if one fails, the exit code is 1"`

	locations *yaml.Locations // where the keys were written; nil if not read from text
	sandbox   *sandbox        // nil: the scenario may read any file
}

// Topology is a topology generator with its parameters, and overrides for single links. The
// name of a link is its two nodes, in either order, joined by a dash; * matches any text.
type Topology struct {
	Choice    `yaml:",inline"`
	Down      []string       `yaml:"down,omitempty" doc:"links to remove: names or patterns"`
	Overrides []LinkOverride `yaml:"overrides,omitempty" doc:"rates and delays of single links; the last match wins"`
}

// LinkOverride changes the links whose names match a pattern.
type LinkOverride struct {
	Match string     `yaml:"match" doc:"pattern of link names"`
	Rate  units.Rate `yaml:"rate,omitempty" doc:"link rate"`
	Delay units.Time `yaml:"delay,omitempty" takes:"length" doc:"propagation delay, or length of the cable"`
}

// Fabric returns a topology without overrides.
func Fabric(name string, params any) Topology { return Topology{Choice: choice(name, params)} }

// Nodes groups hosts, which are NICs, into servers with GPUs, the ranks of jobs. With the zero
// value, the topology defines the servers; if it has none, every host is a server with one GPU.
type Nodes struct {
	GPUs    int     `yaml:"gpus,omitempty" follows:"nodes.nics" doc:"GPUs of each server: ranks of jobs; a multiple of nics, so that GPUs share a NIC equally"`
	NICs    int     `yaml:"nics,omitempty" follows:"rails of the topology, else 1" doc:"NICs of each server: that many consecutive hosts"`
	ScaleUp ScaleUp `yaml:"scale_up,omitempty" doc:"network between the GPUs of a server; without it, they use their NICs"`
}

// ScaleUp is a network between the GPUs of a server or of a rack. It does not block.
type ScaleUp struct {
	Rate    units.Rate `yaml:"rate,omitempty" doc:"rate of each GPU in each direction; 0bps: no scale-up network"`
	Latency units.Time `yaml:"latency,omitempty" doc:"time from the start of a message to its first byte at the receiver; 0s: 500ns"`
	Servers int        `yaml:"servers,omitempty" doc:"servers of a scale-up domain, such as 18 for the trays of a rack; 0: 1"`
}

// Class is a group of traffic classes of the same kind.
type Class struct {
	IDs  []int  `yaml:"ids" doc:"class ids, 0 to 7"`
	Kind string `yaml:"kind" allowed:"control,lossless,lossy" doc:"control: never paused; lossless: paused rather than dropped; lossy: dropped when the buffer is full"`
}

// Choice is a scheme with its parameters. In YAML both are in one mapping: {name: dt, alpha: 1}.
type Choice struct {
	Name   string
	Params any // pointer to the scheme's parameter struct; nil if it has none
}

// Switch describes every switch of the fabric.
type Switch struct {
	Ports        int         `yaml:"ports,omitempty" follows:"number of cabled ports" doc:"ports of the chip; 0: number of cabled ports"`
	Buffer       Buffer      `yaml:"buffer" doc:"packet memory"`
	Policy       Choice      `yaml:"policy" doc:"how the queues share the buffer"`
	FlowControl  Choice      `yaml:"flow_control" scope:"port" doc:"keeps lossless classes from being dropped"`
	PFC          PFC         `yaml:"pfc" scope:"port" doc:"Priority Flow Control (IEEE 802.1Qbb) of the ports"`
	Scheduler    Scheduler   `yaml:"scheduler" scope:"port" doc:"which class of a port sends next"`
	ECN          ECN         `yaml:"ecn" scope:"port" doc:"which frames are marked (congestion experienced)"`
	Deadlock     Choice      `yaml:"deadlock" doc:"deadlock handler: resolves loops of paused queues"`
	Latency      units.Time  `yaml:"latency" doc:"pipeline latency of every frame"`
	WireOverhead units.Bytes `yaml:"wire_overhead" scope:"fabric" doc:"preamble and inter-frame gap per frame, on every link of the fabric"`
	MTU          units.Bytes `yaml:"mtu,omitempty" scope:"port" follows:"largest frame that hosts send" doc:"largest frame of a port, for which headroom is sized; 0: largest frame that hosts send"`
	Overrides    []Override  `yaml:"overrides,omitempty" scope:"fabric" doc:"exceptions: keys of switch for switches or ports that match; the last match wins"`
}

// Buffer is the packet memory of a switch.
type Buffer struct {
	Size            units.Bytes `yaml:"size" doc:"total size: private, shared and headroom"`
	PrivatePerQueue units.Bytes `yaml:"private_per_queue" doc:"private segment of each lossless or lossy ingress queue"`
	Cell            units.Bytes `yaml:"cell" doc:"unit of storage: a frame takes whole cells"`
	ReserveFor      string      `yaml:"reserve_for" allowed:"chip,cabled" follows:"chip if switch.ports is set, else cabled" doc:"ports for which headroom is set aside"`
	PerPacket       units.Bytes `yaml:"per_packet,omitempty" doc:"bytes charged for each frame in addition to its cells"`
	Partitions      int         `yaml:"partitions,omitempty" doc:"number of parts of shared segment and headroom_pool, one per group of ports; 0 or 1: undivided"`
	HeadroomPool    units.Bytes `yaml:"headroom_pool,omitempty" doc:"headroom shared by all lossless queues instead of headroom per queue; 0B: none"`
}

// PFC is the Priority Flow Control (IEEE 802.1Qbb) of a port.
type PFC struct {
	Hold       string     `yaml:"hold" allowed:"timed,indefinite" doc:"timed: a pause lasts its quanta and is refreshed while needed; indefinite: until RESUME"`
	Quanta     int        `yaml:"quanta" doc:"pause time of a PAUSE frame, in units of 512 bit times"`
	Processing units.Time `yaml:"processing" doc:"time from the arrival of a PAUSE frame to its effect"`
	Coalesce   bool       `yaml:"coalesce" doc:"do not send a PAUSE that is withdrawn before it is sent; false: queue up to two changes per class"`
}

// Scheduler decides which class of a port sends next. Groups are names in Classes.
type Scheduler struct {
	Choice `yaml:",inline"`
	Strict []string `yaml:"strict" follows:"the groups of kind control" doc:"groups with strict priority, lowest class id first"`
	Groups []string `yaml:"groups,omitempty" follows:"all others" doc:"groups served by the scheduler"`

	// idle is the quantum next to rr in the older notation. It has no effect, but it is part
	// of the scenario's hash. Nil: the newer notation.
	idle *units.Bytes
}

// ECN is the ECN marker of a port.
type ECN struct {
	Choice  `yaml:",inline"`
	Classes []string          `yaml:"classes,omitempty" follows:"the groups of kind lossless and lossy" doc:"groups that are marked"`
	At      string            `yaml:"at" allowed:"dequeue,enqueue" doc:"when the queue length is read: as the frame leaves or joins the queue"`
	ByClass map[string]Choice `yaml:"by_class,omitempty" kind:"ecn" doc:"different markers for single groups, such as {tcp: {name: step, k: 65KB, per: 10Gbps}}"`
}

// Routing chooses the router of every switch.
type Routing struct {
	Choice       `yaml:",inline"`
	RerouteAfter units.Time `yaml:"reroute_after" scope:"fabric" doc:"time from a link failure or repair until routes are updated"`
	Pinned       []Pin      `yaml:"pinned,omitempty" scope:"fabric" doc:"fixed routes for single flows"`
	Overrides    []Override `yaml:"overrides,omitempty" scope:"fabric" doc:"exceptions: router or parameters for switches that match; the last match wins"`
}

// Pin is a fixed route for the data packets of matching flows.
type Pin struct {
	From string   `yaml:"from" doc:"source: a host, or a pattern of hosts, groups and switches"`
	To   string   `yaml:"to" doc:"destination, like from"`
	Via  []string `yaml:"via" doc:"switches in order, or egress ports such as leaf0.port3"`
}

// Hosts describes every host.
type Hosts struct {
	Payload     units.Bytes        `yaml:"payload" scope:"transport" doc:"payload of a full packet"`
	Header      units.Bytes        `yaml:"header" scope:"transport" doc:"bytes of a data frame that are not payload"`
	Ack         Ack                `yaml:"ack" scope:"transport" doc:"how data is acknowledged"`
	CNP         CNP                `yaml:"cnp" scope:"transport" doc:"how congestion marks return to the sender"`
	Reliability Reliability        `yaml:"reliability" scope:"transport" doc:"how lost packets are recovered"`
	CC          Choice             `yaml:"cc" scope:"transport" doc:"congestion control"`
	Unscheduled units.Bytes        `yaml:"unscheduled,omitempty" scope:"transport" doc:"first payload bytes of a flow, to which policies apply unscheduled_alpha; 0B: one bandwidth-delay product"`
	Telemetry   Telemetry          `yaml:"telemetry" scope:"transport" doc:"size of in-band telemetry, for congestion control that uses it"`
	Transports  map[string]Variant `yaml:"transports,omitempty" scope:"fabric" doc:"named transports that workloads can select, with the keys of hosts that they change"`
	Receive     Receive            `yaml:"receive" doc:"hosts that receive slowly"`
	Overrides   []Override         `yaml:"overrides,omitempty" scope:"fabric" doc:"exceptions: keys of hosts for hosts that match; the last match wins"`
}

// Telemetry is the size of in-band telemetry, for congestion control that uses it.
type Telemetry struct {
	Header units.Bytes `yaml:"header" doc:"bytes added to every data packet"`
	Ack    units.Bytes `yaml:"ack" doc:"bytes added to every ACK, NACK and CNP"`
}

// Ack is how data is acknowledged.
type Ack struct {
	Every int         `yaml:"every" doc:"packets per ACK"`
	Class string      `yaml:"class" follows:"the first group of kind control, by name" doc:"a group in classes (its first id is used), or same: the class of the data"`
	Size  units.Bytes `yaml:"size" doc:"frame size"`
}

// CNP is how congestion marks return to the sender.
type CNP struct {
	Mode     string     `yaml:"mode" allowed:"interval,ack" doc:"interval: in CNP frames; ack: in the ACK of the marked packet"`
	Interval units.Time `yaml:"interval" doc:"minimum time between two CNPs of a flow"`
}

// Reliability is how lost packets are recovered.
type Reliability struct {
	Name         string     `yaml:"name" allowed:"go-back-n,sack,irn" doc:"retransmit everything after a loss (go-back-n), or only gaps: after 3 selective ACKs (sack) or 1 (irn)"`
	Timeout      units.Time `yaml:"timeout" doc:"retransmission timeout; sack: used until the first RTT is known; irn: RTO_high"`
	MaxTimeout   units.Time `yaml:"max_timeout" follows:"64ms, or timeout if larger" doc:"limit of the timeout, which doubles each time it expires"`
	NackInterval units.Time `yaml:"nack_interval" doc:"go-back-n: minimum time between two NACKs for the same gap"`
	MinRTO       units.Time `yaml:"min_rto" doc:"sack: minimum timeout computed from RTTs"`
	RTOLow       units.Time `yaml:"rto_low" doc:"irn: timeout when fewer than few packets are in flight"`
	Few          int        `yaml:"few" doc:"irn: packets in flight below which rto_low applies"`
	Window       int        `yaml:"window" doc:"sack, irn: window in packets from the first unacknowledged one; 0: 16384 for sack, one BDP for irn"`
}

// Receive makes hosts receive slowly.
type Receive struct {
	Rate   units.Rate  `yaml:"rate" doc:"rate at which received frames are processed; 0bps: at once"`
	Buffer units.Bytes `yaml:"buffer" doc:"receive buffer; frames that do not fit are dropped. A host that is only stuck adds xoff and headroom"`
	Xoff   units.Bytes `yaml:"xoff" doc:"bytes of a class above which the host sends PAUSE"`
	Hosts  []string    `yaml:"hosts,omitempty" follows:"all" doc:"names of the hosts that receive slowly"`
}

// Workload is one generator of flows. In YAML, the parameters of the generator and the keys
// that all generators share are in one mapping.
type Workload struct {
	Name      string      `yaml:"name" doc:"name of the rows in results"`
	Generator string      `yaml:"generator" kind:"generator" doc:"generator of the flows; its parameters are further keys of the workload"`
	Params    any         `yaml:"-" doc:"pointer to the generator's parameter struct"`
	Load      Load        `yaml:"load,omitempty" doc:"offered load"`
	Pairs     string      `yaml:"pairs,omitempty" follows:"by generator" doc:"which hosts send to which: any | other_rack | .."`
	From      Selection   `yaml:"from,omitempty" follows:"all" doc:"hosts that send"`
	To        Selection   `yaml:"to,omitempty" follows:"all" doc:"hosts that receive"`
	Transport string      `yaml:"transport,omitempty" follows:"settings of hosts" doc:"one of hosts.transports"`
	Class     ClassChoice `yaml:"class" follows:"the lowest id that is not of kind control" doc:"class of the flows: an id, a group (its first id), {random: group}, or {shares: {1: 0.3, 4: 0.7}}"`
	Start     units.Time  `yaml:"start,omitempty" follows:"0s" doc:"flows start at or after this time"`
	Stop      units.Time  `yaml:"stop,omitempty" follows:"run.arrivals" doc:"flows start before this time"`
	Clock     string      `yaml:"clock,omitempty" follows:"the workload's own" doc:"name of a random stream for arrival times: workloads of the same rate that share it have the same times"`
}

// Load is the offered load as a share of a capacity.
type Load struct {
	Share float64 `yaml:"share" doc:"share of the capacity"`
	Of    string  `yaml:"of" doc:"capacity: host_links | all_host_links | receiver_links | uplinks | a pattern of links"`
}

// Example implements yaml.Exemplary.
func (*Load) Example(string, string) string { return "{share: 0.5, of: host_links}" }

// Selection is a list of hosts by name, group, switch or pattern.
type Selection []string

// ClassChoice assigns classes to flows: a fixed class, a random class of a group, or a random
// class with given shares.
type ClassChoice struct {
	Fixed  string // id or group (its first id)
	Random string // group
	Shares []ClassShare
}

// ClassShare is the share of flows in a class.
type ClassShare struct {
	Class string // id or group (its first id)
	Share float64
}

// Fault is one fault: a link failure, corrupted frames or a stuck host.
type Fault struct {
	At      units.Time `yaml:"at" doc:"start of the fault"`
	Link    string     `yaml:"link,omitempty" doc:"name of the link: two node names joined by a dash"`
	DownFor units.Time `yaml:"down_for,omitempty" takes:"forever" doc:"how long the link is down"`
	Times   int        `yaml:"times,omitempty" doc:"flapping: number of failures"`
	Every   units.Time `yaml:"every,omitempty" doc:"flapping: time from one failure to the next"`
	Corrupt float64    `yaml:"corrupt,omitempty" doc:"share of frames that are corrupted"`
	For     units.Time `yaml:"for,omitempty" takes:"forever" doc:"duration of corruption (default: to the end of the run), or of a stuck host"`
	Host    string     `yaml:"host,omitempty" doc:"name of the host, instead of a link"`
	Stuck   bool       `yaml:"stuck,omitempty" doc:"the host processes no frames and pauses all lossless classes"`
}

// Example implements yaml.Exemplary.
func (*Fault) Example(string, string) string { return "{at: 10us, link: leaf0-spine0, down_for: 1ms}" }

// Run is the duration of a run, and which flows are measured.
type Run struct {
	Arrivals units.Time `yaml:"arrivals" doc:"flows start before this time"`
	Measure  Measure    `yaml:"measure" doc:"which flows are included in summaries"`
	Stop     Stop       `yaml:"stop" doc:"when the run ends"`
}

// Measure is the window of start times of measured flows.
type Measure struct {
	From units.Time `yaml:"from" doc:"earlier flows are not measured (warm-up)"`
	To   units.Time `yaml:"to" follows:"run.arrivals" doc:"flows that start at or after this time are not measured"`
}

// Example implements yaml.Exemplary.
func (*Measure) Example(string, string) string { return "{from: 0s, to: 1ms}" }

// Stop is when a run ends.
type Stop struct {
	When     string     `yaml:"when" allowed:"measured_flows_done,all_flows_done,time" doc:"condition that ends the run"`
	AtMost   units.Time `yaml:"at_most" doc:"latest end of the run"`
	Deadlock bool       `yaml:"deadlock" doc:"also end the run at the first deadlock, at the next multiple of 10 us"`
}

// Compat reproduces the behaviour of other simulators. The zero value has no effect.
type Compat struct {
	Tick     units.Time  `yaml:"tick,omitempty" doc:"round serialisation times and pacing gaps down to multiples of this; 0s: exact"`
	PFCSize  units.Bytes `yaml:"pfc_size,omitempty" doc:"size of PFC frames; 0B: 64 bytes"`
	NIC      string      `yaml:"nic,omitempty" allowed:"lists,scan" doc:"how a host finds the next queue pair: lists of ready ones, or a scan of all (public RDMA simulators)"`
	EveryEnd bool        `yaml:"every_end,omitempty" doc:"make the end of every frame an event of the switch; a frame that arrives at the same time may wait for it"`
	Ties     string      `yaml:"ties,omitempty" allowed:"key,insertion" doc:"order of simultaneous events: by kind and port (key), or as scheduled, like ns-3 (insertion)"`
	BaseRTT  units.Time  `yaml:"base_rtt,omitempty" doc:"base RTT given to congestion control; 0s: computed from the longest path"`
	AckQueue int         `yaml:"ack_queue,omitempty" doc:"class whose pauses block all ACKs of a host, in one queue; 0: the class of each ACK"`
}

// Output selects result files and the grouping of statistics.
type Output struct {
	GroupBy     string        `yaml:"group_by" doc:"group statistics by workload | class | none, and by flow size"`
	SizeBuckets []units.Bytes `yaml:"size_buckets" doc:"upper bounds of size buckets, increasing; larger flows form one more bucket"`
	CSV         bool          `yaml:"csv" doc:"also write every table as CSV"`
	Watermarks  bool          `yaml:"watermarks" doc:"peak occupancy of every queue, in ports.parquet; costs a few per cent of speed"`
	Alone       bool          `yaml:"alone,omitempty" doc:"with several workloads, also run each job without the others, for its slowdown; takes as long again for each job"`
	FlowTrace   bool          `yaml:"flow_trace" doc:"write the flows as a trace, with a scenario that replays it"`
	Deadlocks   bool          `yaml:"deadlocks" doc:"detect deadlocks during the run, not only at its end; write deadlocks.parquet; a few per cent slower"`
	PauseTree   bool          `yaml:"pause_tree" doc:"record every pause with its cause in pause_tree.parquet"`
}
