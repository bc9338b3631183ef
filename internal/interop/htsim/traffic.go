package htsim

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Limits of a file. A file beyond them is rejected.
const (
	MaxNodes   = 1 << 20
	MaxEntries = 1 << 20 // connections, triggers or failures
)

// DefaultPrio is the priority of a connection that gives none.
const DefaultPrio = 2_000_000

// Traffic is a connection matrix: flows, triggers that start flows, and failed links.
type Traffic struct {
	Nodes       int
	Connections []Connection
	Triggers    []Trigger
	Failures    []Failure
}

// Connection is a flow, or a message of a flow.
type Connection struct {
	Start    int64  // ps; 0 if Trigger starts it
	Size     int32  // bytes; 0 means endless
	Src, Dst int32  // nodes, from 0
	ID       uint32 // 0 if none is given; several messages of a flow share one
	Trigger  uint32 // id of the trigger that starts it, or 0
	SendDone uint32 // id of the trigger that fires when the last byte is acknowledged, or 0
	RecvDone uint32 // id of the trigger that fires when the last byte has arrived, or 0
	Prio     int32
	Msg      uint32 // number of the message; 0 if none is given
	Message  bool   // the connection is one message of flow ID
	Line     int    // where it was read; 0 if it was not
}

// TriggerKind says when a trigger starts its connections.
type TriggerKind uint8

// Kinds of triggers.
const (
	OneShot   TriggerKind = 1 + iota // it fires once and starts all connections
	MultiShot                        // each time it fires it starts the next connection
	Barrier                          // it starts all connections when it has fired Count times
)

var triggerNames = [...]string{OneShot: "oneshot", MultiShot: "multishot", Barrier: "barrier"}

func (k TriggerKind) String() string { return triggerNames[k] }

// Trigger starts the connections that name it.
type Trigger struct {
	ID    uint32 // from 1
	Count int32  // of a barrier
	Kind  TriggerKind
	Line  int // where it was read; 0 if it was not
}

// Layer is a layer of switches.
type Layer uint8

// Layers of switches, from the hosts upward.
const (
	ToR Layer = iota
	Agg
	Core
)

var layerNames = [...]string{ToR: "TOR", Agg: "AGG", Core: "CORE"}

func (l Layer) String() string { return layerNames[l] }

// Failure is a failed uplink of a switch.
type Failure struct {
	Switch, Link int32 // from 0
	Layer        Layer
	Line         int // where it was read; 0 if it was not
}

// OpenTraffic reads a .cm or .tm file.
func OpenTraffic(path string) (*Traffic, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return ReadTraffic(path, f)
}

// ReadTraffic reads a connection matrix and checks it: nodes, ids, the announced numbers of
// entries, and that every connection starts. The name is used in errors.
func ReadTraffic(name string, r io.Reader) (*Traffic, error) {
	p := trafficReader{lines: newLines(name, r), traffic: new(Traffic), want: [4]int{-1, -1, -1, -1}}
	for {
		more, err := p.next()
		if err == nil && more {
			err = p.entry()
		}
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	return p.traffic, nil
}

type trafficReader struct {
	*lines
	traffic *Traffic
	want    [4]int // numbers of the header, by index in headerKeys; -1 if not given
}

var headerKeys = [4]string{"Nodes", "Connections", "Triggers", "Failures"}

// entry parses a line.
func (p *trafficReader) entry() error {
	first := p.take()
	for i, name := range headerKeys {
		if first == name {
			return p.header(i)
		}
	}
	if p.traffic.Nodes == 0 {
		return p.errorf("unexpected %.40q (expected Nodes first)", first)
	}
	if t := p.traffic; max(len(t.Connections), len(t.Triggers), len(t.Failures)) > MaxEntries {
		return p.errorf("too many entries (expected at most %d of each kind)", MaxEntries)
	}
	switch {
	case strings.Contains(first, "->"):
		return p.connection(first)
	case first == "trigger":
		return p.trigger()
	case first == "failure":
		return p.failure()
	}
	return p.errorf("unexpected %.40q (allowed: %s, SRC->DST, trigger, failure)", first, strings.Join(headerKeys[:], ", "))
}

func (p *trafficReader) header(i int) error {
	if p.want[i] >= 0 {
		return p.errorf("%s is given twice", headerKeys[i])
	}
	low, high := int64(0), int64(MaxEntries)
	if i == 0 {
		low, high = 1, MaxNodes
	}
	n, err := p.number(headerKeys[i], low, high)
	if err != nil {
		return err
	}
	if p.want[i] = int(n); i == 0 {
		p.traffic.Nodes = int(n)
	}
	return p.end()
}

var connectionKeys = [...]string{"start", "trigger", "size", "id", "send_done_trigger", "recv_done_trigger", "prio", "msg"}

func (p *trafficReader) connection(ends string) error {
	c := Connection{Prio: DefaultPrio, Line: p.line}
	src, dst, _ := strings.Cut(ends, "->")
	from, err := p.parse("source", src, 0, int64(p.traffic.Nodes)-1)
	if err != nil {
		return err
	}
	to, err := p.parse("destination", dst, 0, int64(p.traffic.Nodes)-1)
	if err != nil {
		return err
	}
	if c.Src, c.Dst = int32(from), int32(to); from == to {
		return p.errorf("connection from node %d to itself", from)
	}
	var given [len(connectionKeys)]bool
	for len(p.words) > 0 {
		key := p.take()
		i := slices.Index(connectionKeys[:], key)
		if i < 0 {
			return p.errorf("unexpected %.40q (allowed: %s)", key, strings.Join(connectionKeys[:], ", "))
		}
		if given[i] {
			return p.errorf("%s is given twice", key)
		}
		given[i] = true
		var v int64
		switch key {
		case "id":
			v, err = p.number(key, 1, math.MaxInt32)
			c.ID = uint32(v)
		case "start":
			c.Start, err = p.start()
		case "size":
			v, err = p.number(key, 0, math.MaxInt32)
			c.Size = int32(v)
		case "trigger":
			v, err = p.number(key, 1, math.MaxInt32)
			c.Trigger = uint32(v)
		case "send_done_trigger":
			v, err = p.number(key, 1, math.MaxInt32)
			c.SendDone = uint32(v)
		case "recv_done_trigger":
			v, err = p.number(key, 1, math.MaxInt32)
			c.RecvDone = uint32(v)
		case "prio":
			v, err = p.number(key, math.MinInt32, math.MaxInt32)
			c.Prio = int32(v)
		case "msg":
			// The number may be missing.
			if c.Message = true; len(p.words) > 0 && p.words[0][0] >= '0' && p.words[0][0] <= '9' {
				v, err = p.number(key, 1, math.MaxInt32)
				c.Msg = uint32(v)
			}
		}
		if err != nil {
			return err
		}
	}
	switch {
	case !given[2]:
		return p.errorf("connection without size")
	case given[0] && given[1]:
		return p.errorf("connection with start and with trigger (expected one of them)")
	case !given[0] && !given[1]:
		return p.errorf("connection without start and without trigger (expected one of them)")
	case given[1] && c.ID == 0:
		return p.errorf("connection with a trigger but without id")
	case c.Message && c.ID == 0:
		return p.errorf("connection with msg but without id")
	}
	p.traffic.Connections = append(p.traffic.Connections, c)
	return nil
}

// start takes a time in ps. The simulator reads a floating-point number and drops its
// fraction.
func (p *trafficReader) start() (int64, error) {
	word := p.take()
	if v, err := strconv.ParseInt(word, 10, 64); err == nil && v >= 0 {
		return v, nil
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || !(v >= 0 && v < math.MaxInt64) {
		return 0, p.errorf("start is %.40q (expected a time in ps, from 0)", word)
	}
	return int64(v), nil
}

func (p *trafficReader) trigger() error {
	t := Trigger{Line: p.line}
	counted := false
	for len(p.words) > 0 {
		var v int64
		var err error
		switch key := p.take(); key {
		case "id":
			v, err = p.number(key, 1, math.MaxInt32)
			t.ID = uint32(v)
		case "count":
			v, err = p.number(key, 1, math.MaxInt32)
			t.Count, counted = int32(v), true
		case "oneshot", "multishot", "barrier":
			if t.Kind != 0 {
				return p.errorf("trigger with two types: %s and %s", t.Kind, key)
			}
			for kind, name := range triggerNames {
				if name == key {
					t.Kind = TriggerKind(kind)
				}
			}
		default:
			err = p.errorf("unexpected %.40q (allowed: id, oneshot, multishot, barrier, count)", key)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case t.ID == 0:
		return p.errorf("trigger without id")
	case t.Kind == 0:
		return p.errorf("trigger %d has no type (allowed: oneshot, multishot, barrier)", t.ID)
	case t.Kind == Barrier && !counted:
		return p.errorf("barrier %d has no count", t.ID)
	case t.Kind != Barrier:
		t.Count = 0
	}
	p.traffic.Triggers = append(p.traffic.Triggers, t)
	return nil
}

func (p *trafficReader) failure() error {
	f := Failure{Switch: -1, Link: -1, Line: p.line}
	layered := false
	for len(p.words) > 0 {
		var v int64
		var err error
		switch key := p.take(); key {
		case "switch_type":
			name := p.take()
			layered = false
			for i, known := range layerNames {
				if name == known {
					f.Layer, layered = Layer(i), true
				}
			}
			if !layered {
				err = p.errorf("switch_type is %.40q (allowed: %s)", name, strings.Join(layerNames[:], ", "))
			}
		case "switch_id":
			v, err = p.number(key, 0, math.MaxInt32)
			f.Switch = int32(v)
		case "link_id":
			v, err = p.number(key, 0, math.MaxInt32)
			f.Link = int32(v)
		default:
			err = p.errorf("unexpected %.40q (allowed: switch_type, switch_id, link_id)", key)
		}
		if err != nil {
			return err
		}
	}
	if !layered || f.Switch < 0 || f.Link < 0 {
		return p.errorf("incomplete failure (expected switch_type, switch_id and link_id)")
	}
	p.traffic.Failures = append(p.traffic.Failures, f)
	return nil
}

// finish compares the numbers of entries with the header and checks triggers.
func (p *trafficReader) finish() error {
	t := p.traffic
	if t.Nodes == 0 {
		return p.errorf("the file ends early (expected Nodes)")
	}
	for i, n := range [4]int{t.Nodes, len(t.Connections), len(t.Triggers), len(t.Failures)} {
		if want := max(p.want[i], 0); n != want {
			return p.errorf("%d %s (expected %d, as in the header)", n, strings.ToLower(headerKeys[i]), want)
		}
	}
	return p.triggers()
}

// WriteTraffic writes a connection matrix: the header, connections, triggers and failures.
func WriteTraffic(w io.Writer, t *Traffic) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Nodes %d\nConnections %d\n", t.Nodes, len(t.Connections))
	if len(t.Triggers) > 0 {
		fmt.Fprintf(out, "Triggers %d\n", len(t.Triggers))
	}
	if len(t.Failures) > 0 {
		fmt.Fprintf(out, "Failures %d\n", len(t.Failures))
	}
	optional := func(key string, v uint32) {
		if v != 0 {
			fmt.Fprintf(out, " %s %d", key, v)
		}
	}
	for _, c := range t.Connections {
		fmt.Fprintf(out, "%d->%d", c.Src, c.Dst)
		optional("id", c.ID)
		if c.Trigger == 0 {
			fmt.Fprintf(out, " start %d", c.Start)
		}
		optional("trigger", c.Trigger)
		fmt.Fprintf(out, " size %d", c.Size)
		optional("send_done_trigger", c.SendDone)
		optional("recv_done_trigger", c.RecvDone)
		if c.Prio != DefaultPrio {
			fmt.Fprintf(out, " prio %d", c.Prio)
		}
		if c.Message {
			fmt.Fprint(out, " msg")
			if c.Msg != 0 {
				fmt.Fprintf(out, " %d", c.Msg)
			}
		}
		fmt.Fprintln(out)
	}
	for _, g := range t.Triggers {
		fmt.Fprintf(out, "trigger id %d %s", g.ID, g.Kind)
		if g.Kind == Barrier {
			fmt.Fprintf(out, " count %d", g.Count)
		}
		fmt.Fprintln(out)
	}
	for _, f := range t.Failures {
		fmt.Fprintf(out, "failure switch_type %s switch_id %d link_id %d\n", f.Layer, f.Switch, f.Link)
	}
	return out.Flush()
}
