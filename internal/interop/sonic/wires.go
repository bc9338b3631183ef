package sonic

import (
	"fmt"
	"strconv"
	"strings"
)

// End is one end of a cable.
type End struct {
	Switch *Switch
	Port   *Port
}

func (e End) String() string { return e.Switch.Name + " " + e.Port.Name }

// Wire is a cable between two switches.
type Wire struct {
	A, B   End
	Metres int64    // from the list of cables; 0: not given
	Origin Location // where the cable was written
}

// Wires returns the cables between switches, from a list of cables and from the neighbour tables
// of the switches, and sets Wire of their ports. Neighbours that are not in the list of switches
// are ignored.
func Wires(list []*Switch, cables []CableLine) ([]Wire, error) {
	w := &wiring{byName: map[string]*Switch{}, taken: map[*Port]*Port{}}
	for _, s := range list {
		w.byName[s.Name] = s
	}
	for _, c := range cables {
		a, err := w.end(c.Location, c.A[0], c.A[1])
		if err != nil {
			return nil, err
		}
		b, err := w.end(c.Location, c.B[0], c.B[1])
		if err != nil {
			return nil, err
		}
		if err := w.join(Wire{a, b, c.Metres, c.Location}); err != nil {
			return nil, err
		}
	}
	for _, s := range list {
		for _, p := range s.Ports {
			if p.Peer == nil || w.byName[p.Peer.Device] == nil || len(cables) > 0 && w.taken[p] != nil {
				continue
			}
			b, err := w.end(p.Peer.Location, p.Peer.Device, p.Peer.Port)
			if err != nil {
				return nil, err
			}
			if err := w.join(Wire{A: End{s, p}, B: b, Origin: p.Peer.Location}); err != nil {
				return nil, err
			}
		}
	}
	for i := range w.wires {
		x := &w.wires[i]
		x.A.Port.Wire, x.B.Port.Wire = x, x
	}
	return w.wires, nil
}

type wiring struct {
	byName map[string]*Switch
	taken  map[*Port]*Port
	wires  []Wire
}

func (w *wiring) end(at Location, device, port string) (End, error) {
	s := w.byName[device]
	if s == nil {
		return End{}, at.Errorf("unknown switch %q (expected one of the configurations)", shorten(device))
	}
	p := s.Port(port)
	if p == nil {
		return End{}, at.Errorf("switch %s has no port %q (expected a name or alias in table PORT of %s)", s.Name, shorten(port), s.File)
	}
	return End{s, p}, nil
}

// join adds a cable, unless its other end has already added it.
func (w *wiring) join(x Wire) error {
	a, b := w.taken[x.A.Port], w.taken[x.B.Port]
	switch {
	case a == x.B.Port && b == x.A.Port:
		return nil
	case x.A.Port == x.B.Port:
		return x.Origin.Errorf("%s is cabled to itself", x.A)
	case a != nil || b != nil:
		return x.Origin.Errorf("%s is cabled to %s, but one of them is already cabled to another port", x.A, x.B)
	}
	w.taken[x.A.Port], w.taken[x.B.Port] = x.B.Port, x.A.Port
	w.wires = append(w.wires, x)
	return nil
}

// CableLine is a line of a list of cables.
type CableLine struct {
	Location
	A, B   [2]string // switch and port
	Metres int64     // 0: not given
}

// ReadCables reads a list of cables: lines of switch,port,switch,port with an optional
// length such as 30m. Lines that begin with # are comments.
func ReadCables(name string) ([]CableLine, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, err
	}
	return ParseCables(name, string(text))
}

// ParseCables parses a list of cables; see ReadCables.
func ParseCables(name, text string) ([]CableLine, error) {
	var list []CableLine
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		words := strings.Split(line, ",")
		for i := range words {
			words[i] = strings.TrimSpace(words[i])
		}
		at := Location{File: name, Key: fmt.Sprintf("line %d", n)}
		if len(words) != 4 && len(words) != 5 {
			return nil, at.Errorf("%d columns (expected switch,port,switch,port and optionally a length such as 30m)", len(words))
		}
		c := CableLine{Location: at, A: [2]string{words[0], words[1]}, B: [2]string{words[2], words[3]}}
		if len(words) == 5 {
			metres, ok := strings.CutSuffix(words[4], "m")
			v, err := strconv.ParseInt(metres, 10, 64)
			if !ok || err != nil || v < 1 || v > 1_000_000 {
				return nil, at.Errorf("%q is not a cable length (expected whole metres up to 1000 km, such as 30m)", shorten(words[4]))
			}
			c.Metres = v
		}
		if len(list) == maxRows {
			return nil, at.Errorf("more than %d cables", maxRows)
		}
		list = append(list, c)
	}
	return list, nil
}
