package calibrate

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/counters"
)

// point is a setting of the fitted parameters.
type point struct {
	cc    string
	hot   [mostHot]shape // by receiver that causes pauses
	rest  shape
	share float64 // of the bytes to such receivers in bursts; the others arrive like the rest
	slow  float64 // rate of slow receivers, as a multiple of what they receive
	span  units.Time
	seed  uint64 // 0: the default
}

// mostHot is the largest number of receivers with bursts of their own.
const mostHot = 3

// shape is the shape of bursts to a group of receivers.
type shape struct {
	senders int
	size    units.Bytes
}

// receivers are the hosts that receive data: those with bursts of their own, and the rest. Slow ones
// send pauses.
type receivers struct{ hot, rest, slow []*port }

// split divides the hosts that receive: those that cause pauses have bursts of their own.
func (f *model) split(suspects []Suspect) receivers {
	var r receivers
	for _, s := range suspects {
		if s.Host != "" && s.Share >= 0.1 && s.Why != whyBusy && len(r.hot) < mostHot && f.received(s.port) > 0 {
			r.hot = append(r.hot, s.port)
		}
	}
	for _, p := range f.hosts {
		if p.sum(counters.PFCReceived) > 0 {
			r.slow = append(r.slow, p)
		}
		if f.received(p) > 0 && !slices.Contains(r.hot, p) {
			r.rest = append(r.rest, p)
		}
	}
	return r
}

// received returns the wire bytes per second to a host in all matrices.
func (f *model) received(p *port) float64 {
	j, sum := slices.Index(f.hosts, p), 0.0
	for _, m := range f.matrix {
		for i := range m {
			sum += m[i][j]
		}
	}
	return sum
}

// slowRate returns the rate of a slow receiver.
func (f *model) slowRate(p *port, factor float64) units.Rate {
	rate := f.received(p) * 8 * factor
	return min(p.Rate, units.Rate(rate/1e6)*1e6+1e6)
}

// text writes the scenario of a point.
func (f *model) text(r *receivers, x *point, matrix string) []byte {
	b := &bytes.Buffer{}
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	for part := range strings.Lines(string(f.made.Fabric)) {
		if !strings.HasPrefix(strings.TrimSpace(part), "cc: {name: none}") {
			b.WriteString(part)
			continue
		}
		line("  cc: {name: %s} # fitted", x.cc)
		if n := f.payload(); n > 0 {
			line("  payload: %dB # mean size of data packets, without header", n)
		}
		if len(r.slow) > 0 {
			line("  overrides: # hosts that send pauses")
			for _, p := range r.slow {
				line("    - {match: %s, receive: {rate: %s}}", p.Host, f.slowRate(p, x.slow))
			}
		}
	}
	line("workload: # rates from byte counters; senders and size of bursts fitted to pauses and marks")
	for _, g := range r.groups(x) {
		scale := ""
		if g.Share < 1 {
			scale = fmt.Sprintf(", scale: %g", g.Share)
		}
		line("  - {name: %s, generator: matrix, path: %q, to: [%s], senders: %d, size: %s, class: %d%s}",
			g.Name, matrix, strings.Join(g.Hosts, ", "), g.Senders, decimal(g.Size), f.made.Classes[0], scale)
	}
	if x.seed > 0 {
		line("seed: %d", x.seed)
	}
	line("run:")
	line("  arrivals: %s", x.span)
	line("  stop: {when: time, at_most: %s}", x.span)
	return b.Bytes()
}

// decimal formats a size with a decimal unit.
func decimal(b units.Bytes) string {
	if b%units.KB == 0 {
		return fmt.Sprintf("%dKB", b/units.KB)
	}
	return fmt.Sprintf("%dB", int64(b))
}

// groups returns the groups with receivers.
func (r *receivers) groups(x *point) []Group {
	var list []Group
	others := Group{"others", nil, x.rest.senders, x.rest.size, 1 - x.share}
	for i, p := range r.hot {
		list = append(list, Group{"to-" + p.Host, []string{p.Host}, x.hot[i].senders, x.hot[i].size, x.share})
		others.Hosts = append(others.Hosts, p.Host)
	}
	rest := Group{"rest", nil, x.rest.senders, x.rest.size, 1}
	for _, p := range r.rest {
		rest.Hosts = append(rest.Hosts, p.Host)
	}
	for _, g := range []Group{others, rest} {
		if len(g.Hosts) > 0 && g.Share > 0 {
			list = append(list, g)
		}
	}
	return list
}

// leastRate is the smallest rate in a matrix file, and the smallest share of what a host receives.
const (
	leastRate  = 1000 // bits per second
	leastShare = 1e-4
)

// csv writes the matrices of all classes as offered payload.
func (f *model) csv() []byte {
	b := &bytes.Buffer{}
	fmt.Fprintln(b, "src,dst,class,rate")
	for c, m := range f.matrix {
		for j := range m {
			f.column(m, j, func(i int, rate float64) {
				fmt.Fprintf(b, "%s,%s,%d,%dbps\n", f.hosts[i].Host, f.hosts[j].Host, c, int64(rate))
			})
		}
	}
	return b.Bytes()
}

// column calls use for the sources of a host with their offered payload.
func (f *model) column(m [][]float64, j int, use func(i int, rate float64)) {
	total := 0.0
	for i := range m {
		total += m[i][j]
	}
	for i := range m {
		if rate := math.Round(m[i][j] * 8 * f.ratio); rate >= leastRate && m[i][j] >= leastShare*total {
			use(i, rate)
		}
	}
}

// load returns the offered payload of all hosts.
func (f *model) load() Load {
	sum, links := 0.0, units.Rate(0)
	for _, m := range f.matrix {
		for j := range m {
			f.column(m, j, func(_ int, rate float64) { sum += rate })
		}
	}
	for _, p := range f.hosts {
		links += p.Rate
	}
	return Load{units.Rate(sum), math.Round(1e4*sum/float64(links)) / 1e4}
}
