package sonic

import (
	"fmt"
	"strconv"
	"strings"
)

// End is a port of a switch.
type End struct {
	Switch *Switch
	Port   *Port
}

func (e End) String() string { return e.Switch.Name + " " + e.Port.Name }

// Wire is a cable between two switches.
type Wire struct {
	A, B   End
	Metres int64 // as a list of cables says; 0: it does not
	From   Place // where it is said
}

// Wires joins switches: by a list of cables, and by what their tables say about
// neighbours. Neighbours that are not among the switches are none of them.
func Wires(list []*Switch, cables []Cabled) ([]Wire, error) {
	w := &wiring{by: map[string]*Switch{}, taken: map[*Port]*Port{}}
	for _, s := range list {
		w.by[s.Name] = s
	}
	for _, c := range cables {
		a, err := w.end(c.Place, c.A[0], c.A[1])
		if err != nil {
			return nil, err
		}
		b, err := w.end(c.Place, c.B[0], c.B[1])
		if err != nil {
			return nil, err
		}
		if err := w.join(Wire{a, b, c.Metres, c.Place}); err != nil {
			return nil, err
		}
	}
	for _, s := range list {
		for _, p := range s.Ports {
			if p.Peer == nil || w.by[p.Peer.Device] == nil || len(cables) > 0 && w.taken[p] != nil {
				continue
			}
			b, err := w.end(p.Peer.Place, p.Peer.Device, p.Peer.Port)
			if err != nil {
				return nil, err
			}
			if err := w.join(Wire{A: End{s, p}, B: b, From: p.Peer.Place}); err != nil {
				return nil, err
			}
		}
	}
	return w.wires, nil
}

type wiring struct {
	by    map[string]*Switch
	taken map[*Port]*Port
	wires []Wire
}

func (w *wiring) end(at Place, device, port string) (End, error) {
	s := w.by[device]
	if s == nil {
		return End{}, at.Errorf("there is no switch %q among those that were read", shorten(device))
	}
	p := s.Port(port)
	if p == nil {
		return End{}, at.Errorf("switch %s has no port %q; allowed: names or aliases of table PORT in %s", s.Name, shorten(port), s.File)
	}
	return End{s, p}, nil
}

// join adds a wire, unless its other end added it before.
func (w *wiring) join(x Wire) error {
	a, b := w.taken[x.A.Port], w.taken[x.B.Port]
	switch {
	case a == x.B.Port && b == x.A.Port:
		return nil
	case x.A.Port == x.B.Port:
		return x.From.Errorf("%s is cabled to itself", x.A)
	case a != nil || b != nil:
		return x.From.Errorf("%s is cabled to %s, but one of them is cabled to another port already", x.A, x.B)
	}
	w.taken[x.A.Port], w.taken[x.B.Port] = x.B.Port, x.A.Port
	w.wires = append(w.wires, x)
	return nil
}

// Cabled is a line of a list of cables.
type Cabled struct {
	Place
	A, B   [2]string // switch and port
	Metres int64     // 0: not given
}

// ReadCables reads a list of cables: lines of switch,port,switch,port and
// maybe a length such as 30m. Lines that begin with # are comments.
func ReadCables(name string) ([]Cabled, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, err
	}
	return ParseCables(name, string(text))
}

// ParseCables reads the text of such a list.
func ParseCables(name, text string) ([]Cabled, error) {
	var list []Cabled
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
		at := Place{File: name, Key: fmt.Sprintf("line %d", n)}
		if len(words) != 4 && len(words) != 5 {
			return nil, at.Errorf("%d columns; allowed: switch,port,switch,port and maybe a length such as 30m", len(words))
		}
		c := Cabled{Place: at, A: [2]string{words[0], words[1]}, B: [2]string{words[2], words[3]}}
		if len(words) == 5 {
			metres, ok := strings.CutSuffix(words[4], "m")
			v, err := strconv.ParseInt(metres, 10, 64)
			if !ok || err != nil || v < 1 || v > 1_000_000 {
				return nil, at.Errorf("%q is no length; allowed: whole metres up to 1000 km, such as 30m", shorten(words[4]))
			}
			c.Metres = v
		}
		if len(list) == mostRows {
			return nil, at.Errorf("there are more than %d cables", mostRows)
		}
		list = append(list, c)
	}
	return list, nil
}
