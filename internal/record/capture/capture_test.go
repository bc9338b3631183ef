package capture_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/record/capture"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

// busy is a run with every kind of host frame: RDMA with pauses, marks and frames lost on a
// link, and TCP with frames dropped by a buffer.
const busy = `
name: busy
topology: {name: leaf-spine, leaves: 2, spines: 2, hosts_per_leaf: 4}
classes:
  control: {ids: [0], kind: control}
  rdma: {ids: [3], kind: lossless}
  tcp: {ids: [5], kind: lossy}
switch:
  buffer: {size: 1500KB}
  policy: {name: dt, alpha: 1/8, alpha_lossy: 1/8}
  ecn: {name: red, classes: [rdma, tcp], kmin: 20KB, kmax: 200KB, pmax: 0.2}
hosts:
  transports:
    tcp: {payload: 1460B, header: 58B, cc: {name: dctcp}, cnp: {mode: ack}, reliability: {name: sack, min_rto: 1ms}}
workload:
  - {name: rdma, generator: incast, senders: 7, size: 400001B, to: host3, at: 5us, class: rdma}
  - {name: tcp, generator: incast, senders: 6, size: 300001B, to: host2, at: 5us, class: tcp, transport: tcp}
faults:
  - {at: 20us, link: leaf0-host3, corrupt: 0.002, for: 200us}
run: {arrivals: 50us, stop: {at_most: 20ms}}
`

// memCapture is a capture into memory.
type memCapture struct {
	*capture.Capture
	out bytes.Buffer
}

func (c *memCapture) Bind(b *fabric.Fabric) error {
	if err := c.Capture.Bind(b.Graph, b.Flows, b.Spec.Hosts); err != nil {
		return err
	}
	return c.Open(&c.out)
}

// frameSeen is a frame of the run or of the file.
type frameSeen struct {
	at   units.Time
	port string
	out  bool
	text string
}

// witness records the frames at ports, to compare the file with.
type witness struct {
	node  string
	built **fabric.Fabric
	ports string
	seen  *[]frameSeen
	probe.Ignore
	ext  packet.Ext
	left units.Time
}

func (w *witness) Depart(now units.Time, _ int, _ *packet.Packet) { w.left = now }

func (w *witness) Sent(port int, p *packet.Packet, ext packet.Ext) { w.add(w.left, port, true, p, ext) }

func (w *witness) Received(_ int, _ *packet.Packet, ext packet.Ext) {
	w.ext = append(packet.Ext{}, ext...)
}

func (w *witness) Arrive(now units.Time, port int, p *packet.Packet) {
	w.add(now, port, false, p, w.ext)
}

func (w *witness) add(now units.Time, port int, out bool, p *packet.Packet, ext packet.Ext) {
	b := *w.built
	name := w.node + ".to-" + b.Graph.Names[b.Graph.Peers()[b.Graph.Node(w.node)][port]]
	if w.node == w.ports {
		*w.seen = append(*w.seen, frameSeen{now, name, out, describe(b, p, ext)})
	}
}

// describe returns the expected description of a frame.
func describe(b *fabric.Fabric, p *packet.Packet, ext packet.Ext) string {
	if p.Kind() == packet.PFC {
		enable, pause, quanta := p.PFC()
		text := fmt.Sprintf("pfc enable %d times", enable)
		for c := range 8 {
			text += fmt.Sprintf(" %d", int(quanta)*int(pause>>c&1))
		}
		return text
	}
	f := &b.Flows.Flow[p.Flow]
	transport := &b.Spec.Hosts[f.Src].Transports[f.Transport]
	hosts := fmt.Sprintf("%d to %d class %d", f.Src, f.Dst, p.Class())
	if p.Kind() != packet.Data {
		hosts = fmt.Sprintf("%d to %d class %d", f.Dst, f.Src, p.Class())
	}
	marked := p.Flags&packet.CE != 0
	bytesTo := func(seq uint32) int64 { return 1 + min(int64(f.Size), int64(seq)*int64(transport.Payload)) }
	if transport.Recovery == dataplane.SACK {
		if p.Kind() == packet.Data {
			return fmt.Sprintf("tcp %s data %d of %d B ce %t", hosts, bytesTo(p.Seq), int(p.Size)-int(transport.Header), marked)
		}
		text := fmt.Sprintf("tcp %s ack %d echo %t blocks", hosts, bytesTo(p.Seq), marked)
		if len(ext) > 0 {
			for _, w := range ext[1 : 1+ext[0]>>56] {
				text += fmt.Sprintf(" %d-%d", bytesTo(uint32(w)), bytesTo(uint32(w>>32)))
			}
		}
		return text
	}
	hosts += fmt.Sprintf(" qp %d", 256+p.Flow)
	switch packets := uint32((f.Size + transport.Payload - 1) / transport.Payload); p.Kind() {
	case packet.Data:
		op := 7
		switch {
		case packets == 1:
			op = 10
		case p.Seq == 0:
			op = 6
		case p.Seq == packets-1:
			op = 8
		}
		return fmt.Sprintf("roce %s opcode %d psn %d of %d B ce %t", hosts, op, p.Seq, int(p.Size)-int(transport.Header), marked)
	case packet.Ack:
		return fmt.Sprintf("roce %s opcode 17 psn %d syndrome 31", hosts, (p.Seq-1)&0xffffff)
	case packet.Nack:
		return fmt.Sprintf("roce %s opcode 17 psn %d syndrome 96", hosts, p.Seq)
	}
	return fmt.Sprintf("roce %s opcode 129 psn 0", hosts)
}

// watching is a run.Watcher with witnesses.
type watching struct {
	node  string
	built *fabric.Fabric
	lists [64][]frameSeen
	sinks [64]*witness
}

func (w *watching) Sink(n int) probe.Sink {
	w.sinks[n] = &witness{built: &w.built, seen: &w.lists[n], ports: w.node}
	return w.sinks[n]
}

func (w *watching) Bind(b *fabric.Fabric) error {
	w.built = b
	for n, name := range b.Graph.Names {
		w.sinks[n].node = name
	}
	return nil
}

func (w *watching) Flush() error { return nil }

func (w *watching) seen() []frameSeen { return w.lists[w.built.Graph.Node(w.node)] }

// captured runs a scenario with a capture at ports and a witness at a node.
func captured(t *testing.T, text string, spec capture.Spec, node string, o run.Options) (*memCapture, *watching) {
	t.Helper()
	cfg, err := scenario.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if spec.To == 0 {
		spec.To = units.Never
	}
	if spec.Limit == 0 {
		spec.Limit = units.GB
	}
	c, w := &memCapture{Capture: capture.New(spec)}, &watching{node: node}
	o.Watchers = append(o.Watchers, c, w)
	if _, err := run.Scenario(context.Background(), cfg, o); err != nil {
		t.Fatal(err)
	}
	return c, w
}

// block is a frame of a file.
type block struct {
	port    string
	at      units.Time
	out     bool
	data    []byte // without FCS
	comment string
}

// readBlocks parses a pcapng file by its specification and checks its structure.
func readBlocks(t *testing.T, b []byte) []block {
	t.Helper()
	le := binary.LittleEndian
	var names []string
	var list []block
	for at := 0; at < len(b); {
		kind, n := le.Uint32(b[at:]), int(le.Uint32(b[at+4:]))
		if n%4 != 0 || le.Uint32(b[at+n-4:]) != uint32(n) {
			t.Fatalf("block at %d has length %d and %d", at, n, le.Uint32(b[at+n-4:]))
		}
		body := b[at+8 : at+n-4]
		at += n
		options := func(o []byte) map[uint16][]byte {
			all := make(map[uint16][]byte)
			for le.Uint16(o) != 0 {
				size := int(le.Uint16(o[2:]))
				all[le.Uint16(o)] = o[4 : 4+size]
				o = o[4+(size+3)&^3:]
			}
			if len(o) != 4 {
				t.Fatalf("%d bytes after the options", len(o))
			}
			return all
		}
		switch kind {
		case 0x0a0d0d0a:
			options(body[16:])
		case 1:
			o := options(body[8:])
			if o[9][0] != 12 || o[13][0] != 4 || len(o[8]) != 8 {
				t.Fatalf("interface options %v", o)
			}
			names = append(names, string(o[2]))
		case 6:
			size := int(le.Uint32(body[12:]))
			o := options(body[20+(size+3)&^3:])
			flags := le.Uint32(o[2])
			if flags&^3 != 4<<5 || le.Uint32(body[16:]) != uint32(size) {
				t.Fatalf("flags %x, length %d of %d", flags, size, le.Uint32(body[16:]))
			}
			data := body[20 : 20+size]
			if le.Uint32(data[size-4:]) != crc32.ChecksumIEEE(data[:size-4]) {
				t.Fatal("wrong FCS")
			}
			list = append(list, block{
				names[le.Uint32(body)], units.Time(uint64(le.Uint32(body[4:]))<<32 | uint64(le.Uint32(body[8:]))), flags&3 == 2,
				data[:size-4], string(o[1]),
			})
		default:
			t.Fatalf("block of type %x", kind)
		}
	}
	return list
}

// Any number of workers and the other engine give the same bytes.
func TestSameBytes(t *testing.T) {
	spec := capture.Spec{Ports: "leaf*,host3"}
	want, _ := captured(t, busy, spec, "leaf0", run.Options{})
	for _, o := range []run.Options{{Workers: 3}, {Engine: run.Oracle}, {WindowDivisor: 3}} {
		got, _ := captured(t, busy, spec, "leaf0", o)
		if !bytes.Equal(got.out.Bytes(), want.out.Bytes()) {
			t.Errorf("%+v: %d bytes, want the same %d", o, got.out.Len(), want.out.Len())
		}
	}
}

// A capture keeps its limits of time and size, and reports them.
func TestBounds(t *testing.T) {
	all, _ := captured(t, busy, capture.Spec{Ports: "leaf0.to-host3"}, "leaf0", run.Options{})
	whole := readBlocks(t, all.out.Bytes())
	if at, full := all.Full(); full || all.Frames() != len(whole) || at != whole[len(whole)-1].at {
		t.Errorf("%d frames to %s, full: %t; want %d", all.Frames(), at, full, len(whole))
	}
	us := units.Microsecond
	part, _ := captured(t, busy, capture.Spec{Ports: "leaf0.to-host3", From: 30 * us, To: 60 * us}, "leaf0", run.Options{})
	var want []block
	for _, b := range whole {
		if b.at >= 30*us && b.at < 60*us {
			want = append(want, b)
		}
	}
	if got := readBlocks(t, part.out.Bytes()); fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 100 {
		t.Errorf("%d frames in the time window, want %d", len(got), len(want))
	}
	small, _ := captured(t, busy, capture.Spec{Ports: "leaf0.to-host3", Limit: 50 * units.KB}, "leaf0", run.Options{})
	got := readBlocks(t, small.out.Bytes())
	at, full := small.Full()
	if small.out.Len() > 50000 || small.out.Len() < 48000 || !full || at != got[len(got)-1].at || fmt.Sprint(got) != fmt.Sprint(whole[:len(got)]) {
		t.Errorf("%d bytes, %d frames, full: %t at %s", small.out.Len(), len(got), full, at)
	}
}

// Comments add what frames do not contain: causes of pauses, drops and marks with their
// queues, and retransmissions.
func TestComments(t *testing.T) {
	c, _ := captured(t, busy, capture.Spec{Ports: "leaf0,host3"}, "leaf0", run.Options{})
	found := make(map[string]int)
	for _, b := range readBlocks(t, c.out.Bytes()) {
		for _, want := range []string{"pauses class 3 of host", "class 3 of host", "paused by leaf0, depth 1", "resumes class 3 of host", "dropped: overflow; ",
			" B of the shared segment free", "marked here: queue ", "retransmission"} {
			if strings.Contains(b.comment, want) {
				found[want]++
			}
		}
	}
	hosts, _ := captured(t, busy, capture.Spec{Ports: "host0"}, "leaf0", run.Options{})
	for _, b := range readBlocks(t, hosts.out.Bytes()) {
		if b.comment == "class 3 paused by leaf0, depth 1" && !b.out {
			found["paused by leaf0, depth 1"]++
		}
	}
	for _, want := range []string{"pauses class 3 of host", "paused by leaf0, depth 1", "resumes class 3 of host", "dropped: overflow; ", "marked here: queue ", "retransmission"} {
		if found[want] == 0 {
			t.Errorf("no comment contains %q: %v", want, found)
		}
	}
}

func TestSpecCheck(t *testing.T) {
	for _, c := range []struct {
		spec capture.Spec
		want string
	}{
		{capture.Spec{To: 5, Limit: units.MB}, "<nil>"},
		{capture.Spec{From: 5, To: 5, Limit: units.MB}, "from is 5ps and to is 5ps (expected from before to)"},
		{capture.Spec{To: 5}, "the limit is 0B (expected at least 4KB)"},
	} {
		if got := fmt.Sprint(c.spec.Check()); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
