package explain_test

import (
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/analysis/explain"
)

// The headroom in use is compared with the size of the headroom pool.
func TestHeadroomOfAPool(t *testing.T) {
	r, _ := recorded(t, `
topology: {name: one-switch, hosts: 9, host_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
switch:
  buffer: {size: 200KB, private_per_queue: 0B, headroom_pool: 20KB}
  policy: {name: chip, alpha: 1}
  flow_control: {name: sonic, headroom: 50KB}
hosts: {cc: {name: none}}
workload: [{name: burst, generator: incast, senders: 8, size: 200KB, at: 0s, to: host0, class: rdma}]
run: {arrivals: 1us, stop: {when: measured_flows_done, at_most: 20ms}}
`)
	e, err := r.Explain(explain.Options{At: -1})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range e.Causes {
		lines = append(lines, c.Lines(true)...)
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, "of 0B") || !strings.Contains(text, "of 20.0KB") {
		t.Errorf("headroom without its size in\n%s", text)
	}
}
