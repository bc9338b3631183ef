package htsim

import (
	"bytes"
	"errors"
	"testing"

	"github.com/xoff-net/xoff/internal/yaml"
)

func inputError(t *testing.T, err error) {
	if in := (*yaml.InputError)(nil); !errors.As(err, &in) {
		t.Fatalf("%T: %v", err, err)
	}
}

// A matrix without errors is written and read again as the same text.
func FuzzCM(f *testing.F) {
	f.Add([]byte(matrix))
	f.Add([]byte("Nodes 4\nConnections 2\nTriggers 1\n1->2 id 2 trigger 1 size 1 send_done_trigger 1\n0->1 start 1e3 size 5\ntrigger id 1 multishot"))
	f.Fuzz(func(t *testing.T, data []byte) {
		traffic, err := ReadTraffic("f", bytes.NewReader(data))
		if err != nil {
			inputError(t, err)
			return
		}
		text := write(t, traffic)
		again, err := read(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if write(t, again) != text {
			t.Fatalf("two round trips differ:\n%s", text)
		}
	})
}

// The switches of a topology without errors have as many links as the tiers below them.
func FuzzTopo(f *testing.F) {
	f.Add([]byte(leafSpine))
	f.Add([]byte(threeTiers))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadTopology("f", bytes.NewReader(data))
		if err != nil {
			inputError(t, err)
			return
		}
		n := [4]int{p.Nodes, p.ToRs, p.Aggs, p.Cores}
		for i, tier := range p.Tiers {
			up := 1
			if i > 0 {
				up = p.Tiers[i-1].RadixUp
			}
			if n[i]*up != n[i+1]*tier.RadixDown {
				t.Fatalf("tier %d: %d nodes below, %d switches: %+v", i, n[i], n[i+1], p)
			}
		}
	})
}
