package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/model/layout"
)

// File is the configuration of a switch.
type File struct {
	Switch string
	Text   []byte
}

// Configurations converts the switches of a scenario to SONiC configurations. Chip returns
// the chip of a switch. The second result lists settings without an equivalent.
func Configurations(l *layout.Layout, chip func(name string) (*chips.Chip, error)) (files []File, omitted []string, err error) {
	f, err := fromLayout(l)
	if err != nil {
		return nil, nil, err
	}
	if len(f.lossless) == 0 {
		return nil, nil, fmt.Errorf("classes: no class is lossless (expected at least one)")
	}
	for i, n := range f.switches {
		c, err := chip(n.name)
		if err != nil {
			return nil, nil, err
		}
		if err := n.fits(c); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", n.name, err)
		}
		t := &tables{fabric: f, node: n, chip: c, at: i, all: map[string]map[string]map[string]string{}}
		t.fill()
		text, err := json.MarshalIndent(t.all, "", "  ")
		if err != nil {
			return nil, nil, err
		}
		files = append(files, File{n.name, append(text, '\n')})
	}
	return files, f.omitted, nil
}

// fits checks that a chip can have the switch's settings.
func (n *node) fits(c *chips.Chip) error {
	cell, perPacket := c.Cell.Bytes(), units.Bytes(0)
	if c.Packet.N < c.Cell.N {
		cell, perPacket = 1, c.Packet.Bytes()-64
	}
	switch {
	case n.set.cell != cell || n.set.perPacket != perPacket:
		return fmt.Errorf("buffer.cell is %s and per_packet %s, but chip %s has %s and %s; fix: choose the matching --chip", n.set.cell, n.set.perPacket, c.Name, cell, perPacket)
	case n.set.partitions != c.Partitions.N && n.set.partitions != 1:
		return fmt.Errorf("buffer.partitions is %d, but chip %s has %d; fix: choose the matching --chip", n.set.partitions, c.Name, c.Partitions.N)
	}
	for i, p := range n.ports {
		if p.set.headroom <= 0 {
			return fmt.Errorf("port%d has no headroom (expected headroom at every port)", i)
		}
	}
	return nil
}

// tables builds the configuration of one switch.
type tables struct {
	*fabric
	*node
	chip *chips.Chip
	at   int // index of the switch
	all  map[string]map[string]map[string]string
}

// set adds fields to an entry: alternating names and values.
func (t *tables) set(table, key string, fields ...string) {
	if t.all[table] == nil {
		t.all[table] = map[string]map[string]string{}
	}
	if t.all[table][key] == nil {
		t.all[table][key] = map[string]string{}
	}
	for i := 0; i < len(fields); i += 2 {
		t.all[table][key][fields[i]] = fields[i+1]
	}
}

const losslessPool = "ingress_lossless_pool"

// sharedName is the name of entries that all ports share.
const sharedName = "AZURE"

func (t *tables) fill() {
	sku, platform := "xoff-"+t.chip.Name, "x86_64-xoff-r0"
	if len(t.chip.SKUs) > 0 {
		sku = t.chip.SKUs[0]
	}
	if len(t.chip.Platforms) > 0 {
		platform = t.chip.Platforms[0]
	}
	t.set("DEVICE_METADATA", "localhost", "hostname", t.node.name, "hwsku", sku, "platform", platform, "buffer_model", "traditional")
	t.maps()
	for i := range t.ports {
		t.port(i)
	}
	t.pools()
	t.neighbours()
}

// maps adds the maps that all ports share. Every class has the code point of its class
// selector.
func (t *tables) maps() {
	lossyGroup := 0
	for slices.Contains(t.lossless, lossyGroup) {
		lossyGroup++
	}
	for _, tc := range slices.Concat(t.lossless, t.lossy, t.control) {
		k := strconv.Itoa(tc)
		t.set("DSCP_TO_TC_MAP", sharedName, strconv.Itoa(8*tc), k)
		t.set("TC_TO_QUEUE_MAP", sharedName, k, k)
		t.set("MAP_PFC_PRIORITY_TO_QUEUE", sharedName, k, k)
		group := strconv.Itoa(lossyGroup)
		if slices.Contains(t.lossless, tc) {
			group = k
		}
		t.set("TC_TO_PRIORITY_GROUP_MAP", sharedName, k, group)
	}
	t.set("SCHEDULER", "control", "type", "STRICT")
}

func (t *tables) port(i int) {
	p := &t.ports[i]
	name := p.name
	lanes := fmt.Sprintf("%d,%d,%d,%d", 4*i+1, 4*i+2, 4*i+3, 4*i+4)
	fields := []string{"alias", fmt.Sprintf("et%d", i+1), "lanes", lanes, "speed", number(p.rate / units.Mbps), "admin_status", "up"}
	if p.set.mtu > 0 {
		fields = append(fields, "mtu", number(p.set.mtu))
	}
	t.set("PORT", name, fields...)
	cable := fmt.Sprintf("%dm", p.metres)
	t.set("CABLE_LENGTH", sharedName, name, cable)
	var list []string
	for _, tc := range t.lossless {
		list = append(list, strconv.Itoa(tc))
	}
	pfc := strings.Join(list, ",")
	t.set("PORT_QOS_MAP", name, "dscp_to_tc_map", sharedName, "tc_to_pg_map", sharedName, "tc_to_queue_map", sharedName, "pfc_to_queue_map", sharedName, "pfc_enable", pfc, "pfcwd_sw_enable", pfc)
	profile := t.profile(p, cable)
	for _, tc := range t.lossless {
		t.set("BUFFER_PG", fmt.Sprintf("%s|%d", name, tc), "profile", profile)
		if t.node.set.egressLossless > 0 {
			t.set("BUFFER_QUEUE", fmt.Sprintf("%s|%d", name, tc), "profile", "egress_lossless_profile")
		}
		t.queue(p, tc)
		if p.set.kmax > 0 {
			t.set("QUEUE", fmt.Sprintf("%s|%d", name, tc), "wred_profile", t.wred(&p.set))
		}
	}
	for _, tc := range t.lossy {
		if t.node.set.egressLossy > 0 {
			t.set("BUFFER_QUEUE", fmt.Sprintf("%s|%d", name, tc), "profile", "egress_lossy_profile")
		}
		t.queue(p, tc)
	}
	for _, tc := range t.control {
		t.set("QUEUE", fmt.Sprintf("%s|%d", name, tc), "scheduler", "control")
	}
	if w := t.node.set.watchdog; w.action != "" {
		t.set("PFC_WD", "GLOBAL", "POLL_INTERVAL", number(w.poll))
		t.set("PFC_WD", name, "action", w.action, "detection_time", number(w.detection), "restoration_time", number(w.restoration))
	}
}

// profile adds a port's lossless profile and returns its name. Ports with the same speed
// and cable may have different profiles.
func (t *tables) profile(p *port, cable string) string {
	size := p.set.minimum
	if t.node.set.pool == 0 {
		size += p.set.headroom
	}
	fields := []string{
		"pool", losslessPool, "size", number(size), "xon", number(p.set.xon), "xon_offset", number(p.set.offset), "xoff", number(p.set.headroom), "dynamic_th", number(p.set.alpha),
	}
	for i := 1; ; i++ {
		name := fmt.Sprintf("pg_lossless_%d_%s_profile", int64(p.rate/units.Mbps), cable)
		if i > 1 {
			name = fmt.Sprintf("pg_lossless_%d_%s_%d_profile", int64(p.rate/units.Mbps), cable, i)
		}
		old := t.all["BUFFER_PROFILE"][name]
		same := true
		for j := 0; j < len(fields); j += 2 {
			same = same && old[fields[j]] == fields[j+1]
		}
		if old == nil || same {
			t.set("BUFFER_PROFILE", name, fields...)
			return name
		}
	}
}

// queue adds the scheduler of a class.
func (t *tables) queue(p *port, tc int) {
	if w := p.set.weights[tc]; w > 0 {
		name := fmt.Sprintf("weight_%d", w)
		t.set("SCHEDULER", name, "type", "DWRR", "weight", number(w))
		t.set("QUEUE", fmt.Sprintf("%s|%d", p.name, tc), "scheduler", name)
	}
}

func (t *tables) wred(s *portSettings) string {
	name := fmt.Sprintf("ECN_%d_%d_%d", int64(s.kmin), int64(s.kmax), s.pmax)
	t.set("WRED_PROFILE", name, "ecn", "ecn_all")
	for _, c := range []string{"green", "yellow", "red"} {
		t.set("WRED_PROFILE", name, "wred_"+c+"_enable", "true", c+"_min_threshold", number(s.kmin), c+"_max_threshold", number(s.kmax), c+"_drop_probability", number(s.pmax))
	}
	return name
}

// pools adds the pools. Depending on the chip's dialect, a size is the whole pool or its
// shared part.
func (t *tables) pools() {
	s := &t.node.set
	size := t.shared(t.node)
	if t.chip.Dialect.Total {
		size += s.pool + t.node.reserved(len(t.lossless)) + units.Bytes(t.chip.PortCells.N*t.chip.Cell.N)*units.Bytes(len(t.ports))
	}
	fields := []string{"type", "ingress", "mode", "dynamic", "size", number(size)}
	if s.pool > 0 {
		fields = append(fields, "xoff", number(s.pool))
	}
	t.set("BUFFER_POOL", losslessPool, fields...)
	if s.egressLossless > 0 {
		limit := s.egressLimit
		if limit == 0 {
			limit = s.egressLossless
		}
		t.set("BUFFER_POOL", "egress_lossless_pool", "type", "egress", "mode", "static", "size", number(s.egressLossless))
		t.set("BUFFER_PROFILE", "egress_lossless_profile", "pool", "egress_lossless_pool", "size", "0", "static_th", number(limit))
	}
	if s.egressLossy > 0 {
		t.set("BUFFER_POOL", "egress_lossy_pool", "type", "egress", "mode", "dynamic", "size", number(s.egressLossy))
		t.set("BUFFER_PROFILE", "egress_lossy_profile", "pool", "egress_lossy_pool", "size", "0", "dynamic_th", number(s.alphaLossy))
	}
}

func (t *tables) neighbours() {
	for i := range t.links {
		c := &t.links[i]
		if c.a == t.at {
			name, far := t.hostName(c), "eth0"
			if c.b >= 0 {
				name, far = t.switches[c.b].name, t.switches[c.b].ports[c.portB].name
			}
			t.set("DEVICE_NEIGHBOR", t.ports[c.portA].name, "name", name, "port", far)
		}
		if c.b == t.at {
			t.set("DEVICE_NEIGHBOR", t.ports[c.portB].name, "name", t.switches[c.a].name, "port", t.switches[c.a].ports[c.portA].name)
		}
	}
}

func number[N ~int | ~int64](n N) string { return strconv.FormatInt(int64(n), 10) }

func sortInts(lists ...[]int) {
	for _, l := range lists {
		slices.Sort(l)
	}
}
