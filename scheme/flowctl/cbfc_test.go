package flowctl

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/link"
	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// creditBench has both ends of a link with one class: frames of 1500 B are 24 blocks.
type creditBench struct {
	*fakePort
	recv *cbfcReceiver
	gate *cbfcGate
	t    *testing.T
	now  units.Time
}

func newCreditBench(t *testing.T, change func(*CBFCParams)) *creditBench {
	t.Helper()
	params := defaultCBFC().(*CBFCParams)
	change(params)
	s, err := newCBFC(params)
	if err != nil {
		t.Fatal(err)
	}
	p, peer := longPort(0b010), longPort(0b010)
	peer.spec.PeerGrant = s.Properties().Grant(&p.spec)
	return &creditBench{p, s.Receiver(p).(*cbfcReceiver), s.Gate(peer).(*cbfcGate), t, 0}
}

// send sends a frame if the gate allows it; lost: it does not arrive.
func (b *creditBench) send(may, lost bool) {
	b.t.Helper()
	if got := b.gate.May(b.now, 1, 1500); got != may {
		b.t.Fatalf("%d of %d blocks sent: may send is %v", b.gate.sent[1], b.gate.limit[1], got)
	}
	if !may {
		return
	}
	b.gate.Sent(b.now, 1, 1500)
	if lost {
		return
	}
	a := &mmu.Arrival{Class: 1, Bytes: 1500, Kind: mmu.Lossless, Out: 1}
	if s := b.recv.Place(b.now, a); s != mmu.Headroom {
		b.t.Fatalf("placed in %s", s)
	}
	b.ledger.Charge(a, mmu.Headroom)
	b.recv.Charged(b.now, a, mmu.Headroom)
}

func (b *creditBench) leave() {
	a := &mmu.Arrival{Class: 1, Bytes: 1500, Kind: mmu.Lossless, Out: 1}
	b.ledger.Release(a)
	b.requested = false
	b.recv.Released(b.now, a)
}

// update passes the receiver's next frame to the gate and expects a limit; -1: no frame.
func (b *creditBench) update(limit int64) {
	b.t.Helper()
	var f packet.Packet
	ext, ok := b.recv.Frame(b.now, &f, nil)
	switch {
	case ok != (limit >= 0):
		b.t.Fatalf("update sent: %v", ok)
	case !ok:
		return
	case f.Kind() != packet.Feedback || f.Class() != 1 || f.Size != 64 || int64(ext[0]) != limit:
		b.t.Errorf("update %+v has limit %d, want %d", f, ext, limit)
	}
	b.gate.Control(b.now, &f, ext)
	if _, more := b.recv.Frame(b.now, &f, nil); more {
		b.t.Error("a second update of the class")
	}
}

// resync passes the gate's counter to the receiver.
func (b *creditBench) resync() {
	b.t.Helper()
	b.gate.Wake(b.now, 0)
	var f packet.Packet
	ext, ok := b.gate.Frame(b.now, &f, nil)
	if !ok || f.Kind() != packet.Request || f.Class() != 1 {
		b.t.Fatalf("frame of the gate: %v, %+v", ok, f)
	}
	b.recv.Control(b.now, &f, ext)
}

// 4800 B are 75 blocks: three frames of 24, and 3 spare.
func TestCBFCByHand(t *testing.T) {
	b := newCreditBench(t, func(p *CBFCParams) { p.Buffer = 4800 })
	b.update(-1) // the first credits came before traffic
	b.send(true, false)
	b.send(true, false)
	b.send(true, false)
	b.send(false, false)
	b.leave()
	b.update(-1) // InfiniBand waits for the period
	b.recv.Wake(30*us, 0)
	b.update(99) // 72 received, 75 - 48 free
	b.send(true, false)
	b.send(false, false)
	values := make([]float64, 2)
	if b.recv.Measure(0, 0, 1, values); values[0] != 72*64 || values[1] != 99 {
		t.Errorf("gauges of the receiver: %v", values)
	}
	if b.gate.Measure(0, 0, 1, values); values[0] != 3 { // 99 - 96
		t.Errorf("gauges of the gate: %v", values)
	}
}

// A lost frame loses 24 blocks of credit until the counters are compared. A lost update is
// replaced by the next one.
func TestCBFCRecoversFromLoss(t *testing.T) {
	b := newCreditBench(t, func(p *CBFCParams) { p.Buffer = 4800 })
	b.send(true, true)
	b.send(true, false)
	b.leave()
	b.recv.Wake(30*us, 0)
	b.update(99) // 24 received, 75 free, but 48 sent
	b.resync()
	b.recv.Wake(60*us, 0)
	if _, ok := b.recv.Frame(60*us, new(packet.Packet), nil); !ok { // lost
		t.Fatal("no update")
	}
	b.recv.Wake(90*us, 0)
	b.update(123) // 48 + 75
	b.send(true, false)
	b.send(true, false)
	b.send(true, false)
	b.send(false, false)
}

// With 12 bits at most 2048 blocks are granted, and counters wrap at 4096.
func TestCBFCWraps(t *testing.T) {
	b := newCreditBench(t, func(p *CBFCParams) { p.Buffer, p.Field = 300_000, "12bit" })
	for i := range 500 { // 12,000 blocks
		b.send(true, false)
		b.leave()
		b.recv.Wake(units.Time(i+1)*30*us, 0)
		b.update((int64(i+1)*24 + 2048) % 4096)
	}
	for range 85 { // 2048 / 24 = 85.3
		b.send(true, false)
	}
	b.send(false, false)
}

// Ultra Ethernet sends credits as soon as 48 new blocks are free.
func TestCBFCOfUltraEthernet(t *testing.T) {
	b := newCreditBench(t, func(p *CBFCParams) { p.Form, p.Buffer, p.After = "uec", 4800, 48*64 })
	b.send(true, false)
	b.send(true, false)
	b.send(true, false)
	b.leave()
	if b.requested {
		t.Error("24 blocks are announced at once")
	}
	b.leave()
	if !b.requested {
		t.Error("48 blocks are not announced")
	}
	b.update(123) // 72 received, 75 - 24 free
}

// At 100 Gbps and 20 us each way 503,064 B are in flight; 12 bits announce at most 131,072.
func TestCBFCCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*CBFCParams, *link.Port)
		want   string
	}{
		{"default", func(*CBFCParams, *link.Port) {}, ""},
		{"12 bits", func(p *CBFCParams, _ *link.Port) { p.Field = "12bit" }, "field is 12bit, which allows 131072 bytes in flight, but a round trip needs 503064 (expected ideal, or a cable of at most 5.12032us one way)"},
		// A peer with 307.2 ns of processing, 3840 B: 40 us less 375,832 B (30.06656 us) are
		// 9.93344 us without it.
		{"12 bits, slow", func(p *CBFCParams, s *link.Port) { p.Field, s.PFC.Processing = "12bit", 307200 }, "field is 12bit, which allows 131072 bytes in flight, but a round trip needs 506904 (expected ideal, or a cable of at most 4.96672us one way)"},
		{"12 bits, 1 km", func(p *CBFCParams, s *link.Port) { p.Field, s.DelayIn, s.DelayOut = "12bit", 5*us, 5*us }, ""},
		{"less than two frames", func(p *CBFCParams, _ *link.Port) { p.Buffer = 2999 }, "buffer is 2944 bytes (expected two frames, 3000 bytes, or more)"},
		{"2 GiB", func(p *CBFCParams, s *link.Port) { p.Buffer, s.Lossless = 1<<30, 6 }, "buffer is 2147483648 bytes for all classes of a port (expected at most 2147483647)"},
		{"many updates", func(p *CBFCParams, s *link.Port) { p.Period, s.Lossless = 100*ns, 0xfe }, "period is 100ns, and credits would take more than a quarter of the line (expected 286.72ns or more)"}, // 4 x 14 x 64 B
	} {
		params, port := defaultCBFC().(*CBFCParams), longPort(2).spec
		c.change(params, &port)
		s, err := newCBFC(params)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := ""
		if err := s.Properties().Check(&port); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for want, change := range map[string]func(*CBFCParams){
		"form is \"x\"":      func(p *CBFCParams) { p.Form = "x" },
		"field is \"13bit\"": func(p *CBFCParams) { p.Field = "13bit" },
		"field is 12bit":     func(p *CBFCParams) { p.Form, p.Field = "uec", "12bit" },
		"period is 1ns":      func(p *CBFCParams) { p.Period = ns },
		"after is -1B":       func(p *CBFCParams) { p.After = -1 },
		"buffer is -1B":      func(p *CBFCParams) { p.Buffer = -1 },
	} {
		p := defaultCBFC().(*CBFCParams)
		change(p)
		if _, err := newCBFC(p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
