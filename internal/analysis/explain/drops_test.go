package explain_test

import (
	"testing"

	"github.com/xoff-net/xoff/internal/analysis/explain"
)

// Eight hosts send to one: the egress queue to that host rejects frames, not an ingress queue.
func TestDropsOfLossyClasses(t *testing.T) {
	r, _ := recorded(t, `
name: lossy
topology: {name: leaf-spine, leaves: 1, spines: 1, hosts_per_leaf: 9, host_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, tcp: {ids: [1], kind: lossy}}
switch: {buffer: {size: 1MB, private_per_queue: 0B}, policy: {name: static, limit: 200KB}}
hosts: {cc: {name: none}}
workload:
  - {name: in, generator: incast, senders: 8, size: 1MB, to: host0, class: tcp}
run: {arrivals: 50us, stop: {when: time, at_most: 100us}}
`)
	e, err := r.Explain(explain.Options{At: -1})
	if err != nil || len(e.Drops) == 0 {
		t.Fatalf("%v, %d drops", err, len(e.Drops))
	}
	// A frame of 1,048 B did not fit: the queue has between 200,000 - 1,048 and 200,000 B.
	d := e.Drops[0]
	if !d.Egress || d.Queue != "leaf0.to-host0 class 1" || d.Threshold != 200_000 || d.Queued <= 200_000-1048 || d.Queued > 200_000 {
		t.Errorf("got %+v, want the queue of leaf0.to-host0", d)
	}
	only, err := r.Explain(explain.Options{At: -1, Ports: "leaf0.to-host0"})
	if err != nil || len(only.Drops) != len(e.Drops) {
		t.Errorf("%v, %d of %d drops are at that port", err, len(only.Drops), len(e.Drops))
	}
}
