package sonic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
)

// small is a switch with one lossless priority group, in nested form.
const small = `{
  "DEVICE_METADATA": {"localhost": {"hostname": "one", "hwsku": "Arista-7050CX3-32S-C32"}},
  "PORT": {"Ethernet12": {"speed": "100000", "lanes": "1,2,3,4", "admin_status": "up"}, "Ethernet4": {"speed": "25000", "mtu": "1500"}},
  "CABLE_LENGTH": {"AZURE": {"Ethernet12": "40m", "Ethernet4": "5m"}},
  "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "1000000", "xoff": "200000"}},
  "BUFFER_PROFILE": {"lossless": {"pool": "ingress_lossless_pool", "size": "512", "xon": "512", "xoff": "50000", "dynamic_th": "-1"}},
  "BUFFER_PG": {"Ethernet4,Ethernet12|3-4": {"profile": "lossless"}},
  "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.0.0.1/32": {}},
  "BGP_NEIGHBOR": {"10.0.0.1": {"admin_status": ["a", {"b": 1}]}}
}`

func parsed(t *testing.T, text string) *Switch {
	t.Helper()
	s, err := Parse("config_db.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNested(t *testing.T) {
	s := parsed(t, small)
	if len(s.Ports) != 2 || s.Ports[0].Name != "Ethernet4" || s.Ports[1].Name != "Ethernet12" {
		t.Fatalf("ports: %+v", s.Ports)
	}
	p := s.Ports[1]
	if p.Speed != 100*units.Gbps || p.Lanes != 4 || p.MTU != 9100 || !p.Up || p.Cable.Metres != 40 || s.Ports[0].MTU != 1500 {
		t.Errorf("port: %+v", p)
	}
	if p.PG[2] != nil || p.PG[3] == nil || p.PG[4] == nil || p.PG[3].Profile.Xoff != 50000 || p.PG[3].Profile.Pool != s.Pools[0] {
		t.Errorf("priority groups: %+v", p.PG)
	}
	if len(s.Mistakes) != 0 || !reflect.DeepEqual(s.Unread, []string{"LOOPBACK_INTERFACE", "BGP_NEIGHBOR"}) {
		t.Errorf("mistakes %v, unread %v", s.Mistakes, s.Unread)
	}
}

// The same switch in flat form, and as a list of parts with brackets and blanks.
func TestForms(t *testing.T) {
	for name, text := range map[string]string{
		"flat": `{"DEVICE_METADATA|localhost": {"hostname": "one", "hwsku": "Arista-7050CX3-32S-C32"},
			"PORT|Ethernet12": {"speed": "100000", "lanes": "1,2,3,4", "admin_status": "up"}, "PORT|Ethernet4": {"speed": "25000", "mtu": "1500"},
			"CABLE_LENGTH|AZURE": {"Ethernet12": "40m", "Ethernet4": "5m"},
			"BUFFER_POOL|ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "1000000", "xoff": "200000"},
			"BUFFER_PROFILE|lossless": {"pool": "ingress_lossless_pool", "size": "512", "xon": "512", "xoff": "50000", "dynamic_th": "-1"},
			"BUFFER_PG|Ethernet4|3-4": {"profile": "lossless"}, "BUFFER_PG|Ethernet12|3-4": {"profile": "lossless"}}`,
		"parts": `[{"PORT": {"Ethernet4": {"speed": "25000"}}}, {"PORT": {"Ethernet4": {"mtu": "1500"},
			"Ethernet12": {"speed": "100000", "lanes": "1,2,3,4", "admin_status": "up"}}},
			{"CABLE_LENGTH": {"AZURE": {"Ethernet12": "40m"}}}, {"CABLE_LENGTH": {"AZURE": {"Ethernet4": "5m"}}},
			{"BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "1000000", "xoff": "200000"}},
			"BUFFER_PROFILE": {"lossless": {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "size": "512", "xon": "512", "xoff": "50000", "dynamic_th": "-1"}},
			"BUFFER_PG": {" Ethernet4 | 3 - 4 ": {"profile": " [BUFFER_PROFILE| lossless ] "}, "Ethernet12|3": {"profile": "[BUFFER_PROFILE|lossless]"},
			"Ethernet12|4": {"profile": "[BUFFER_PROFILE|lossless]"}}}]`,
	} {
		a, b := parsed(t, small), parsed(t, text)
		if len(b.Mistakes) != 0 || len(a.Ports) != len(b.Ports) {
			t.Fatalf("%s: mistakes %v, %d ports", name, b.Mistakes, len(b.Ports))
		}
		for i := range a.Ports {
			p, q := a.Ports[i], b.Ports[i]
			if p.Name != q.Name || p.Speed != q.Speed || p.MTU != q.MTU || p.Lanes != q.Lanes || p.Cable.Metres != q.Cable.Metres {
				t.Errorf("%s: %+v, want %+v", name, q, p)
			}
			for g := range Classes {
				if (p.PG[g] == nil) != (q.PG[g] == nil) || p.PG[g] != nil && p.PG[g].Profile.Xoff != q.PG[g].Profile.Xoff {
					t.Errorf("%s: %s|%d: %+v", name, p.Name, g, q.PG[g])
				}
			}
		}
	}
}

// Entries that a switch would reject or read differently are recorded as mistakes.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		old, new string
		kind     MistakeKind
		want     string
	}{
		{`"50000"`, `" 50000"`, Unportable, `BUFFER_PROFILE: lossless: xoff: the number " 50000" has blanks`},
		{`|3-4"`, `|4-3"`, Malformed, `BUFFER_PG: Ethernet4,Ethernet12|4-3: the range 4-3 does not increase`},
		{`|3-4"`, `|3-3"`, Malformed, `the range 3-3 does not increase`},
		{`"Ethernet4,Ethernet12|3-4"`, `"Ethernet4|3": {"profile": "lossless"}, "Ethernet4|3-4"`, Malformed, `Ethernet4|3 also covers Ethernet4|3`},
		{`"profile": "lossless"`, `"profile": "[BUFFER_PROFILE|lossless]"`, Unportable, `brackets`},
		{`"profile": "lossless"`, `"profile": "lossfree"`, Dangling, `BUFFER_PG: Ethernet4,Ethernet12|3-4: profile: refers to lossfree, but BUFFER_PROFILE has no lossfree`},
		{`"Ethernet4,Ethernet12|3-4"`, `"Ethernet5|3-4"`, Dangling, `table PORT has no port "Ethernet5"`},
		{`"dynamic_th": "-1"`, `"dynamic_th": "8"`, Dangling, `dynamic_th: 8 is out of range (expected -8 to 7)`},
		{`"mode": "dynamic", `, ``, Dangling, `has no mode`},
		{`{"profile": "lossless"}`, `{}`, Dangling, `BUFFER_PG: Ethernet4,Ethernet12|3-4: has no profile`},
		{`{"profile": "lossless"}`, `{"profile": " "}`, Dangling, `has no profile`},
	} {
		s := parsed(t, strings.Replace(small, c.old, c.new, 1))
		if len(s.Mistakes) == 0 {
			t.Errorf("%s: no mistake", c.new)
			continue
		}
		m := s.Mistakes[0]
		if got := m.Location.String() + ": " + m.What; m.Kind != c.kind || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.new, got)
		}
	}
}

// Errors name file, table, key and field, or line and column.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "config_db.json: line 1, column 1: the file ends early"},
		{`7`, "a number is not a configuration"},
		{`[7]`, "a number is not a part of a configuration"},
		{`{"PORT": 3}`, "PORT is a number (expected a mapping)"},
		{`{"PORT": {"Ethernet0": "x"}}`, "PORT: Ethernet0 is a string (expected a mapping of fields)"},
		{`{"PORT": {"Ethernet0": {"speed": 100000}}}`, "config_db.json: PORT: Ethernet0: speed: value is a number (expected a string)"},
		{`{"PORT": {"Ethernet0": {"speed": "fast"}}}`, `PORT: Ethernet0: speed: "fast" is not a whole number (expected 1 to `},
		{`{"PORT": {"Ethernet0": {"speed": "99999999999999999999"}}}`, `is not a whole number`},
		{`{"PORT": {"Ethernet0": {}}, "CABLE_LENGTH": {"A": {"Ethernet0": "long"}}}`, `CABLE_LENGTH: A: Ethernet0: "long" is not a cable length (expected whole metres`},
		{`{"PORT": {"Ethernet0": {}}, "BUFFER_PG": {"Ethernet0|9": {}}}`, `BUFFER_PG: Ethernet0|9: "9" is not an index (expected 0 to 7`},
		{`{"PORT": {"Ethernet0": {}}, "BUFFER_PG": {"Ethernet0": {}}}`, `malformed key (expected PORT|INDEX`},
		{`{"DSCP_TO_TC_MAP": {"A": {"64": "1"}}}`, `not a key of this map (expected 0 to 63)`},
		{"{\"PORT\": {\n \"Ethernet0\": {\"speed\": ", "line 2, column "},
		{"{\"PORT\": {\"Ethernet0\\nx: y\": {}}}", "a name has a control character"},
		{`{"PORT": {}} x`, "text after the end"},
		{`{"X": ` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}", "exceeded max depth"},
		{`{"PORT": {"Ethernet0": {"speed": ["100000"]}}}`, "speed: value is a list (expected a string)"},
		{`{"PORT": {"Ethernet0": {"speed" : {"a": "b"}}}}`, "speed: value is a mapping (expected a string)"},
		{`{"PORT": {"Ethernet0": {"speed": [1, }}`, "not valid JSON"},
		{`{"X": [1, 2`, "the file ends early"},
		{`{"CABLE_LENGTH": {"A": {"x": 7}}}`, "CABLE_LENGTH: A: x: value is a number (expected a string)"},
		{`{"DSCP_TO_TC_MAP": {"A": {"6": true}}}`, "A: 6: value is a boolean (expected a string)"},
	} {
		_, err := Parse("config_db.json", []byte(c.text))
		var in *yaml.InputError
		if !errors.As(err, &in) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", shorten(c.text), err)
		}
	}
}

// Files beyond the limits are rejected before they take time.
func TestTooMuch(t *testing.T) {
	many := func(n int, entry func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(entry(i))
		}
		return b.String()
	}
	for _, c := range []struct{ text, want string }{
		{`{"` + strings.Repeat("x", maxName+1) + `": {}}`, "a name has 65537 bytes (expected at most 65536)"},
		{"[" + many(maxParts+1, func(int) string { return "{}" }) + "]", "more than 4096 parts"},
		{"{" + many(maxTables+1, func(i int) string { return fmt.Sprintf(`"T%d": {}`, i) }) + "}", "more than 4096 tables"},
		{`{"PORT": {` + many(maxNamed+1, func(i int) string { return fmt.Sprintf(`"E%d": {}`, i) }) + "}}", "PORT has more than 4096 entries"},
		{"{" + many(maxRows+1, func(i int) string { return fmt.Sprintf(`"QUEUE|E%d|3": {}`, i) }) + "}", "QUEUE has more than 65536 entries"},
		{`{"CABLE_LENGTH": {"A": {` + many(maxFields+1, func(i int) string { return fmt.Sprintf(`"E%d": "5m"`, i) }) + "}}}", "CABLE_LENGTH: A has more than 8192 fields"},
	} {
		if _, err := Parse("config_db.json", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", shorten(c.text), err)
		}
	}
	if _, err := ParseLookup("rows.ini", strings.Repeat("100000 5m 1 1 1 1\n", maxRows+1)); err == nil || !strings.Contains(err.Error(), "line 65537: more than 65536 rows") {
		t.Error(err)
	}
	if _, err := ParseCables("cables", strings.Repeat("a,b,c,d\n", maxRows+1)); err == nil || !strings.Contains(err.Error(), "more than 65536 cables") {
		t.Error(err)
	}
	large := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 100_000_000); err != nil { // a sparse file
		t.Fatal(err)
	}
	for _, err := range []error{
		second(Read([]string{large})), second(ReadLookup(large)), second(ReadCables(large)),
	} {
		if err == nil || !strings.Contains(err.Error(), "large.json: file is larger than 32 MiB (expected ") {
			t.Error(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Queues of other switches of a chassis are counted and otherwise ignored.
func TestVirtualOutputQueues(t *testing.T) {
	s := parsed(t, `{"DEVICE_METADATA": {"localhost": {"hostname": "lc1", "asic_name": "Asic0", "switch_type": "voq"}},
		"PORT": {"Ethernet0": {"speed": "400000"}},
		"BUFFER_POOL": {"p": {"type": "both", "mode": "dynamic", "size": "9"}}, "BUFFER_PROFILE": {"q": {"pool": "p", "size": "0", "dynamic_th": "-1"}},
		"BUFFER_QUEUE": {"lc1|asic0|Ethernet0|0-2": {"profile": "q"}, "lc2|asic0|Ethernet0|0-2": {"profile": "q"}, "lc1|Asic1|Ethernet0|3": {"profile": "q"}}}`)
	if s.RemoteQueues != 2 || s.Ports[0].Queue[2] == nil || s.Ports[0].Queue[3] != nil || len(s.Mistakes) != 0 || !s.Pools[0].Ingress || !s.Pools[0].Egress {
		t.Errorf("%d remote queues, queues %v, mistakes %v", s.RemoteQueues, s.Ports[0].Queue, s.Mistakes)
	}
}

func TestLookup(t *testing.T) {
	l, err := ParseLookup("x.ini", "# speed cable\n\n 10000 5m 56368 18432 55120 -3\n100000   40m  1248 2288  177632 0 2288\n")
	if err != nil || len(l.Rows) != 2 {
		t.Fatal(l, err)
	}
	if r, ok := l.Find(100*units.Gbps, "40m"); !ok || r != (LookupRow{100 * units.Gbps, "40m", 1248, 2288, 177632, 0, 2288}) {
		t.Errorf("%+v", r)
	}
	if _, ok := l.Find(100*units.Gbps, "5m"); ok {
		t.Error("found a row for a missing cable")
	}
	for text, want := range map[string]string{
		"1 5m 3": "x.ini: line 1: 3 columns (expected 6 or 7", "1 5m a 1 1 1": `"a" is not a number`, "1 5 1 1 1 1": `"5" is not a cable length`, "\n0 5m 1 1 1 1": "line 2: ",
	} {
		if _, err := ParseLookup("x.ini", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if l, err := ParseLookup("x.ini", ""); err != nil || len(l.Rows) != 0 {
		t.Errorf("empty file: %v, %v", l, err)
	}
}

// Reads a folder of switches with lookup files, their neighbours, and parts of a switch.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("all/b/config_db.json", `{"PORT": {"Ethernet0": {"alias": "e1"}, "Ethernet4": {}}, "DEVICE_NEIGHBOR": {"Ethernet4": {"name": "storage7", "port": "eth0"}}}`)
	write("all/b/"+LookupName, "\ufeff100000 40m 1248 2288 177632 0 2288\n")
	write("all/a.json", "\ufeff"+`{"PORT": {"Ethernet8": {}}, "LLDP_ENTRY_TABLE:Ethernet8": {"lldp_rem_sys_name": "b", "lldp_rem_port_id": "e1"}}`)
	list, err := Read([]string{filepath.Join(dir, "all")})
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[1].Name != "b" || list[0].Lookup != nil || len(list[1].Lookup.Rows) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	wires, err := Wires([]*Switch{list[0].Switch, list[1].Switch}, nil)
	if err != nil || len(wires) != 1 || wires[0].A.String() != "a Ethernet8" || wires[0].B.String() != "b Ethernet0" {
		t.Errorf("%v, %v", wires, err)
	}
	cables, err := ParseCables("cables.csv", "# by hand\na,Ethernet8,b,Ethernet4,30m\n")
	if err != nil {
		t.Fatal(err)
	}
	wires, err = Wires([]*Switch{list[0].Switch, list[1].Switch}, cables)
	if err != nil || len(wires) != 1 || wires[0].B.String() != "b Ethernet4" || wires[0].Metres != 30 {
		t.Errorf("%v, %v", wires, err)
	}
	for text, want := range map[string]string{
		"a,Ethernet8,c,Ethernet0": `unknown switch "c"`, "a,Ethernet9,b,Ethernet0": `a has no port "Ethernet9"`, "a,b": "2 columns",
		"a,Ethernet8,a,Ethernet8": "cabled to itself", "a,Ethernet8,b,Ethernet0\na,Ethernet8,b,Ethernet4": "already cabled to another port", "a,Ethernet8,b,e1,9": "not a cable length",
	} {
		cables, err := ParseCables("cables.csv", text)
		if err == nil {
			_, err = Wires([]*Switch{list[0].Switch, list[1].Switch}, cables)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	qos := write("qos.json", `{"DSCP_TO_TC_MAP": {"A": {"3": "3"}}}`)
	list, err = Read([]string{qos, filepath.Join(dir, "all", "a.json")})
	if err != nil || len(list) != 1 || len(list[0].Maps[dscpTable]) != 1 {
		t.Errorf("parts: %v, %v", list, err)
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{qos}, "no table PORT"},
		{[]string{qos, filepath.Join(dir, "all")}, "any of 2 switches"},
		{[]string{filepath.Join(dir, "missing.json")}, "file not found"},
		{[]string{dir + "/all/b/../b", dir + "/all/b"}, "already the name of the switch in "},
	} {
		if _, err := Read(c.paths); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.paths, err)
		}
	}
}

// Tables may be wrapped in namespaces. Each chip of a switch is read as a switch, with the
// metadata of localhost.
func TestNamespaces(t *testing.T) {
	s := parsed(t, `{"localhost": `+small+`}`)
	if want := parsed(t, small); len(s.Ports) != len(want.Ports) || s.Ports[0].PG[3] == nil || len(s.Unread) != len(want.Unread) {
		t.Errorf("%d ports, unread %v", len(s.Ports), s.Unread)
	}
	file := filepath.Join(t.TempDir(), "chassis.json")
	text := `{"localhost": {"DEVICE_METADATA": {"localhost": {"hostname": "lc1", "hwsku": "Force10-S6100"}}, "FEATURE": {}},
		"asic1": {"PORT": {"Ethernet8": {"speed": "100000"}}}, "asic0": {"DEVICE_METADATA": {"localhost": {"asic_name": "asic0"}}, "PORT": {"Ethernet0": {}, "Ethernet4": {}}}}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := Read([]string{file})
	if err != nil || len(list) != 2 || list[0].Name != "lc1-asic0" || list[1].Name != "lc1-asic1" || list[0].SKU != "Force10-S6100" || len(list[0].Ports) != 2 || len(list[1].Ports) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := Parse("x.json", []byte(`{"asic0": {"PORT": {"Ethernet0": {"speed": "fast"}}}}`)); err == nil || !strings.Contains(err.Error(), "x.json: asic0: PORT: Ethernet0: speed:") {
		t.Error(err)
	}
	if _, err := Parse("x.json", []byte(text)); err == nil || !strings.Contains(err.Error(), "2 chips (expected the configuration of one)") {
		t.Error(err)
	}
	if _, err := Parse("x.json", []byte(`{"asic0": []}`)); err == nil || !strings.Contains(err.Error(), "asic0 is a list (expected a mapping of tables)") {
		t.Error(err)
	}
}

// A table, entry or field that appears twice is an error with both places, also if one is in
// flat form or in localhost. Parts of a list may repeat tables, and chips of a switch have their own.
func TestDuplicates(t *testing.T) {
	for text, want := range map[string]string{
		"{\"PORT\": {},\n \"X\": {},\n \"PORT\": {}}":                      "duplicate table PORT: line 1, column 8 and line 3, column 8 (expected once)",
		"{\"X\": {},\n \"X\": {}}":                                         "duplicate table X: line 1, column 5 and line 2, column 5 (expected once)",
		"{\"PORT\": {\"Ethernet0\": {},\n\"Ethernet0\": {}}}":              "duplicate entry PORT|Ethernet0: line 1, column 22 and line 2, column 12 (expected once)",
		"{\"PORT|Ethernet0\": {},\n \"PORT|Ethernet0\": {}}":               "duplicate entry PORT|Ethernet0: line 1, ",
		"{\"localhost\": {\"PORT\": {},\n \"PORT\": {}}}":                  "duplicate table PORT: line 1, ",
		"{\"asic0\": {},\n \"asic0\": {}}":                                 "duplicate table asic0: line 1, ",
		`{"PORT|Ethernet0": {}, "PORT": {"Ethernet0": {}}}`:                "duplicate entry PORT|Ethernet0: line 1, column 18 and line 1, column 44 (expected once)",
		`{"PORT": {}, "localhost": {"PORT": {}}}`:                          "duplicate table PORT: line 1, column 8 and line 1, column 34 (expected once)",
		`{"localhost": {"PORT": {"Ethernet0": {}}}, "PORT|Ethernet0": {}}`: "duplicate entry PORT|Ethernet0: line 1, ",
		`{"PORT": {"Ethernet0": {"speed": "1000", "speed": "2000"}}}`:      "duplicate field PORT|Ethernet0: speed: line 1, column 32 and line 1, column 49 (expected once)",
	} {
		if _, err := Parse("x.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		`[{"PORT": {"Ethernet0": {}}}, {"PORT": {"Ethernet0": {"speed": "1000"}}}]`,
		`{"localhost": {"CABLE_LENGTH": {}}, "PORT|Ethernet0": {}, "PORT": {"Ethernet4": {}}}`,
		`{"localhost": {"DEVICE_METADATA": {}}, "asic0": {"DEVICE_METADATA": {}, "PORT": {"Ethernet0": {}}}}`,
	} {
		if _, err := Parse("x.json", []byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNatural(t *testing.T) {
	names := []string{"Ethernet12", "Ethernet4", "Ethernet04", "Ethernet", "b", "a10b2", "a10b10", "a9"}
	SortNatural(names)
	if got := strings.Join(names, " "); got != "Ethernet Ethernet04 Ethernet4 Ethernet12 a9 a10b2 a10b10 b" {
		t.Error(got)
	}
}

// No input panics, and memory is proportional to the input.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(`[{"PORT|Ethernet0":{"speed":"1"}},{"QUEUE":{"Ethernet0|0-15":{"scheduler":"[SCHEDULER|a]"}}}]`))
	f.Add([]byte(`{"PFC_WD":{"GLOBAL":{"POLL_INTERVAL":"1"}},"WRED_PROFILE":{"a":{"ecn":"ecn_all"}}}`))
	td3, spc3 := chipNamed("td3"), chipNamed("spc3")
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, c := range []struct {
			name   string
			memory units.Bytes
		}{{"td3", 0}, {"spc3", 1 << 20}} {
			s, err := Parse("f.json", text)
			if err != nil {
				return
			}
			if len(s.Mistakes) > maxMistakes {
				t.Fatalf("%d mistakes", len(s.Mistakes))
			}
			is := &td3
			if c.name == "spc3" {
				is = &spc3
			}
			done := Complete(s, is, nil, c.memory)
			done.EachLossless(func(p *Port, _ int, profile *Profile) { done.ThresholdsOf(p, profile) })
		}
	})
}
