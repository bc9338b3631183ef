package sonic

import "github.com/xoff-net/xoff/base/units"

// Classes is the number of priorities, traffic classes and priority groups;
// Queues that of queues of a port.
const (
	Classes = 8
	Queues  = 16
)

// Mistake is something that can be read but is wrong.
type Mistake struct {
	Place
	Kind MistakeKind
	What string
}

// MistakeKind tells mistakes apart.
type MistakeKind uint8

// Kinds of mistakes.
const (
	Dangling  MistakeKind = iota // a reference to nothing, or a number out of its range
	Malformed                    // what it means is chance
	Odd                          // what it means is clear, but not every release takes it
)

// Switch is the configuration of one switch.
type Switch struct {
	File, Name                string
	Platform, SKU, Role, Type string
	Asic                      string
	Dynamic                   bool // buffer model: profiles and pools are computed

	Ports      []*Port // in natural order of their names
	Pools      []*Pool // all of these in order of their names
	Profiles   []*Profile
	Schedulers []*Scheduler
	WREDs      []*WRED
	Maps       map[string][]*Map // by table

	Default  Default
	Pattern  Pattern
	Watchdog WatchdogGlobal
	// Global is the map of the whole switch (key global of PORT_QOS_MAP); nil: none.
	Global *QoS

	Mistakes  []Mistake
	Unread    []string // tables that are not looked at
	Elsewhere int      // queues of other switches of a chassis, not looked at

	port map[string]*Port
}

// Port is a port with all that the tables say about it. Nil: nothing.
type Port struct {
	Place
	Name, Alias string
	Speed       units.Rate
	Lanes       int
	MTU         units.Bytes
	Up          bool // admin_status is up
	Down        bool // or down; neither: not said
	AutoNeg     bool
	Advertised  units.Rate // highest speed of adv_speeds
	Asymmetric  bool       // pfc_asym

	Cable  *Cable
	QoS    *QoS
	PG     [Classes]*PG
	Queue  [Queues]*Queue
	Served [Queues]*Served
	// Ingress and Egress are limits of the port in pools.
	Ingress, Egress *ProfileList
	Watchdog        *Watchdog
	Peer            *Peer
}

// Cable is the length of the cable of a port.
type Cable struct {
	Place
	Text   string
	Metres int64
}

// Pool is a buffer pool.
type Pool struct {
	Place
	Name       string
	Ingress    bool
	Egress     bool // both: chips with virtual output queues
	DynamicTh  bool // mode
	Size, Xoff units.Bytes
	Sized      bool // there is a size
	Percentage int64
	Computed   bool // size and xoff are what a switch with the dynamic model computes
}

// Profile is a buffer profile.
type Profile struct {
	Place
	Name             string
	Pool             *Pool // nil: it refers to nothing
	PoolName         string
	Size             units.Bytes
	DynamicTh        int64
	StaticTh         units.Bytes
	HasDynamic       bool
	HasStatic        bool
	Xon, XonOffset   units.Bytes
	Xoff             units.Bytes
	HasXoff          bool
	HeadroomComputed bool // headroom_type dynamic
	Trim             bool // packet_discard_action
	// Made: by the switch itself, of the lookup file or a formula; it is in no table.
	Made bool
}

// Lossless tells whether a profile of a priority group has headroom.
func (p *Profile) Lossless() bool { return p != nil && p.Xoff > 0 }

// PG is the profile of a priority group of a port.
type PG struct {
	Place
	Profile *Profile // nil: the reference is to nothing, or to be computed
	Compute bool     // profile NULL
	Made    bool     // by the switch itself; it is in no table
}

// Queue is the profile of a queue of a port.
type Queue struct {
	Place
	Profile *Profile
}

// Served is how a queue is served and marked.
type Served struct {
	Place
	Scheduler *Scheduler
	WRED      *WRED
}

// ProfileList are limits of a port.
type ProfileList struct {
	Place
	Profiles []*Profile
}

// QoS are the maps of a port.
type QoS struct {
	Place
	DSCP, Dot1p, ToPG, ToQueue, PFCToQueue, PFCToPG *Map
	Scheduler                                       *Scheduler
	PFC                                             Set
	HasPFC                                          bool // pfc_enable is there, maybe empty
	Watched                                         Set
	HasWatched                                      bool
}

// Set is a set of priorities.
type Set uint8

// Has tells whether a priority is in a set.
func (s Set) Has(k int) bool { return s>>k&1 != 0 }

// List returns the priorities of a set.
func (s Set) List() []int {
	var list []int
	for k := range Classes {
		if s.Has(k) {
			list = append(list, k)
		}
	}
	return list
}

// Map is one of the small tables from number to number.
type Map struct {
	Place
	Name string
	To   map[int]int
}

// Get returns what a number is mapped to.
func (m *Map) Get(k int) (int, bool) {
	if m == nil {
		return 0, false
	}
	v, ok := m.To[k]
	return v, ok
}

// Scheduler is a way to serve a queue.
type Scheduler struct {
	Place
	Name, Type string
	Weight     int64
	PIR, CIR   int64
}

// Strict tells whether a queue goes before all others.
func (s *Scheduler) Strict() bool { return s != nil && s.Type == "STRICT" }

// Colours are the drop precedences of WRED.
var Colours = [3]string{"green", "yellow", "red"}

// WRED is a profile of marks and early drops.
type WRED struct {
	Place
	Name, ECN string
	Colour    [3]Colour // as in Colours
}

// Colour is the part of a WRED profile about one colour.
type Colour struct {
	Enabled     bool
	Min, Max    units.Bytes
	Probability int64
}

// Watchdog watches the lossless queues of a port.
type Watchdog struct {
	Place
	Action                 string
	Detection, Restoration int64 // ms; Restoration 0: never
	History                bool
}

// WatchdogGlobal is of the whole switch.
type WatchdogGlobal struct {
	Place
	Poll   int64 // ms; 0: not given
	BigRed bool
}

// Default are parameters of the dynamic model (DEFAULT_LOSSLESS_BUFFER_PARAMETER).
type Default struct {
	Place
	There     bool
	DynamicTh int64
	Ratio     int64 // over_subscribe_ratio; 0: none
}

// Pattern is the traffic that computed headroom is for.
type Pattern struct {
	Place
	There bool
	MTU   units.Bytes
	Small int64 // percentage of small packets
}

// Peer is what a port is cabled to.
type Peer struct {
	Place
	Device, Port string
}

// Port returns a port by its name or alias; nil: there is none.
func (s *Switch) Port(name string) *Port {
	if p := s.port[name]; p != nil {
		return p
	}
	for _, p := range s.Ports {
		if p.Alias == name && name != "" {
			return p
		}
	}
	return nil
}

// Pool returns a pool by its name; nil: there is none.
func (s *Switch) Pool(name string) *Pool {
	return find(s.Pools, func(p *Pool) bool { return p.Name == name })
}

// Profile returns a profile by its name; nil: there is none.
func (s *Switch) Profile(name string) *Profile {
	return find(s.Profiles, func(p *Profile) bool { return p.Name == name })
}

func find[T any](list []*T, is func(*T) bool) *T {
	for _, x := range list {
		if is(x) {
			return x
		}
	}
	return nil
}
