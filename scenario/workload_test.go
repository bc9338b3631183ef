package scenario

import (
	"testing"

	"github.com/xoff-net/xoff/workload"
)

// TestSameGenerator checks that selecting the present generator keeps its parameters, and that
// another one starts with its defaults.
func TestSameGenerator(t *testing.T) {
	text := []byte("workload: [{name: a, generator: incast, senders: 3, size: 1KB}]")
	cfg, err := Parse("a.yaml", text, "workload.a.generator=incast")
	if err != nil {
		t.Fatal(err)
	}
	if g := cfg.Workload[0].Params.(*workload.Incast); g.Senders != 3 || g.Size != 1000 {
		t.Errorf("%+v", g)
	}
	if cfg, err = Parse("a.yaml", text, "workload.a.generator=long_lived"); err != nil {
		t.Fatal(err)
	}
	if g := cfg.Workload[0].Params.(*workload.LongLived); g.Streams != 1 {
		t.Errorf("%+v", g)
	}
}
