package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/sim"
)

// deadSocket is a socket whose interface is down.
type deadSocket struct{ socket }

var errDown = errors.New("network is down")

func (deadSocket) Send([][]byte) (int, error) { return 0, errDown }

// TestDeadWire checks that frames that could not be sent are reported by port and change the
// verdict, on a wire between nodes and on the wire of a real host.
func TestDeadWire(t *testing.T) {
	b := built(t, fmt.Sprintf(line, 1000), "run.stop.at_most=50ms", "topology.host_link.rate=10Mbps")
	u, err := NewUDP(b.Spec, nil, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	dead := *u.at.of(sim.End{Node: 0})
	dead.socket = deadSocket{dead.socket}
	wired, err := New(b.Spec, Options{Wires: u})
	if err != nil {
		t.Fatal(err)
	}
	host := &realHost{err: errDown}
	real, _ := withReal(t, nil, map[int]*realHost{2: host, 5: {out: []sending{{0, udpFrame(t, mac(5), broadcast, 0, 18)}}}})
	for port, e := range map[string]*Engine{"host0.to-switch0": wired, "leaf0.to-host2": real} {
		if _, err := e.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		r := e.Report()
		if len(r.Unsent) != 1 || r.Unsent[0].Port != port || r.Unsent[0].Error != errDown.Error() || r.Unsent[0].Frames == 0 {
			t.Errorf("not sent: %v (expected frames of %s)", r.Unsent, port)
		}
		if why := r.WireVerdict(); !strings.Contains(why, "frames could not be sent on "+port+": network is down") {
			t.Errorf("verdict: %q", why)
		}
	}
}

// TestUnsentWithoutPeer checks that frames to a process that has not started, or has ended as
// planned, do not count as unsent.
func TestUnsentWithoutPeer(t *testing.T) {
	b := built(t, fmt.Sprintf(line, 1000))
	u, err := NewUDP(b.Spec, nil, nil, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = u.Close() }()
	u.here = []bool{true, true, false} // host0, host1, switch0
	for _, p := range u.ports {
		p.socket = deadSocket{p.socket}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := u.meet(ctx); err == nil || u.ports[0].out.unsent == nil {
		t.Fatalf("%v, unsent %v (expected hello frames that could not be sent)", err, u.ports[0].out.unsent)
	}
	u.here[2] = true // all are known
	if err := u.meet(ctx); err != nil {
		t.Fatal(err)
	}
	u.here[2] = false
	for _, p := range u.ports {
		p.left = true
	}
	u.hello(u.known)
	for _, p := range u.ports {
		if len(p.out.unsent) > 0 {
			t.Errorf("port %v: unsent %v", p.here, p.out.unsent)
		}
	}
}

// TestVanished checks that a process that dies is named by its peer, and that one that ends its
// run early is not.
func TestVanished(t *testing.T) {
	for name, dies := range map[string]bool{"dies": true, "ends": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf(line, 1000)
			where := addresses(t, built(t, text).Spec)
			ends := [2]string{"2500ms", "300ms"}
			if dies {
				ends[1] = "1000s"
			}
			engines := make([]*Engine, 2)
			var all sync.WaitGroup
			for k, end := range ends {
				b := built(t, text, "topology.host_link.rate=1Mbps", "run.stop.at_most="+end)
				here := make([]bool, b.Graph.Nodes())
				for i := range here {
					here[i] = (b.Graph.Names[i] == "switch0") == (k == 1)
				}
				u, err := NewUDP(b.Spec, where, here, nil, false)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				o := Options{Wires: u, Here: here}
				if k == 1 && dies {
					// An interrupted run does not say that it ends.
					o.Progress = func(now units.Time) {
						if now > 300*units.Millisecond {
							cancel()
						}
					}
				}
				if engines[k], err = New(b.Spec, o); err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					if _, err := engines[k].Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			r, wrong := engines[0].Report(), ""
			if (r.WireVerdict() != "") != dies || dies != (len(r.Vanished) == 2) {
				wrong = fmt.Sprintf("vanished: %v, verdict %q", r.Vanished, r.WireVerdict())
			}
			if why := r.WireVerdict(); dies && !strings.Contains(why, "switch0 vanished: no frame on host0.to-switch0, host1.to-switch0 for the last ") {
				wrong = fmt.Sprintf("verdict: %q", why)
			}
			if why := engines[1].Report().WireVerdict(); why != "" {
				wrong = fmt.Sprintf("verdict of the other process: %q", why)
			}
			punctual(t, wrong, engines...)
		})
	}
}
