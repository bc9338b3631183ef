package openmetrics_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/record/openmetrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// family is a parsed metric family.
type family struct {
	kind    string
	samples map[string]string // by name and labels
}

var (
	descriptor = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	sample     = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)$`)
	label      = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)`)
)

// parse parses the text format of OpenMetrics 1.0, strictly. It supports only counters,
// gauges and info.
func parse(text string) (map[string]*family, error) {
	text, ended := strings.CutSuffix(text, "# EOF\n")
	if !ended {
		return nil, fmt.Errorf("no # EOF at the end")
	}
	all := make(map[string]*family)
	name := "" // of the current family
	suffix := map[string]string{"counter": "_total", "gauge": "", "info": "_info"}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fail := func(what string) (map[string]*family, error) {
			return nil, fmt.Errorf("line %d: %s: %s", i+1, what, line)
		}
		if d := descriptor.FindStringSubmatch(line); d != nil {
			if d[2] != name {
				if all[d[2]] != nil || d[1] != "TYPE" {
					return fail("family is split or does not begin with its type")
				}
				if _, known := suffix[d[3]]; !known {
					return fail("unknown type")
				}
				name = d[2]
				all[name] = &family{d[3], make(map[string]string)}
			}
			if d[1] == "UNIT" && !strings.HasSuffix(name, "_"+d[3]) {
				return fail("name does not end with the unit")
			}
			if len(all[name].samples) > 0 {
				return fail("description after samples")
			}
			continue
		}
		s := sample.FindStringSubmatch(line)
		if s == nil || name == "" {
			return fail("neither a description nor a sample")
		}
		f := all[name]
		if s[1] != name+suffix[f.kind] {
			return fail("sample of another family")
		}
		seen := make(map[string]bool)
		for rest := s[3]; rest != ""; {
			l := label.FindStringSubmatch(rest)
			if l == nil || seen[l[1]] || l[3] == "," && len(l[0]) == len(rest) {
				return fail("malformed labels")
			}
			seen[l[1]] = true
			rest = rest[len(l[0]):]
		}
		v, err := strconv.ParseFloat(s[4], 64)
		if err != nil || f.kind == "counter" && v < 0 || f.kind == "info" && v != 1 {
			return fail("invalid value")
		}
		if _, twice := f.samples[s[2]]; twice {
			return fail("repeated sample")
		}
		f.samples[s[2]] = s[4]
	}
	return all, nil
}

// The parser rejects malformed text.
func TestParserIsStrict(t *testing.T) {
	good := "# TYPE a counter\n# HELP a x\na_total{b=\"c\\\"\",d=\"\"} 1\n# EOF\n"
	if _, err := parse(good); err != nil {
		t.Error(err)
	}
	for _, c := range [][2]string{
		{"a_total", "a"}, {"# EOF\n", ""}, {`c\"`, `c"`}, {`d=""`, `b=""`}, {`d=""`, ""}, {"} 1", "} -1"}, {"} 1", "} one"}, {"counter", "count"},
		{"# HELP a x", "# UNIT a bytes"}, {"# HELP a x", "# HELP z x"}, {"# TYPE a counter\n", ""},
	} {
		if _, err := parse(strings.Replace(good, c[0], c[1], 1)); err == nil {
			t.Errorf("accepts %q instead of %q", c[1], c[0])
		}
	}
}

const storm = `
name: "quo\"te"
seed: 7
topology: {name: leaf-spine, leaves: 2, spines: 1, hosts_per_leaf: 3}
switch: {buffer: {size: 3MB}}
hosts: {cc: {name: none}}
workload: [{name: burst, generator: incast, senders: 5, size: 200KB, to: host0, at: 5us}]
run: {arrivals: 50us}
output: {watermarks: true}
`

func text(t *testing.T, m *openmetrics.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The counters match the run and the text is valid, also during the run. Reading the counters
// does not change results.
func TestRun(t *testing.T) {
	play := func(progress func(*fabric.Fabric, run.Progress)) *run.Result {
		cfg, err := scenario.Parse("a.yaml", []byte(storm))
		if err != nil {
			t.Fatal(err)
		}
		var r *run.Run
		r, err = run.New(cfg, run.Options{Progress: func(p run.Progress) { progress(r.Fabric, p) }})
		if err != nil {
			t.Fatal(err)
		}
		done, err := r.Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	bare := play(func(*fabric.Fabric, run.Progress) {})
	reads, last := 0, units.Time(-1)
	done := play(func(b *fabric.Fabric, p run.Progress) {
		m := &openmetrics.Run{Scenario: b.Config.Name, Seed: b.Config.Seed, Now: p.Now, Flows: len(b.Flows.Flow), Nodes: b.Graph.Names}
		m.Totals, m.Counters = p.Counters()
		if _, err := parse(text(t, m)); err != nil {
			t.Fatal(err)
		}
		if p.Now <= last {
			t.Errorf("time goes from %d to %d", last, p.Now)
		}
		reads, last = reads+1, p.Now
	})
	var want, got bytes.Buffer
	if err := bare.Summary.Write(&want); err != nil {
		t.Fatal(err)
	}
	if err := done.Summary.Write(&got); err != nil || got.String() != want.String() || reads < 3 {
		t.Errorf("%d reads, %v: results changed", reads, err)
	}
	o := done.Outcome
	m := &openmetrics.Run{Scenario: o.Scenario, Seed: o.Seed, Now: o.End, Complete: true, Flows: 5, Nodes: o.Nodes, Totals: o.Totals, Counters: o.Counters}
	all, err := parse(text(t, m))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(name string) (n uint64) {
		for _, v := range all[name].samples {
			x, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				t.Error(err)
			}
			n += x
		}
		return n
	}
	for name, want := range map[string]uint64{
		"xoff_frame_hops": o.Totals.Hops, "xoff_flows_finished": 5, "xoff_port_pauses_sent": o.Totals.Pauses, "xoff_port_resumes_sent": o.Totals.Resumes,
		"sai_queue_stat_wred_ecn_marked_packets": o.Totals.Marks, "xoff_pauses_by_depth": o.Totals.Pauses, "xoff_complete": 1,
		"sai_queue_stat_curr_occupancy_bytes": 0, "xoff_control_frames": o.Totals.Control,
	} {
		if got := sum(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if o.Totals.Pauses == 0 || sum("sai_ingress_priority_group_stat_shared_watermark_bytes") == 0 {
		t.Error("the scenario has no pauses")
	}
	// The last link, leaf0 to host0, carries 5 x 200 KB in packets of 1048 B.
	if got, want := all["sai_queue_stat_bytes"].samples[`{node="leaf0",port="0",peer="host0",class="1"}`], "1048000"; got != want {
		t.Errorf("host0 got %s B, want %s", got, want)
	}
	if all["xoff_run"].samples[`{scenario="quo\"te",seed="7"}`] != "1" {
		t.Errorf("%v", all["xoff_run"].samples)
	}
	if got, want := all["xoff_simulated_seconds"].samples[""], fmt.Sprintf("0.%012d", o.End); got != want {
		t.Errorf("simulated %s s, want %s", got, want)
	}
}

func TestSweep(t *testing.T) {
	var b bytes.Buffer
	if err := (&openmetrics.Sweep{Points: 12, Done: 5, Reused: 2, Hops: 100}).Write(&b); err != nil {
		t.Fatal(err)
	}
	all, err := parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"xoff_sweep_points": "12", "xoff_sweep_points_done": "5", "xoff_sweep_points_reused": "2",
		"xoff_frame_hops": "100", "xoff_complete": "0"} {
		if got := all[name].samples[""]; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
