package rules

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// bench is an edited configuration with its chip and lookup file.
type bench struct {
	chip   string // default: td3
	lookup string // replaces the lookup file; "-": no file
	memory units.Bytes
	edit   []string // pairs of old and new text; the old text must occur
}

func (b bench) judge(t *testing.T) *Report {
	t.Helper()
	data, err := os.ReadFile("testdata/sound.json")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(b.edit); i += 2 {
		if !strings.Contains(text, b.edit[i]) {
			t.Fatalf("%q is not in the configuration", b.edit[i])
		}
		text = strings.Replace(text, b.edit[i], b.edit[i+1], 1)
	}
	s, err := sonic.Parse("sound.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	name := b.chip
	if name == "" {
		name = "td3"
	}
	chip, err := chips.ModelledNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	row, err := os.ReadFile("testdata/sound.ini")
	if err != nil {
		t.Fatal(err)
	}
	if b.lookup != "" {
		row = []byte(b.lookup)
	}
	lookup, err := sonic.ParseLookup("sound.ini", string(row))
	if b.lookup == "-" {
		lookup, err = nil, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return Judge(sonic.Complete(s, &chip, lookup, b.memory))
}

// found lists findings as E1, W15, N24.
func found(r *Report) string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, strings.ToUpper(string(f.Severity[:1]))+fmt.Sprint(f.Rule))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// The configuration in testdata breaks no rule.
func TestSound(t *testing.T) {
	r := bench{}.judge(t)
	if len(r.Findings) != 0 || len(r.Skipped) != 0 {
		t.Errorf("%+v, %+v", r.Findings, r.Skipped)
	}
	// 20,000,000 - 1,000,000 - 6 x 5120 = 18,969,280 B, 74,098 whole cells.
	// Alpha 1/2: 24,699 cells, plus a minimum of 20 and headroom of 650.
	g := r.Groups[0]
	if len(r.Groups) != 6 || g.Need != 41210 || g.Small != 161767 || g.Have != 166400 || g.PFC != 24719*256 || g.Drop != 25369*256 || g.Least != 14151 || g.Spare != 152249 || r.Verdict != Lossless {
		t.Errorf("%d groups, %+v", len(r.Groups), g)
	}
}

const (
	lossless = `"pg_lossless_100000_40m_profile": {"pool": "ingress_lossless_pool", "size": "5120", "xon": "5120", "xon_offset": "5120", "xoff": "166400", "dynamic_th": "-1"}`
	shared   = `"size": "20000000", "xoff": "1000000"`
	row      = "100000 40m 5120 5120 %d -1 5120"
)

// broken has edits of the sound configuration that break each rule, and no other rule if
// possible.
var broken = []struct {
	name string
	bench
	want string // all findings
	says string // part of one finding's text
}{
	// Cable and frame are 14,151 B; with the reaction time 41,210; with small packets 161,767.
	{"1 too small", bench{lookup: fmt.Sprintf(row, 14080), edit: []string{`"xoff": "166400"`, `"xoff": "14080"`}}, "E1", "At 100Gbps, 40m of cable carry 5051 B and a frame has 9100 B: after XOFF, 14151 B arrive if the peer reacts at once, 41210 B within the time that 802.3 allows, 161767 B if small packets waste cells of 256 B"},
	{"1 slow peer", bench{lookup: fmt.Sprintf(row, 41209), edit: []string{`"xoff": "166400"`, `"xoff": "41209"`}}, "W1", ""},
	{"1 small packets", bench{lookup: fmt.Sprintf(row, 161766), edit: []string{`"xoff": "166400"`, `"xoff": "161766"`}}, "N1", ""},
	{"1 enough", bench{lookup: fmt.Sprintf(row, 161767), edit: []string{`"xoff": "166400"`, `"xoff": "161767"`}}, "", ""},
	{"2 lossy profile", bench{edit: []string{`"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"}`, `"Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"}, "Ethernet0|4": {"profile": "pg_lossless_100000_40m_profile"}, "Ethernet0|3": {"profile": "ingress_lossy_profile"}`}}, "E2 E4", "priority 3 is in pfc_enable, but profile ingress_lossy_profile of priority group 3 has no xoff"},
	{"2 computed", bench{edit: []string{`"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"}`, `"Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"}, "Ethernet0|3-4": {"profile": "NULL"}`}}, "E2", "pfc_enable has priorities 3, 4, but their priority groups have no profile"},
	{"3", bench{edit: []string{`"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"`, `"pfc_enable": "3", "pfcwd_sw_enable": "3,4"`}}, "E3 W22", "its priority 4 is not in pfc_enable"},
	{"4 lossy queue", bench{edit: []string{`|3-4": {"profile": "egress_lossless_profile"}`, `|3": {"profile": "egress_lossless_profile"}, "Ethernet0,Ethernet4,Ethernet8|4": {"profile": "egress_lossy_profile"}`}}, "E4", "traffic class 4 (DSCP 28) enters through lossless priority group 4 but leaves through queue 4, whose profile is egress_lossy_profile"},
	{"4 lossy group", bench{edit: []string{`|3-4": {"profile": "egress_lossless_profile"}`, `|3-5": {"profile": "egress_lossless_profile"}`, `|5-6": {"profile": "egress_lossy_profile"}`, `|6": {"profile": "egress_lossy_profile"}`}}, "E4", "traffic class 5 (DSCP 46) enters through priority group 0, whose profile ingress_lossy_profile has no headroom"},
	{"4 no profile", bench{edit: []string{`|3-4": {"profile": "egress_lossless_profile"}`, `|3": {"profile": "egress_lossless_profile"}`}}, "E4", "queue 4, which has no profile"},
	{"5", bench{edit: []string{`"2": "2", "3": "3", "4": "4", "5": "5", "6": "6", "7": "7"`, `"2": "2", "3": "4", "4": "4", "5": "5", "6": "6", "7": "7"`}}, "E5", "traffic class 3 (DSCP 26) leaves through queue 3, but a PAUSE of its priority 3 pauses queue 4"},
	{"6", bench{edit: []string{`"3": "3", "4": "4", "5": "0", "6": "0"`, `"3": "3", "4": "4", "5": "0", "6": "3"`}}, "E4 E5 E6", "traffic classes 3, 6 share lossless priority group 3, of which 6 leave through lossy queues"},
	{"7 pool", bench{edit: []string{`"mode": "static", "size": "20000000"`, `"mode": "static", "size": "19999999"`}}, "E7", "size is 19999999, but ingress can admit 20000000 B"},
	{"7 limit", bench{edit: []string{`"static_th": "20000000"`, `"static_th": "19999999"`}}, "E7", "static_th is 19999999"},
	{"7 dynamic", bench{edit: []string{`"static_th": "20000000"`, `"dynamic_th": "3"`}}, "W7", ""},
	{"7 dynamic, unlimited", bench{edit: []string{`"static_th": "20000000"`, `"dynamic_th": "7"`}}, "", ""},
	// Ingress pools have 28,000,000 B.
	{"8", bench{memory: 27999999}, "E8", "take 28000000 B (dialect: total), but trident3 has 27999999 B"},
	{"8 fits", bench{memory: 28000000}, "", ""},
	// Published as 32 MiB, 33,554,432 B.
	{"8 rounded", bench{edit: []string{`"size": "8000000"`, `"size": "13554433"`}}, "W8", "(a rounded number)"},
	// 1,000,000 + 6 x 5120 B of minimums: a size in the other dialect.
	{"8 dialect", bench{edit: []string{`"size": "20000000", "xoff"`, `"size": "1030720", "xoff"`}}, "E8 W15", "includes the headroom pool and all minimums, 1030720 B"},
	// The limit of a port is (8192 + 20) x 144 B; there are two groups of 591,265 B.
	{"8 port", bench{chip: "spc3", lookup: fmt.Sprintf(row, 591265), edit: []string{`"xoff": "166400"`, `"xoff": "591265"`, `"mode": "static", "size": "20000000"`, `"mode": "static", "size": "21000000"`, `"static_th": "20000000"`, `"static_th": "21000000"`}}, "E8 W13", "take 1182530 B of the headroom pool, but spectrum3 allows a port 1182528 B"},
	{"8 port fits", bench{chip: "spc3", lookup: fmt.Sprintf(row, 591264), edit: []string{`"xoff": "166400"`, `"xoff": "591264"`, `"mode": "static", "size": "20000000"`, `"mode": "static", "size": "21000000"`, `"static_th": "20000000"`, `"static_th": "21000000"`}}, "W13", ""},
	{"9", bench{edit: []string{`"Ethernet8": "40m"`, `"Ethernet8": "30m"`, `"Ethernet0,Ethernet4,Ethernet8|3-4"`, `"Ethernet0,Ethernet4|3-4"`}}, "E9", "sound.ini has no row for 100000 Mb/s and 30m, and BUFFER_PROFILE has no pg_lossless_100000_30m_profile"},
	{"9 no file", bench{lookup: "-", edit: []string{lossless + ",", "", `"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"},`, ""}}, "W9", "not judged: there is no lookup file"},
	{"9 made", bench{edit: []string{lossless + ",", "", `"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"},`, ""}}, "", ""},
	{"10 and 2", bench{edit: []string{`"Ethernet8": "40m"`, `"Ethernet8": "0m"`, `"Ethernet0,Ethernet4,Ethernet8|3-4"`, `"Ethernet0,Ethernet4|3-4"`}}, "E10 E2", "pfc_enable is 3, 4, but the cable length is 0m"},
	{"10 none", bench{edit: []string{`, "Ethernet8": "40m"`, ``}}, "E10", "CABLE_LENGTH has no entry for the port"},
	{"11", bench{lookup: "100000 40m 5120 5120 166400 -1 5120\n100000 5m 5120 5120 166400 -1 5120", edit: []string{`"Ethernet8": "40m"`, `"Ethernet8": "5m"`}}, "W11", "but the port runs at 100Gbps over 5m of cable"},
	{"12", bench{edit: []string{`"xoff": "166400"`, `"xoff": "166656"`}}, "W12", "166656, -1, 5120, but sound.ini has 5120, 5120, 166400"},
	// Six groups of 166,400 B are 998,400 B.
	{"13", bench{edit: []string{`"xoff": "1000000"`, `"xoff": "998399"`}}, "W13", "6 lossless priority groups may use 998400 B, but the headroom pool has 998399 B: it is oversubscribed 1 times, and 5 groups"},
	{"13 one alone", bench{edit: []string{`"xoff": "1000000"`, `"xoff": "166399"`}}, "E13", "a single priority group may use 166400 B"},
	{"14", bench{edit: []string{shared, `"size": "20000000"`}}, "E14", "size is 5120, but xoff is 166400, and pool ingress_lossless_pool has no xoff"},
	{"14 reserved", bench{lookup: "100000 40m 171520 5120 166400 -1 5120", edit: []string{shared, `"size": "20000000"`, `"size": "5120"`, `"size": "171520"`}}, "", ""},
	// A single group pauses at 24,719 cells, 6,328,064 B.
	{"15", bench{edit: []string{`"400000"`, `"6328065"`, `"1600000"`, `"6328065"`}}, "W15", "unless 2 ports send to the queue at once"},
	{"15 above", bench{edit: []string{`"1600000"`, `"6328065"`}}, "N15", ""},
	{"15 at", bench{edit: []string{`"1600000"`, `"6328064"`}}, "", ""},
	{"16", bench{edit: []string{`"ecn_all"`, `"ecn_none"`}}, "E16", "drops instead of marking"},
	{"16 off", bench{edit: []string{`"wred_green_enable": "true"`, `"wred_green_enable": "false"`}}, "W16", "no colour is enabled"},
	{"17", bench{edit: []string{`"pfcwd_sw_enable": "3,4"`, `"pfcwd_sw_enable": "3"`}}, "W17", "priorities 4 are in pfc_enable but not in pfcwd_sw_enable"},
	{"17 no entry", bench{edit: []string{`"Ethernet0": {"action": "drop", "detection_time": "400", "restoration_time": "800"},`, ``}}, "W17", "the port has no watchdog"},
	{"18 short", bench{edit: []string{`"detection_time": "400"`, `"detection_time": "100"`}}, "W18", "detection_time is 100 ms, but counters are polled every 200 ms"},
	{"18 between", bench{edit: []string{`"restoration_time": "800"`, `"restoration_time": "900"`}}, "W18", "it takes 1000 ms"},
	{"18 never", bench{edit: []string{`, "restoration_time": "800"`, ``}}, "W18", "restoration_time is not set"},
	{"19 mixed", bench{edit: []string{`"action": "drop"`, `"action": "forward"`}}, "E19", "but drop on most ports"},
	{"19 forward", bench{chip: "generic", edit: []string{`"action": "drop"`, `"action": "forward"`}}, "W19", "a deadlock persists"},
	{"20 reference", bench{edit: []string{`"wred_profile": "ROCE"`, `"wred_profile": "ROCK"`}}, "E20", "refers to ROCK, but WRED_PROFILE has no ROCK"},
	{"20 both", bench{edit: []string{`"static_th": "20000000"`, `"static_th": "20000000", "dynamic_th": "7"`}}, "E20", "both dynamic_th and static_th are set"},
	{"20 none", bench{edit: []string{`"size": "0", "dynamic_th": "1"`, `"size": "0"`}}, "E20", "requires dynamic_th"},
	{"20 range", bench{edit: []string{`"size": "0", "dynamic_th": "1"`, `"size": "0", "dynamic_th": "8"`}}, "E20", "8 is out of range (expected -8 to 7)"},
	{"20 group of an egress pool", bench{edit: []string{`"ingress_lossy_pool": {"type": "ingress"`, `"ingress_lossy_pool": {"type": "egress"`}}, "E20", "profile ingress_lossy_profile belongs to ingress_lossy_pool, whose type is egress (expected ingress or both)"},
	{"20 queue of an ingress pool", bench{edit: []string{`"egress_lossy_pool": {"type": "egress"`, `"egress_lossy_pool": {"type": "ingress"`}}, "E20 W8", "profile egress_lossy_profile belongs to egress_lossy_pool, whose type is ingress (expected egress or both)"},
	{"20 both", bench{edit: []string{`"ingress_lossy_pool": {"type": "ingress"`, `"ingress_lossy_pool": {"type": "both"`}}, "", ""},
	{"21", bench{lookup: "100000 40m 5120 0 166400 -1 0", edit: []string{`"xon": "5120", "xon_offset": "5120"`, `"xon": "0"`}}, "W21", "xon and xon_offset are both 0"},
	{"21 above", bench{lookup: "100000 40m 5120 6328065 166400 -1 5120", edit: []string{`"xon": "5120"`, `"xon": "6328065"`}}, "W21", "the group pauses at 6328064 B"},
	{"22", bench{edit: []string{`"DSCP_TO_TC_MAP": {`, `"DSCP_TO_TC_MAP": {"OTHER": {"26": "3"}, `, `"Ethernet4": {"dscp_to_tc_map": "ROCE"`, `"Ethernet4": {"dscp_to_tc_map": "OTHER"`}}, "W22", "dscp_to_tc_map is OTHER, but ROCE on most ports (2)"},
	// 4 x 116 B more in flight: 162,231 < 166,400.
	{"23", bench{edit: []string{`"mtu": "9100"`, `"mtu": "9216"`}}, "W23", "mtu is 9216"},
	{"24 strict", bench{edit: []string{`|5": {"scheduler": "lossy"}`, `|5": {"scheduler": "urgent"}`, `"SCHEDULER": {`, `"SCHEDULER": {"urgent": {"type": "STRICT"},`}}, "W24", "queue 5 (DSCP 46) has strict priority without a rate limit"},
	{"24 control", bench{edit: []string{`, "pir": "1250000000"`, ``}}, "N24", "network control"},
	{"24 none", bench{edit: []string{`|3-4": {"scheduler": "lossless", "wred_profile": "ROCE"}`, `|3-4": {"wred_profile": "ROCE"}`}}, "W24", "lossless queue 3 has no scheduler"},
	{"25", bench{edit: []string{`"pool": "ingress_lossy_pool", "size": "0", "dynamic_th": "1"`, `"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "0"`}}, "N25", "dynamic_th 0 in ingress_lossless_pool, but a lossless profile has -1"},
	{"25 less", bench{edit: []string{`"pool": "ingress_lossy_pool", "size": "0", "dynamic_th": "1"`, `"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "-1"`}}, "", ""},
	{"25 all", bench{edit: []string{`"pool": "ingress_lossy_pool", "size": "0", "dynamic_th": "1"`, `"pool": "ingress_lossless_pool", "size": "0", "static_th": "20000000"`}}, "N25", ""},
	{"26 forms", bench{edit: []string{`"pool": "ingress_lossy_pool"`, `"pool": "[BUFFER_POOL|ingress_lossy_pool]"`}}, "E26", "no release accepts both"},
	{"26 range", bench{edit: []string{`"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile"`, `"Ethernet0,Ethernet4,Ethernet8|4-3": {"profile"`}}, "E26", "does not increase"},
	{"26 overlap", bench{edit: []string{`|0-2": {"scheduler"`, `|0-3": {"scheduler"`}}, "E26", "it is undefined which entry applies"},
	{"26 blanks", bench{edit: []string{`"166400"`, `" 166400"`}}, "E26", "blanks"},
	{"27", bench{lookup: "100000 40m 5120 5120 166400 -1 5120\n25000 40m 5120 5120 166400 -1 5120", edit: []string{
		`"lanes": "9,10,11,12", "speed": "100000"`, `"lanes": "9", "speed": "25000"`, lossless, lossless + `, "pg_lossless_25000_40m_profile": {"pool": "ingress_lossless_pool", "size": "5120", "xon": "5120", "xon_offset": "5120", "xoff": "166400", "dynamic_th": "-1"}`,
		`"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile"`, `"Ethernet8|3-4": {"profile": "pg_lossless_25000_40m_profile"}, "Ethernet0,Ethernet4|3-4": {"profile"`}}, "N27", "are used at 100Gbps, 25Gbps"},
	{"22 no pfc", bench{edit: []string{`"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"`, `"pfc_enable": "", "pfcwd_sw_enable": ""`, `"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg`, `"Ethernet4,Ethernet8|3-4": {"profile": "pg`}}, "W22", "the port has no PFC, but 2 ports have pfc_enable 3, 4"},
	{"29", bench{edit: []string{`, "speed": "100000"`, ``}}, "W29", "not judged: the port has no speed"},
	{"30 breakout", bench{edit: []string{`"PORT": {`, `"PORT": {"Ethernet1": {"lanes": "33", "speed": "25000"},`}}, "W30", "no QoS or buffer table mentions the port, but 3 ports have PFC"},
	{"30 down", bench{edit: []string{`"PORT": {`, `"PORT": {"Ethernet1": {"lanes": "33", "speed": "25000", "admin_status": "down"},`}}, "N30", ""},
	{"31", bench{edit: []string{`"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"},`, "", `"pfc_enable": "3,4"`, `"pfc_enable": ""`, `"pfc_enable": "3,4"`, `"pfc_enable": ""`, `"pfc_enable": "3,4"`, `"pfc_enable": ""`}}, "W31", "no traffic class is lossless on any port"},
	{"31 unreached", bench{edit: []string{`"26": "3", `, "", `"28": "4", `, ""}}, "W31", "traffic classes 3, 4 are lossless, but no DSCP or 802.1p priority leads to them"},
	{"28", bench{edit: []string{`"pfc_asym": "off"`, `"pfc_asym": "on"`}}, "W28", ""},
}

func TestBroken(t *testing.T) {
	covered := map[int]bool{}
	for _, c := range broken {
		t.Run(c.name, func(t *testing.T) {
			r := c.judge(t)
			if got := found(r); got != c.want {
				t.Errorf("%s, want %s: %+v", got, c.want, r.Findings)
			}
			matched := c.says == ""
			for _, f := range r.Findings {
				covered[f.Rule] = true
				matched = matched || strings.Contains(f.What, c.says)
				if f.Fix == "" || f.Why == "" || f.Table == "" || len(f.Keys) == 0 || f.File == "" {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if !matched {
				t.Errorf("no finding contains %q: %+v", c.says, r.Findings)
			}
		})
	}
	for _, r := range All() {
		if !covered[r.Number] {
			t.Errorf("no case breaks rule %d", r.Number)
		}
	}
}

// Rules are numbered in order and have all their texts.
func TestTable(t *testing.T) {
	for i, r := range All() {
		if r.Number != i+1 || r.Name == "" || r.About == "" || r.Why == "" || len(r.Tables) == 0 {
			t.Errorf("%+v", r)
		}
	}
	if len(All()) != 31 {
		t.Errorf("%d rules", len(All()))
	}
}

// Rules that lack information are skipped, with a reason.
func TestNotJudged(t *testing.T) {
	r := bench{chip: "generic", lookup: "-"}.judge(t)
	var list []int
	for _, s := range r.Skipped {
		list = append(list, s.Rule)
	}
	if fmt.Sprint(list) != "[8 9 12]" || r.Verdict != Lossless {
		t.Errorf("%s: %+v", r.Verdict, r.Skipped)
	}
	// Some tools write buffers without QoS.
	r = bench{edit: []string{`"PORT_QOS_MAP"`, `"NO_SUCH_TABLE"`}}.judge(t)
	if found(r) != "W3" || len(r.Skipped) != 1 || r.Skipped[0].Rule != 3 || fmt.Sprint(r.Unread) != "[NO_SUCH_TABLE]" {
		t.Errorf("%+v, %+v", r.Findings, r.Skipped)
	}
}

// A switch is lossless only if something is lossless and every decisive input is there.
func TestVerdicts(t *testing.T) {
	groups := []string{`"Ethernet0,Ethernet4,Ethernet8|3-4": {"profile": "pg_lossless_100000_40m_profile"},`, ""}
	noPFC := []string{`"pfc_enable": "3,4"`, `"pfc_enable": ""`, `"pfc_enable": "3,4"`, `"pfc_enable": ""`, `"pfc_enable": "3,4"`, `"pfc_enable": ""`}
	for _, c := range []struct {
		name string
		bench
		want Verdict
	}{
		{"sound", bench{}, Lossless},
		{"no PFC, no groups", bench{edit: slices.Concat(groups, noPFC)}, NothingLossless},
		{"no PFC, but headroom", bench{edit: noPFC}, NotLossless}, // rule 3
		{"no QoS, no groups", bench{edit: append(slices.Clone(groups), `"PORT_QOS_MAP"`, `"X"`)}, NothingLossless},
		{"no QoS, but headroom", bench{edit: []string{`"PORT_QOS_MAP"`, `"X"`}}, NotJudged},
		{"no class in the groups", bench{edit: []string{`"3": "3", "4": "4", "5": "0", "6": "0"`, `"3": "0", "4": "0", "5": "0", "6": "0"`,
			`|3-4": {"profile": "egress_lossless_profile"}`, `|3-4": {"profile": "egress_lossy_profile"}`}}, NothingLossless},
		{"groups from an unknown lookup file", bench{lookup: "-", edit: append(slices.Clone(groups), lossless+",", "")}, NotJudged},
		{"lookup file without the row", bench{lookup: "100000 5m 1 1 1 1", edit: append(slices.Clone(groups), lossless+",", "")}, NotLossless},
		{"no lookup file, not needed", bench{lookup: "-"}, Lossless},
		{"no speed", bench{edit: []string{`, "speed": "100000"`, ``}}, NotJudged},
		{"headroom for a fast peer only", bench{lookup: fmt.Sprintf(row, 14151), edit: []string{`"xoff": "166400"`, `"xoff": "14151"`}}, Lossless},
		{"headroom too small", bench{lookup: fmt.Sprintf(row, 14150), edit: []string{`"xoff": "166400"`, `"xoff": "14150"`}}, NotLossless},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := c.judge(t); r.Verdict != c.want {
				t.Errorf("%s, want %s: %+v %+v", r.Verdict, c.want, r.Findings, r.Skipped)
			}
		})
	}
}

// Compare lists new and resolved findings and changed groups.
func TestCompare(t *testing.T) {
	old, now := bench{}.judge(t), bench{edit: []string{`"xoff": "1000000"`, `"xoff": "998399"`}}.judge(t)
	c := Compare([]*Report{old}, []*Report{now})
	if len(c.New) != 1 || c.New[0].Rule != 13 || len(c.Gone) != 0 || c.Kept != 0 || len(c.Groups) != 6 || c.Count(Warning) != 1 || c.Count(Error) != 0 {
		t.Errorf("%+v", c)
	}
	c = Compare([]*Report{now}, []*Report{now})
	if len(c.New) != 0 || c.Kept != 1 || len(c.Groups) != 0 {
		t.Errorf("%+v", c)
	}
	c = Compare([]*Report{now}, []*Report{old})
	if len(c.New) != 0 || len(c.Gone) != 1 {
		t.Errorf("%+v", c)
	}
	// A further port with the same finding is new; the others are not.
	one := bench{edit: []string{`"pfcwd_sw_enable": "3,4"`, `"pfcwd_sw_enable": "3"`}}
	two := bench{edit: append(slices.Clone(one.edit), one.edit...)}
	c = Compare([]*Report{one.judge(t)}, []*Report{two.judge(t)})
	if len(c.New) != 1 || fmt.Sprint(c.New[0].Keys) != "[Ethernet4]" {
		t.Errorf("%+v", c.New)
	}
}
