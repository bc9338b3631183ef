package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/analysis/check"
)

// leafSpine writes the configurations of a leaf-spine fabric with two lossless classes and
// cables of 300 m. Every queue has 360 cells of headroom; full frames need about 310. The
// switch halved has half of that.
func leafSpine(t *testing.T, leaves, spines, hosts int, halved string) string {
	t.Helper()
	dir := t.TempDir()
	for i := range leaves + spines {
		name, ports := fmt.Sprintf("leaf%d", i), hosts+spines
		if i >= leaves {
			name, ports = fmt.Sprintf("spine%d", i-leaves), leaves
		}
		xoff := 360 * 256
		if name == halved {
			xoff /= 2
		}
		c := switchTables(name, ports, xoff)
		for p := range ports {
			port := fmt.Sprintf("Ethernet%d", 4*p)
			switch {
			case i >= leaves:
				c["DEVICE_NEIGHBOR"][port] = map[string]string{"name": fmt.Sprintf("leaf%d", p), "port": fmt.Sprintf("Ethernet%d", 4*(hosts+i-leaves))}
			case p >= hosts:
				c["DEVICE_NEIGHBOR"][port] = map[string]string{"name": fmt.Sprintf("spine%d", p-hosts), "port": fmt.Sprintf("Ethernet%d", 4*i)}
			}
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// switchTables returns the configuration of a switch without neighbours.
func switchTables(name string, ports, xoff int) map[string]map[string]map[string]string {
	c := map[string]map[string]map[string]string{
		"DEVICE_METADATA": {"localhost": {"hostname": name, "hwsku": "Arista-7050CX3-32S-C32"}},
		"CABLE_LENGTH":    {"AZURE": {}},
		"BUFFER_POOL": {
			"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "20000000", "xoff": fmt.Sprint(2 * ports * xoff)},
			"egress_lossless_pool":  {"type": "egress", "mode": "static", "size": "20000000"},
		},
		"BUFFER_PROFILE": {
			"pg_lossless_100000_300m_profile": {
				"pool": "ingress_lossless_pool", "size": "5120", "xon": "5120", "xon_offset": "5120", "xoff": fmt.Sprint(xoff), "dynamic_th": "-1",
			},
			"egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "20000000"},
		},
		"DSCP_TO_TC_MAP":           {"A": {"26": "3", "28": "4"}},
		"TC_TO_PRIORITY_GROUP_MAP": {"A": {"3": "3", "4": "4"}},
		"TC_TO_QUEUE_MAP":          {"A": {"3": "3", "4": "4"}},
		"SCHEDULER":                {"s": {"type": "DWRR", "weight": "20"}},
		"WRED_PROFILE": {"E": {
			"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "400000", "green_max_threshold": "1600000", "green_drop_probability": "5",
		}},
		"PORT": {}, "PORT_QOS_MAP": {}, "BUFFER_PG": {}, "BUFFER_QUEUE": {}, "QUEUE": {}, "DEVICE_NEIGHBOR": {},
		"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}},
	}
	for p := range ports {
		port := fmt.Sprintf("Ethernet%d", 4*p)
		c["PORT"][port] = map[string]string{"speed": "100000", "lanes": "1,2,3,4", "admin_status": "up"}
		c["CABLE_LENGTH"]["AZURE"][port] = "300m"
		c["PORT_QOS_MAP"][port] = map[string]string{"dscp_to_tc_map": "A", "tc_to_pg_map": "A", "tc_to_queue_map": "A", "pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
		c["BUFFER_PG"][port+"|3-4"] = map[string]string{"profile": "pg_lossless_100000_300m_profile"}
		c["BUFFER_QUEUE"][port+"|3-4"] = map[string]string{"profile": "egress_lossless_profile"}
		c["QUEUE"][port+"|3-4"] = map[string]string{"scheduler": "s", "wred_profile": "E"}
		c["PFC_WD"][port] = map[string]string{"action": "drop", "detection_time": "400", "restoration_time": "800"}
	}
	return c
}

// command runs a command line and wants an exit code.
func command(t *testing.T, want int, args ...string) (stdout string) {
	t.Helper()
	var out, err bytes.Buffer
	if got := Run(args, &out, &err); got != want {
		t.Fatalf("xoff %s: exit code %d, want %d: %s%s", strings.Join(args, " "), got, want, err.String(), out.String())
	}
	return out.String()
}

// judged checks a folder and returns the switches that have errors.
func judged(t *testing.T, want int, dir string) []string {
	t.Helper()
	var r check.SwitchReport
	if err := json.Unmarshal([]byte(command(t, want, "check", dir, "--json")), &r); err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, s := range r.Switches {
		if s.Count("error") > 0 {
			bad = append(bad, s.Switch)
		}
	}
	return bad
}

// incast imports a folder and runs an incast to a host. It returns the nodes that drop
// lossless frames.
func incast(t *testing.T, dir, to string) []string {
	t.Helper()
	out := t.TempDir()
	file := filepath.Join(out, "fabric.yaml")
	command(t, 0, "import", "sonic", dir, "-o", file, "--quiet")
	var stdout, stderr bytes.Buffer
	Run([]string{"run", file, "-o", filepath.Join(out, "results"), "--report=false", "--quiet", "--csv", "--set", "workload.incast.to=[" + to + "]"}, &stdout, &stderr)
	table, err := os.ReadFile(filepath.Join(out, "results", "ports.csv"))
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	head := strings.Split(lines[0], ",")
	node, drops := slices.Index(head, "node"), slices.Index(head, "drops_lossless")
	if node < 0 || drops < 0 {
		t.Fatalf("columns %v", head)
	}
	var bad []string
	for _, line := range lines[1:] {
		if cells := strings.Split(line, ","); cells[drops] != "0" && !slices.Contains(bad, cells[node]) {
			bad = append(bad, cells[node])
		}
	}
	return bad
}

// A fabric of 32 leaves and 8 spines is lossless by the rules and in simulation. With half
// the headroom at one leaf, both find that leaf.
func TestSonicFabric(t *testing.T) {
	sound, halved := leafSpine(t, 12, 4, 4, ""), leafSpine(t, 12, 4, 4, "leaf7")
	if bad := judged(t, 0, sound); len(bad) != 0 {
		t.Errorf("errors of %v", bad)
	}
	if bad := incast(t, sound, "leaf7-h0"); len(bad) != 0 {
		t.Errorf("drops at %v", bad)
	}
	if bad := judged(t, 1, halved); fmt.Sprint(bad) != "[leaf7]" {
		t.Errorf("errors of %v", bad)
	}
	if bad := incast(t, halved, "leaf7-h0"); fmt.Sprint(bad) != "[leaf7]" {
		t.Errorf("drops at %v", bad)
	}
}

// Buffers of four switches in a ring can wait for each other. No rule for a single switch
// finds that.
func TestSonicLoop(t *testing.T) {
	ring, line := chain(t, 4), chain(t, 3)
	out := command(t, 1, "check", ring)
	for _, want := range []string{"4 switches: NOT LOSSLESS: loops of buffers; 1 error, 0 warnings", "pauses can form a loop", "loop ring"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	// A comparison with the open chain finds the loop.
	command(t, 0, "check", line)
	if out := command(t, 1, "check", ring, "--against", line); !strings.Contains(out, "new: 1 kind of loop of buffers") {
		t.Error(out)
	}
	command(t, 0, "check", ring, "--against", ring)
}

// chain writes the configurations of four switches with the given number of cables, each to
// the next switch. Four cables make a ring.
func chain(t *testing.T, cables int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 4 {
		c := switchTables(fmt.Sprintf("ring%d", i), 3, 360*256)
		if i < cables {
			c["DEVICE_NEIGHBOR"]["Ethernet0"] = map[string]string{"name": fmt.Sprintf("ring%d", (i+1)%4), "port": "Ethernet4"}
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("ring%d.json", i)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mixed writes three different switches: names that are invalid in a scenario, one switch
// without a watchdog, a cable with a slower end, and ports cabled out of order.
func mixed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	a, b, c := switchTables("x.b", 4, 360*256), switchTables("x-a", 5, 360*256), switchTables("1z", 6, 180*256)
	delete(b, "PFC_WD")
	b["PORT"]["Ethernet8"]["speed"] = "25000"
	c["PORT"]["Ethernet20"]["mtu"] = "1500"
	c["WRED_PROFILE"]["E"]["green_drop_probability"] = "100"
	a["DEVICE_NEIGHBOR"]["Ethernet12"] = map[string]string{"name": "x-a", "port": "Ethernet8"}
	c["DEVICE_NEIGHBOR"]["Ethernet16"] = map[string]string{"name": "x-a", "port": "Ethernet0"}
	b["DEVICE_NEIGHBOR"]["Ethernet16"] = map[string]string{"name": "x.b", "port": "Ethernet0"}
	for i, tables := range []map[string]map[string]map[string]string{a, b, c} {
		text, err := json.Marshal(tables)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Exporting and importing again gives the same scenario, except for comments.
func TestSonicRoundTrip(t *testing.T) {
	comment := regexp.MustCompile(`(?m) *#.*$`)
	for _, c := range []struct {
		name, chip string
		dir        string
	}{
		{"fabric", "td3", leafSpine(t, 4, 2, 3, "leaf1")},
		{"spectrum", "spc3", leafSpine(t, 2, 2, 2, "")},
		{"parts", "leaf*=th5,spine*=generic", leafSpine(t, 2, 2, 8, "")},
		{"single", "th2", leafSpine(t, 1, 0, 4, "")},
		{"mixed", "td3", mixed(t)},
	} {
		out := t.TempDir()
		first, second, again := filepath.Join(out, "1.yaml"), filepath.Join(out, "2.yaml"), filepath.Join(out, "again")
		command(t, 0, "import", "sonic", c.dir, "-o", first, "--quiet", "--chip", c.chip, "--allow-errors")
		command(t, 0, "export", "sonic", first, "-o", again, "--quiet", "--chip", c.chip)
		command(t, 0, "import", "sonic", again, "-o", second, "--quiet", "--chip", c.chip, "--allow-errors")
		var texts [2]string
		for i, file := range []string{first, second} {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = strings.TrimSpace(comment.ReplaceAllString(string(data), ""))
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: first\n%s\nsecond\n%s", c.name, texts[0], texts[1])
		}
	}
}

// editSwitch changes the configuration of a switch in a folder.
func editSwitch(t *testing.T, dir, name string, change func(c switchConfig)) {
	t.Helper()
	file := filepath.Join(dir, name+".json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c switchConfig
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	if text, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// addPorts adds lossless ports without a neighbour to a switch.
func addPorts(c switchConfig, names ...string) {
	for _, name := range names {
		c["PORT"][name], c["PORT_QOS_MAP"][name], c["PFC_WD"][name] = c["PORT"]["Ethernet0"], c["PORT_QOS_MAP"]["Ethernet0"], c["PFC_WD"]["Ethernet0"]
		c["CABLE_LENGTH"]["AZURE"][name] = "300m"
		for _, table := range []string{"BUFFER_PG", "BUFFER_QUEUE", "QUEUE"} {
			c[table][name+"|3-4"] = c[table]["Ethernet0|3-4"]
		}
	}
}

// Hosts on ports without a neighbour are assumed at leaves, not at spines: there they would
// make routes down and up again, and loops of buffers. Import lists them.
func TestSonicAssumedHosts(t *testing.T) {
	spare := func(c switchConfig) { addPorts(c, "Ethernet200", "Ethernet204") }
	role := func(name string) func(c switchConfig) {
		return func(c switchConfig) { c["DEVICE_METADATA"]["localhost"]["type"] = name }
	}
	for _, c := range []struct {
		name   string
		leaves int
		change func(dir string)
		want   string // ports with assumed hosts
	}{
		{"more leaves", 3, func(string) {}, "leaf0: Ethernet0, Ethernet4; leaf1: Ethernet0, Ethernet4; leaf2: Ethernet0, Ethernet4"},
		{"roles", 2, func(dir string) {
			for i := range 2 {
				editSwitch(t, dir, fmt.Sprintf("leaf%d", i), role("ToRRouter"))
				editSwitch(t, dir, fmt.Sprintf("spine%d", i), role("LeafRouter"))
			}
		}, "leaf0: Ethernet0, Ethernet4; leaf1: Ethernet0, Ethernet4"},
		{"named hosts", 2, func(dir string) {
			for i := range 2 {
				editSwitch(t, dir, fmt.Sprintf("leaf%d", i), func(c switchConfig) {
					c["DEVICE_NEIGHBOR"]["Ethernet0"] = map[string]string{"name": "server", "port": "eth0"}
				})
			}
		}, "leaf0: Ethernet4; leaf1: Ethernet4"},
	} {
		dir := leafSpine(t, c.leaves, 2, 2, "")
		editSwitch(t, dir, "spine0", spare)
		editSwitch(t, dir, "spine1", spare)
		c.change(dir)
		var out, messages bytes.Buffer
		if code := Run([]string{"import", "sonic", dir, "-o", filepath.Join(t.TempDir(), "f.yaml")}, &out, &messages); code != 0 {
			t.Fatalf("%s: %s", c.name, messages.String())
		}
		var assumed []string
		for line := range strings.Lines(messages.String()) {
			if port, ok := strings.CutPrefix(strings.TrimSpace(line), "assumed hosts on ports without a neighbour: "); ok {
				assumed = append(assumed, port)
			}
		}
		if got := strings.Join(assumed, "; "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if !strings.Contains(messages.String(), "left out: spine0: ports without a neighbour get no host, because the switch connects switches: Ethernet200, Ethernet204") {
			t.Errorf("%s: %s", c.name, messages.String())
		}
		if text := command(t, 0, "check", dir); !strings.Contains(text, "switches: lossless; 0 errors") || !strings.Contains(text, "no loops of buffers") || !strings.Contains(text, "assumed hosts on ports without a neighbour: leaf0: ") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

// With as many spines as leaves and no hint, hosts are assumed everywhere. A loop that follows
// from them is not called lossless, and the report says how to name the hosts.
func TestSonicAmbiguousHosts(t *testing.T) {
	dir := leafSpine(t, 2, 2, 2, "")
	for _, name := range []string{"spine0", "spine1"} {
		editSwitch(t, dir, name, func(c switchConfig) { addPorts(c, "Ethernet200", "Ethernet204") })
	}
	text := command(t, 1, "check", dir)
	for _, want := range []string{"4 switches: NOT LOSSLESS: loops of buffers; 1 error", "spine0: Ethernet200, Ethernet204", "name the hosts of the others in DEVICE_NEIGHBOR"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}
