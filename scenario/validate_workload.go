package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/mmu"
	"github.com/xoff-net/xoff/units"
)

// generatorKeys are the keys of a workload that each generator reads.
var generatorKeys = map[string][]string{
	"poisson": {"name", "generator", "sizes", "load", "pairs", "class"},
	"incast":  {"name", "generator", "senders", "size", "load", "pairs", "class", "at", "to"},
	"flows":   {"name", "generator", "class", "flows"},
}

func (b *builder) checkWorkloads() error {
	names := make(map[string]bool)
	expected := 0.0
	for i := range b.cfg.Workload {
		w := &b.cfg.Workload[i]
		path := fmt.Sprintf("workload[%d]", i)
		switch {
		case w.Name == "" || !printable(w.Name):
			return atf(path+".name", "%q is not a name; allowed: printable text without spaces around it", w.Name)
		case names[w.Name]:
			return atf(path+".name", "%q is the name of another workload; allowed: each name once", w.Name)
		}
		names[w.Name] = true
		if err := b.checkWorkload(path, w); err != nil {
			return err
		}
		if expected += b.expectedFlows(w); expected > maxFlows {
			return atf(path, "this makes about %.0f flows; allowed: at most %d in a run", expected, maxFlows)
		}
	}
	return nil
}

func (b *builder) checkWorkload(path string, w *Workload) error {
	if err := oneOf(path+".generator", w.Generator, "poisson", "incast", "flows"); err != nil {
		return err
	}
	if key := w.stray(); key != "" {
		return atf(path+"."+key, "has no meaning for generator %s; allowed: %s", w.Generator, strings.Join(generatorKeys[w.Generator], ", "))
	}
	if err := b.checkClassChoice(path+".class", w.Class); err != nil {
		return err
	}
	switch w.Generator {
	case "flows":
		return b.checkFlows(path, w)
	case "poisson":
		return first(b.checkSizes(path+".sizes", w.Sizes), b.checkPairs(path, w), checkLoad(path, &w.Load), b.checkConnected(path))
	}
	if err := b.checkPairs(path, w); err != nil {
		return err
	}
	return b.checkIncast(path, w)
}

// errIdle is what is wrong with a run that would end as soon as it begins.
var errIdle = errors.New("the run would end at once")

// checkAnyFlow checks that the run has something to wait for: without, it would
// end at 0 and look as if all went well.
func (b *builder) checkAnyFlow(flows []dataplane.Flow) error {
	if len(b.cfg.Workload) == 0 {
		return atf("workload", "%w: there is no workload; allowed: at least one generator of flows", errIdle)
	}
	if len(flows) == 0 {
		return atf("workload", "%w: no flow starts in %s; allowed: a longer run.arrivals, or a higher load", errIdle, b.cfg.Run.Arrivals)
	}
	if b.cfg.Run.Stop.When != "measured_flows_done" {
		return nil
	}
	for i := range flows {
		if b.cfg.measured(flows[i].Start) {
			return nil
		}
	}
	return atf("run.measure", "%w: none of the %d flows starts in the measured time; allowed: a time in which flows start", errIdle, len(flows))
}

// stray returns a key that is set and that the generator does not read.
func (w *Workload) stray() string {
	set := []struct {
		key string
		on  bool
	}{
		{"sizes", w.Sizes != ""}, {"senders", w.Senders != 0}, {"size", w.Size != 0}, {"load", w.Load != (Load{})},
		{"pairs", w.Pairs != ""}, {"flows", len(w.Flows) > 0}, {"at", w.At != 0}, {"to", w.To != ""},
	}
	for _, k := range set {
		known := false
		for _, name := range generatorKeys[w.Generator] {
			known = known || name == k.key
		}
		if k.on && !known {
			return k.key
		}
	}
	return ""
}

func (b *builder) checkSizes(path, sizes string) error {
	cdf, err := sizesOf(sizes)
	if err != nil {
		return at(path, err)
	}
	if err := cdf.Validate(); err != nil {
		return atf(path, "%w; allowed: a table, or a size such as 64KB", err)
	}
	return b.checkSize(path, cdf.Points[len(cdf.Points)-1].Size)
}

// checkSize checks the size of a flow.
func (b *builder) checkSize(path string, size units.Bytes) error {
	if err := within(path, size, 1, maxFlow); err != nil {
		return err
	}
	if size/b.cfg.Hosts.Payload >= 1<<31 {
		return atf(path, "%s in packets of %s are too many; allowed: less than 2^31 packets", size, b.cfg.Hosts.Payload)
	}
	return nil
}

func checkLoad(path string, l *Load) error {
	if *l == (Load{}) {
		return atf(path+".load", "there is no load; allowed: one such as {share: 0.5, of: host_links}")
	}
	if err := oneOf(path+".load.of", l.Of, "host_links"); err != nil {
		return err
	}
	if !(l.Share > 0 && l.Share <= maxShare) {
		return atf(path+".load.share", "%v is no load; allowed: more than 0, at most %v (1 fills every host link)", l.Share, maxShare)
	}
	return nil
}

func (b *builder) checkPairs(path string, w *Workload) error {
	if w.Pairs == "" {
		return nil
	}
	if err := oneOf(path+".pairs", w.Pairs, "any", "other_rack"); err != nil {
		return err
	}
	if w.Pairs == "other_rack" && b.largestRack() == b.graph.Hosts {
		return atf(path+".pairs", "there is one rack only; allowed: any, or a topology with hosts on two switches")
	}
	return nil
}

func (b *builder) checkIncast(path string, w *Workload) error {
	candidates := b.graph.Hosts - 1
	if w.Pairs == "other_rack" {
		candidates = b.graph.Hosts - b.largestRack()
	}
	err := first(within(path+".senders", w.Senders, 1, candidates), b.checkSize(path+".size", w.Size))
	if err != nil {
		return err
	}
	if w.To == "" {
		if w.At != 0 {
			return atf(path+".at", "a burst at a given time needs its receiver; allowed: at together with to")
		}
		return first(checkLoad(path, &w.Load), b.checkConnected(path))
	}
	if w.Load != (Load{}) {
		return atf(path+".load", "one burst to %s has no load; allowed: load, or to with at", w.To)
	}
	if b.host(w.To) < 0 {
		return b.noHost(path+".to", w.To)
	}
	return first(b.checkStart(path+".at", w.At), b.checkConnected(path))
}

func (b *builder) largestRack() int {
	count := make(map[int]int)
	largest := 0
	for _, r := range b.graph.Rack {
		count[r]++
		largest = max(largest, count[r])
	}
	return largest
}

// checkStart checks that a flow starts while flows arrive.
func (b *builder) checkStart(path string, t units.Time) error {
	if t < 0 || t >= b.cfg.Run.Arrivals {
		return atf(path, "%s is not in the run; allowed: 0s or more, before run.arrivals, %s", t, b.cfg.Run.Arrivals)
	}
	return nil
}

func (b *builder) checkFlows(path string, w *Workload) error {
	if len(w.Flows) == 0 {
		return atf(path+".flows", "the list is empty; allowed: at least one flow")
	}
	parts := b.islands()
	for i := range w.Flows {
		f := &w.Flows[i]
		at := fmt.Sprintf("%s.flows[%d]", path, i)
		src, dst := b.host(f.From), b.host(f.To)
		switch {
		case src < 0:
			return b.noHost(at+".from", f.From)
		case dst < 0:
			return b.noHost(at+".to", f.To)
		case src == dst:
			return atf(at+".to", "%s sends to itself; allowed: another host", f.To)
		case parts[src] != parts[dst]:
			return atf(at+".to", "%s cannot be reached from %s: there are no links between them, or they are down all the time; allowed: a destination with a path to it", f.To, f.From)
		}
		err := first(b.checkSize(at+".size", f.Size), b.checkStart(at+".start", f.Start))
		if err == nil && f.Class != "" {
			err = b.checkClassChoice(at+".class", ClassChoice{Fixed: f.Class})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkConnected checks that every host can reach every other.
func (b *builder) checkConnected(path string) error {
	parts := b.islands()
	for h := 1; h < b.graph.Hosts; h++ {
		if parts[h] != parts[0] {
			return atf(path, "%s cannot be reached from %s: there are no links between them, or they are down all the time; allowed: destinations with a path to them", b.graph.Names[h], b.graph.Names[0])
		}
	}
	return nil
}

// checkClassChoice checks that flows get a class that carries data.
func (b *builder) checkClassChoice(path string, c ClassChoice) error {
	group := c.Fixed
	switch {
	case c.Fixed != "" && c.Random != "":
		return atf(path, "a class is fixed or random; allowed: one of the two")
	case c.Random != "":
		path, group = path+".random", c.Random
	case c.Fixed == "":
		if _, ok := b.cfg.firstDataClass(); !ok {
			return atf(path, "every class is for control; allowed: a lossless or lossy group in classes")
		}
		return nil
	}
	if id, err := strconv.Atoi(group); err == nil && c.Random == "" {
		if err := within(path, id, 0, mmu.Classes-1); err != nil {
			return err
		}
		switch b.kinds[id] {
		case mmu.Unused:
			return atf(path, "class %d does not exist; allowed: the ids in classes", id)
		case mmu.Control:
			return atf(path, "class %d is for control; allowed: lossless and lossy classes", id)
		}
		return nil
	}
	if err := b.cfg.group(path, group); err != nil {
		return err
	}
	if b.cfg.Classes[group].Kind == "control" {
		_, others := b.cfg.groups()
		return atf(path, "group %s is for control; allowed: %s", group, strings.Join(others, ", "))
	}
	return nil
}

// expectedFlows estimates how many flows a generator makes.
func (b *builder) expectedFlows(w *Workload) float64 {
	if w.Load.Share == 0 {
		return float64(w.Senders + len(w.Flows))
	}
	mean := float64(w.Size)
	if w.Generator == "poisson" {
		cdf, err := sizesOf(w.Sizes)
		if err != nil {
			return 0
		}
		mean = cdf.Mean()
	}
	capacity := 0.0
	for _, rate := range b.graph.HostRates() {
		capacity += float64(rate) / 8
	}
	return w.Load.Share * capacity * b.cfg.Run.Arrivals.Seconds() / mean
}
