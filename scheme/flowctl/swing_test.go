package flowctl

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// relayPort also records forwarded frames and their port.
type relayPort struct {
	*fakePort
	forwarded []packet.Packet
	to        int
}

func (p *relayPort) Relay(_ units.Time, port int, f *packet.Packet, _ packet.Ext) {
	p.to = port
	p.forwarded = append(p.forwarded, *f)
}

func newRelay(t *testing.T, side string) (*relayPort, Scheme) {
	t.Helper()
	p := &relayPort{fakePort: longPort(0b110), to: -1}
	p.spec.Ports = 2
	params := defaultSwing().(*SwingParams)
	params.Side, params.Xoff = side, 3000
	s, err := newSwing(params)
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// A pause from the switch blocks the port and goes to the other relay; a pause from the other
// relay only goes to the switch. This port is number 0, the other 1.
func TestSwingPassesOn(t *testing.T) {
	for side, blocked := range map[string]packet.ClassMask{"short": 0b010, "long": 0} {
		p, s := newRelay(t, side)
		g := s.Gate(p)
		g.Control(0, pfc(0b010, 0b010, 100), nil)
		if p.blocked != blocked || p.to != 1 || len(p.forwarded) != 1 || p.forwarded[0] != *pfc(0b010, 0b010, 100) {
			t.Errorf("%s: a PAUSE blocks %03b and forwards %+v to port %d", side, p.blocked, p.forwarded, p.to)
		}
		g.Control(0, pfc(0b010, 0, 0), nil)
		if p.blocked != 0 || len(p.forwarded) != 2 {
			t.Errorf("%s: a RESUME leaves %03b blocked, %d frames forwarded", side, p.blocked, len(p.forwarded))
		}
	}
}

// A cable that changes state ends the forwarded pauses that came over it, once.
func TestSwingWithdraws(t *testing.T) {
	for _, side := range []string{"short", "long"} {
		p, s := newRelay(t, side)
		g := s.Gate(p)
		g.Reset(0, false)
		g.Reset(0, true)
		if len(p.forwarded) != 0 {
			t.Errorf("%s: %+v is forwarded although nothing was paused", side, p.forwarded)
		}
		g.Control(0, pfc(0b110, 0b110, 100), nil)
		g.Control(0, pfc(0b100, 0, 0), nil)
		g.Reset(0, false)
		g.Reset(0, true)
		if p.blocked != 0 || len(p.forwarded) != 3 || p.forwarded[2] != *pfc(0b010, 0, 0) || p.to != 1 {
			t.Errorf("%s: %03b is blocked, forwarded %+v to port %d", side, p.blocked, p.forwarded, p.to)
		}
	}
}

// The switch is paused above 3000 B and resumes at 3000; the long side sends no pauses.
func TestSwingThreshold(t *testing.T) {
	for _, side := range []string{"short", "long"} {
		p, s := newRelay(t, side)
		r := s.Receiver(p).(*swingReceiver)
		a := &mmu.Arrival{Class: 1, Bytes: 1000, Kind: mmu.Lossless, Out: 1}
		for i := range 4 {
			if seg := r.Place(0, a); seg != mmu.Headroom {
				t.Fatalf("%s: placed in %s", side, seg)
			}
			p.ledger.Charge(a, mmu.Headroom)
			r.Charged(0, a, mmu.Headroom)
			if off := r.Paused() != 0; off != (side == "short" && i == 3) {
				t.Errorf("%s: with %d B, paused is %v", side, 1000*(i+1), off)
			}
		}
		p.ledger.Release(a)
		if r.Released(0, a); r.Paused() != 0 {
			t.Errorf("%s: paused with 3000 B", side)
		}
	}
}

// DELTA is 503,064 B; the long side has 1 MiB in addition. The short side has its threshold and
// PHI* = 500,000 + 3 x 1500 + 64.
func TestSwingBuffers(t *testing.T) {
	for side, want := range map[string]units.Bytes{"short": 2 * (3000 + 504_564), "long": 2 * (503_064 + 1_048_576)} {
		p, s := newRelay(t, side)
		if got := s.Reserve(&p.spec); got != want {
			t.Errorf("%s: %d B, want %d", side, got, want)
		}
	}
}

func TestSwingCheck(t *testing.T) {
	for _, c := range []struct {
		change func(*SwingParams, *link.Port)
		want   string
	}{
		{func(*SwingParams, *link.Port) {}, ""},
		{func(_ *SwingParams, p *link.Port) { p.Ports = 5 }, "a relay has two ports, and this switch has 5"},
		{func(_ *SwingParams, p *link.Port) { p.Host = true }, "a relay works between switches, and this is the port of a host (expected a two-port node"},
		{func(s *SwingParams, _ *link.Port) { s.Side, s.Buffer = "long", 503_063 }, "buffer is 503063 bytes (expected at least a bandwidth-delay product up to the switch behind the other relay, 503064 bytes)"},
		// The other relay is 50 us from its switch: 2 x 50 us are 1,250,000 B more, and 1 MiB is
		// not enough.
		{func(s *SwingParams, p *link.Port) { s.Side, p.Beyond = "long", 100*us }, "buffer is 1551640 bytes (expected at least a bandwidth-delay product up to the switch behind the other relay, 1753064 bytes)"},
		{func(s *SwingParams, p *link.Port) { s.Side, p.Beyond, s.Buffer = "long", 100*us, 1_753_064 }, ""},
		{func(s *SwingParams, p *link.Port) { s.Side, p.PeerPorts = "long", 5 }, "side is long, but the switch at the other end has 5 ports and is not a relay"},
		{func(s *SwingParams, p *link.Port) { s.Side, p.PeerPorts = "long", 2 }, ""},
		{func(_ *SwingParams, p *link.Port) { p.Through = 40 * units.Gbps }, "the cable to the switch runs at 100Gbps, faster than the long cable at 40Gbps (expected a cable to the switch that is not faster)"},
		{func(_ *SwingParams, p *link.Port) { p.Through = 100 * units.Gbps }, ""},
		{func(s *SwingParams, p *link.Port) { s.Side, p.Through = "long", 40*units.Gbps }, ""},
		{func(s *SwingParams, _ *link.Port) { s.Side, s.Buffer = "long", 1<<30 }, "buffer is 2147483648 bytes for all classes of a port (expected at most 2147483647)"},
	} {
		params, port := defaultSwing().(*SwingParams), longPort(0b110).spec
		port.Ports = 2
		c.change(params, &port)
		s, err := newSwing(params)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.Properties().Check(&port); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for want, change := range map[string]func(*SwingParams){
		"side is \"left\"": func(p *SwingParams) { p.Side = "left" }, "xoff is 0B": func(p *SwingParams) { p.Xoff = 0 }, "buffer is -1B": func(p *SwingParams) { p.Buffer = -1 },
	} {
		p := defaultSwing().(*SwingParams)
		change(p)
		if _, err := newSwing(p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
