package convert

import (
	"os"
	"testing"

	"github.com/xoff-net/xoff/internal/analysis/chips"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/scenario"
)

// A readable configuration gives an error or a valid scenario.
func FuzzScenario(f *testing.F) {
	data, err := os.ReadFile("../rules/testdata/sound.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, uint8(1))
	f.Add(data, uint8(9))
	list := chips.Modelled()
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		s, err := sonic.Parse("f.json", text)
		if err != nil {
			return
		}
		done := sonic.Complete(s, &list[int(which)%len(list)], nil, 0)
		made, err := Scenario("fuzzed", []*sonic.Completed{done}, nil)
		if err != nil {
			return
		}
		if _, err := scenario.Parse("made.yaml", made.Text); err != nil {
			t.Fatalf("%v\n%s", err, made.Text)
		}
	})
}
