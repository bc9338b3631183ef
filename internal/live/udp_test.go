package live

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scenario/build"
	"github.com/xoff-net/xoff/sim"
)

// All nodes of a process can talk by UDP: everything is delivered, and nothing is strange.
func TestUDP(t *testing.T) {
	b := built(t, incast, "switch.flow_control.headroom=100KB", "switch.buffer.size=8MB")
	u, err := NewUDP(b.Spec, nil, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(b.Spec, Options{Wires: u})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	soundUnlessBehind(t, b, e)
	if e.Totals().Pauses < 10 || len(e.Report().Strange) > 0 {
		t.Errorf("%d pauses; not taken: %v", e.Totals().Pauses, e.Report().Strange)
	}
}

// addresses gives every port of a run a free port of the machine.
func addresses(t *testing.T, spec *sim.Spec) Addresses {
	t.Helper()
	where := make(Addresses)
	for i := range spec.Cables {
		for _, e := range []sim.End{spec.Cables[i].A, spec.Cables[i].B} {
			conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				t.Fatal(err)
			}
			where[e] = conn.LocalAddr().(*net.UDPAddr).AddrPort()
			defer func() { _ = conn.Close() }()
		}
	}
	return where
}

// Three processes: the hosts and leaves in one each, the spines in the third. They start
// together, whichever comes first, and flows end that begin in one and lead to another.
func TestProcesses(t *testing.T) {
	where := addresses(t, built(t, incast).Spec)
	var all sync.WaitGroup
	runs := make([]*build.Built, 3)
	engines := make([]*Engine, 3)
	for k := range runs {
		b := built(t, incast, "run.stop.when=time", "run.stop.at_most=1500ms", "hosts.reliability.timeout=300ms",
			"topology.host_link.rate=20Mbps", "topology.fabric_link.rate=20Mbps",
			"switch.flow_control.headroom=100KB", "switch.buffer.size=8MB")
		runs[k] = b
		here := make([]bool, 12) // eight hosts, leaf0, leaf1, spine0, spine1
		for i := range here {
			switch {
			case i < 8:
				here[i] = i/4 == k
			case i < 10:
				here[i] = i-8 == k
			default:
				here[i] = k == 2
			}
		}
		all.Go(func() {
			time.Sleep(time.Duration(k) * 30 * time.Millisecond)
			u, err := NewUDP(b.Spec, where, here, nil, false)
			if err != nil {
				t.Error(err)
				return
			}
			e, err := New(b.Spec, Options{Wires: u, Here: here})
			if err != nil {
				t.Error(err)
				return
			}
			engines[k] = e
			if end, err := e.Run(context.Background()); err != nil || end < units.Second {
				t.Errorf("process %d ended at %s: %v", k, end, err)
			}
			if s := e.Report().Strange; len(s) > 0 {
				t.Logf("process %d took not: %v", k, s)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for i := range runs[0].Flows.Flow {
		src := runs[0].Flows.Flow[i].Src
		if runs[src/4].Flows.Done(i) {
			continue
		}
		for k, e := range engines {
			if why := e.Report().Decides(1); why != "" {
				t.Skipf("flow %d of host %d is not done, and process %d was behind: %s", i, src, k, why)
			}
		}
		t.Errorf("flow %d of host %d is not done", i, src)
	}
}

// A datagram of a stranger, and one that is no frame, are counted and change nothing.
func TestStrangers(t *testing.T) {
	b := built(t, incast)
	u, err := NewUDP(b.Spec, nil, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Open(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = u.Close() }()
	port := u.ports[0]
	stranger, err := net.Dial("udp", u.Addr(port.here).String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := u.at[port.peer].socket.(*udpSocket).conn.WriteToUDPAddrPort([]byte("hello"), u.Addr(port.here)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		u.Poll(0)
		if s := u.Strange(); s["live: from the address of a stranger"] == 1 && s["frame: shorter than its headers say"] == 1 {
			return
		}
	}
	t.Errorf("%v", u.Strange())
}

// Wires do not leave the machine unless they are told to.
func TestLoopbackOnly(t *testing.T) {
	b := built(t, incast)
	for _, end := range []sim.End{b.Spec.Cables[0].A, b.Spec.Cables[0].B} {
		where := Addresses{end: netip.MustParseAddrPort("192.0.2.1:5000")}
		if _, err := NewUDP(b.Spec, where, nil, nil, false); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%v", err)
		}
	}
	here := make([]bool, 12)
	here[0] = true
	if _, err := NewUDP(b.Spec, nil, here, nil, false); err == nil {
		t.Error("nobody knows where the leaf is")
	}
}
