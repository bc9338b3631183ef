package workload

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
)

// Matrix makes bursts with the rates of a traffic matrix.
type Matrix struct {
	Path    string      `yaml:"path" doc:"CSV file with columns src, dst, rate (offered payload) and perhaps class, relative to the scenario"`
	Size    units.Bytes `yaml:"size" doc:"size of each flow"`
	Senders int         `yaml:"senders" doc:"flows of a burst to one host, from hosts drawn in proportion to their rates"`
	Scale   float64     `yaml:"scale" doc:"factor of all rates"`
}

// Uses implements Generator.
func (g *Matrix) Uses() Uses {
	return Uses{From: true, Pairs: "any", Start: true, Stop: true}
}

// File implements FileUser.
func (g *Matrix) File() *string { return &g.Path }

// maxScale bounds the factor of rates.
const maxScale = 1000

// Check implements Generator.
func (g *Matrix) Check(e *Env) (float64, error) {
	err := first(e.checkSize("size", g.Size), checkCount("senders", g.Senders, 1, maxRepeat))
	switch {
	case err != nil:
		return 0, err
	case !(g.Scale > 0 && g.Scale <= maxScale):
		return 0, keyf("scale", "%g is out of range (expected above 0, up to %d)", g.Scale, maxScale)
	case g.Path == "":
		return 0, keyf("path", "no file is given (expected the path of a traffic matrix)")
	}
	sinks, err := g.read(e)
	flows := 0.0
	for _, s := range sinks {
		flows += s.flows(g) * e.seconds()
	}
	return flows, err
}

// sink is a destination of a matrix with its sources.
type sink struct {
	dst   int32
	class int // -1: the class of the workload
	rates []float64
	from  []int32
	total float64 // offered payload, bits per second
}

// flows returns the number of flows per second.
func (s *sink) flows(g *Matrix) float64 { return s.total * g.Scale / 8 / float64(g.Size) }

// Generate implements Generator. Bursts to each host and class are a Poisson process.
func (g *Matrix) Generate(e *Env) (*Plan, error) {
	sinks, err := g.read(e)
	if err != nil {
		return nil, err
	}
	p, group := &Plan{}, int32(0)
	for _, s := range sinks {
		e.arrivals(s.flows(g)/float64(g.Senders), func(at units.Time) {
			class := uint8(s.class)
			if s.class < 0 {
				class = e.Classes.Next()
			}
			s.draw(e, g.Senders, func(src int32) {
				p.add(Flow{Start: at, Src: src, Dst: s.dst, Size: g.Size, Class: class, Group: group, Hash: e.hash()})
			})
			group++
		})
	}
	slices.SortStableFunc(p.Flows, func(a, b Flow) int { return int(min(1, max(-1, a.Start-b.Start))) })
	return p, nil
}

// draw draws n senders by systematic sampling in a random order: each is drawn n times its share
// on average, and twice only if that is more than 1.
func (s *sink) draw(e *Env, n int, use func(src int32)) {
	e.Rand.Shuffle(len(s.from), func(i, k int) {
		s.from[i], s.from[k] = s.from[k], s.from[i]
		s.rates[i], s.rates[k] = s.rates[k], s.rates[i]
	})
	next, sum, drawn := e.Rand.Float64(), 0.0, 0
	for i, src := range s.from {
		sum += float64(s.rates[i] * float64(n) / s.total)
		for ; drawn < n && (next < sum || i == len(s.from)-1); drawn++ {
			use(src)
			next++
		}
	}
}

// read returns the destinations in the order of the file.
func (g *Matrix) read(e *Env) ([]*sink, error) {
	file, err := e.Open(g.Path)
	if err != nil {
		return nil, &KeyError{"path", err}
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewReader(file)
	if err := plainText(in); err != nil {
		return nil, keyf("path", "%s:1: %w", g.Path, err)
	}
	sinks, err := readMatrix(e, in, g.Path)
	if err == nil && len(sinks) == 0 {
		err = errors.New("no rates from hosts of `from` to hosts of `to` (expected at least one)")
	}
	if err != nil {
		return nil, &KeyError{"path", err}
	}
	return sinks, nil
}

// MatrixColumns are the columns of a traffic matrix; class may be missing.
var MatrixColumns = [...]string{"src", "dst", "class", "rate"}

// matrixReader reads the rows of a matrix.
type matrixReader struct {
	env   *Env
	at    map[string]int // column by name
	seen  map[[3]int32]bool
	sinks []*sink
	index map[[2]int32]*sink
}

func readMatrix(e *Env, in io.Reader, name string) ([]*sink, error) {
	m := &matrixReader{env: e, at: map[string]int{}, seen: map[[3]int32]bool{}, index: map[[2]int32]*sink{}}
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	rows.Comment = '#'
	for n := 0; ; n++ {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF) && n > 0:
			return m.sinks, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s:1: the file is empty (expected a header with the columns src, dst and rate)", name)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case n == 0:
			err = m.header(row)
		default:
			err = m.row(row)
		}
		if err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
}

func (m *matrixReader) header(row []string) error {
	for i, c := range row {
		c = strings.TrimSpace(c)
		if !slices.Contains(MatrixColumns[:], c) {
			return fmt.Errorf("column %q is unknown (allowed: %s)", c, strings.Join(MatrixColumns[:], ", "))
		}
		if _, twice := m.at[c]; twice {
			return fmt.Errorf("column %q appears twice (expected each column once)", c)
		}
		m.at[c] = i
	}
	for _, c := range MatrixColumns {
		if _, ok := m.at[c]; !ok && c != "class" {
			return fmt.Errorf("there is no column %q (expected src, dst and rate)", c)
		}
	}
	return nil
}

// row adds a rate to its destination. Pairs that the workload does not select are left out.
func (m *matrixReader) row(row []string) error {
	cell := func(c string) string { return strings.TrimSpace(row[m.at[c]]) }
	src, dst, err := m.env.ends("src", cell("src"), "dst", cell("dst"))
	if err != nil {
		return err
	}
	rate, err := units.ParseRate(cell("rate"))
	if err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	class := -1
	if _, ok := m.at["class"]; ok && cell("class") != "" {
		c, err := m.env.Class(cell("class"))
		if err != nil {
			return fmt.Errorf("class: %w", err)
		}
		class = int(c)
	}
	pair := [3]int32{src, dst, int32(class)}
	if m.seen[pair] {
		return fmt.Errorf("%s to %s appears twice (expected one rate for each pair and class)", cell("src"), cell("dst"))
	}
	m.seen[pair] = true
	p := m.env.Pairs
	if rate == 0 || !p.isFrom[src] || !p.isTo[dst] || !p.Permits(src, dst) {
		return nil
	}
	s := m.index[[2]int32{dst, int32(class)}]
	if s == nil {
		s = &sink{dst: dst, class: class}
		m.index[[2]int32{dst, int32(class)}] = s
		m.sinks = append(m.sinks, s)
	}
	s.from, s.rates, s.total = append(s.from, src), append(s.rates, float64(rate)), s.total+float64(rate)
	return nil
}
