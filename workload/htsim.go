package workload

import (
	"fmt"
	"slices"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/htsim"
)

// HTSim runs the connections of a traffic file of htsim. Node i is the i-th host of `from`.
type HTSim struct {
	Path string `yaml:"path" doc:"traffic file (.cm, .tm), relative to the scenario; its node i is host i of from"`
}

// Uses implements Generator.
func (g *HTSim) Uses() Uses { return jobUses }

// File implements FileUser.
func (g *HTSim) File() *string { return &g.Path }

// read reads the file and checks that it fits the fabric.
func (g *HTSim) read(e *Env) (*htsim.Traffic, error) {
	if g.Path == "" {
		return nil, keyf("path", "no file is given (expected a .cm or .tm file)")
	}
	in, err := e.Open(g.Path)
	if err != nil {
		return nil, &KeyError{"path", err}
	}
	defer func() { _ = in.Close() }() // nothing was written
	t, err := htsim.ReadTraffic(g.Path, in)
	if err == nil {
		err = g.check(e, t)
	}
	if err != nil {
		return nil, &KeyError{"path", err}
	}
	return t, nil
}

func (g *HTSim) check(e *Env, t *htsim.Traffic) error {
	if t.Nodes > len(e.From) {
		return fmt.Errorf("%s: %d nodes (expected at most %d, the hosts of from)", g.Path, t.Nodes, len(e.From))
	}
	if len(t.Failures) > 0 {
		f := &t.Failures[0]
		return fmt.Errorf("%s:%d: failed uplink %d of %s %d: a workload cannot remove links (expected no failures); fix: name the links in topology.down",
			g.Path, f.Line, f.Link, f.Layer, f.Switch)
	}
	if len(t.Connections) == 0 {
		return fmt.Errorf("%s: no connections (expected at least one)", g.Path)
	}
	for i := range t.Connections {
		c := &t.Connections[i]
		src, dst := e.From[c.Src], e.From[c.Dst]
		var err error
		switch names := e.Fabric.Names; {
		case units.Bytes(c.Size) > e.MaxSize:
			err = fmt.Errorf("%d bytes (expected at most %d)", c.Size, e.MaxSize)
		case c.Start >= int64(e.Stop-e.Start):
			err = fmt.Errorf("start %d ps is at or after the last arrival (expected less than %d ps; fix: increase run.arrivals)", c.Start, int64(e.Stop-e.Start))
		case !e.Reachable(src, dst):
			err = e.unreachable(src, dst, fmt.Errorf("%s cannot be reached from %s: no path exists, or its links are always down (expected connected hosts)", names[dst], names[src]))
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", g.Path, c.Line, err)
		}
	}
	return nil
}

// Check implements Generator.
func (g *HTSim) Check(e *Env) (float64, error) {
	t, err := g.read(e)
	if err != nil {
		return 0, err
	}
	return float64(len(t.Connections)), nil
}

// Generate implements Generator.
func (g *HTSim) Generate(e *Env) (*Plan, error) {
	t, err := g.read(e)
	if err != nil {
		return nil, err
	}
	causes, err := t.Causes()
	if err != nil {
		return nil, &KeyError{"path", err}
	}
	w := wiring{env: e, traffic: t, plan: &Plan{}, told: make(map[telling]int32), barriers: make(map[uint32]int32)}
	hashes := make(map[uint32]uint32) // of flows with several messages
	for i := range t.Connections {
		c := &t.Connections[i]
		f := Flow{Start: e.Start + units.Time(c.Start), Size: units.Bytes(c.Size), Src: e.From[c.Src], Dst: e.From[c.Dst], Class: e.Classes.Next(), Group: -1}
		if f.Size == 0 {
			f.Size, w.plan.Endless = min(e.MaxSize, e.Fabric.Rates[f.Src].In(e.End-e.Start)+1), []string{""}
		}
		hash, known := hashes[c.ID]
		if !known || c.ID == 0 {
			hash = e.hash()
			hashes[c.ID] = hash
		}
		f.Hash = hash
		w.plan.add(f)
	}
	for i := range t.Connections {
		if on := causes(i); len(on) > 0 {
			w.start(int32(i), on)
		}
	}
	return w.plan, w.err
}

// wiring makes connections wait for events. An event at the source of a connection starts it
// at once. Of another event a message of one byte informs that source.
type wiring struct {
	env      *Env
	traffic  *htsim.Traffic
	plan     *Plan
	told     map[telling]int32 // flows with messages
	barriers map[uint32]int32  // by trigger: node that gathers the events of a barrier
	err      error
}

// telling is a message about an event, or about a complete barrier, to a node.
type telling struct {
	event   htsim.Event
	barrier uint32
	to      int32
}

// start makes a connection wait for events. Several events at different nodes are gathered at
// the source of the first connection that waits for them.
func (w *wiring) start(i int32, on []htsim.Event) {
	c := &w.traffic.Connections[i]
	if len(on) == 1 {
		w.wait(i, w.tell(on[0], c.Src))
		return
	}
	at, known := w.barriers[c.Trigger]
	if !known {
		at = c.Src
		w.barriers[c.Trigger] = at
	}
	if at != c.Src {
		m := telling{barrier: c.Trigger, to: c.Src}
		if _, sent := w.told[m]; !sent {
			w.told[m] = w.message(at, c.Src)
			w.wait(w.told[m], w.gather(on, at)...)
		}
		w.wait(i, w.told[m])
		return
	}
	w.wait(i, w.gather(on, at)...)
}

// gather returns the flows that tell a node about events.
func (w *wiring) gather(on []htsim.Event, at int32) []int32 {
	list := make([]int32, len(on))
	for k, event := range on {
		list[k] = w.tell(event, at)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// tell returns the flow whose completion tells a node about an event. ACKs tell the source
// that the last byte has arrived.
func (w *wiring) tell(event htsim.Event, to int32) int32 {
	c := &w.traffic.Connections[event.Connection]
	if to == c.Src || to == c.Dst && !event.Sent {
		return event.Connection
	}
	m := telling{event: event, to: to}
	if f, sent := w.told[m]; sent {
		return f
	}
	from := c.Dst
	if event.Sent {
		from = c.Src
	}
	f := w.message(from, to)
	w.told[m] = f
	w.wait(f, event.Connection)
	return f
}

// message adds a message of one byte between nodes.
func (w *wiring) message(from, to int32) int32 {
	e := w.env
	if src, dst := e.From[from], e.From[to]; !e.Reachable(src, dst) && w.err == nil {
		w.err = keyf("path", "a trigger at node %d cannot tell node %d: no path leads from %s to %s (expected connected hosts)", from, to, e.Fabric.Names[src], e.Fabric.Names[dst])
	}
	return w.plan.add(Flow{Start: e.Start, Size: 1, Src: e.From[from], Dst: e.From[to], Class: e.Classes.Next(), Group: -1, Hash: e.hash()})
}

// wait makes a flow wait for others.
func (w *wiring) wait(flow int32, on ...int32) {
	w.plan.Waits = append(w.plan.Waits, Wait{Flow: flow, On: on})
}
