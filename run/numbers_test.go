package run_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/xoff-net/xoff/run"
)

// table returns the rows of a CSV table of a run, by column name.
func table(t *testing.T, folder, name string) []map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func number(t *testing.T, row map[string]string, column string) float64 {
	t.Helper()
	if row[column] == "" {
		return 0
	}
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// No link is busy for more than the run, and no part of a buffer stores more than its size:
// with a frame in transmission at the end, with a headroom pool, with headroom that changes
// during the run, and while a handler borrows from the shared segment.
func TestNumbersAreWithinTheirBounds(t *testing.T) {
	const (
		oneSwitch = "topology: {name: one-switch, hosts: 9, host_link: {rate: 100Gbps, delay: 1us}}\n" +
			"classes: {control: {ids: [0], kind: control}, rdma: {ids: [1, 2], kind: lossless}}\n"
		incast = oneSwitch + "workload: [{name: burst, generator: incast, senders: 8, size: 1MB, at: 0s, to: host0, class: {random: rdma}}]\n"
		pair   = oneSwitch + "workload: [{name: pair, generator: flows, class: {random: rdma}, flows: [" +
			"{from: host0, to: host1, size: 1MB}, {from: host0, to: host1, size: 1MB}, {from: host0, to: host1, size: 1MB}]}]\n"
		pooled = "policy: {name: chip, alpha: 1/8}, flow_control: {name: sonic, headroom: 50KB}"
		ring   = `topology: {name: ring, switches: 3, hosts_per_switch: 1, host_link: {rate: 100Gbps, delay: 1us}, fabric_link: {rate: 100Gbps, delay: 1us}}
classes: {control: {ids: [0], kind: control}, rdma: {ids: [1], kind: lossless}}
routing: {name: static, pinned: [
  {from: host0, to: host2, via: [switch0, switch1, switch2]},
  {from: host1, to: host0, via: [switch1, switch2, switch0]},
  {from: host2, to: host1, via: [switch2, switch0, switch1]}]}
workload: [{name: ring, generator: flows, class: rdma, flows: [
  {from: host0, to: host2, size: 10MB}, {from: host1, to: host0, size: 10MB}, {from: host2, to: host1, size: 10MB}]}]
`
	)
	for _, c := range []struct {
		name, buffer, keys, more string
	}{
		{"busy link", "cell: 1B", "ecn: {name: none}", pair},
		{"pool", "headroom_pool: 400KB, partitions: 2", pooled, incast},
		{"exhausted pool", "headroom_pool: 20KB", pooled, incast},
		{"adaptive", "private_per_queue: 0B", "policy: {name: dt, alpha: 16}, flow_control: {name: adaptive}", incast},
		{"borrowed", "private_per_queue: 0B", "pfc: {coalesce: false}, policy: {name: dt, alpha: 8}, deadlock: {name: roundabout}", ring},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "out")
			text := fmt.Sprintf(`
switch: {buffer: {size: 1MB, %s}, %s}
hosts: {cc: {name: none}}
run: {arrivals: 1us, stop: {when: time, at_most: 200050ns}}
output: {csv: true, watermarks: true}
%s`, c.buffer, c.keys, c.more)
			mustRun(t, text, run.Options{Folder: folder, Invariants: run.Off})
			for _, row := range table(t, folder, "pools") {
				if size, peak := number(t, row, "size_bytes"), number(t, row, "peak_bytes"); peak > size {
					t.Errorf("%s of %s has %g B, and stored %g B", row["pool"], row["node"], size, peak)
				}
			}
			busy := make(map[string]float64)
			for _, row := range table(t, folder, "ports") {
				busy[row["node"]+"."+row["port"]] += number(t, row, "utilisation")
				if size, peak := number(t, row, "headroom_bytes"), number(t, row, "peak_headroom_bytes"); peak > size {
					t.Errorf("port %s of %s has %g B of headroom, and class %s stored %g B there", row["port"], row["node"], size, row["class"], peak)
				}
			}
			for port, share := range busy {
				if share > 1+1e-12 {
					t.Errorf("%s was busy for %.6f of the run", port, share)
				}
			}
		})
	}
}
