package layout

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/topo"
	"github.com/xoff-net/xoff/workload"
)

// Limits of workloads. They keep every product in the simulator within 64 bits.
const (
	MaxFlow  = 100 * units.GB
	MaxFlows = 50_000_000
	maxShare = 10.0
)

// WorkloadPath returns the path of a workload.
func WorkloadPath(i int) string { return fmt.Sprintf("workload[%d]", i) }

// WorkloadError turns an error of a generator into an error about its key.
func WorkloadError(path string, err error) error {
	var known *yaml.Error
	if errors.As(err, &known) {
		return known // it already names a key
	}
	var k *workload.KeyError
	if errors.As(err, &k) {
		return yaml.At(yaml.Join(path, k.Key), k.Err)
	}
	return yaml.At(path, err)
}

// Generator returns the generator of a workload and its environment.
func (l *Layout) Generator(i int) (workload.Generator, *workload.Env, error) {
	w := &l.Config.Workload[i]
	path := WorkloadPath(i)
	entry, err := workload.Generators.Get(w.Generator)
	if err != nil {
		return nil, nil, yaml.At(path+".generator", err)
	}
	if want := reflect.TypeOf(entry.Params()); reflect.TypeOf(w.Params) != want {
		return nil, nil, yaml.Atf(path+".generator", "%s has parameters of type %T (expected %s)", w.Generator, w.Params, want)
	}
	g := entry.New(w.Params)
	u := g.Uses()
	if key := w.UnusedKey(u); key != "" {
		return nil, nil, yaml.Atf(yaml.Join(path, key), "%s is not used by generator %s (allowed: %s)", key, w.Generator,
			strings.Join(w.UsedKeys(), ", "))
	}
	e := l.environment(w)
	if err := yaml.First(l.checkClassChoice(path+".class", w.Class), l.checkStartStop(path, w)); err != nil {
		return nil, nil, err
	}
	e.Classes.IDs, e.Classes.Shares = l.classesOf(w.Class)
	if u.From {
		if err := l.selectPairs(path, w, u, e); err != nil {
			return nil, nil, err
		}
	}
	if e.Load, err = l.loadOf(path, w, e); err != nil {
		return g, e, err
	}
	e.Placed, err = l.placement(i, g, e)
	return g, e, err
}

// placement returns the GPUs of the ranks of a job, or nil for another generator. Earlier
// jobs choose first.
func (l *Layout) placement(i int, g workload.Generator, e *workload.Env) ([]int32, error) {
	if l.placed == nil {
		l.placed = make([][]int32, len(l.Config.Workload))
	}
	p, ok := g.(workload.Placer)
	if !ok || l.placed[i] != nil {
		return l.placed[i], nil
	}
	taken := make([]bool, len(l.fabric.GPUs))
	for k := range i {
		if _, ok := l.Config.Workload[k].Params.(workload.Placer); ok && l.placed[k] == nil {
			if _, _, err := l.Generator(k); err != nil {
				return nil, err
			}
		}
		for _, g := range l.placed[k] {
			taken[g] = true
		}
	}
	chosen := make([]bool, l.Graph.Hosts)
	for _, h := range e.From {
		chosen[h] = true
	}
	var free []int32
	for g := range l.fabric.GPUs {
		if !taken[g] && chosen[l.fabric.GPUs[g].Host] {
			free = append(free, int32(g))
		}
	}
	placed, err := p.Place(e, free)
	if err != nil {
		return nil, WorkloadError(WorkloadPath(i), err)
	}
	l.placed[i] = placed
	return placed, nil
}

// environment returns the environment of a workload's generator.
func (l *Layout) environment(w *scenario.Workload) *workload.Env {
	if l.fabric == nil {
		l.fabric = &workload.Fabric{Names: l.Graph.Names[:l.Graph.Hosts], Rack: l.Graph.Rack, Group: l.hostGroups(), Rates: l.Graph.HostRates()}
		l.islands = l.findIslands()
		l.fabric.GPUs, l.fabric.ScaleUp = l.gpus, l.scaleUp
	}
	stop := l.Config.Run.Arrivals
	if w.Stop != 0 {
		stop = w.Stop
	}
	e := &workload.Env{
		Fabric: l.fabric, Start: w.Start, Stop: stop, End: l.Config.Run.Stop.AtMost,
		MaxSize: l.maxSize(w.Transport), MaxDelay: topo.MaxDelay,
		Classes: &workload.Classes{Rand: workload.Stream(l.Config.Seed, "class/"+w.Name)},
		Host: func(name string) (int32, bool) {
			h := l.Host(name)
			return int32(h), h >= 0
		},
		Class: func(name string) (uint8, error) {
			if err := l.checkClass(name); err != nil {
				return 0, err
			}
			return l.classNamed(name), nil
		},
		Reachable: func(src, dst int32) bool { return l.islands[src] == l.islands[dst] },
		Cut:       func(src, dst int32) error { return l.cut(w.Name, src, dst) },
		Route:     l.flowRoute,
		Open:      l.openFile,
		Rand:      workload.Stream(l.Config.Seed, "workload/"+w.Name),
		Hashes:    workload.Stream(l.Config.Seed, "hash/"+w.Name),

		Placements: workload.Stream(l.Config.Seed, "placement/"+w.Name),
	}
	if w.Clock != "" {
		e.Clock = workload.Stream(l.Config.Seed, "clock/"+w.Clock)
	}
	return e
}

// maxSize returns the largest flow of a transport: packet numbers have 31 bits.
func (l *Layout) maxSize(transport string) units.Bytes {
	size := MaxFlow
	for _, h := range l.OfHosts {
		for _, v := range h.Variants {
			if v.Name == transport {
				size = min(size, v.Payload*(1<<31-1))
			}
		}
	}
	return size
}

// openFile opens a regular file; reading a device might never end.
func (l *Layout) openFile(name string) (io.ReadCloser, error) {
	if err := l.Config.MayRead(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w (expected a readable file)", err)
	}
	if s, err := f.Stat(); err != nil || !s.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a regular file (expected a readable file)", name)
	}
	return f, nil
}

// hostGroups returns the group of each host: the largest group of the topology that contains it
// but not all hosts, such as its data centre, pod or rack.
func (l *Layout) hostGroups() []int {
	order := make([]int, 0, len(l.Graph.Groups))
	for i, g := range l.Graph.Groups {
		if len(g.Hosts) < l.Graph.Hosts {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return len(l.Graph.Groups[order[i]].Hosts) > len(l.Graph.Groups[order[j]].Hosts) })
	group := make([]int, l.Graph.Hosts)
	for i := range group {
		group[i] = -1
	}
	next := 0
	for _, i := range order {
		fresh := false
		for _, h := range l.Graph.Groups[i].Hosts {
			if group[h] < 0 {
				group[h], fresh = next, true
			}
		}
		if fresh {
			next++
		}
	}
	for i := range group {
		group[i] = max(group[i], 0) // hosts in no group
	}
	return group
}

// selectPairs sets the senders and the pairs of a workload.
func (l *Layout) selectPairs(path string, w *scenario.Workload, u workload.Uses, e *workload.Env) error {
	var err error
	if e.From, err = l.selectHosts(path+".from", w.From); err != nil || u.Pairs == "" {
		return err
	}
	to, err := l.selectHosts(path+".to", w.To)
	if err != nil {
		return err
	}
	name := w.Pairs
	if name == "" {
		name = u.Pairs
	}
	if err := yaml.OneOf(path+".pairs", name, workload.RuleNames...); err != nil {
		return err
	}
	rule := workload.AnyPair
	for i, n := range workload.RuleNames {
		if n == name {
			rule = workload.Rule(i)
		}
	}
	if e.Pairs, err = workload.NewPairs(l.fabric, rule, e.From, to); err != nil {
		return yaml.At(path+".pairs", err)
	}
	return l.checkConnected(path, w.Name, e.Pairs)
}

// selectHosts resolves a selection of hosts; an empty one selects all.
func (l *Layout) selectHosts(path string, s scenario.Selection) ([]int32, error) {
	if len(s) == 0 {
		return l.fabric.All(), nil
	}
	hosts, i, err := l.Graph.HostsLike(s)
	if err != nil {
		return nil, yaml.At(fmt.Sprintf("%s[%d]", path, i), err)
	}
	if len(hosts) == 0 {
		return nil, yaml.Atf(path, "no host is selected (expected at least one)")
	}
	list := make([]int32, len(hosts))
	for i, h := range hosts {
		list[i] = int32(h)
	}
	return list, nil
}

// loadOf returns the offered load of a workload in bytes per second.
func (l *Layout) loadOf(path string, w *scenario.Workload, e *workload.Env) (float64, error) {
	if w.Load == (scenario.Load{}) {
		return 0, nil
	}
	base, err := l.capacityOf(w.Load.Of, e)
	if err != nil {
		return 0, yaml.At(path+".load.of", err)
	}
	if s := w.Load.Share; !(s > 0 && s <= maxShare) {
		return 0, yaml.Atf(path+".load.share", "%v is not a valid load (expected more than 0, at most %v; 1 fills the links)", s, maxShare)
	}
	return w.Load.Share * float64(base) / 8, nil
}

// capacityOf returns the capacity of which a load is a share.
func (l *Layout) capacityOf(base string, e *workload.Env) (units.Rate, error) {
	bases := []string{"host_links", "all_host_links", "receiver_links", "uplinks"}
	named := strings.Join(bases, ", ")
	switch base {
	case "":
		return 0, fmt.Errorf("of is missing (expected %s, or links such as %s)", named, l.Graph.LinkName(len(l.Graph.Links)-1))
	case "host_links":
		return l.fabric.Capacity(e.Pairs.From), nil
	case "all_host_links":
		return l.fabric.Capacity(l.fabric.All()), nil
	case "receiver_links":
		return l.fabric.Capacity(e.Pairs.To), nil
	case "uplinks":
		return l.uplinks(e.Pairs.From)
	}
	links, err := l.Graph.LinksLike(base)
	if near := registry.Nearest(base, bases); err != nil && near != "" {
		return 0, fmt.Errorf("%q is unknown; did you mean %q? (expected %s, or links such as %s)", base, near, named,
			l.Graph.LinkName(len(l.Graph.Links)-1))
	}
	if err != nil {
		return 0, fmt.Errorf("%w, or one of %s", err, named)
	}
	sum := units.Rate(0)
	for _, link := range links {
		sum += l.Graph.Links[link].Rate
	}
	return sum, nil
}

// uplinks returns the total rate of the links from the switches of some hosts to other
// switches.
func (l *Layout) uplinks(hosts []int32) (units.Rate, error) {
	rack := make([]bool, l.Graph.Nodes()) // switches of these hosts
	sends := make([]bool, l.Graph.Nodes())
	for _, h := range hosts {
		sends[h] = true
	}
	for _, link := range l.Graph.Links {
		if sends[link.A] {
			rack[link.B] = true
		}
	}
	sum := units.Rate(0)
	for _, link := range l.Graph.Links {
		if link.A < l.Graph.Hosts {
			continue
		}
		// A link between two such switches is an uplink of both.
		for _, end := range [2]int{link.A, link.B} {
			if rack[end] {
				sum += link.Rate
			}
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("the switches of the senders have no uplinks (expected host_links, or a topology with uplinks)")
	}
	return sum, nil
}

// checkStartStop checks start and stop of a workload.
func (l *Layout) checkStartStop(path string, w *scenario.Workload) error {
	arrivals := l.Config.Run.Arrivals
	if w.Start < 0 || w.Start >= arrivals {
		return yaml.Atf(path+".start", "%s is outside the run (expected at least 0s and less than run.arrivals, %s)", w.Start, arrivals)
	}
	if w.Stop != 0 && (w.Stop <= w.Start || w.Stop > arrivals) {
		return yaml.Atf(path+".stop", "%s is outside the run (expected more than start, %s, and at most run.arrivals, %s)", w.Stop,
			yaml.Show(w.Start), arrivals)
	}
	return nil
}

// checkConnected checks that the hosts of a workload can reach each other.
func (l *Layout) checkConnected(path, name string, p *workload.Pairs) error {
	one := p.From[0]
	for _, list := range [2][]int32{p.From, p.To} {
		for _, h := range list {
			if l.islands[h] != l.islands[one] {
				if err := l.cut(name, one, h); err != nil {
					return err
				}
				return yaml.Atf(path, "no path leads from %s to %s (expected hosts with a path between them)", l.Graph.Names[one], l.Graph.Names[h])
			}
		}
	}
	return nil
}

// checkClassChoice checks that the classes of a workload carry data.
func (l *Layout) checkClassChoice(path string, c scenario.ClassChoice) error {
	kinds := 0
	for _, on := range [3]bool{c.Fixed != "", c.Random != "", len(c.Shares) > 0} {
		if on {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return yaml.Atf(path, "several of a fixed class, random and shares are set (expected one of them)")
	case kinds == 0:
		if _, ok := l.Config.FirstDataClass(); !ok {
			return yaml.Atf(path, "all classes are of kind control (expected a lossless or lossy group in classes)")
		}
		return nil
	case c.Fixed != "":
		if err := l.checkClass(c.Fixed); err != nil {
			return yaml.At(path, err)
		}
		return nil
	case c.Random != "":
		return l.checkGroup(path+".random", c.Random)
	}
	sum := 0.0
	seen := map[uint8]bool{}
	for _, s := range c.Shares {
		at := yaml.Join(path+".shares", s.Class)
		if err := l.checkClass(s.Class); err != nil {
			return &yaml.Error{Path: at, Err: err}
		}
		class := l.classNamed(s.Class)
		if !(s.Share > 0 && s.Share <= 1) {
			return yaml.Atf(at, "share is %v (expected more than 0, at most 1)", s.Share)
		}
		if seen[class] {
			return yaml.Atf(at, "class %d is listed twice (expected each class once)", class)
		}
		seen[class] = true
		sum += s.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return yaml.Atf(path+".shares", "the shares add up to %.6g (expected 1)", sum)
	}
	return nil
}

// checkClass checks the id or group of a workload's class.
func (l *Layout) checkClass(name string) error {
	id, err := strconv.Atoi(name)
	if err != nil {
		err := l.checkGroup("", name)
		if e, ok := err.(*yaml.Error); ok {
			return e.Err
		}
		return err
	}
	switch {
	case id < 0 || id >= mmu.Classes:
		return fmt.Errorf("%d is not a class (expected 0 to %d)", id, mmu.Classes-1)
	case l.Kinds[id] == mmu.Unused:
		return fmt.Errorf("class %d does not exist (expected an id in classes)", id)
	case l.Kinds[id] == mmu.Control:
		return fmt.Errorf("class %d is of kind control (expected a lossless or lossy class)", id)
	}
	return nil
}
