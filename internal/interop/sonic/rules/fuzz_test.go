package rules

import (
	"os"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// Every readable configuration can be checked, on chips of every family.
func FuzzJudge(f *testing.F) {
	data, err := os.ReadFile("testdata/sound.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, uint8(0))
	f.Add([]byte(strings.ReplaceAll(string(data), `"traditional"`, `"dynamic"`)), uint8(14))
	for _, c := range broken {
		text := string(data)
		for i := 0; i < len(c.edit); i += 2 {
			text = strings.Replace(text, c.edit[i], c.edit[i+1], 1)
		}
		f.Add([]byte(text), uint8(3))
	}
	f.Add([]byte(`{"PORT":{"E":{"speed":"1"}},"PORT_QOS_MAP":{"E":{"pfc_enable":"0,7"}},"BUFFER_PG":{"E|0-7":{"profile":"NULL"}}}`), uint8(15))
	list := chips.Modelled()
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		s, err := sonic.Parse("f.json", text)
		if err != nil {
			return
		}
		r := Judge(sonic.Complete(s, &list[int(which)%len(list)], nil, 0))
		for _, x := range r.Findings {
			if x.What == "" || len(x.Keys) == 0 {
				t.Fatalf("%+v", x)
			}
		}
	})
}
