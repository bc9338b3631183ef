package fabric

import (
	"context"
	"testing"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/sim"
)

// twoGroups has an incast of six senders in each of two groups of classes.
const twoGroups = `
topology: {name: one-switch, hosts: 9, host_link: {rate: 25Gbps, delay: 1us}}
classes:
  control: {ids: [0], kind: control}
  rdma:    {ids: [3], kind: lossless}
  tcp:     {ids: [1], kind: lossy}
workload:
  - {name: rdma, generator: incast, senders: 6, size: 100KB, to: host0, class: rdma}
  - {name: tcp, generator: incast, senders: 6, size: 100KB, to: host1, class: tcp}
run: {arrivals: 1us, stop: {when: time, at_most: 300us}}
`

// marksOf returns how many frames of each class were marked.
func marksOf(t *testing.T, ecn string) (marks [mmu.Classes]uint64) {
	t.Helper()
	built, err := New(parse(t, twoGroups, "switch.ecn="+ecn), Options{Invariants: true})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sim.NewFast(built.Spec, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, p := range engine.Final().Ports {
		for c, n := range p.Stats.Marks {
			marks[c] += n
		}
	}
	return marks
}

// A group with its own marker uses that one, other groups the common marker. 600 KB fill a
// queue to more than 20 KB and less than 900 KB.
func TestMarksByClass(t *testing.T) {
	const rdma, tcp = 3, 1
	for _, c := range []struct {
		ecn       string
		rdma, tcp bool
	}{
		{"{name: step, k: 20KB}", true, true},
		{"{name: none, by_class: {tcp: {name: step, k: 20KB}}}", false, true},
		{"{name: step, k: 20KB, by_class: {tcp: {name: none}}}", true, false},
		{"{name: step, k: 20KB, by_class: {tcp: {name: step, k: 900KB}}}", true, false},
		{"{name: step, k: 900KB, by_class: {rdma: {name: red, kmin: 10KB, kmax: 20KB}, tcp: {name: step, k: 900KB}}}", true, false},
		{"{name: step, k: 900KB, at: enqueue, by_class: {tcp: {name: step, k: 20KB}}}", false, true},
	} {
		m := marksOf(t, c.ecn)
		if m[rdma] > 0 != c.rdma || m[tcp] > 0 != c.tcp {
			t.Errorf("%s: %d marks of rdma, %d of tcp, want marks: %t, %t", c.ecn, m[rdma], m[tcp], c.rdma, c.tcp)
		}
	}
}

// Markers by class that equal the common marker give the same marks.
func TestSameMarksByClass(t *testing.T) {
	common := marksOf(t, "{name: red, kmin: 10KB, kmax: 200KB, pmax: 0.2}")
	own := marksOf(t, "{name: none, by_class: {rdma: {name: red, kmin: 10KB, kmax: 200KB, pmax: 0.2}, tcp: {name: red, kmin: 10KB, kmax: 200KB, pmax: 0.2}}}")
	if common != own {
		t.Errorf("marks by class are %v, want %v", own, common)
	}
}

// A resolved scenario keeps the markers of its groups.
func TestMarksByClassMarshal(t *testing.T) {
	c := parse(t, twoGroups, "switch.ecn={name: red, by_class: {tcp: {name: step, k: 65KB, per: 10Gbps}}}")
	text, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(t, string(text)).Marshal()
	if err != nil || string(again) != string(text) {
		t.Errorf("%v: after reading it again, it is\n%s\nwant\n%s", err, again, text)
	}
}
