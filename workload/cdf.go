// Package workload generates the flows of a scenario for package fabric: sizes, arrival times
// and pairs of hosts. Each generator is an entry of Generators.
package workload

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"unicode"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
)

// CDF is a distribution of flow sizes, piecewise linear between points.
type CDF struct {
	Name   string
	Source string // where it was measured; empty for files
	Points []Point
}

// Point is a point of a CDF: a fraction P of flows has at most Size bytes.
type Point struct {
	Size units.Bytes
	P    float64 // 0..1
}

// packets is the unit of tables that count packets of 1460 bytes.
const packets = 1460

// CDFs are the built-in tables, from public traffic generators of papers.
var CDFs = []CDF{
	table("ali_storage", "Alibaba storage 2019, as in HPCC", 1, 0, 0, 4000, 22.93, 8000, 69.21, 16000, 80.61, 32000, 90.47, 64000, 93.53, 128000, 96.77, 256000, 97.53, 2000000, 100),
	table("cache", "Facebook cache", packets, 1, 0, 1, 36, 2, 40, 7, 46, 13, 50, 67, 60, 133, 70, 667, 78, 1333, 80, 2000, 90, 2667, 99, 33333, 100),
	table("data_mining", "VL2", packets, 1, 0, 1, 50, 2, 60, 3, 70, 7, 80, 267, 90, 2107, 95, 66667, 99, 666667, 100),
	table("fb_hadoop", "Facebook Hadoop, as in HPCC", 1, 0, 0, 100, 1, 200, 2, 300, 5, 350, 15, 400, 20, 500, 30, 600, 40, 700, 50, 1000, 60, 2000, 67, 7000, 70, 30000, 72, 50000, 82, 80000, 87, 120000, 90, 300000, 95, 1000000, 97.5, 2000000, 99, 10000000, 100),
	table("hadoop_dsh", "Facebook Hadoop, as in the programs of DSH", packets, 1, 0, 24, 10, 30, 20, 33, 30, 33, 40, 50, 50, 53, 60, 67, 70, 120, 80, 160, 90, 200, 95, 667, 96, 6667, 97, 66667, 99, 333333, 100),
	table("websearch", "DCTCP", 1, 0, 0, 10000, 15, 20000, 20, 30000, 30, 50000, 40, 80000, 53, 200000, 60, 1000000, 70, 2000000, 80, 5000000, 90, 10000000, 97, 30000000, 100),
	table("websearch_dsh", "DCTCP, as in the programs of DSH", packets, 6, 0, 6, 15, 13, 20, 19, 30, 33, 40, 53, 53, 133, 60, 667, 70, 1333, 80, 3333, 90, 6667, 97, 20000, 100),
	table("websearch_ns3", "DCTCP, as in the programs of PowerTCP and Reverie", 1, 0, 0, 2000, 0, 2100, 2, 2500, 5, 6000, 10, 10000, 15, 20000, 20, 30000, 30, 50000, 40, 80000, 53, 200000, 60, 1000000, 70, 2000000, 80, 5000000, 90, 10000000, 97, 30000000, 100),
}

func table(name, source string, unit float64, v ...float64) CDF {
	c := CDF{Name: name, Source: source}
	for i := 0; i < len(v); i += 2 {
		c.Points = append(c.Points, Point{units.Bytes(v[i] * unit), v[i+1] / 100})
	}
	return c
}

// FindCDF returns the table with the given name.
func FindCDF(name string) (*CDF, error) {
	var names []string
	for i := range CDFs {
		if CDFs[i].Name == name {
			return &CDFs[i], nil
		}
		names = append(names, CDFs[i].Name)
	}
	return nil, fmt.Errorf("unknown sizes %q%s (allowed: %s, a size such as 64KB, a file such as ./sizes.txt)",
		name, registry.DidYouMean(name, names), strings.Join(names, ", "))
}

// sizes returns the distribution that a scenario names: a size, a table, or a file, whose
// name has a dot or a slash.
func (e *Env) sizes(key, s string) (*CDF, error) {
	cdf, err := e.findSizes(s)
	if err != nil {
		return nil, &KeyError{key, err}
	}
	if err := cdf.Validate(); err != nil {
		return nil, keyf(key, "%w (expected a table, a file, or a size such as 64KB)", err)
	}
	return cdf, e.checkSize(key, cdf.Points[len(cdf.Points)-1].Size)
}

func (e *Env) findSizes(s string) (*CDF, error) {
	if size, err := units.ParseBytes(s); err == nil {
		return &CDF{Name: s, Points: []Point{{Size: size, P: 0}, {Size: size, P: 1}}}, nil
	}
	if !isFile(s) {
		return FindCDF(s)
	}
	file, err := e.Open(s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return ParseCDF(s, file)
}

// isFile reports whether sizes names a file.
func isFile(sizes string) bool {
	_, err := units.ParseBytes(sizes)
	return err != nil && strings.ContainsAny(sizes, `./\`)
}

// fileOf returns sizes if it names a file, else nil.
func fileOf(sizes *string) *string {
	if isFile(*sizes) {
		return sizes
	}
	return nil
}

// maxPoints limits the length of a table.
const maxPoints = 100_000

// ParseCDF parses a table. Each line has a size in bytes and the fraction of flows of at most
// that size, in per cent or up to 1. Empty lines and lines that begin with # are skipped. The
// files of the HPCC simulator have this format.
func ParseCDF(name string, r io.Reader) (*CDF, error) {
	c := &CDF{Name: name}
	in := bufio.NewReader(r)
	if err := plainText(in); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		words := columnsOf(lines.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		fail := func(format string, args ...any) (*CDF, error) {
			return nil, fmt.Errorf("%s:%d: "+format, append([]any{name, n}, args...)...)
		}
		if len(words) != 2 {
			return fail("there are %d columns (expected two, a size in bytes and a share)", len(words))
		}
		size, err := strconv.ParseFloat(words[0], 64)
		if size > 1e15 { // also true for numbers that overflow
			return fail("%.40s is too large (expected up to 1e15 bytes)", words[0])
		}
		if err != nil || !(size >= 0) {
			return fail("%.40q is not a size (expected bytes, as a plain number)", words[0])
		}
		p, err := strconv.ParseFloat(words[1], 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return fail("%.40q is not a share (expected 0 to 100 %%, or 0 to 1)", words[1])
		}
		if len(c.Points) == maxPoints {
			return fail("the table is too long (expected at most %d points)", maxPoints)
		}
		c.Points = append(c.Points, Point{units.Bytes(size + 0.5), p})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Fractions above 1 are in per cent.
	if n := len(c.Points); n > 0 && c.Points[n-1].P > 1 {
		for i := range c.Points {
			c.Points[i].P /= 100
		}
	}
	return c, c.Validate()
}

// columnsOf splits a line at blanks, semicolons and commas. In lines with semicolons, commas
// are decimal points, as in spreadsheets of some countries.
func columnsOf(line string) []string {
	if strings.Contains(line, ";") {
		line = strings.ReplaceAll(line, ",", ".")
	}
	return strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) })
}

// plainText rejects UTF-16 and skips a UTF-8 byte order mark.
func plainText(in *bufio.Reader) error {
	head, _ := in.Peek(3) // an error only means a short file
	if len(head) == 3 && string(head) == "\ufeff" {
		_, err := in.Discard(3)
		return err
	}
	if len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff || (head[0] == 0) != (head[1] == 0)) {
		return errors.New("this is text in UTF-16; fix: save it as UTF-8 in the editor, or run `iconv -f UTF-16 -t UTF-8`")
	}
	return nil
}

// Validate returns an error if the points are not a distribution.
func (c *CDF) Validate() error {
	if len(c.Points) < 2 {
		return fmt.Errorf("sizes %s: %d points (expected at least 2)", c.Name, len(c.Points))
	}
	for i, p := range c.Points {
		if p.Size < 0 || p.P < 0 || p.P > 1 {
			return fmt.Errorf("sizes %s: point %d (%d B, %v) is out of range", c.Name, i+1, p.Size, p.P)
		}
		if i > 0 && (p.Size < c.Points[i-1].Size || p.P < c.Points[i-1].P) {
			return fmt.Errorf("sizes %s: point %d is smaller than the one before", c.Name, i+1)
		}
	}
	if last := c.Points[len(c.Points)-1]; last.P != 1 {
		return fmt.Errorf("sizes %s: the last point is at %v %% (expected 100 %%)", c.Name, 100*last.P)
	}
	if c.Mean() <= 0 {
		return fmt.Errorf("sizes %s: all flows are empty", c.Name)
	}
	return nil
}

// Mean returns the mean of sizes that Draw returns.
func (c *CDF) Mean() float64 {
	sum := 0.0
	for i := 1; i < len(c.Points); i++ {
		a, b := c.Points[i-1], c.Points[i]
		sum += float64((b.P - a.P) * float64(float64(a.Size+b.Size)/2))
	}
	return sum
}

// Draw returns a random size, at least one byte.
func (c *CDF) Draw(r *rand.Rand) units.Bytes { return c.At(r.Float64()) }

// At returns the size at quantile u of the distribution.
func (c *CDF) At(u float64) units.Bytes {
	i := sort.Search(len(c.Points), func(i int) bool { return c.Points[i].P > u })
	if i >= len(c.Points) {
		i = len(c.Points) - 1
	}
	if i == 0 {
		return max(1, c.Points[0].Size)
	}
	a, b := c.Points[i-1], c.Points[i]
	part := 1.0
	if b.P > a.P {
		part = float64((u - a.P) / (b.P - a.P))
	}
	return max(1, a.Size+units.Bytes(float64(part*float64(b.Size-a.Size))+0.5))
}
