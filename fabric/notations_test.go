package fabric

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/sim"
	"github.com/xoff-net/xoff/topo"
)

// Every cable delay can be written as a length, at 5 ns per metre. The resolved scenario
// contains the time.
func TestLengths(t *testing.T) {
	const text = `
topology:
  name: two-dc
  dci_link: {rate: 1Gbps, delay: 100km}
  overrides: [{match: dci0-dci1, delay: 80km}]
switch: {buffer: {size: 1GiB}}
`
	c, err := Parse("a.yaml", []byte(text), "topology.host_link.delay=3m")
	if err != nil {
		t.Fatal(err)
	}
	p := c.Topology.Params.(*topo.TwoDCParams)
	if p.DCILink.Delay != 500*units.Microsecond || p.HostLink.Delay != 15*units.Nanosecond || c.Topology.Overrides[0].Delay != 400*units.Microsecond {
		t.Errorf("got %s, %s and %s", p.DCILink.Delay, p.HostLink.Delay, c.Topology.Overrides[0].Delay)
	}
	const custom = `
topology: {name: custom, hosts: [a, b], switches: [s], link: {rate: 1Gbps, delay: 2m}, links: [{ends: [a, s], delay: 7m}, {ends: [b, s]}]}
`
	if c, err = Parse("a.yaml", []byte(custom)); err != nil {
		t.Fatal(err)
	}
	if p := c.Topology.Params.(*topo.CustomParams); p.Links[0].Delay != 35*units.Nanosecond || p.Link.Delay != 10*units.Nanosecond {
		t.Errorf("got %s and %s", p.Links[0].Delay, p.Link.Delay)
	}
	written, err := c.Marshal()
	if err != nil || !bytes.Contains(written, []byte("delay: 35ns")) {
		t.Errorf("%v in\n%s", err, written)
	}
}

// A fault that lasts forever lasts to units.MaxTime and is written as forever. The scenario
// equals one with that time written out.
func TestForever(t *testing.T) {
	const text = `
topology: {name: one-switch, hosts: 3}
faults:
  - {at: 1us, host: host1, stuck: true, for: forever}
  - {at: 2us, link: host0-switch0, down_for: FOR}
  - {at: 3us, link: host2-switch0, corrupt: 0.5, for: forever}
workload:
  - {name: a, generator: flows, flows: [{from: host0, to: host1, size: 1MB}, {from: host2, to: host0, size: 1MB}]}
run: {arrivals: 50us, stop: {when: time, at_most: 100us}}
`
	c, err := Parse("a.yaml", []byte(strings.Replace(text, "FOR", "forever", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range []units.Time{1, 2, 3} {
		f := &c.Faults[i]
		if got := f.For + f.DownFor; got != units.MaxTime-at*units.Microsecond {
			t.Errorf("fault %d lasts %s", i, got)
		}
	}
	written, err := c.Marshal()
	if err != nil || bytes.Count(written, []byte("for: forever")) != 3 {
		t.Fatalf("%v in\n%s", err, written)
	}
	// 2^51 - 1 ps, less 2 us.
	plain, err := Parse("a.yaml", []byte(strings.Replace(text, "FOR", "2251.799811685247s", 1)))
	if err != nil {
		t.Fatal(err)
	}
	one, err := c.Canonical()
	two, wrong := plain.Canonical()
	if err != nil || wrong != nil || !bytes.Equal(one, two) || bytes.Contains(one, []byte("forever")) {
		t.Errorf("%v, %v; two forms of one scenario:\n%s\n%s", err, wrong, one, two)
	}
	b, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.Spec.Routes {
		if r.At > units.Millisecond {
			t.Errorf("unexpected route change at %s", r.At)
		}
	}
	if d := b.Spec.Cables[0].Down; len(d) != 1 || d[0].To != units.MaxTime {
		t.Errorf("the link is down during %v", d)
	}
	if q := b.Spec.Cables[2].Corrupt; len(q) != 1 || q[0].To != units.MaxTime || q[0] == (sim.Corruption{}) {
		t.Errorf("frames are corrupted during %v", q)
	}
}

// UTF-16 text is recognised with and without a byte order mark. A file larger than MaxFile
// is not parsed.
func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		"\xff\xfen\x00a\x00": "a.yaml: text is encoded in UTF-16 (expected UTF-8); fix: save as UTF-8, or run `iconv -f UTF-16 -t UTF-8`",
		"\xfe\xff\x00n\x00a": "a.yaml: text is encoded in UTF-16 (expected UTF-8); fix: save as UTF-8, or run `iconv -f UTF-16 -t UTF-8`",
		"n\x00a\x00":         "a.yaml: text is encoded in UTF-16 (expected UTF-8); fix: save as UTF-8, or run `iconv -f UTF-16 -t UTF-8`",
		strings.Repeat("# long\n", yaml.MaxFile/7+1): "a.yaml: file is larger than 8 MiB",
	} {
		if _, err := Parse("a.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: got %v; want %s", text, err, want)
		}
	}
	if _, err := Parse("a.yaml", []byte("\ufeffname: marked\nworkload: []\n")); err != nil && strings.Contains(err.Error(), "UTF") {
		t.Error(err)
	}
}

// If the default timeout is less than the round trip, the error points to the longest cable
// in the file. 4 x 500 us of delay is more than 1 ms.
func TestCauseOfTimeout(t *testing.T) {
	const text = `name: far
topology:
  name: dumbbell
  host_link: {rate: 1Gbps, delay: 2us}
  trunk: {rate: 1Gbps, delay: 100km}
switch: {buffer: {size: 1GiB}}
workload: [{name: w, generator: flows, flows: [{from: host0, to: host1, size: 1KB}]}]
`
	c, err := Parse("a.yaml", []byte(text))
	if err == nil {
		_, err = New(c, Options{})
	}
	if err = c.Locate(err); err == nil || !strings.HasPrefix(err.Error(), "a.yaml:5:31: hosts.reliability.timeout: timeout is shorter than the round trip: 1ms") {
		t.Errorf("got %v", err)
	}
}
