package sonic

import (
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

func (d *decoder) metadata(e *entry) {
	if e.key != "localhost" {
		return
	}
	s := d.s
	s.Name, _ = e.text("hostname")
	s.Platform, _ = e.text("platform")
	s.SKU, _ = e.text("hwsku")
	s.Role, _ = e.text("type")
	s.Type, _ = e.text("switch_type")
	s.Asic, _ = e.text("asic_name")
	s.Dynamic = e.word("buffer_model", "traditional", "dynamic") == "dynamic"
}

// maxMbps is the highest accepted port speed, in Mb/s.
const maxMbps = 10_000_000

func (d *decoder) portRow(e *entry) {
	name := strings.TrimSpace(e.key)
	if name == "" || strings.ContainsAny(name, "|,") {
		e.fail(e.Location, "not a port name (expected a name such as Ethernet0)")
		return
	}
	p := &Port{Location: e.Location, Name: name, MTU: 9100, Lanes: 0}
	p.Alias, _ = e.text("alias")
	if v, ok := e.number("speed", 1, maxMbps); ok {
		p.Speed = units.Rate(min(v, maxMbps)) * units.Mbps
	}
	if v, ok := e.text("lanes"); ok && v != "" {
		p.Lanes = 1 + strings.Count(v, ",")
	}
	if v, ok := e.number("mtu", 68, 9216); ok {
		p.MTU = units.Bytes(v)
	}
	status := e.word("admin_status", "up", "down")
	p.Up, p.Down = status == "up", status == "down"
	auto := e.word("autoneg", "on", "off", "1", "0") // digits in old releases
	p.AutoNeg = auto == "on" || auto == "1"
	p.Asymmetric = e.flag("pfc_asym", "on", "off")
	if v, ok := e.text("adv_speeds"); ok {
		for _, word := range strings.Split(v, ",") {
			if n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64); err == nil && n > 0 && n <= maxMbps {
				p.Advertised = max(p.Advertised, units.Rate(n)*units.Mbps)
			}
		}
	}
	d.s.Ports = append(d.s.Ports, p)
	d.s.port[name] = p
}

func (d *decoder) cables(e *entry) {
	for i := range e.fields {
		name := e.fields[i].name
		text, ok := e.valueOf(&e.fields[i])
		p := d.s.port[strings.TrimSpace(name)]
		if !ok || p == nil {
			continue // the length of an unknown port is harmless
		}
		metres, found := strings.CutSuffix(strings.TrimSpace(text), "m")
		n, err := strconv.ParseInt(metres, 10, 64)
		if !found || err != nil || n < 0 || n > 1_000_000 {
			e.fail(e.at(name), "%q is not a cable length (expected whole metres up to 1000 km, such as 300m)", shorten(text))
			return
		}
		p.Cable = &Cable{e.at(name), strings.TrimSpace(text), n}
	}
}

func (d *decoder) pool(e *entry) {
	p := &Pool{Location: e.Location, Name: e.key}
	kind := e.word("type", "ingress", "egress", "both")
	p.Ingress, p.Egress = kind == "ingress" || kind == "both", kind == "egress" || kind == "both"
	if kind == "" {
		d.mistake(e.Location, Dangling, "has no type (allowed: ingress, egress, both)")
	}
	mode := e.word("mode", "dynamic", "static")
	p.DynamicTh = mode == "dynamic"
	if mode == "" {
		d.mistake(e.Location, Dangling, "has no mode (allowed: dynamic, static)")
	}
	p.Size, p.HasSize = e.bytes("size")
	p.Xoff, _ = e.bytes("xoff")
	p.Percentage, _ = e.number("percentage", 0, 100)
	d.s.Pools = append(d.s.Pools, p)
	d.pools[p.Name] = p
}

func (d *decoder) profile(e *entry) {
	p := &Profile{Location: e.Location, Name: e.key}
	if v, ok := e.text("pool"); ok {
		p.Pool = resolve(e, "pool", "BUFFER_POOL", d.pools)
		_, p.PoolName = reference(v)
	} else {
		d.mistake(e.Location, Dangling, "has no pool")
	}
	p.Size, _ = e.bytes("size")
	p.DynamicTh, p.HasDynamic = e.number("dynamic_th", -8, 7)
	p.StaticTh, p.HasStatic = e.bytes("static_th")
	p.Xon, _ = e.bytes("xon")
	p.XonOffset, _ = e.bytes("xon_offset")
	p.Xoff, p.HasXoff = e.bytes("xoff")
	p.HeadroomComputed = e.word("headroom_type", "static", "dynamic") == "dynamic"
	p.Trim = e.word("packet_discard_action", "drop", "trim") == "trim"
	d.s.Profiles = append(d.s.Profiles, p)
	d.profiles[p.Name] = p
}

// bufferProfile returns the required profile of a priority group or queue.
func (e *entry) bufferProfile() *Profile {
	if v, ok := e.text("profile"); !ok || strings.TrimSpace(v) == "" {
		e.mistake(e.Location, Dangling, "has no profile")
	}
	return resolve(e, "profile", "BUFFER_PROFILE", e.profiles)
}

func (d *decoder) pg(e *entry) {
	ports, s := e.indexed(Classes)
	pg := &PG{Location: e.Location}
	if v, ok := e.text("profile"); ok && strings.TrimSpace(v) == "NULL" {
		pg.Compute = true
	} else {
		pg.Profile = e.bufferProfile()
	}
	for _, p := range ports {
		for i := s.lo; i <= s.hi; i++ {
			if p.PG[i] != nil {
				e.overlap(p, i, p.PG[i].Location)
			}
			own := *pg
			p.PG[i] = &own
		}
	}
}

func (d *decoder) queue(e *entry) {
	ports, s := e.indexed(Queues)
	q := &Queue{e.Location, e.bufferProfile()}
	for _, p := range ports {
		for i := s.lo; i <= s.hi; i++ {
			if p.Queue[i] != nil {
				e.overlap(p, i, p.Queue[i].Location)
			}
			p.Queue[i] = q
		}
	}
}

func (d *decoder) profileList(e *entry) {
	list := &ProfileList{Location: e.Location}
	v, _ := e.text("profile_list")
	for _, word := range strings.Split(v, ",") {
		if strings.TrimSpace(word) == "" {
			continue
		}
		name := e.referenceName(word, "profile_list", "BUFFER_PROFILE")
		if d.profiles[name] == nil {
			d.mistake(e.at("profile_list"), Dangling, "refers to %s, but BUFFER_PROFILE has no such profile", shorten(name))
			continue
		}
		list.Profiles = append(list.Profiles, d.profiles[name])
	}
	for _, p := range e.ports(e.key) {
		if e.Table == "BUFFER_PORT_INGRESS_PROFILE_LIST" {
			p.Ingress = list
		} else {
			p.Egress = list
		}
	}
}

func (d *decoder) defaults(e *entry) {
	d.s.Default = Default{Location: e.Location, Present: true}
	d.s.Default.DynamicTh, _ = e.number("default_dynamic_th", -8, 7)
	d.s.Default.Ratio, _ = e.number("over_subscribe_ratio", 0, 65535)
}

func (d *decoder) pattern(e *entry) {
	p := &d.s.Pattern
	p.Location, p.Present = e.Location, true
	if v, ok := e.number("mtu", 64, 9216); ok {
		p.MTU = units.Bytes(v)
	}
	if v, ok := e.number("small_packet_percentage", 0, 100); ok {
		p.Small = min(v, 100)
	}
}

// limits has the largest key and value of each map table.
var limits = map[string][2]int{
	dscpTable: {63, Classes - 1}, dot1pTable: {Classes - 1, Classes - 1}, tcQueueTable: {Queues - 1, Queues - 1},
	tcPGTable: {Queues - 1, Classes - 1}, pfcQueueTable: {Classes - 1, Queues - 1}, pfcPGTable: {Classes - 1, Classes - 1},
}

func (d *decoder) numberMap(e *entry) {
	m := &Map{Location: e.Location, Name: e.key, To: map[int]int{}}
	limit := limits[e.Table]
	for i := range e.fields {
		name := e.fields[i].name
		k, err := strconv.Atoi(strings.TrimSpace(name))
		if err != nil || k < 0 || k > limit[0] {
			e.fail(e.at(name), "not a key of this map (expected 0 to %d)", limit[0])
			return
		}
		text, ok := e.valueOf(&e.fields[i])
		if !ok {
			return
		}
		if v, ok := e.numberIn(name, text, 0, int64(limit[1])); ok {
			m.To[k] = int(min(v, int64(limit[1])))
		}
	}
	d.s.Maps[e.Table] = append(d.s.Maps[e.Table], m)
	if d.maps[e.Table] == nil {
		d.maps[e.Table] = map[string]*Map{}
	}
	d.maps[e.Table][m.Name] = m
}

func (d *decoder) scheduler(e *entry) {
	s := &Scheduler{Location: e.Location, Name: e.key}
	s.Type = e.word("type", "DWRR", "WRR", "STRICT")
	s.Weight, _ = e.number("weight", 1, 100)
	s.PIR, _ = e.number("pir", 0, maxNumber)
	s.CIR, _ = e.number("cir", 0, maxNumber)
	d.s.Schedulers = append(d.s.Schedulers, s)
	d.schedulers[s.Name] = s
}

// ecnModes are the colours that WRED may mark instead of drop.
var ecnModes = []string{
	"ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red", "ecn_all",
}

func (d *decoder) wred(e *entry) {
	w := &WRED{Location: e.Location, Name: e.key}
	if w.ECN = e.word("ecn", ecnModes...); w.ECN == "" {
		w.ECN = "ecn_none"
	}
	for i, c := range Colours {
		w.Colour[i].Enabled = e.flag("wred_"+c+"_enable", "true", "false")
		w.Colour[i].Min, _ = e.bytes(c + "_min_threshold")
		w.Colour[i].Max, _ = e.bytes(c + "_max_threshold")
		w.Colour[i].Probability = 100
		if v, ok := e.number(c+"_drop_probability", 0, 100); ok {
			w.Colour[i].Probability = v
		}
		if w.Colour[i].Max < w.Colour[i].Min {
			d.mistake(e.at(c+"_max_threshold"), Dangling, "%d is below %s_min_threshold, %d", int64(w.Colour[i].Max), c, int64(w.Colour[i].Min))
		}
	}
	d.s.WREDs = append(d.s.WREDs, w)
	d.wreds[w.Name] = w
}

func (d *decoder) qos(e *entry) {
	q := &QoS{
		Location:   e.Location,
		DSCP:       resolve(e, "dscp_to_tc_map", dscpTable, d.maps[dscpTable]),
		Dot1p:      resolve(e, "dot1p_to_tc_map", dot1pTable, d.maps[dot1pTable]),
		ToPG:       resolve(e, "tc_to_pg_map", tcPGTable, d.maps[tcPGTable]),
		ToQueue:    resolve(e, "tc_to_queue_map", tcQueueTable, d.maps[tcQueueTable]),
		PFCToQueue: resolve(e, "pfc_to_queue_map", pfcQueueTable, d.maps[pfcQueueTable]),
		PFCToPG:    resolve(e, "pfc_to_pg_map", pfcPGTable, d.maps[pfcPGTable]),
		Scheduler:  resolve(e, "scheduler", "SCHEDULER", d.schedulers),
	}
	q.PFC, q.HasPFC = e.priorities("pfc_enable")
	q.Watched, q.HasWatched = e.priorities("pfcwd_sw_enable")
	if e.key == "global" {
		d.s.Global = q
		return
	}
	for _, p := range e.ports(e.key) {
		p.QoS = q
	}
}

func (d *decoder) queueService(e *entry) {
	ports, s := e.indexed(Queues)
	q := &Service{e.Location, resolve(e, "scheduler", "SCHEDULER", d.schedulers), resolve(e, "wred_profile", "WRED_PROFILE", d.wreds)}
	for _, p := range ports {
		for i := s.lo; i <= s.hi; i++ {
			if p.Service[i] != nil {
				e.overlap(p, i, p.Service[i].Location)
			}
			p.Service[i] = q
		}
	}
}

func (d *decoder) watchdog(e *entry) {
	if e.key == "GLOBAL" {
		d.s.Watchdog.Location = e.Location
		d.s.Watchdog.Poll, _ = e.number("POLL_INTERVAL", 100, 1000)
		d.s.Watchdog.BigRed = e.flag("BIG_RED_SWITCH", "enable", "disable")
		return
	}
	w := &Watchdog{Location: e.Location}
	if w.Action = e.word("action", "drop", "forward", "alert"); w.Action == "" {
		w.Action = "drop"
	}
	var ok bool
	if w.Detection, ok = e.number("detection_time", 100, 5000); !ok {
		d.mistake(e.Location, Dangling, "has no detection_time (expected 100 to 5000 ms)")
	}
	w.Restoration, _ = e.number("restoration_time", 100, 60000)
	w.History = e.flag("pfc_stat_history", "enable", "disable")
	for _, p := range e.ports(e.key) {
		p.Watchdog = w
	}
}

func (d *decoder) neighbour(e *entry) {
	device, ok := e.text("name")
	port, _ := e.text("port")
	if p := d.s.port[strings.TrimSpace(e.key)]; p != nil && ok && device != "" {
		p.Peer = &Peer{e.Location, device, port}
	}
}

func (d *decoder) lldp(e *entry) {
	device, ok := e.text("lldp_rem_sys_name")
	port, _ := e.text("lldp_rem_port_id")
	p := d.s.port[strings.TrimSpace(e.key)]
	if p == nil || !ok || device == "" || p.Peer != nil {
		return // a configured neighbour takes precedence
	}
	p.Peer = &Peer{e.Location, device, port}
}
