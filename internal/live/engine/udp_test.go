package engine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/devtool/await"
	"github.com/xoff-net/xoff/sim"
)

// TestUDP runs all nodes in one process over UDP: all frames are delivered and none rejected.
func TestUDP(t *testing.T) {
	b := built(t, incast, "switch.flow_control.headroom=100KB", "switch.buffer.size=8MB")
	u, err := NewUDP(b.Spec, nil, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	delivers(t, b, u)
}

// delivers runs a scenario on sockets and checks that all frames are delivered and none rejected.
func delivers(t *testing.T, b *fabric.Fabric, w *Sockets) {
	t.Helper()
	e, err := New(b.Spec, Options{Wires: w})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	wrong := unsound(b)
	if r := e.Report(); wrong == "" && (e.Totals().Pauses < 10 || len(r.Rejected) > 0) {
		wrong = fmt.Sprintf("%d pauses; rejected: %v", e.Totals().Pauses, r.Rejected)
	}
	punctual(t, wrong, e)
}

// addresses returns a free UDP port for every port of a run.
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

// TestProcesses runs three engines: each leaf with its hosts, and the spines. They start together
// in any order, and flows between them finish.
func TestProcesses(t *testing.T) {
	where := addresses(t, built(t, incast).Spec)
	var all sync.WaitGroup
	runs := make([]*fabric.Fabric, 3)
	engines := make([]*Engine, 3)
	opened := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
	close(opened[0])
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
			<-opened[k] // after the process before has opened its sockets
			u, err := NewUDP(b.Spec, where, here, nil, false)
			close(opened[k+1])
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
			if s := e.Report().Rejected; len(s) > 0 {
				t.Logf("process %d rejected: %v", k, s)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	wrong := ""
	for i := range runs[0].Flows.Flow {
		if src := runs[0].Flows.Flow[i].Src; !runs[src/4].Flows.Done(i) {
			wrong = fmt.Sprintf("flow %d of host %d is not done", i, src)
		}
	}
	punctual(t, wrong, engines...)
}

// TestStrangers checks that datagrams from unknown addresses, and those that are not frames, are
// only counted.
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
	if _, err := (*u.at.of(port.peer)).socket.(*udpSocket).conn.WriteToUDPAddrPort([]byte("hello"), u.Addr(port.here)); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "both datagrams are counted", func() bool {
		u.Poll(0)
		s := u.Rejected()
		return s["live: from an unknown address"] == 1 && s["frame: shorter than its headers say"] == 1
	})
}

// TestLoopbackOnly checks that addresses beyond the loopback interface are rejected by default.
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
		t.Error("the address of the leaf is unknown, but NewUDP succeeds")
	}
}

// TestRealHostsOfTwoProcesses checks that real hosts behind two processes can exchange frames: each
// process learns addresses from frames, and a broadcast follows the tree.
func TestRealHostsOfTwoProcesses(t *testing.T) {
	where := addresses(t, built(t, mixed).Spec)
	hosts := []*realHost{
		{out: []sending{{50 * units.Millisecond, udpFrame(t, mac(2), broadcast, 0, 18)}, {500 * units.Millisecond, udpFrame(t, mac(2), mac(5), 0, 700)}}},
		{out: []sending{{250 * units.Millisecond, udpFrame(t, mac(5), mac(2), 0, 18)}}},
	}
	engines := make([]*Engine, 2)
	var all sync.WaitGroup
	for k := range engines {
		b := built(t, mixed, "run.stop.at_most=800ms")
		here, away := make([]bool, 10), make([]bool, 10) // six hosts, leaf0, leaf1, spine0, spine1
		for i := range here {
			switch {
			case i < 6:
				here[i] = i/3 == k
			case i < 8:
				here[i] = i-6 == k
			default:
				here[i] = k == 1
			}
		}
		away[2], away[5] = true, true
		outside := &Outside{Hosts: map[int]Interface{2: nil, 5: nil}, Classes: byTraffic()}
		outside.Hosts[2+3*k] = hosts[k]
		u, err := NewUDP(b.Spec, where, here, away, false)
		if err != nil {
			t.Fatal(err)
		}
		clock := &Real{Longest: pollEvery}
		hosts[k].clock = clock
		if engines[k], err = New(b.Spec, Options{Wires: u, Here: here, Outside: outside, Clock: clock}); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if _, err := engines[k].Run(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wrong := ""
	if len(hosts[0].got) != 1 || len(hosts[1].got) != 2 || len(hosts[1].got[1]) != len(udpFrame(t, mac(2), mac(5), 0, 700)) {
		wrong = fmt.Sprintf("host2 got %x, host5 %x; rejected: %v, %v", hosts[0].got, hosts[1].got, engines[0].Report().Rejected, engines[1].Report().Rejected)
	}
	punctual(t, wrong, engines...)
}
