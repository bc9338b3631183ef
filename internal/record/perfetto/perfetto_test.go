package perfetto_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/record/perfetto"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/sim"
)

// storm is an incast without congestion control: pauses across three switches, a link that
// fails meanwhile, a link that corrupts frames, and a host that gets stuck.
const storm = `
name: storm
topology: {name: leaf-spine, leaves: 3, spines: 2, hosts_per_leaf: 4}
switch: {buffer: {size: 4MB}, policy: {name: dt, alpha: 1/16}}
hosts: {cc: {name: none}}
workload:
  - {name: burst, generator: incast, senders: 11, size: 400KB, to: host3, at: 5us}
  - {name: other, generator: incast, senders: 6, size: 200KB, to: host7, at: 20us}
faults:
  - {at: 100us, link: leaf1-spine0, down_for: 50us}
  - {at: 120us, link: leaf1-spine0, corrupt: 0.001, for: 40us}
  - {at: 60us, host: host7, stuck: true, for: 100us}
  - {at: 70us, link: leaf2-spine1, corrupt: 0.0001}
output: {pause_tree: true}
run: {arrivals: 50us, stop: {at_most: 20ms}}
`

// drawn is a timeline in memory.
type drawn struct {
	*perfetto.Timeline
	out bytes.Buffer
}

func (d *drawn) Bind(b *fabric.Fabric) error {
	d.Timeline.Bind(b.Graph, b.Spec)
	d.Timeline.Open(&d.out)
	return nil
}

func (d *drawn) Open(func(name, what string) (io.Writer, error)) error { return nil }

func (d *drawn) Close(o *metrics.Outcome) error {
	return d.Timeline.Close(o.End, o.Counters.Deadlocks)
}

func draw(t *testing.T, text string, o run.Options) (*drawn, *run.Result) {
	t.Helper()
	cfg, err := scenario.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &drawn{Timeline: perfetto.New()}
	o.Watchers = []run.Watcher{d}
	done, err := run.Scenario(context.Background(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	if done.Unwritten != nil {
		t.Fatal(done.Unwritten)
	}
	return d, done
}

// fields parses a message. It returns the values of each field, numbers or bytes, in order.
func fields(t *testing.T, b []byte) map[int][]any {
	t.Helper()
	all := make(map[int][]any)
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatalf("no number at %x", b[:min(8, len(b))])
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		tag := number()
		field := int(tag >> 3)
		switch tag & 7 {
		case 0:
			all[field] = append(all[field], number())
		case 1:
			all[field] = append(all[field], binary.LittleEndian.Uint64(b))
			b = b[8:]
		case 2:
			n := number()
			if n > uint64(len(b)) {
				t.Fatalf("%d bytes of %d", n, len(b))
			}
			all[field] = append(all[field], b[:n])
			b = b[n:]
		default:
			t.Fatalf("field %d has wire type %d", field, tag&7)
		}
	}
	return all
}

func one(f map[int][]any, field int) uint64 {
	if len(f[field]) == 0 {
		return 0
	}
	return f[field][0].(uint64)
}

func word(f map[int][]any, field int) string {
	if len(f[field]) == 0 {
		return ""
	}
	return string(f[field][0].([]byte))
}

// slice is a slice of a track.
type slice struct {
	track      string
	name       string
	begin, end uint64            // ps
	args       map[string]string // annotations
	ended      bool
	instant    bool
	within     *slice // enclosing slice
}

// arrow leads from one slice to another.
type arrow struct{ from, to *slice }

// trace is a parsed file.
type trace struct {
	tracks   map[uint64]string // full names
	slices   []*slice
	arrows   []arrow
	counters map[string][]int64
	pids     map[uint64]bool
}

// read parses a file by the published field numbers, and checks what a viewer relies on:
// tracks are described before use, slices nest, and arrows connect existing slices.
func read(t *testing.T, b []byte) *trace {
	t.Helper()
	r := &trace{tracks: make(map[uint64]string), counters: make(map[string][]int64), pids: make(map[uint64]bool)}
	open := make(map[uint64][]*slice)
	last := make(map[uint64]uint64)
	flows := make(map[uint64]*slice)
	for _, p := range fields(t, b)[1] { // Trace.packet
		packet := fields(t, p.([]byte))
		if one(packet, 10) == 0 { // trusted_packet_sequence_id
			t.Fatal("packet without a sequence")
		}
		if d := packet[60]; d != nil { // track_descriptor
			r.describe(t, fields(t, d[0].([]byte)))
			continue
		}
		at, e := one(packet, 8), fields(t, packet[11][0].([]byte)) // timestamp, track_event
		id := one(e, 11)                                           // track_uuid
		name, ok := r.tracks[id]
		if !ok {
			t.Fatalf("track %d is not described", id)
		}
		if at < last[id] {
			t.Fatalf("%s: event at %d after one at %d", name, at, last[id])
		}
		last[id] = at
		s := &slice{track: name, name: word(e, 23), begin: at, end: at, args: annotations(t, e)}
		stack := open[id]
		if len(stack) > 0 {
			s.within = stack[len(stack)-1]
		}
		switch kind := one(e, 9); kind { // type
		case 1:
			open[id] = append(stack, s)
			r.slices = append(r.slices, s)
		case 2:
			if len(stack) == 0 {
				t.Fatalf("%s: end without a slice at %d", name, at)
			}
			top := stack[len(stack)-1]
			top.end, top.ended = at, true
			for k, v := range s.args {
				top.args[k] = v
			}
			open[id] = stack[:len(stack)-1]
			continue
		case 3:
			s.instant, s.ended = true, true
			if s.within == nil {
				t.Fatalf("%s: %s at %d is outside of any slice", name, s.name, at)
			}
			r.slices = append(r.slices, s)
		case 4:
			r.counters[name] = append(r.counters[name], int64(one(e, 30)))
			continue
		default:
			t.Fatalf("event of type %d", kind)
		}
		for _, f := range e[48] { // terminating_flow_ids
			from, ok := flows[f.(uint64)]
			if !ok {
				t.Fatalf("%s: arrow without a start to %s at %d", name, s.name, at)
			}
			delete(flows, f.(uint64))
			r.arrows = append(r.arrows, arrow{from, s})
		}
		for _, f := range e[47] { // flow_ids
			if flows[f.(uint64)] != nil {
				t.Fatalf("%s: arrow %d begins twice", name, f)
			}
			flows[f.(uint64)] = s
		}
	}
	for _, s := range r.slices {
		if !s.ended {
			t.Errorf("%s: %s has no end", s.track, s.name)
		}
	}
	return r
}

func (r *trace) describe(t *testing.T, d map[int][]any) {
	t.Helper()
	id, name := one(d, 1), word(d, 2) // uuid, name
	if p := d[3]; p != nil {          // process
		about := fields(t, p[0].([]byte))
		name = word(about, 6)
		if pid := one(about, 1); pid == 0 || r.pids[pid] {
			t.Fatalf("%s has process id %d", name, pid)
		} else {
			r.pids[pid] = true
		}
	} else {
		parent, ok := r.tracks[one(d, 5)]
		if !ok {
			t.Fatalf("%s has no parent", name)
		}
		name = parent + "/" + name
	}
	if old, ok := r.tracks[id]; ok {
		t.Fatalf("%s and %s have the same id", old, name)
	}
	r.tracks[id] = name
}

func annotations(t *testing.T, e map[int][]any) map[string]string {
	all := make(map[string]string)
	for _, a := range e[4] {
		f := fields(t, a.([]byte))
		if v := f[3]; v != nil {
			all[word(f, 10)] = fmt.Sprint(v[0])
		} else {
			all[word(f, 10)] = word(f, 6)
		}
	}
	return all
}

// Pauses and blocked times match the results to the picosecond, and arrows lead from each
// pause of the tree to the pauses that it caused.
func TestAgainstResults(t *testing.T) {
	t.Run("near", func(t *testing.T) { againstResults(t, storm) })
	// Several PAUSE and RESUME frames are in flight at once.
	quick := strings.NewReplacer("hosts_per_leaf: 4}", "hosts_per_leaf: 4, fabric_link: {rate: 200Gbps, delay: 1us}}", "size: 4MB", "size: 8MB",
		"alpha: 1/16", "alpha: 1/32", "size: 400KB", "size: 2MB", "size: 200KB", "size: 1MB").Replace(storm)
	t.Run("quick", func(t *testing.T) { againstResults(t, quick) })
}

func againstResults(t *testing.T, text string) {
	d, done := draw(t, text, run.Options{})
	r := read(t, d.out.Bytes())
	b, o := done.Fabric, done.Outcome
	name := func(e sim.End, class uint8) string {
		return fmt.Sprintf("%s/to-%s (port%d)/pauses class %d", b.Graph.Names[e.Node], b.Graph.Names[b.Graph.Peers()[e.Node][e.Port]], e.Port, class)
	}
	pauses := make(map[string]*slice)
	var blocked uint64
	for _, s := range r.slices {
		number := func(k string) (v uint64) {
			if _, err := fmt.Sscan(s.args[k], &v); err != nil {
				t.Fatalf("%s %s: %s: %v", s.track, s.name, k, err)
			}
			return v
		}
		switch {
		case s.instant:
		case strings.Contains(s.track, "/pauses class"):
			pauses[s.track+s.args["begin_ps"]] = s
		case strings.Contains(s.track, "/blocked class"):
			blocked += number("end_ps") - number("begin_ps")
		}
		if !s.instant && (number("begin_ps")/1000 != s.begin || number("end_ps")/1000 != s.end) {
			t.Errorf("%+v", s)
		}
	}
	if want := done.Summary.Pauses; uint64(len(pauses)) != want.Pauses || blocked != uint64(want.Blocked) || want.MaxDepth < 3 {
		t.Errorf("%d pauses, %d ps blocked; want %+v", len(pauses), blocked, want)
	}
	from := make(map[*slice][]*slice) // sources of arrows by target
	for _, a := range r.arrows {
		from[a.to] = append(from[a.to], a.from)
	}
	caused := 0
	for i := range o.Counters.Pauses {
		p := &o.Counters.Pauses[i]
		s := pauses[name(p.End, p.Class)+fmt.Sprint(int64(p.Sent))]
		if s == nil {
			t.Fatalf("pause %+v is missing", p)
		}
		if end := min(p.Ended, o.End); s.args["end_ps"] != fmt.Sprint(int64(end)) || s.args["depth"] != fmt.Sprint(p.Depth) {
			t.Errorf("%+v ends at %s, depth %s", p, s.args["end_ps"], s.args["depth"])
		}
		if p.Parent < 0 {
			if len(from[s]) > 0 {
				t.Errorf("an arrow leads to %+v, which has no cause", p)
			}
			continue
		}
		parent := &o.Counters.Pauses[p.Parent]
		want := pauses[name(parent.End, parent.Class)+fmt.Sprint(int64(parent.Sent))]
		if len(from[s]) != 1 || !from[s][0].instant || len(from[from[s][0].within]) != 1 || from[from[s][0].within][0] != want {
			t.Errorf("no arrows lead from %+v to %+v: %v", parent, p, from[s])
			continue
		}
		caused++
	}
	if caused < 20 {
		t.Errorf("only %d pauses were caused by others", caused)
	}
}

// Faults have a track per link or host; overlapping faults have separate tracks.
func TestFaults(t *testing.T) {
	d, done := draw(t, storm, run.Options{})
	var got []string
	for _, s := range read(t, d.out.Bytes()).slices {
		if strings.HasPrefix(s.track, "faults/") {
			got = append(got, fmt.Sprintf("%s: %s %s-%s", s.track, s.name, s.args["begin_ps"], s.args["end_ps"]))
		}
	}
	want := []string{
		"faults/host host7: stuck 60000000-160000000",
		fmt.Sprintf("faults/link leaf2-spine1: corrupts frames (rate 0.0001) 70000000-%d", int64(done.Outcome.End)),
		"faults/link leaf1-spine0: down 100000000-150000000",
		"faults/link leaf1-spine0 (2): corrupts frames (rate 0.001) 120000000-160000000",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDeadlock(t *testing.T) {
	const ring = `
name: ring
topology: {name: ring, switches: 3, hosts_per_switch: 1}
hosts: {cc: {name: none}}
switch: {buffer: {size: 1MB}, ecn: {name: none}, pfc: {hold: indefinite}}
routing:
  pinned:
    - {from: switch0, to: switch2, via: [switch0, switch1, switch2]}
    - {from: switch1, to: switch0, via: [switch1, switch2, switch0]}
    - {from: switch2, to: switch1, via: [switch2, switch0, switch1]}
workload:
  - {name: w, generator: flows, flows: [{from: host0, to: host2, size: 5MB}, {from: host1, to: host0, size: 5MB}, {from: host2, to: host1, size: 5MB}]}
run: {arrivals: 10us, stop: {at_most: 2ms}}
`
	d, done := draw(t, ring, run.Options{})
	if done.Summary.Deadlock.Found != 1 {
		t.Fatalf("%+v", done.Summary.Deadlock)
	}
	var whole, stuck int
	for _, s := range read(t, d.out.Bytes()).slices {
		switch {
		case s.track == "deadlock 0/loop":
			whole++
			if s.args["begin_ps"] != fmt.Sprint(int64(*done.Summary.Deadlock.Onset)) || s.args["end_ps"] != fmt.Sprint(int64(done.Outcome.End)) ||
				!strings.HasSuffix(s.args["loop"], " -> back to the first") {
				t.Errorf("%+v", s)
			}
		case strings.HasPrefix(s.track, "deadlock 0/"):
			stuck++
		}
	}
	if whole != 1 || stuck != done.Summary.Deadlock.Queues {
		t.Errorf("%d loops with %d queues, want 1 with %d", whole, stuck, done.Summary.Deadlock.Queues)
	}
}

// Any number of workers and the other engine give the same bytes. A timeline does not change
// results.
func TestSameBytes(t *testing.T) {
	want, done := draw(t, storm, run.Options{})
	for _, o := range []run.Options{{Workers: 3}, {Engine: run.Oracle}, {WindowDivisor: 3}} {
		if got, _ := draw(t, storm, o); !bytes.Equal(got.out.Bytes(), want.out.Bytes()) {
			t.Errorf("%+v: %d bytes, want the same %d", o, got.out.Len(), want.out.Len())
		}
	}
	cfg, err := scenario.Parse("a.yaml", []byte(storm))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := run.Scenario(context.Background(), cfg, run.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if plain.Summary.Write(&a) != nil || done.Summary.Write(&b) != nil || a.String() != b.String() {
		t.Error("a timeline changes results")
	}
}

// A million events take less than 200 MB of memory.
func TestMemory(t *testing.T) {
	cfg, err := scenario.Parse("a.yaml", []byte(storm))
	if err != nil {
		t.Fatal(err)
	}
	line := perfetto.New()
	built, err := fabric.New(cfg, fabric.Options{Sink: line.Sink})
	if err != nil {
		t.Fatal(err)
	}
	line.Bind(built.Graph, built.Spec)
	line.Open(io.Discard)
	leaf := built.Graph.Node("leaf0")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	at := units.Time(0)
	watch := built.Spec.Switches[leaf-built.Graph.Hosts].Sink
	for i := 0; line.Events() < 1000000; i++ {
		at += units.Nanosecond
		watch.Blocked(at, i%4, 0, 2)
		watch.Off(at, i%4, 0, 2)
		at += units.Nanosecond
		watch.Blocked(at, i%4, 2, 0)
		watch.Off(at, i%4, 2, 0)
		if i%5000 == 0 {
			if err := line.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.Sys - before.Sys; used > 200<<20 {
		t.Errorf("%d events took %d MB", line.Events(), used>>20)
	}
	if err := line.Close(at, nil); err != nil {
		t.Fatal(err)
	}
}

// failing is a writer that always fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteError(t *testing.T) {
	cfg, err := scenario.Parse("a.yaml", []byte(storm))
	if err != nil {
		t.Fatal(err)
	}
	line := perfetto.New()
	built, err := fabric.New(cfg, fabric.Options{Sink: line.Sink})
	if err != nil {
		t.Fatal(err)
	}
	line.Bind(built.Graph, built.Spec)
	line.Open(failing{})
	sink := built.Spec.Switches[0].Sink
	for i := range 10000 {
		sink.Off(units.Time(i), 0, 0, packet.ClassMask(i%2*2))
	}
	if line.Flush() == nil || line.Close(units.Millisecond, nil) == nil {
		t.Error("write errors are not reported")
	}
}
