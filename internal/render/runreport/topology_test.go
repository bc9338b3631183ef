package runreport

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/analysis/explain"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/metrics"
)

// leafSpine returns the rows of ports.parquet and pools.parquet of a leaf-spine fabric, with
// classes 0 and 3 of each port.
func leafSpine(leaves, spines, hosts int) (ports []port, pools []pool) {
	add := func(node string, at int, peer string) {
		ports = append(ports, port{Node: node, Port: int64(at), Peer: peer}, port{Node: node, Port: int64(at), Peer: peer, Class: 3,
			Blocked: int64(at+1) * int64(units.Microsecond), Utilisation: 0.25, Marks: 2, Link: 1})
	}
	for i := range leaves * hosts {
		add(fmt.Sprintf("host%d", i), 0, fmt.Sprintf("leaf%d", i/hosts))
	}
	for l := range leaves {
		name := fmt.Sprintf("leaf%d", l)
		for h := range hosts {
			add(name, h, fmt.Sprintf("host%d", l*hosts+h))
		}
		for s := range spines {
			add(name, hosts+s, fmt.Sprintf("spine%d", s))
		}
		pools = append(pools, pool{Node: name, Pool: "all", Size: 1 << 20, Peak: 1000})
	}
	for s := range spines {
		for l := range leaves {
			add(fmt.Sprintf("spine%d", s), l, fmt.Sprintf("leaf%d", l))
		}
		pools = append(pools, pool{Node: fmt.Sprintf("spine%d", s), Pool: "all", Size: 1 << 20})
	}
	return ports, pools
}

// 2 leaves with 2 hosts each and 2 spines have 4 + 4 = 8 cables, 16 directions. Port 1 of
// leaf0, to host1, is paused for 2 us; host1 drops 1 of its frames.
func TestWays(t *testing.T) {
	ports, pools := leafSpine(2, 2, 2)
	list := directions(ports)
	if len(list) != 16 {
		t.Fatalf("%d directions", len(list))
	}
	i := slices.IndexFunc(list, func(w direction) bool { return w.name == "leaf0.to-host1" })
	if w := &list[i]; w.blocked != 2*units.Microsecond || w.utilisation != 0.25 || w.marks != 2 || w.drops != 1 || list[w.back].name != "host1.to-leaf0" {
		t.Errorf("%+v", w)
	}
	r := &Run{Summary: &metrics.Summary{End: units.Millisecond}}
	use := &schemes{Faults: []fault{{At: "10us", Link: "spine1-leaf0", DownFor: "20us"}, {At: "0s", Host: "host3", Stuck: true}}}
	use.Topology.Name = "leaf-spine"
	r.Summary.Deadlock.Loop = []string{"leaf0 port 2 class 3", "spine0 port 1 class 3"}
	n := r.network(list, pools, use, nil)
	if len(n.Nodes) != 8 || len(n.Links) != 8 {
		t.Fatalf("%d nodes, %d links", len(n.Nodes), len(n.Links))
	}
	var loop, faults []string
	for _, l := range n.Links {
		for _, w := range []plot.Direction{l.AB, l.BA} {
			if w.Loop {
				loop = append(loop, w.Name)
			}
		}
		if l.Fault != "" {
			faults = append(faults, n.Nodes[l.A].Name+" "+n.Nodes[l.B].Name+": "+l.Fault)
		}
	}
	for _, d := range n.Nodes {
		if d.Fault != "" {
			faults = append(faults, d.Name+": "+d.Fault)
		}
	}
	if want := []string{"leaf0.to-spine0", "spine0.to-leaf1"}; !slices.Equal(loop, want) {
		t.Errorf("loop %q, want %q", loop, want)
	}
	if want := []string{"leaf0 spine1: spine1-leaf0 down from 10.0us to 30.0us", "host3: host3 stuck from 0ps to 1.00ms"}; !slices.Equal(faults, want) {
		t.Errorf("faults %q, want %q", faults, want)
	}
	where := &explain.Explanation{Causes: []*explain.Cause{{Where: "leaf1.to-host2"}}}
	r.Summary.Deadlock.Loop = nil
	n = r.network(list, pools, use, where)
	if !slices.ContainsFunc(n.Links, func(l plot.Link) bool { return l.BA.Mark && l.BA.Name == "leaf1.to-host2" }) {
		t.Error("the main cause is not marked")
	}
}

// Of two cables between the same nodes, the first connects the first ports, the second the
// second ports.
func TestTwoCables(t *testing.T) {
	list := directions([]port{{Node: "a", Port: 4, Peer: "b"}, {Node: "a", Port: 5, Peer: "b"}, {Node: "b", Port: 1, Peer: "a"}, {Node: "b", Port: 2, Peer: "a"}})
	if list[0].name != "a.port4" || list[list[0].back].name != "b.port1" || list[list[1].back].name != "b.port2" {
		t.Errorf("%+v", list)
	}
}

func TestFaultSpans(t *testing.T) {
	end := 100 * units.Microsecond
	for _, c := range []struct {
		fault fault
		want  string
	}{
		{fault{At: "10us", DownFor: "5us", Times: 3, Every: "20us"}, "[{10000000 15000000} {30000000 35000000} {50000000 55000000}]"},
		{fault{At: "90us", For: "20us", Stuck: true}, "[{90000000 100000000}]"},
		{fault{At: "90us", DownFor: "forever"}, "[{90000000 100000000}]"},
		{fault{At: "200us", Corrupt: 0.1}, "[]"},
	} {
		if got := fmt.Sprint(c.fault.spans(end)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.fault, got, c.want)
		}
	}
}

// Two pauses of one tree: leaf0 pauses spine0 from 1 to 5 us, so spine0 pauses leaf1 from 2
// to 9 us. The tree lasts from 1 to 9 us.
func TestTreeLanes(t *testing.T) {
	ports, _ := leafSpine(2, 1, 1)
	r := &Run{Summary: &metrics.Summary{End: units.Millisecond}, names: namesOf(directions(ports))}
	line := &timeline{end: units.Millisecond}
	at := func(us int64) *int64 { return new(us * int64(units.Microsecond)) }
	r.treeLanes(line, []pauseRow{
		{Root: 0, Sent: *at(1), End: at(5), Node: "leaf0", Port: 1, Depth: 1},
		{Root: 0, Sent: *at(2), End: at(9), Node: "spine0", Port: 1, Depth: 2},
	})
	if want := []string{"from leaf0.to-spine0", "leaf1.to-spine0", "spine0.to-leaf0"}; !slices.Equal(line.panel.Categories, want) {
		t.Errorf("lanes %q, want %q", line.panel.Categories, want)
	}
	if s := line.panel.Series[0]; s.Name != "storm" || s.X[0] != 1e-6 || s.Until[0] != 9e-6 {
		t.Errorf("storm %+v", s)
	}
}

// The page of 256 hosts with a full timeline is smaller than 5 MB. Without its script it has
// the same information: the table repeats everything that is hidden.
func TestLargePage(t *testing.T) {
	ports, pools := leafSpine(16, 16, 16)
	list := directions(ports)
	r := &Run{Summary: &metrics.Summary{End: 10 * units.Millisecond}}
	use := &schemes{}
	use.Topology.Name = "leaf-spine"
	line := &timeline{end: r.Summary.End, panel: plot.Panel{Kind: plot.Spans, X: clock(r.Summary.End)}}
	for i := range maxPaused {
		var spans []explain.Span
		for k := range 20000 {
			from := units.Time(500*k+7*i) * units.Nanosecond
			spans = append(spans, explain.Span{From: from, To: from + 200*units.Nanosecond})
		}
		line.add("paused", fmt.Sprintf("leaf%d.to-spine0", i), spans)
	}
	f := &plot.Figure{Title: "What happened when", Wide: true, Panels: []plot.Panel{line.panel}}
	for range 2 {
		p := plot.Panel{X: clock(r.Summary.End)}
		for k := range maxRates {
			s := plot.Series{Name: fmt.Sprint("series ", k), Style: plot.Style{Plain: true}}
			for i := range 100000 {
				s.X, s.Y = append(s.X, float64(i)*1e-7), append(s.Y, float64((i*(k+3))%97)+math.Sqrt(float64(i)))
			}
			p.Series = append(p.Series, s)
		}
		f.Panels = append(f.Panels, p)
	}
	sec := report.Section{Heading: "What happened"}
	sec.Add(report.Lead(r.lead(list)), &report.Figure{Name: "topology", Plot: r.network(list, pools, use, nil)}, &report.Figure{Name: "timeline", Plot: f}, linkTable(list))
	d := &report.Document{Title: "large", Sections: []report.Section{sec}}
	var one, two bytes.Buffer
	for _, b := range []*bytes.Buffer{&one, &two} {
		if err := d.HTML(b); err != nil {
			t.Fatal(err)
		}
	}
	if one.Len() > 5_000_000 {
		t.Errorf("the page has %d bytes", one.Len())
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("two pages of the same run differ")
	}
	page := one.String()
	// 256 host links and 16 x 16 others, two directions each.
	if n := strings.Count(page, `class="way `); n != 1024 {
		t.Errorf("%d directions are drawn, want 1024", n)
	}
	// The table has the values of the other three scales.
	if n := strings.Count(page, `style="display:none"`); n != 3 {
		t.Errorf("%d elements are hidden, want 3", n)
	}
	for _, want := range []string{"paused time</th>", "utilisation</th>", "dropped</th>", "marked</th>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// A fabric with too many links is not drawn: its page would take minutes to open.
func TestLargeFabricIsNotDrawn(t *testing.T) {
	n := &plot.Network{Links: make([]plot.Link, 10_000)}
	if _, ok := Drawing(n).(*report.Figure); !ok {
		t.Errorf("10,000 links: %v, want a figure", Drawing(n))
	}
	n.Links = make([]plot.Link, 10_001)
	if got, want := Drawing(n), report.Paragraph("The fabric is not drawn: it has 10,001 links (expected at most 10,000)."); !reflect.DeepEqual(got, want) {
		t.Errorf("10,001 links: %v, want %v", got, want)
	}
}
