package calibrate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/counters"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// device is the configuration of a switch: a buffer of 4 MB, two lossless classes, ports of 25G.
// Neighbours are switches; other ports have hosts.
func device(name string, ports int, marking bool, neighbours map[int]string) string {
	var list, lengths, near, all []string
	for i := range ports {
		p := fmt.Sprintf("Ethernet%d", 4*i)
		all = append(all, p)
		list = append(list, fmt.Sprintf(`%q: {"lanes": "%d", "speed": "25000", "mtu": "9100", "admin_status": "up"}`, p, 4*i+1))
		lengths = append(lengths, fmt.Sprintf(`%q: "40m"`, p))
		if n := neighbours[i]; n != "" {
			to, port, _ := strings.Cut(n, " ")
			near = append(near, fmt.Sprintf(`%q: {"name": %q, "port": %q}`, p, to, port))
		}
	}
	ecn := "ecn_none"
	if marking {
		ecn = "ecn_all"
	}
	return strings.NewReplacer("NAME", name, "PORTS", strings.Join(list, ", "), "LENGTHS", strings.Join(lengths, ", "), "NEAR", strings.Join(near, ", "),
		"ALL", strings.Join(all, ","), "ECN", ecn).Replace(`{
  "DEVICE_METADATA": {"localhost": {"hostname": "NAME", "hwsku": "Arista-7050CX3-32S-C32", "buffer_model": "traditional"}},
  "PORT": {PORTS},
  "CABLE_LENGTH": {"AZURE": {LENGTHS}},
  "DEVICE_NEIGHBOR": {NEAR},
  "BUFFER_POOL": {
    "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "4000000", "xoff": "1600000"},
    "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "4000000"}
  },
  "BUFFER_PROFILE": {
    "pg_lossless_25000_40m_profile": {"pool": "ingress_lossless_pool", "size": "5120", "xon": "5120", "xon_offset": "5120", "xoff": "100000", "dynamic_th": "-4"},
    "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "4000000"}
  },
  "BUFFER_PG": {"ALL|3-4": {"profile": "pg_lossless_25000_40m_profile"}},
  "BUFFER_QUEUE": {"ALL|3-4": {"profile": "egress_lossless_profile"}},
  "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "28": "4"}},
  "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "3", "4": "4"}},
  "TC_TO_QUEUE_MAP": {"AZURE": {"3": "3", "4": "4"}},
  "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {"3": "3", "4": "4"}},
  "SCHEDULER": {"lossless": {"type": "DWRR", "weight": "20"}},
  "WRED_PROFILE": {"L": {"ecn": "ECN", "wred_green_enable": "true", "green_min_threshold": "100000", "green_max_threshold": "400000", "green_drop_probability": "10"}},
  "PORT_QOS_MAP": {"ALL": {"dscp_to_tc_map": "AZURE", "tc_to_pg_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_to_queue_map": "AZURE", "pfc_enable": "3,4"}},
  "QUEUE": {"ALL|3-4": {"scheduler": "lossless", "wred_profile": "L"}}
}`)
}

// leafSpine is two leaves with four hosts each and two spines.
func leafSpine(t testing.TB, marking bool) *convert.Imported {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"leaf0":  device("leaf0", 6, marking, map[int]string{4: "spine0 Ethernet0", 5: "spine1 Ethernet0"}),
		"leaf1":  device("leaf1", 6, marking, map[int]string{4: "spine0 Ethernet4", 5: "spine1 Ethernet4"}),
		"spine0": device("spine0", 2, marking, map[int]string{0: "leaf0 Ethernet16", 1: "leaf1 Ethernet16"}),
		"spine1": device("spine1", 2, marking, map[int]string{0: "leaf0 Ethernet20", 1: "leaf1 Ethernet20"}),
	} {
		if err := os.WriteFile(filepath.Join(folder, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := sonic.ReadPlant([]string{folder}, &sonic.Extra{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := convert.Scenario("world", p.Switches, p.Wires)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// world is a fabric whose traffic the calibration does not see.
type world struct {
	name      string
	unmarked  bool   // no ECN
	hosts     string // keys of hosts, a flow mapping
	workload  string
	closed    bool     // flows wait for each other: the load is what was delivered
	congested []string // ports that may be named
}

// counters runs the world and returns its counters, as a file has them, and its load.
func (x *world) counters(t testing.TB, made *convert.Imported, span units.Time) (*counters.Set, float64) {
	t.Helper()
	text := strings.Replace(string(made.Fabric), "cc: {name: none}", x.hosts, 1)
	text += fmt.Sprintf("seed: 77\nworkload:\n%s\nrun:\n  arrivals: %s\n  stop: {when: time, at_most: %s}\n", x.workload, span, span)
	cfg, err := scenario.Parse("world.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := &counters.Recorder{Every: span / 40}
	done, err := run.Scenario(context.Background(), cfg, run.Options{Watchers: []run.Watcher{bound{r}}})
	if err != nil {
		t.Fatal(err)
	}
	o := done.Outcome
	var buffer bytes.Buffer
	if err := r.Set(o.Nodes, len(o.Hosts), [counters.Classes]bool{3: true, 4: true, 7: true}, o.End).Write(&buffer); err != nil {
		t.Fatal(err)
	}
	set, err := counters.Parse("world.csv", &buffer)
	if err != nil {
		t.Fatal(err)
	}
	bytes := units.Bytes(0)
	for i := range o.Flows.Flow {
		bytes += o.Flows.Flow[i].Size
	}
	if x.closed {
		bytes = done.Summary.Throughput.Delivered
	}
	return set, float64(bytes) * 8 / o.End.Seconds()
}

const background = "  - {name: background, generator: poisson, sizes: %s, load: {share: %g, of: host_links}, class: 3}\n"

// incast is bursts to one host at a share of its link.
func incast(to string, senders int, size string, share float64) string {
	return fmt.Sprintf("  - {name: to-%s, generator: incast, senders: %d, size: %s, to: %s, load: {share: %g, of: receiver_links}, class: 3}\n", to, senders, size, to, share)
}

func poisson(sizes string, share float64) string { return fmt.Sprintf(background, sizes, share) }

// worlds are ten kinds of traffic.
var worlds = []world{
	{name: "incast of 4", hosts: "cc: {name: none}", workload: incast("leaf1-h0", 4, "128KB", 0.3) + poisson("64KB", 0.15), congested: []string{"leaf1 Ethernet0"}},
	{name: "incast of 7 with DCQCN", hosts: "cc: {name: dcqcn}", workload: incast("leaf0-h2", 7, "256KB", 0.5) + poisson("32KB", 0.1), congested: []string{"leaf0 Ethernet8"}},
	{name: "large bursts, heavy background", hosts: "cc: {name: none}", workload: incast("leaf0-h1", 3, "1MB", 0.4) + poisson("websearch", 0.2), congested: []string{"leaf0 Ethernet4"}},
	{name: "slow receiver", hosts: "cc: {name: none}\n  overrides: [{match: leaf1-h3, receive: {rate: 8Gbps}}]", workload: poisson("128KB", 0.25), congested: []string{"leaf1 Ethernet12"}},
	{name: "slow receiver with DCQCN", hosts: "cc: {name: dcqcn}\n  overrides: [{match: leaf0-h0, receive: {rate: 10Gbps}}]", workload: poisson("256KB", 0.3), congested: []string{"leaf0 Ethernet0"}},
	{name: "overloaded uplinks", hosts: "cc: {name: none}",
		workload:  "  - {name: up, generator: poisson, sizes: 256KB, from: leaf0, to: leaf1, load: {share: 0.42, of: host_links}, class: 3}",
		congested: []string{"leaf0 Ethernet16", "leaf0 Ethernet20"}},
	{name: "two incasts", hosts: "cc: {name: none}", workload: incast("leaf1-h1", 5, "512KB", 0.5) + incast("leaf0-h3", 2, "64KB", 0.1) + poisson("64KB", 0.1), congested: []string{"leaf1 Ethernet4"}},
	{name: "huge bursts", hosts: "cc: {name: none}", workload: incast("leaf0-h0", 7, "1MB", 0.5), congested: []string{"leaf0 Ethernet0"}},
	{name: "without marks", unmarked: true, hosts: "cc: {name: none}", workload: incast("leaf1-h2", 6, "128KB", 0.35) + poisson("64KB", 0.2), congested: []string{"leaf1 Ethernet8"}},
	{name: "saturated port", hosts: "cc: {name: dcqcn}", closed: true,
		workload:  "  - {name: copy, generator: messages, size: 1MB, streams: 2, from: [leaf0-h0, leaf0-h1, leaf0-h2], to: [leaf1-h1], class: 3}\n" + poisson("64KB", 0.1),
		congested: []string{"leaf1 Ethernet4"}},
}

// recovered calibrates a world. It returns the error of the load and whether the congested port is
// the first one that is named.
func (x *world) recovered(t testing.TB, span units.Time, o Options) (load float64, named bool, r *Result) {
	t.Helper()
	made := leafSpine(t, !x.unmarked)
	set, truth := x.counters(t, made, span)
	o.Matrix = "matrix.csv"
	r, err := Fit(context.Background(), made, set, o)
	if err != nil {
		t.Fatalf("%s: %v", x.name, err)
	}
	load = float64(r.Report.Load.Offered)/truth - 1
	if s := r.Report.Suspects; len(s) > 0 {
		named = slices.Contains(x.congested, s[0].Switch+" "+s[0].Port)
	}
	return load, named, r
}
