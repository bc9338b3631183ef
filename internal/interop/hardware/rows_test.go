package hardware

import (
	"strings"
	"testing"
)

const header = "id,group,asic,key,match,speed,cable_m,packet_size,margin,pkts_num_trig_pfc,pkts_num_trig_ingr_drp,pg_size,pg_xoff,dynamic_th,pfc_multi\n"

func TestRead(t *testing.T) {
	rows, err := Read("a.csv", strings.NewReader(header+"r1,g1,td3,topo-any,only,100000,300,,,60204, 60829 ,4608,160000,-2,20 10 5\nr2,g2,gb,any,none,400000,40,1350,20,,,,,,\n"))
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	r := rows[0]
	if r.Key != "any" || r.Frame != 64 || r.Margin != 2 || *r.PFC != 60204 || *r.Drop != 60829 || *r.Alpha != -2 || len(r.Turns) != 3 || r.Turns[2] != 5 || !r.Known() {
		t.Errorf("%+v", r)
	}
	if o := rows[1]; o.Frame != 1350 || o.Margin != 20 || o.PFC != nil || o.Known() {
		t.Errorf("%+v", o)
	}
}

// Every error has a location and the expected value.
func TestReadMistakes(t *testing.T) {
	line := func(s string) string { return header + s + "\n" }
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "a.csv:1:1: the file is empty (expected"},
		{"no rows", header, "a.csv:1:1: there are no measurements (expected"},
		{"no column", "id,group,asic,match,speed\nr1,g,td3,only,1\n", "a.csv:1:1: column cable_m is missing (expected id, group, asic, match, speed, cable_m)"},
		{"twice", "id,id\n", "a.csv:1:4: column id is repeated (expected once)"},
		{"words", line("r1,g1,td3,any,only,fast,300,,,,,,,,"), `a.csv:2:20: speed is "fast" (expected a whole number from 1 to 100000000)`},
		{"no speed", line("r1,g1,td3,any,only,,300,,,,,,,,"), "a.csv:2:20: speed is empty (expected a value in every line)"},
		{"exponent", line("r1,g1,td3,any,only,1,300,,,,,,,8,"), `a.csv:2:32: dynamic_th is "8" (expected a whole number from -8 to 7, or empty)`},
		{"negative", line("r1,g1,td3,any,only,1,300,,,-5,,,,,"), `a.csv:2:28: pkts_num_trig_pfc is "-5" (expected`},
		{"list", line("r1,g1,td3,any,only,1,300,,,,,,,,5 x"), `a.csv:2:33: pfc_multi is "x" (expected`},
		{"short", line("r1,g1"), "a.csv:2:1: wrong number of fields (expected comma-separated values"},
		{"quotes", line(`r1,"g1`), "extraneous or missing"},
		{"same id", header + strings.Repeat("r1,g1,td3,any,only,1,300,,,,,,,,\n", 2), `a.csv:3:1: id "r1" is repeated: it is already on line 2`},
		{"nonsense", "\x00\x01\xff garbage", "a.csv:1:1: column id is missing (expected"},
	} {
		if _, err := Read("a.csv", strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(header + "r1,g1,td3,any,only,100000,300,,,60204,60829,4608,160000,0,20 10 5\n")
	f.Add(builtin[:2000])
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := Read("a.csv", strings.NewReader(text))
		if (err == nil) == (len(rows) == 0) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for i := range rows {
			if _, err := newSetup(&rows[i]); err == nil && rows[i].Chip == "" {
				t.Fatal("a row without a chip")
			}
		}
	})
}
