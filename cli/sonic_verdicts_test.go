package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
)

// switchConfig has the tables of a configuration.
type switchConfig = map[string]map[string]map[string]string

// sample returns a sound configuration with four ports, two lossless classes and lossy
// classes beside them. Headroom suffices for small packets over 300 m.
func sample() switchConfig {
	c := switchTables("s1", 4, 1150*256)
	c["BUFFER_POOL"]["egress_lossy_pool"] = map[string]string{"type": "egress", "mode": "dynamic", "size": "8000000"}
	c["BUFFER_PROFILE"]["egress_lossy_profile"] = map[string]string{"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "1"}
	c["BUFFER_PROFILE"]["ingress_lossy_profile"] = map[string]string{"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "-2"}
	c["DSCP_TO_TC_MAP"]["A"]["0"] = "1"
	c["TC_TO_PRIORITY_GROUP_MAP"]["A"]["1"] = "0"
	c["TC_TO_QUEUE_MAP"]["A"]["1"] = "1"
	for port := range c["PORT"] {
		c["PORT"][port]["mtu"] = "9100"
		c["BUFFER_PG"][port+"|0"] = map[string]string{"profile": "ingress_lossy_profile"}
		c["BUFFER_QUEUE"][port+"|0-2"] = map[string]string{"profile": "egress_lossy_profile"}
		c["QUEUE"][port+"|1"] = map[string]string{"scheduler": "s"}
	}
	return c
}

// samples are configurations as on real switches.
var samples = []struct {
	name string
	make func() switchConfig
	// want has the verdicts on the sample and on its mutations, in their order: L lossless,
	// N not lossless, - nothing lossless, ? not judged.
	want string
}{
	{"traditional", sample, "L?N-NLL?NNLLNNLNNNNN?-N"},
	{"two speeds", func() switchConfig {
		c := sample()
		c["DEVICE_METADATA"]["localhost"]["hwsku"] = "DellEMC-Z9332f-O32"
		c["PORT"]["Ethernet0"]["speed"], c["PORT"]["Ethernet0"]["lanes"] = "400000", "1,2,3,4,5,6,7,8"
		wide := maps.Clone(c["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"])
		wide["xoff"] = "878586"
		c["BUFFER_PROFILE"]["pg_lossless_400000_300m_profile"] = wide
		c["BUFFER_PG"]["Ethernet0|3-4"]["profile"] = "pg_lossless_400000_300m_profile"
		c["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "7000000"
		return c
	}, "L?N-NLL?NNLNNNNNNNNN?-N"},
	{"old style", func() switchConfig {
		c := sample()
		c["DEVICE_METADATA"]["localhost"]["hwsku"] = "Force10-S6100"
		c["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "8386560"
		for _, f := range c["BUFFER_PROFILE"] {
			f["pool"] = "[BUFFER_POOL|" + f["pool"] + "]"
		}
		refs := map[string]string{
			"profile": "BUFFER_PROFILE", "scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE",
			"dscp_to_tc_map": "DSCP_TO_TC_MAP", "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP",
		}
		for _, table := range []string{"BUFFER_PG", "BUFFER_QUEUE", "QUEUE", "PORT_QOS_MAP"} {
			for _, f := range c[table] {
				delete(f, "pfcwd_sw_enable")
				for name := range f {
					if refs[name] != "" {
						f[name] = "[" + refs[name] + "|" + f[name] + "]"
					}
				}
			}
		}
		return c
	}, "L?N-NLL?NNLLNNLNNNNN?-N"},
	{"dynamic", func() switchConfig {
		c := sample()
		c["DEVICE_METADATA"]["localhost"] = map[string]string{"hostname": "s1", "platform": "x86_64-mlnx_msn4600c-r0", "buffer_model": "dynamic"}
		c["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = map[string]map[string]string{"AZURE": {"default_dynamic_th": "0", "over_subscribe_ratio": "2"}}
		c["LOSSLESS_TRAFFIC_PATTERN"] = map[string]map[string]string{"AZURE": {"mtu": "1024", "small_packet_percentage": "100"}}
		c["BUFFER_POOL"]["ingress_lossless_pool"] = map[string]string{"type": "ingress", "mode": "dynamic"}
		c["BUFFER_POOL"]["egress_lossless_pool"]["size"] = "60817392"
		c["BUFFER_PROFILE"]["egress_lossless_profile"] = map[string]string{"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7"}
		delete(c["BUFFER_PROFILE"], "pg_lossless_100000_300m_profile")
		for key, f := range c["BUFFER_PG"] {
			if strings.HasSuffix(key, "|3-4") {
				f["profile"] = "NULL"
			}
		}
		return c
	}, "L?N-NLL?NNLLNLLNNNNNN-N"},
	{"ecn above pfc", func() switchConfig {
		c := sample()
		c["BUFFER_PROFILE"]["pg_lossless_100000_300m_profile"]["dynamic_th"] = "-4"
		c["WRED_PROFILE"]["E"]["green_min_threshold"], c["WRED_PROFILE"]["E"]["green_max_threshold"] = "3000000", "4000000"
		return c
	}, "L?N-NLL?NNLLNNLNNNNN?-N"},
	{"headroom too small", func() switchConfig {
		c := sample()
		setXoff(c, 160*256)
		return c
	}, "NNN-NNNNNNNLNNLNNNNN?NN"},
	{"pfc without group", func() switchConfig {
		c := sample()
		c["CABLE_LENGTH"]["AZURE"]["Ethernet12"] = "0m"
		delete(c["BUFFER_PG"], "Ethernet12|3-4")
		return c
	}, "N?N-NNNNNNNNNNNNNNNNNNN"},
	{"wrong queue", func() switchConfig {
		c := sample()
		c["TC_TO_QUEUE_MAP"]["A"]["3"] = "2"
		return c
	}, "N?N-NNNNNNNNNNNNNNNN?NN"},
}

// setXoff sets the headroom of all lossless profiles; a computed profile becomes a given one.
func setXoff(c switchConfig, xoff int64) {
	lossless := ""
	for name, f := range c["BUFFER_PROFILE"] {
		if strings.HasPrefix(name, "pg_lossless") {
			f["xoff"], lossless = fmt.Sprint(xoff), name
		}
	}
	if lossless == "" {
		c["BUFFER_PROFILE"]["given"] = map[string]string{
			"pool": "ingress_lossless_pool", "size": "19456", "xon": "19456", "xoff": fmt.Sprint(xoff), "dynamic_th": "0",
		}
		for key, f := range c["BUFFER_PG"] {
			if strings.HasSuffix(key, "|3-4") {
				f["profile"] = "given"
			}
		}
	}
}

// least returns the bound that decides for a port of 100 Gbps with a cable of 300 m.
func least(mtu units.Bytes) int64 {
	return int64(sonic.NeedOf(100*units.Gbps, 300, mtu, 1024, &chips.Chip{Packet: chips.Fact{N: 64}}).FastPeer)
}

// mutations are single changes of a configuration.
var mutations = []struct {
	name   string
	change func(c switchConfig)
}{
	{"no PORT_QOS_MAP", func(c switchConfig) { delete(c, "PORT_QOS_MAP") }},
	{"no pfc_enable", func(c switchConfig) {
		for _, f := range c["PORT_QOS_MAP"] {
			delete(f, "pfc_enable")
		}
	}},
	{"nothing lossless", func(c switchConfig) {
		for port, f := range c["PORT_QOS_MAP"] {
			delete(f, "pfc_enable")
			delete(c["BUFFER_PG"], port+"|3-4")
			delete(c["BUFFER_QUEUE"], port+"|3-4")
		}
	}},
	{"one port without PFC", func(c switchConfig) { c["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] = "" }},
	{"one lossy port", func(c switchConfig) {
		c["PORT_QOS_MAP"]["Ethernet4"]["pfc_enable"] = ""
		delete(c["BUFFER_PG"], "Ethernet4|3-4")
	}},
	{"breakout port", func(c switchConfig) { c["PORT"]["Ethernet5"] = map[string]string{"speed": "25000", "lanes": "9"} }},
	{"no speed", func(c switchConfig) { delete(c["PORT"]["Ethernet4"], "speed") }},
	{"no cable", func(c switchConfig) { delete(c["CABLE_LENGTH"]["AZURE"], "Ethernet4") }},
	{"long cable", func(c switchConfig) { c["CABLE_LENGTH"]["AZURE"]["Ethernet4"] = "40000m" }},
	{"short cable", func(c switchConfig) { c["CABLE_LENGTH"]["AZURE"]["Ethernet4"] = "5m" }},
	{"least headroom", func(c switchConfig) { setXoff(c, least(9100)) }},
	{"less headroom", func(c switchConfig) { setXoff(c, least(9100)/3) }},
	{"larger frames", func(c switchConfig) {
		setXoff(c, least(9100))
		c["PORT"]["Ethernet4"]["mtu"] = "9216"
	}},
	{"smaller frames", func(c switchConfig) {
		setXoff(c, least(1500))
		for _, f := range c["PORT"] {
			f["mtu"] = "1500"
		}
	}},
	{"no class in the groups", func(c switchConfig) {
		c["TC_TO_PRIORITY_GROUP_MAP"]["A"]["3"], c["TC_TO_PRIORITY_GROUP_MAP"]["A"]["4"] = "0", "0"
	}},
	{"wred drops", func(c switchConfig) { c["WRED_PROFILE"]["E"]["ecn"] = "ecn_none" }},
	{"small egress pool", func(c switchConfig) { c["BUFFER_POOL"]["egress_lossless_pool"]["size"] = "1000000" }},
	{"small headroom pool", func(c switchConfig) { c["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "20000" }},
	{"no such profile", func(c switchConfig) { c["BUFFER_PG"]["Ethernet4|3-4"]["profile"] = "pg_lossless" }},
	{"no profiles", func(c switchConfig) {
		for port := range c["PORT"] {
			delete(c["BUFFER_PG"], port+"|3-4")
		}
		maps.DeleteFunc(c["BUFFER_PROFILE"], func(name string, _ map[string]string) bool { return strings.HasPrefix(name, "pg_lossless") })
	}},
	{"no code points", func(c switchConfig) { c["DSCP_TO_TC_MAP"]["A"] = map[string]string{"0": "1"} }},
	{"group of an egress pool", func(c switchConfig) { c["BUFFER_POOL"]["ingress_lossless_pool"]["type"] = "egress" }},
}

// verdictLetter abbreviates verdicts.
var verdictLetter = map[rules.Verdict]string{rules.Lossless: "L", rules.NotLossless: "N", rules.NothingLossless: "-", rules.NotJudged: "?"}

// Every sample and every mutation of it has the expected verdict, and xoff check of the
// configuration, xoff import, and xoff check of the imported scenario agree.
func TestSonicVerdicts(t *testing.T) {
	for _, s := range samples {
		got := ""
		for i := -1; i < len(mutations); i++ {
			name, c := s.name, s.make()
			if i >= 0 {
				name += ", " + mutations[i].name
				mutations[i].change(c)
			}
			text, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "s1.json")
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
			direct, imported := verdicts(t, name, file)
			if direct != imported {
				t.Errorf("%s: %s by check, %s by import and check", name, direct, imported)
			}
			got += verdictLetter[direct]
		}
		if got != s.want {
			t.Errorf("%s: verdicts %s, want %s", s.name, got, s.want)
		}
	}
	files, err := filepath.Glob("../docs/sonic/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if direct, imported := verdicts(t, file, file); direct != imported {
			t.Errorf("%s: %s by check, %s by import and check", file, direct, imported)
		}
	}
}

// verdicts returns the verdict of xoff check on a configuration, and of xoff import and xoff
// check of the scenario.
func verdicts(t *testing.T, name, file string) (direct, imported rules.Verdict) {
	t.Helper()
	made := filepath.Join(t.TempDir(), "s1.yaml")
	var out, messages bytes.Buffer
	code := Run([]string{"check", file, "--json"}, &out, &messages)
	var r check.SwitchReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%s: %v: %s", name, err, messages.String())
	}
	if (code == exitFailure) != (r.Verdict == rules.NotLossless) || code != 0 && code != exitFailure {
		t.Errorf("%s: exit code %d, %s", name, code, r.Verdict)
	}
	if r.Verdict != rules.Lossless && r.Warnings+r.Errors == 0 {
		t.Errorf("%s: %s without a finding", name, r.Verdict)
	}
	if strict := Run([]string{"check", file, "--quiet", "--require-lossless"}, &out, &messages); (strict == 0) != (r.Verdict == rules.Lossless) {
		t.Errorf("%s: exit code %d with --require-lossless, %s", name, strict, r.Verdict)
	}

	messages.Reset()
	code = Run([]string{"import", "sonic", file, "-o", made}, &out, &messages)
	said, _, _ := strings.Cut(messages.String(), "\n")
	_, verdict, _ := strings.Cut(said, ": ")
	imported = rules.Verdict(verdict)
	if !slices.Contains(rules.Verdicts, imported) {
		t.Fatalf("%s: import prints %q", name, messages.String())
	}
	switch code {
	case 0:
		out.Reset()
		Run([]string{"check", made, "--json"}, &out, &messages)
		var of check.Report
		if err := json.Unmarshal(out.Bytes(), &of); err != nil {
			t.Fatalf("%s: %v: %s", name, err, messages.String())
		}
		scenario := rules.Lossless
		if of.Problems > 0 {
			scenario = rules.NotLossless
		}
		if scenario != imported {
			t.Errorf("%s: import says %s, check of the scenario %s: %+v", name, imported, scenario, of.Findings)
		}
	case exitFailure: // the scenario could not contain the findings
		if imported == rules.Lossless {
			t.Errorf("%s: import refuses a lossless switch: %s", name, messages.String())
		}
	default:
		t.Errorf("%s: import: exit code %d: %s", name, code, messages.String())
	}
	return r.Verdict, imported
}
