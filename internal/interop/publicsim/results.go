package publicsim

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Done is a completed flow: one line of fct.txt.
type Done struct {
	Src, Dst         int // nodes
	SrcPort, DstPort int
	Size             units.Bytes
	Start, FCT       units.Time
	Alone            units.Time // standalone FCT by the public simulator's formula
}

// address returns the IP address of a host.
func address(node int) uint32 {
	return 0x0b000001 + uint32(node/256)*0x10000 + uint32(node%256)*0x100
}

// nodeOf is the inverse of address.
func nodeOf(ip uint32) int { return int(ip>>16&0xff)*256 + int(ip>>8&0xff) }

// WriteFCT writes completed flows in the order given.
func WriteFCT(w io.Writer, flows []Done) error {
	out := bufio.NewWriter(w)
	for i := range flows {
		d := &flows[i]
		_, err := fmt.Fprintf(out, "%08x %08x %d %d %d %d %d %d\n", address(d.Src), address(d.Dst), d.SrcPort, d.DstPort,
			int64(d.Size), d.Start/units.Nanosecond, d.FCT/units.Nanosecond, d.Alone/units.Nanosecond)
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// minFCT has the smallest valid numbers of a line of fct.txt; times of a flow are not 0.
var minFCT = [6]int64{0, 0, 1, 0, 1, 1}

// ReadFCT reads a file of completed flows.
func ReadFCT(path string) ([]Done, error) {
	t, err := open(path)
	if err != nil {
		return nil, err
	}
	return parseFCT(t)
}

func parseFCT(t *text) ([]Done, error) {
	var flows []Done
	seen := make(map[[4]int]int)
	for _, line := range t.lines {
		if len(line) != 8 {
			return nil, t.fail(line[0], "a completed flow has %d fields (expected 8: sip dip sport dport bytes start_ns fct_ns standalone_ns)", len(line))
		}
		var d Done
		for i, to := range []*int{&d.Src, &d.Dst} {
			ip, err := strconv.ParseUint(line[i].text, 16, 32)
			if err != nil || address(nodeOf(uint32(ip))) != uint32(ip) {
				return nil, t.fail(line[i], "address is %q (expected eight hexadecimal digits, such as 0b000001)", line[i].text)
			}
			*to = nodeOf(uint32(ip))
		}
		var v [6]int64
		for i := range v {
			n, err := t.number(line[2+i], "field", minFCT[i], int64(units.MaxTime/units.Nanosecond))
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
		d.SrcPort, d.DstPort, d.Size = int(v[0]), int(v[1]), units.Bytes(v[2])
		d.Start, d.FCT, d.Alone = units.Time(v[3])*units.Nanosecond, units.Time(v[4])*units.Nanosecond, units.Time(v[5])*units.Nanosecond
		if at := seen[d.key()]; at != 0 {
			return nil, t.fail(line[0], "the flow is repeated: it is already on line %d", at)
		}
		seen[d.key()] = line[0].line
		flows = append(flows, d)
	}
	if len(flows) == 0 {
		return nil, t.failEnd("a completed flow")
	}
	return flows, nil
}

// PauseKind is the kind of an event in pfc.txt.
type PauseKind int

// Kinds of events, with the numbers of pfc.txt.
const (
	ResumeReceived PauseKind = iota
	PauseReceived
	PauseSent
	ResumeSent
)

// Pause is one line of pfc.txt.
type Pause struct {
	At   units.Time
	Node int
	Host bool
	Port int // from 1
	Kind PauseKind
}

// WritePFC writes a pause trace in the order given.
func WritePFC(w io.Writer, pauses []Pause) error {
	out := bufio.NewWriter(w)
	for _, p := range pauses {
		kind := 1
		if p.Host {
			kind = 0
		}
		if _, err := fmt.Fprintf(out, "%d %d %d %d %d\n", p.At/units.Nanosecond, p.Node, kind, p.Port, p.Kind); err != nil {
			return err
		}
	}
	return out.Flush()
}

// ReadPFC reads a pause trace.
func ReadPFC(path string) ([]Pause, error) {
	t, err := open(path)
	if err != nil {
		return nil, err
	}
	return parsePFC(t)
}

func parsePFC(t *text) ([]Pause, error) {
	var pauses []Pause
	for _, line := range t.lines {
		if len(line) != 5 {
			return nil, t.fail(line[0], "a pause has %d fields (expected 5: time_ns node nodetype port type)", len(line))
		}
		var v [5]int64
		high := [5]int64{int64(units.MaxTime / units.Nanosecond), maxNodes - 1, 1, 1 << 16, int64(ResumeSent)}
		for i := range v {
			n, err := t.number(line[i], "field", 0, high[i])
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
		pauses = append(pauses, Pause{units.Time(v[0]) * units.Nanosecond, int(v[1]), v[2] == 0, int(v[3]), PauseKind(v[4])})
	}
	return pauses, nil
}

// Routes has the next hops of each switch to each host, in the order in which ECMP numbers
// them.
type Routes map[[2]int][]int

// ReadRoutes reads lines of "switch host nexthop nexthop ...".
func ReadRoutes(path string, f *Fabric) (Routes, error) {
	t, err := open(path)
	if err != nil {
		return nil, err
	}
	return parseRoutes(t, f)
}

func parseRoutes(t *text, f *Fabric) (Routes, error) {
	linked := make(map[[2]int]bool)
	for _, l := range f.Links {
		linked[[2]int{l.A, l.B}], linked[[2]int{l.B, l.A}] = true, true
	}
	r := make(Routes)
	for _, line := range t.lines {
		if len(line) < 3 {
			return nil, t.fail(line[0], "a route has %d fields (expected a switch, a host and next hops)", len(line))
		}
		var v []int
		for _, w := range line {
			n, err := t.number(w, "node", 0, int64(f.Nodes)-1)
			if err != nil {
				return nil, err
			}
			v = append(v, int(n))
			switch i := len(v) - 1; {
			case i == 1 && f.Switch[n]:
				return nil, t.fail(w, "node %d is a switch (expected a host as the destination)", n)
			case i > 1 && !linked[[2]int{v[0], int(n)}]:
				return nil, t.fail(w, "node %d is not a neighbour of node %d", n, v[0])
			}
		}
		k := [2]int{v[0], v[1]}
		if _, twice := r[k]; twice {
			return nil, t.fail(line[0], "the routes from switch %d to host %d are repeated", v[0], v[1])
		}
		r[k] = v[2:]
	}
	return r, nil
}

// String implements fmt.Stringer.
func (k PauseKind) String() string {
	return strings.Fields("resume-received pause-received pause-sent resume-sent")[k]
}
