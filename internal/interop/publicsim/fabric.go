package publicsim

import (
	"fmt"
	"strconv"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/topo"
)

// Fabric is a topology file. Nodes are numbered from 0; nodes that are not switches are
// hosts. The ports of a node are numbered from 1 in the order of its links.
type Fabric struct {
	Nodes  int
	Switch []bool // by node
	Links  []Link
}

// Link is one line of a topology file.
type Link struct {
	A, B      int
	Rate      units.Rate
	Delay     units.Time
	ErrorRate float64
}

const maxNodes = topo.MaxHosts + topo.MaxSwitches

// parseFabric parses a topology file. Its header has three numbers (nodes, switches, links)
// or four (nodes, switches, ToRs, links). Two further numbers, the rates of host and switch
// links, are ignored, because every link has its own rate.
func parseFabric(t *text) (*Fabric, error) {
	if len(t.lines) == 0 {
		return nil, t.failEnd("a header: nodes switches links")
	}
	header := t.lines[0]
	linksAt := map[int]int{3: 2, 4: 3, 6: 3}[len(header)]
	if linksAt == 0 {
		return nil, t.fail(header[0], "the header has %d numbers (expected 3: nodes switches links; 4: nodes switches tors links; or 6)", len(header))
	}
	for i, w := range header {
		if i > linksAt { // rates in any unit
			if v, err := strconv.ParseFloat(w.text, 64); err != nil || !(v >= 0) {
				return nil, t.fail(w, "header is %q (expected a number of at least 0)", w.text)
			}
		} else if _, err := t.number(w, "header", 0, 1<<40); err != nil {
			return nil, err
		}
	}
	nodes, err := t.number(header[0], "number of nodes", 1, maxNodes)
	if err != nil {
		return nil, err
	}
	switches, err := t.number(header[1], "number of switches", 0, nodes)
	if err != nil {
		return nil, err
	}
	links, err := t.number(header[linksAt], "number of links", 1, 1<<24)
	if err != nil {
		return nil, err
	}
	f := &Fabric{Nodes: int(nodes), Switch: make([]bool, nodes)}
	rest, err := f.readSwitches(t, int(switches))
	if err != nil {
		return nil, err
	}
	if len(rest) < int(links) {
		return nil, t.failEnd(fmt.Sprintf("%d links, as in the header", links))
	}
	if len(rest) > int(links) {
		return nil, t.fail(rest[links][0], "more links than the %d in the header", links)
	}
	cables := make([]int, f.Nodes)
	for _, line := range rest {
		if err := f.readLink(t, line); err != nil {
			return nil, err
		}
		l := &f.Links[len(f.Links)-1]
		for _, n := range [2]int{l.A, l.B} {
			if cables[n]++; cables[n] > 1 && !f.Switch[n] {
				return nil, t.fail(line[0], "host %d has a second link (expected one per host)", n)
			}
		}
	}
	for n, count := range cables {
		if count == 0 && !f.Switch[n] {
			return nil, t.fail(header[0], "there are %d nodes, but host %d has no link (expected one per host)", nodes, n)
		}
	}
	return f, nil
}

// readSwitches reads the numbers of the switches, on one or several lines, and returns the
// remaining lines.
func (f *Fabric) readSwitches(t *text, switches int) ([][]word, error) {
	rest := t.lines[1:]
	for read := 0; read < switches; {
		if len(rest) == 0 {
			return nil, t.failEnd("the numbers of the switches")
		}
		for _, w := range rest[0] {
			v, err := t.number(w, "switch", 0, int64(f.Nodes)-1)
			if err != nil {
				return nil, err
			}
			if f.Switch[v] {
				return nil, t.fail(w, "switch %d is listed twice", v)
			}
			f.Switch[v] = true
			read++
		}
		if read > switches {
			return nil, t.fail(rest[0][0], "%d switches are listed (expected %d, as in the header)", read, switches)
		}
		rest = rest[1:]
	}
	return rest, nil
}

func (f *Fabric) readLink(t *text, line []word) error {
	if len(line) != 5 {
		return t.fail(line[0], "a link has %d fields (expected 5: a b rate delay error_rate)", len(line))
	}
	a, err := t.number(line[0], "node", 0, int64(f.Nodes)-1)
	if err != nil {
		return err
	}
	b, err := t.number(line[1], "node", 0, int64(f.Nodes)-1)
	if err != nil {
		return err
	}
	if a == b {
		return t.fail(line[1], "node %d is linked to itself", a)
	}
	if !f.Switch[a] && !f.Switch[b] {
		return t.fail(line[1], "hosts %d and %d are linked to each other (expected a switch at one end)", a, b)
	}
	l := Link{A: int(a), B: int(b)}
	if l.Rate, err = t.rate(line[2], "rate"); err != nil {
		return err
	}
	if l.Delay, err = t.delay(line[3], "delay"); err != nil {
		return err
	}
	if l.Delay == 0 {
		return t.fail(line[3], "delay is 0 (expected more than 0s)")
	}
	if l.ErrorRate, err = t.share(line[4], "error rate"); err != nil {
		return err
	}
	f.Links = append(f.Links, l)
	return nil
}

// Flow is one line of a flow file.
type Flow struct {
	Src, Dst int // nodes
	Class    int
	DstPort  int
	SrcPort  int // 10000 + the number of earlier flows of the pair
	Size     units.Bytes
	Start    units.Time
}

// firstPort is the source port of the first flow of a pair.
const firstPort = 10000

// parseFlows parses a flow file: the number of flows, then one line per flow.
func parseFlows(t *text, f *Fabric) ([]Flow, error) {
	if len(t.lines) == 0 {
		return nil, t.failEnd("the number of flows")
	}
	if first := t.lines[0]; len(first) > 1 {
		return nil, t.fail(first[1], "the first line has %d fields (expected 1: the number of flows)", len(first))
	}
	count, err := t.number(t.lines[0][0], "number of flows", 0, 1<<32-1)
	if err != nil {
		return nil, err
	}
	rest := t.lines[1:]
	if int64(len(rest)) < count {
		return nil, t.failEnd(fmt.Sprintf("%d flows, as on the first line", count))
	}
	if int64(len(rest)) > count {
		return nil, t.fail(rest[count][0], "more flows than the %d on the first line", count)
	}
	flows := make([]Flow, 0, len(rest))
	earlier := make(map[[2]int]int)
	for _, line := range rest {
		w, err := parseFlow(t, f, line)
		if err != nil {
			return nil, err
		}
		if len(flows) > 0 && w.Start < flows[len(flows)-1].Start {
			return nil, t.fail(line[len(line)-1], "the flow starts before the flow on the previous line (expected flows in order of start)")
		}
		pair := [2]int{w.Src, w.Dst}
		w.SrcPort = firstPort + earlier[pair]
		earlier[pair]++
		flows = append(flows, w)
	}
	return flows, nil
}

func parseFlow(t *text, f *Fabric, line []word) (Flow, error) {
	var w Flow
	if len(line) != 6 {
		return w, t.fail(line[0], "a flow has %d fields (expected 6: src dst priority dport bytes start_seconds)", len(line))
	}
	for i, to := range []*int{&w.Src, &w.Dst} {
		v, err := t.number(line[i], "host", 0, int64(f.Nodes)-1)
		if err != nil {
			return w, err
		}
		if f.Switch[v] {
			return w, t.fail(line[i], "node %d is a switch (expected a host)", v)
		}
		*to = int(v)
	}
	if w.Src == w.Dst {
		return w, t.fail(line[1], "source and destination are both node %d (expected different hosts)", w.Src)
	}
	class, err := t.number(line[2], "priority", 1, 7) // 0 is for control frames
	if err != nil {
		return w, err
	}
	port, err := t.number(line[3], "destination port", 0, 1<<16-1)
	if err != nil {
		return w, err
	}
	size, err := t.number(line[4], "bytes", 1, 1<<40)
	if err != nil {
		return w, err
	}
	w.Class, w.DstPort, w.Size = int(class), int(port), units.Bytes(size)
	if w.Start, err = seconds(line[5].text); err != nil {
		return w, t.fail(line[5], "start is %q (expected seconds, such as 0.000105553)", line[5].text)
	}
	return w, nil
}
