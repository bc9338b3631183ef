package engine

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

func TestReadAddresses(t *testing.T) {
	b := built(t, incast)
	const leaf0 = 8
	where, err := ReadAddresses("map.yaml", []byte("leaf0.to-host3: 127.0.0.1:5003\nhost3.port0: '[::1]:5004'\n"), b.Graph)
	if err != nil {
		t.Fatal(err)
	}
	if where[sim.End{Node: leaf0, Port: 3}] != netip.MustParseAddrPort("127.0.0.1:5003") || where[sim.End{Node: 3}] != netip.MustParseAddrPort("[::1]:5004") {
		t.Errorf("%v", where)
	}
	if got := where.Missing(b.Graph, nil); got != "host0.to-leaf0" {
		t.Errorf("Missing returns %q", got)
	}
	here := make([]bool, 12)
	here[3] = true // needs only its own port and the port of its leaf
	if got := where.Missing(b.Graph, here); got != "" {
		t.Errorf("Missing returns %q", got)
	}
	for text, want := range map[string]string{
		"leaf0.to-host9: 127.0.0.1:5003":                                 "1:1: there is no port",
		"leaf0: 127.0.0.1:5003":                                          "there is no port",
		"leaf0.to-host3: 127.0.0.1":                                      "1:17: leaf0.to-host3: \"127.0.0.1\" is not an address",
		"leaf0.to-host3: localhost:5003":                                 "is not an address",
		"leaf0.to-host3: 127.0.0.1:0":                                    "is not an address",
		"leaf0.to-host3: [a]":                                            "expected ADDRESS:PORT",
		"leaf0.to-host3: 127.0.0.1:5003\nhost3.to-leaf0: 127.0.0.1:5003": "2:17: host3.to-leaf0: 127.0.0.1:5003 is also the address of leaf0.to-host3",
		"leaf0.to-host3: 127.0.0.1:5003\nleaf0.port3: 127.0.0.1:5004":    "under another name",
		"leaf0.to-host3: 127.0.0.1:5003\nleaf0.to-host3: 127.0.0.1:5004": "duplicate key",
		"- 127.0.0.1:5003":                                               "expected keys with values",
	} {
		if _, err := ReadAddresses("map.yaml", []byte(text), b.Graph); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestGenerated(t *testing.T) {
	b := built(t, incast)
	where, err := Generated(b.Spec, 5000)
	if err != nil || len(where) != 24 { // 8 + 2 x 2 cables
		t.Fatalf("%v, %v", where, err)
	}
	if c := b.Spec.Cables[2]; where[c.A].String() != "127.0.0.1:5004" || where[c.B].String() != "127.0.0.1:5005" {
		t.Errorf("%v", where)
	}
	for _, first := range []int{0, -1, 65535 - 22} {
		if _, err := Generated(b.Spec, first); err == nil {
			t.Errorf("first port %d is accepted", first)
		}
	}
	if _, err := Generated(b.Spec, 65535-23); err != nil {
		t.Error(err)
	}
}

// TestUnfinishedHere checks that a process with some of the nodes waits only for flows of its own
// hosts.
func TestUnfinishedHere(t *testing.T) {
	cfg, err := scenario.Parse("live.yaml", []byte(incast))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []int{-1, 1, 2} {
		here := make([]bool, 12)
		flows := 0
		if host >= 0 {
			here[host] = true
		}
		b, err := fabric.New(cfg, fabric.Options{Here: here})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Flows.Flow {
			if int(f.Src) == host {
				flows++
			}
		}
		if n, _ := b.Unfinished(b.Spec.Until); n != flows || b.Spec.Done != nil {
			t.Errorf("host %d: waits for %d flows, want %d", host, n, flows)
		}
	}
}
