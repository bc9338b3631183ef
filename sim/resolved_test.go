package sim_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// A resolved scenario is read and written again to the same bytes, and gives the same
// summary.
func TestResolved(t *testing.T) {
	cases := 25
	if testing.Short() {
		cases = 5
	}
	overrides := 0
	for i := range cases {
		c := drawCase(1000+i, 300)
		text, err := c.cfg.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := scenario.Parse("resolved.yaml", text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		again, err := back.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, again) {
			t.Fatalf("case %d was written as\n%s\nand the second time as\n%s", i, text, again)
		}
		if a, b := summaryOf(t, c.cfg), summaryOf(t, back); !bytes.Equal(a, b) {
			t.Fatalf("case %d: the summary is\n%s\nand the summary of the resolved scenario\n%s", i, a, b)
		}
		if len(back.Switch.Overrides)+len(back.Hosts.Overrides) > 0 {
			overrides++
		}
	}
	if overrides*4 < cases {
		t.Errorf("only %d of %d cases have overrides, want a quarter", overrides, cases)
	}
}

func summaryOf(t *testing.T, c *scenario.Config) []byte {
	t.Helper()
	built, err := fabric.New(c, fabric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sim.NewFast(built.Spec, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	end, err := engine.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := built.Outcome(end, engine.Totals(), engine.Final(), false).Summarize().Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
