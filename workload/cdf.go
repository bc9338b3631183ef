// Package workload generates flows: sizes, arrivals, pairs of hosts.
package workload

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"

	"github.com/xoff-net/xoff/units"
)

// CDF is a distribution of flow sizes: piecewise linear between points.
type CDF struct {
	Name   string
	Points []Point
}

// Point says that a share P of the flows has at most Size bytes.
type Point struct {
	Size units.Bytes
	P    float64 // 0..1
}

// packets is the unit of the tables that count packets of 1460 bytes.
const packets = 1460

// CDFs are the tables of the papers' public traffic generators.
var CDFs = []CDF{
	table("ali_storage", 1, 0, 0, 4000, 22.93, 8000, 69.21, 16000, 80.61, 32000, 90.47, 64000, 93.53, 128000, 96.77, 256000, 97.53, 2000000, 100),
	table("cache", packets, 1, 0, 1, 36, 2, 40, 7, 46, 13, 50, 67, 60, 133, 70, 667, 78, 1333, 80, 2000, 90, 2667, 99, 33333, 100),
	table("data_mining", packets, 1, 0, 1, 50, 2, 60, 3, 70, 7, 80, 267, 90, 2107, 95, 66667, 99, 666667, 100),
	table("fb_hadoop", 1, 0, 0, 100, 1, 200, 2, 300, 5, 350, 15, 400, 20, 500, 30, 600, 40, 700, 50, 1000, 60, 2000, 67, 7000, 70, 30000, 72, 50000, 82, 80000, 87, 120000, 90, 300000, 95, 1000000, 97.5, 2000000, 99, 10000000, 100),
	table("websearch", 1, 0, 0, 10000, 15, 20000, 20, 30000, 30, 50000, 40, 80000, 53, 200000, 60, 1000000, 70, 2000000, 80, 5000000, 90, 10000000, 97, 30000000, 100),
	table("websearch_ns3", 1, 0, 0, 2000, 0, 2100, 2, 2500, 5, 6000, 10, 10000, 15, 20000, 20, 30000, 30, 50000, 40, 80000, 53, 200000, 60, 1000000, 70, 2000000, 80, 5000000, 90, 10000000, 97, 30000000, 100),
}

func table(name string, unit float64, v ...float64) CDF {
	c := CDF{Name: name}
	for i := 0; i < len(v); i += 2 {
		c.Points = append(c.Points, Point{units.Bytes(v[i] * unit), v[i+1] / 100})
	}
	return c
}

// FindCDF returns a table by name.
func FindCDF(name string) (*CDF, error) {
	var names []string
	for i := range CDFs {
		if CDFs[i].Name == name {
			return &CDFs[i], nil
		}
		names = append(names, CDFs[i].Name)
	}
	return nil, fmt.Errorf("unknown sizes %q; allowed: %s, or a size such as 64KB", name, strings.Join(names, ", "))
}

// Validate checks that the points make a distribution.
func (c *CDF) Validate() error {
	if len(c.Points) < 2 {
		return fmt.Errorf("sizes %s: needs at least two points", c.Name)
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
		return fmt.Errorf("sizes %s: the last point must be at 100 %%, not %v %%", c.Name, 100*last.P)
	}
	if c.Mean() <= 0 {
		return fmt.Errorf("sizes %s: all flows are empty", c.Name)
	}
	return nil
}

// Mean returns the average size, as Draw makes it.
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

// At returns the size at a share u of the distribution.
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
