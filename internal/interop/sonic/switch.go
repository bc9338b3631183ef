package sonic

import "github.com/xoff-net/xoff/base/units"

// Classes is the number of priorities, traffic classes and priority groups of a port.
// Queues is the number of queues of a port.
const (
	Classes = 8
	Queues  = 16
)

// Mistake is an entry that is readable but wrong.
type Mistake struct {
	Location
	Kind MistakeKind
	What string
}

// MistakeKind is the kind of a mistake.
type MistakeKind uint8

// Kinds of mistakes.
const (
	Dangling   MistakeKind = iota // a reference to a missing entry, or a number out of range
	Malformed                     // the meaning is undefined
	Unportable                    // the meaning is clear, but not every release accepts it
)

// Switch is the configuration of one switch.
type Switch struct {
	File, Name                string
	Platform, SKU, Role, Type string
	Asic                      string
	Dynamic                   bool // dynamic buffer model: the switch computes profiles and pools

	Ports      []*Port // this and the other lists are in natural order of names
	Pools      []*Pool
	Profiles   []*Profile
	Schedulers []*Scheduler
	WREDs      []*WRED
	Maps       map[string][]*Map // by table

	Default  Default
	Pattern  Pattern
	Watchdog WatchdogGlobal
	// Global has the maps of the whole switch (key global of PORT_QOS_MAP); nil: none.
	Global *QoS

	Mistakes     []Mistake
	Unread       []string // tables that are not read
	RemoteQueues int      // number of queues that belong to other switches of the chassis

	port map[string]*Port
}

// Port is a port with its entries in all tables; nil: no entry.
type Port struct {
	Location
	Name, Alias string
	Speed       units.Rate
	Lanes       int
	MTU         units.Bytes
	Up          bool // admin_status is up
	Down        bool // admin_status is down; neither: not set
	AutoNeg     bool
	Advertised  units.Rate // highest speed of adv_speeds
	Asymmetric  bool       // pfc_asym

	Cable   *Cable
	QoS     *QoS
	PG      [Classes]*PG
	Queue   [Queues]*Queue
	Service [Queues]*Service
	// Ingress and Egress limit the port's use of pools.
	Ingress, Egress *ProfileList
	Watchdog        *Watchdog
	Peer            *Peer
	Wire            *Wire // cable to another switch of the same fabric; nil: none
}

// Link returns the rate and the length of the cable at a port. A cable between two switches
// has the lower rate and the length in the list of cables, else the longer one of its ends.
// Without a known length, metres is 0.
func (p *Port) Link() (rate units.Rate, metres int64) {
	rate, metres = p.Speed, p.metres()
	if p.Wire == nil {
		return rate, metres
	}
	other := p.Wire.A.Port
	if other == p {
		other = p.Wire.B.Port
	}
	if other.Speed > 0 {
		rate = min(rate, other.Speed)
	}
	if p.Wire.Metres > 0 {
		return rate, p.Wire.Metres
	}
	return rate, max(metres, other.metres())
}

func (p *Port) metres() int64 {
	if p.Cable == nil {
		return 0
	}
	return p.Cable.Metres
}

// Cable is the length of a port's cable.
type Cable struct {
	Location
	Text   string
	Metres int64
}

// Pool is a buffer pool.
type Pool struct {
	Location
	Name       string
	Ingress    bool
	Egress     bool // with Ingress: chips with virtual output queues
	DynamicTh  bool // mode is dynamic
	Size, Xoff units.Bytes
	HasSize    bool // size is set
	Percentage int64
	Computed   bool // size and xoff are computed, as a switch with the dynamic model does
}

// OnlyIngress reports whether queues cannot use the pool.
func (p *Pool) OnlyIngress() bool { return p != nil && p.Ingress && !p.Egress }

// OnlyEgress reports whether priority groups cannot use the pool.
func (p *Pool) OnlyEgress() bool { return p != nil && p.Egress && !p.Ingress }

// Profile is a buffer profile.
type Profile struct {
	Location
	Name             string
	Pool             *Pool // nil: no such pool
	PoolName         string
	Size             units.Bytes
	DynamicTh        int64
	StaticTh         units.Bytes
	HasDynamic       bool
	HasStatic        bool
	Xon, XonOffset   units.Bytes
	Xoff             units.Bytes
	HasXoff          bool
	HeadroomComputed bool // headroom_type is dynamic
	Trim             bool // packet_discard_action is trim
	// Generated: created by the switch from the lookup file or a formula; no table has it.
	Generated bool
}

// Lossless reports whether a profile of a priority group has headroom.
func (p *Profile) Lossless() bool { return p != nil && p.Xoff > 0 }

// PG is the profile of a priority group of a port.
type PG struct {
	Location
	Profile   *Profile // nil: no such profile, or not computed yet
	Compute   bool     // profile is NULL: the switch computes it
	Generated bool     // created by the switch; no table has it
}

// Queue is the profile of a queue of a port.
type Queue struct {
	Location
	Profile *Profile
}

// Service is the scheduler and WRED profile of a queue (table QUEUE).
type Service struct {
	Location
	Scheduler *Scheduler
	WRED      *WRED
}

// ProfileList has the profiles that limit a port's use of pools.
type ProfileList struct {
	Location
	Profiles []*Profile
}

// QoS is an entry of PORT_QOS_MAP.
type QoS struct {
	Location
	DSCP, Dot1p, ToPG, ToQueue, PFCToQueue, PFCToPG *Map
	Scheduler                                       *Scheduler
	PFC                                             Set
	HasPFC                                          bool // pfc_enable is set, maybe empty
	Watched                                         Set
	HasWatched                                      bool
}

// Set is a set of priorities.
type Set uint8

// Has reports whether the set contains priority k.
func (s Set) Has(k int) bool { return s>>k&1 != 0 }

// List returns the priorities in ascending order.
func (s Set) List() []int {
	var list []int
	for k := range Classes {
		if s.Has(k) {
			list = append(list, k)
		}
	}
	return list
}

// Map is an entry of a map table: numbers to numbers.
type Map struct {
	Location
	Name string
	To   map[int]int
}

// Get returns the value of k. A nil Map has none.
func (m *Map) Get(k int) (int, bool) {
	if m == nil {
		return 0, false
	}
	v, ok := m.To[k]
	return v, ok
}

// Scheduler is an entry of table SCHEDULER.
type Scheduler struct {
	Location
	Name, Type string
	Weight     int64
	PIR, CIR   int64
}

// Strict reports whether the scheduler has strict priority.
func (s *Scheduler) Strict() bool { return s != nil && s.Type == "STRICT" }

// Colours are the drop precedences of WRED.
var Colours = [3]string{"green", "yellow", "red"}

// WRED is a profile for marking and early drops.
type WRED struct {
	Location
	Name, ECN string
	Colour    [3]Colour // in the order of Colours
}

// Colour has the parameters of one colour of a WRED profile.
type Colour struct {
	Enabled     bool
	Min, Max    units.Bytes
	Probability int64 // per cent, at Max
}

// Watchdog is the PFC watchdog of a port.
type Watchdog struct {
	Location
	Action                 string
	Detection, Restoration int64 // ms; Restoration 0: never
	History                bool
}

// WatchdogGlobal has the watchdog settings of the whole switch.
type WatchdogGlobal struct {
	Location
	Poll   int64 // ms; 0: not set
	BigRed bool
}

// Default has the parameters of the dynamic model (DEFAULT_LOSSLESS_BUFFER_PARAMETER).
type Default struct {
	Location
	Present   bool
	DynamicTh int64
	Ratio     int64 // over_subscribe_ratio; 0: none
}

// Pattern is the traffic for which headroom is computed (LOSSLESS_TRAFFIC_PATTERN).
type Pattern struct {
	Location
	Present bool
	MTU     units.Bytes
	Small   int64 // percentage of small packets
}

// Peer is the device and port at the other end of a port's cable.
type Peer struct {
	Location
	Device, Port string
}

// Port returns a port by its name or alias, or nil.
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

// Pool returns a pool by its name, or nil.
func (s *Switch) Pool(name string) *Pool {
	return find(s.Pools, func(p *Pool) bool { return p.Name == name })
}

// Profile returns a profile by its name, or nil.
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
