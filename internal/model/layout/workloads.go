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

// Bounds of what can be simulated. They keep every product of the model within
// 64 bits.
const (
	MaxFlow  = 100 * units.GB
	MaxFlows = 50_000_000
	maxShare = 10.0
)

// WorkloadPath is the path of a workload.
func WorkloadPath(i int) string { return fmt.Sprintf("workload[%d]", i) }

// WorkloadError ties an error of a generator to its key.
func WorkloadError(path string, err error) error {
	var known *yaml.Error
	if errors.As(err, &known) {
		return known // the cause is elsewhere
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
		return nil, nil, yaml.Atf(path+".generator", "%s has parameters of type %T; allowed: %s", w.Generator, w.Params, want)
	}
	g := entry.New(w.Params)
	u := g.Uses()
	if key := w.Stray(u); key != "" {
		return nil, nil, yaml.Atf(yaml.Join(path, key), "has no meaning for generator %s; allowed: %s", w.Generator,
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
	e.Load, err = l.loadOf(path, w, e)
	return g, e, err
}

// environment is the world as every generator sees it.
func (l *Layout) environment(w *scenario.Workload) *workload.Env {
	if l.fabric == nil {
		l.fabric = &workload.Fabric{Names: l.Graph.Names[:l.Graph.Hosts], Rack: l.Graph.Rack, Group: l.hostGroups(), Rates: l.Graph.HostRates()}
		l.islands = l.findIslands()
	}
	stop := l.Config.Run.Arrivals
	if w.Stop != 0 {
		stop = w.Stop
	}
	return &workload.Env{
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
	}
}

// maxSize is the largest flow of a transport whose packets can be numbered, whichever host
// sends it.
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

// openFile opens a file that is one: reading a device could take for ever.
func (l *Layout) openFile(name string) (io.ReadCloser, error) {
	if err := l.Config.MayRead(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w; allowed: a file that can be read", err)
	}
	if s, err := f.Stat(); err != nil || !s.Mode().IsRegular() {
		_ = f.Close()
		return nil, fmt.Errorf("%s is not a regular file; allowed: one that is", name)
	}
	return f, nil
}

// hostGroups returns the group of each host: of those that the topology names the
// largest that is not all, such as its data centre or pod, else its rack.
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
		group[i] = max(group[i], 0) // a single group
	}
	return group
}

// selectPairs finds the hosts of a workload.
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

// selectHosts resolves a list of hosts; an empty one means all.
func (l *Layout) selectHosts(path string, s scenario.Selection) ([]int32, error) {
	if len(s) == 0 {
		return l.fabric.All(), nil
	}
	hosts, i, err := l.Graph.HostsLike(s)
	if err != nil {
		return nil, yaml.At(fmt.Sprintf("%s[%d]", path, i), err)
	}
	if len(hosts) == 0 {
		return nil, yaml.Atf(path, "no host is left; allowed: at least one")
	}
	list := make([]int32, len(hosts))
	for i, h := range hosts {
		list[i] = int32(h)
	}
	return list, nil
}

// loadOf returns the bytes per second that a workload offers.
func (l *Layout) loadOf(path string, w *scenario.Workload, e *workload.Env) (float64, error) {
	if w.Load == (scenario.Load{}) {
		return 0, nil
	}
	base, err := l.capacityOf(w.Load.Of, e)
	if err != nil {
		return 0, yaml.At(path+".load.of", err)
	}
	if s := w.Load.Share; !(s > 0 && s <= maxShare) {
		return 0, yaml.Atf(path+".load.share", "%v is no load; allowed: more than 0, at most %v (1 fills the links)", s, maxShare)
	}
	return w.Load.Share * float64(base) / 8, nil
}

// capacityOf returns the capacity that a load is a share of.
func (l *Layout) capacityOf(base string, e *workload.Env) (units.Rate, error) {
	bases := []string{"host_links", "all_host_links", "receiver_links", "uplinks"}
	named := strings.Join(bases, ", ")
	switch base {
	case "":
		return 0, fmt.Errorf("a load is a share of something; allowed: %s, or links such as %s", named, l.Graph.LinkName(len(l.Graph.Links)-1))
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
		return 0, fmt.Errorf("%q is unknown (did you mean %q?); allowed: %s, or links such as %s", base, near, named,
			l.Graph.LinkName(len(l.Graph.Links)-1))
	}
	if err != nil {
		return 0, fmt.Errorf("%w; or %s", err, named)
	}
	sum := units.Rate(0)
	for _, link := range links {
		sum += l.Graph.Links[link].Rate
	}
	return sum, nil
}

// uplinks is the sum of the links from the switches of some hosts to other
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
		// Between two such switches each end has an uplink.
		for _, end := range [2]int{link.A, link.B} {
			if rack[end] {
				sum += link.Rate
			}
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("the switches of the senders have no links to other switches; allowed: host_links, or a topology with uplinks")
	}
	return sum, nil
}

// checkStartStop checks the time in which flows of a workload start.
func (l *Layout) checkStartStop(path string, w *scenario.Workload) error {
	arrivals := l.Config.Run.Arrivals
	if w.Start < 0 || w.Start >= arrivals {
		return yaml.Atf(path+".start", "%s is not in the run; allowed: 0s or more, before run.arrivals, %s", w.Start, arrivals)
	}
	if w.Stop != 0 && (w.Stop <= w.Start || w.Stop > arrivals) {
		return yaml.Atf(path+".stop", "%s is not in the run; allowed: after start, %s, up to run.arrivals, %s", w.Stop,
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
				return yaml.Atf(path, "%s cannot be reached from %s: there are no links between them, or they are down all the time; allowed: destinations with a path to them", l.Graph.Names[h], l.Graph.Names[one])
			}
		}
	}
	return nil
}

// checkClassChoice checks that flows get a class that carries data.
func (l *Layout) checkClassChoice(path string, c scenario.ClassChoice) error {
	kinds := 0
	for _, on := range [3]bool{c.Fixed != "", c.Random != "", len(c.Shares) > 0} {
		if on {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return yaml.Atf(path, "a class is fixed, random or by shares; allowed: one of these")
	case kinds == 0:
		if _, ok := l.Config.FirstDataClass(); !ok {
			return yaml.Atf(path, "every class is for control; allowed: a lossless or lossy group in classes")
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
		if !(s.Share > 0 && s.Share <= 1) || seen[l.classNamed(s.Class)] {
			return yaml.Atf(at, "a share of %v, or a class that has one already; allowed: each class once, more than 0, at most 1", s.Share)
		}
		seen[l.classNamed(s.Class)] = true
		sum += s.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return yaml.Atf(path+".shares", "the shares add up to %.6g; allowed: 1", sum)
	}
	return nil
}

// checkClass checks an id or a group that flows are to have.
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
		return fmt.Errorf("%d is no class; allowed: 0 to %d", id, mmu.Classes-1)
	case l.Kinds[id] == mmu.Unused:
		return fmt.Errorf("class %d does not exist; allowed: the ids in classes", id)
	case l.Kinds[id] == mmu.Control:
		return fmt.Errorf("class %d is for control; allowed: lossless and lossy classes", id)
	}
	return nil
}
