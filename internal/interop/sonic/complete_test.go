package sonic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
)

// ports returns tables PORT, CABLE_LENGTH and PORT_QOS_MAP for n ports of 100 Gbps.
func ports(n int, cable, pfc string) string {
	var port, length, maps []string
	for i := range n {
		name := fmt.Sprintf("Ethernet%d", 4*i)
		port = append(port, fmt.Sprintf(`%q: {"speed": "100000", "lanes": "1,2,3,4", "admin_status": "up"}`, name))
		length = append(length, fmt.Sprintf(`%q: %q`, name, cable))
		maps = append(maps, fmt.Sprintf(`%q: {"pfc_enable": %q}`, name, pfc))
	}
	return fmt.Sprintf(`"PORT": {%s}, "CABLE_LENGTH": {"A": {%s}}, "PORT_QOS_MAP": {%s}`, strings.Join(port, ","), strings.Join(length, ","), strings.Join(maps, ","))
}

// each returns one entry per port, with the same index and profile.
func each(n int, index, profile string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"Ethernet%d%s": %s`, 4*i, index, profile))
	}
	return strings.Join(list, ",")
}

// Computes a switch with the dynamic model by hand. Eight ports of 100 Gbps over 40 m,
// small packets only: xoff 121,856, xon and size 19,456. The 16 groups want
// 16 x 121,856 - 8 x 10,240 = 1,867,776 of headroom; the pool has half of it.
// Occupied: lossless groups 16 x 19,456, lossy groups 8 x 19,456, private 8 x 10,240,
// management 8 x 19,456 + 262,144, mirror 8 x 10,240, ports' lists 8 x 9216, pool
// 933,888: 2,056,192 in total.
func TestDynamicModel(t *testing.T) {
	s := parsed(t, `{"DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic"}}, `+ports(8, "40m", "3,4")+`,
		"BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}, "egress_lossy_pool": {"type": "egress", "mode": "dynamic"},
			"egress_lossless_pool": {"type": "egress", "mode": "dynamic", "size": "60817392"}},
		"BUFFER_PROFILE": {"lossy": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "2"}, "list": {"pool": "egress_lossy_pool", "size": "9216", "dynamic_th": "6"}},
		"DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"A": {"default_dynamic_th": "0", "over_subscribe_ratio": "2"}},
		"LOSSLESS_TRAFFIC_PATTERN": {"A": {"mtu": "1024", "small_packet_percentage": "100"}},
		"BUFFER_PORT_EGRESS_PROFILE_LIST": {`+each(8, "", `{"profile_list": "list"}`)+`},
		"BUFFER_PG": {`+each(8, "|3-4", `{"profile": "NULL"}`)+","+each(8, "|0", `{"profile": "lossy"}`)+`}}`)
	c := Complete(s, chip(t, "spc3"), nil, 0)
	pg := s.Ports[0].PG[3].Profile
	if pg.Name != "pg_lossless_100000_40m_profile" || pg.Xon != 19456 || pg.Xoff != 121856 || pg.Size != 19456 || pg.DynamicTh != 0 || len(c.Generated) != 1 {
		t.Errorf("profile %+v, %d generated", pg, len(c.Generated))
	}
	if c.Occupied != 2056192 || c.Wanted != 1867776 || s.Pool("ingress_lossless_pool").Xoff != 933888 {
		t.Errorf("occupied %d, wanted %d, pool %d", c.Occupied, c.Wanted, s.Pool("ingress_lossless_pool").Xoff)
	}
	for name, want := range map[string]units.Bytes{"ingress_lossless_pool": 58761200, "egress_lossy_pool": 58761200, "egress_lossless_pool": 60817392} {
		if got := s.Pool(name).Size; got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	// Each of a port's two groups may use the headroom of both: 2 x ceil(121,856 / 144).
	// Alpha 1: half of 58,761,200 / 144 = 408,063 cells; minimum 19,456 / 144 = 135.
	if got := c.ThresholdsOf(s.Ports[0], pg); got.PFC != 204031+135 || got.Headroom != 2*847 {
		t.Errorf("%+v", got)
	}
}

// Names of computed profiles list the parameters that differ from the default.
func TestNamesOfComputed(t *testing.T) {
	s := parsed(t, `{"DEVICE_METADATA": {"localhost": {"buffer_model": "dynamic"}},
		"PORT": {"Ethernet0": {"speed": "100000", "lanes": "1,2,3,4,5,6,7,8", "mtu": "1500"}, "Ethernet8": {"speed": "400000", "lanes": "1,2,3,4,5,6,7,8"},
			"Ethernet16": {"speed": "100000", "lanes": "1,2", "autoneg": "on", "adv_speeds": "100000,200000"}, "Ethernet24": {"speed": "100000", "lanes": "1"}},
		"CABLE_LENGTH": {"A": {"Ethernet0": "5m", "Ethernet8": "5m", "Ethernet16": "5m", "Ethernet24": "0m"}},
		"BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic"}},
		"BUFFER_PROFILE": {"own": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "-2", "headroom_type": "dynamic"}},
		"DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"A": {"default_dynamic_th": "0"}},
		"BUFFER_PG": {"Ethernet0|3": {"profile": "NULL"}, "Ethernet8|3": {"profile": "NULL"}, "Ethernet8|4": {"profile": "own"}, "Ethernet16|3": {"profile": "NULL"},
			"Ethernet24|3": {"profile": "NULL"}}}`)
	Complete(s, chip(t, "spc3"), nil, 0)
	for _, c := range []struct {
		port string
		pg   int
		want string
	}{
		{"Ethernet0", 3, "pg_lossless_100000_5m_mtu1500_8lane_profile"}, {"Ethernet8", 3, "pg_lossless_400000_5m_profile"},
		{"Ethernet8", 4, "pg_lossless_400000_5m_th-2_profile"}, {"Ethernet16", 3, "pg_lossless_200000_5m_profile"},
	} {
		if got := s.Port(c.port).PG[c.pg].Profile.Name; got != c.want {
			t.Errorf("%s: %s, want %s", c.port, got, c.want)
		}
	}
	if s.Port("Ethernet24").PG[3] != nil {
		t.Error("a port with a 0m cable has a lossless priority group")
	}
}

// The traditional model takes profiles from the lookup file, for the groups of
// pfc_enable. An existing profile is used unchanged.
func TestTraditionalModel(t *testing.T) {
	text := `{` + ports(2, "40m", "2,3,4,6") + `, "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "2560000", "xoff": "512000"}}`
	lookup, err := ParseLookup("x.ini", "100000 40m 2560 2560 166400 -1 2560")
	if err != nil {
		t.Fatal(err)
	}
	s := parsed(t, text+"}")
	c := Complete(s, chip(t, "td3"), lookup, 0)
	p := s.Ports[1]
	if len(c.Generated) != 1 || len(c.Missing) != 0 || p.PG[5] != nil || p.PG[6] == nil || !p.PG[6].Generated || p.PG[2].Profile.Xoff != 166400 {
		t.Errorf("generated %v, missing %v", c.Generated, c.Missing)
	}
	// 2,560,000 - 512,000 - 8 x 2560 = 2,027,520 B = 7920 cells; alpha 1/2: 2640 + 10.
	if got := c.ThresholdsOf(p, p.PG[2].Profile); got.Shared != 7920 || got.PFC != 2650 || got.Drop != 2650+650 {
		t.Errorf("%+v", got)
	}
	s = parsed(t, text+`, "BUFFER_PROFILE": {"pg_lossless_100000_40m_profile": {"pool": "ingress_lossless_pool", "size": "0", "xoff": "9", "dynamic_th": "0"}}}`)
	if c = Complete(s, chip(t, "td3"), lookup, 0); len(c.Generated) != 0 || s.Ports[0].PG[3].Profile.Xoff != 9 {
		t.Errorf("the existing profile is not reused: %+v", s.Ports[0].PG[3])
	}
	s = parsed(t, text+"}")
	if c = Complete(s, chip(t, "td3"), nil, 0); len(c.Missing) != 2 || c.Missing[0].Name != "pg_lossless_100000_40m_profile" || !strings.Contains(c.Missing[0].Why, "no lookup file") {
		t.Errorf("missing: %+v", c.Missing)
	}
}

// In the shared dialect with four partitions, 8,386,560 / 208 / 4 = 10,080 cells.
// Alpha 1 gives half of them; the minimum is 12.
func TestPartitions(t *testing.T) {
	s := parsed(t, `{`+ports(4, "5m", "3,4")+`, "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "8386560", "xoff": "1331200"}}}`)
	lookup, err := ParseLookup("x.ini", "100000 5m 2496 2496 166400 0 2496")
	if err != nil {
		t.Fatal(err)
	}
	c := Complete(s, chip(t, "th"), lookup, 0)
	if got := c.ThresholdsOf(s.Ports[0], s.Ports[0].PG[3].Profile); got.Shared != 10080 || got.PFC != 5052 || got.Headroom != 800 {
		t.Errorf("%+v", got)
	}
}

// Private headroom is part of the profile's size: (61,376 - 64 x 271) / 9 + 6 = 4898
// cells, which matches a measurement.
func TestPrivateHeadroom(t *testing.T) {
	s := parsed(t, `{`+ports(32, "5m", "3,4")+`, "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "12766208"}}}`)
	lookup, err := ParseLookup("x.ini", "100000 5m 56368 18432 55120 -3")
	if err != nil {
		t.Fatal(err)
	}
	c := Complete(s, chip(t, "td2"), lookup, 0)
	if got := c.ThresholdsOf(s.Ports[0], s.Ports[0].PG[3].Profile); got.PFC != 4898 || got.Headroom != 265 {
		t.Errorf("%+v", got)
	}
}
