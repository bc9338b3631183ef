package scenario

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/xoff-net/xoff/base/mmu"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/workload"
)

func (b *builder) checkWorkloads() error {
	names := make(map[string]bool)
	expected := 0.0
	for i := range b.cfg.Workload {
		w := &b.cfg.Workload[i]
		path := workloadPath(i)
		switch {
		case w.Name == "" || !printable(w.Name):
			return atf(path+".name", "%q is not a name; allowed: printable text without spaces around it", w.Name)
		case names[w.Name]:
			return atf(path+".name", "%q is the name of another workload; allowed: each name once", w.Name)
		}
		names[w.Name] = true
		if err := b.cfg.checkTransport(path+".transport", w.Transport); err != nil {
			return err
		}
		if t, ok := w.Params.(*workload.Trace); ok {
			for _, of := range slices.Sorted(maps.Keys(t.Transports)) {
				if err := b.cfg.checkTransport(path+".transports."+of, t.Transports[of]); err != nil {
					return err
				}
			}
		}
		n, err := b.expectedFlows(i)
		if err != nil {
			return err
		}
		if expected += n; expected > maxFlows {
			return atf(path, "this makes about %.0f flows; allowed: at most %d in a run", expected, maxFlows)
		}
	}
	return nil
}

// errIdle is what is wrong with a run that would end as soon as it begins.
var errIdle = errors.New("the run would end at once")

// checkAnyFlow checks that the run has something to wait for: without, it would
// end at 0 and look as if all went well.
func (b *builder) checkAnyFlow(flows *dataplane.Flows) error {
	if len(b.cfg.Workload) == 0 {
		return atf("workload", "%w: there is no workload; allowed: at least one generator of flows", errIdle)
	}
	if len(flows.Flow) == 0 {
		return atf("workload", "%w: no flow starts in %s; allowed: a longer run.arrivals, or a higher load", errIdle, b.cfg.Run.Arrivals)
	}
	if b.cfg.Run.Stop.When != "measured_flows_done" {
		return nil
	}
	for i := range flows.Flow {
		if flows.Waits(i) || b.cfg.measured(flows.Flow[i].Start) {
			return nil
		}
	}
	return atf("run.measure", "%w: none of the %d flows starts in the measured time; allowed: a time in which flows start", errIdle, len(flows.Flow))
}

// expectedFlows checks a workload and estimates how many flows it makes.
func (b *builder) expectedFlows(i int) (float64, error) {
	g, e, err := b.generator(i)
	if err != nil {
		return 0, err
	}
	n, err := g.Check(e)
	if err != nil {
		return 0, workloadError(workloadPath(i), err)
	}
	return n, nil
}

// generator returns the generator of a workload and its environment.
func (b *builder) generator(i int) (workload.Generator, *workload.Env, error) {
	w := &b.cfg.Workload[i]
	path := workloadPath(i)
	entry, err := workload.Generators.Get(w.Generator)
	if err != nil {
		return nil, nil, at(path+".generator", err)
	}
	if want := reflect.TypeOf(entry.Params()); reflect.TypeOf(w.Params) != want {
		return nil, nil, atf(path+".generator", "%s has parameters of type %T; allowed: %s", w.Generator, w.Params, want)
	}
	g := entry.New(w.Params)
	u := g.Uses()
	if key := w.stray(u); key != "" {
		return nil, nil, atf(join(path, key), "has no meaning for generator %s; allowed: %s", w.Generator, strings.Join(w.keys(), ", "))
	}
	e := b.environment(w)
	if err := first(b.checkClassChoice(path+".class", w.Class), b.checkStartStop(path, w)); err != nil {
		return nil, nil, err
	}
	e.Classes.IDs, e.Classes.Shares = b.classesOf(w.Class)
	if u.From {
		if err := b.selectPairs(path, w, u, e); err != nil {
			return nil, nil, err
		}
	}
	e.Load, err = b.loadOf(path, w, e)
	return g, e, err
}

// environment is the world as every generator sees it.
func (b *builder) environment(w *Workload) *workload.Env {
	if b.fabric == nil {
		b.fabric = &workload.Fabric{Names: b.graph.Names[:b.graph.Hosts], Rack: b.graph.Rack, Group: b.hostGroups(), Rates: b.graph.HostRates()}
		b.parts = b.islands()
	}
	stop := b.cfg.Run.Arrivals
	if w.Stop != 0 {
		stop = w.Stop
	}
	return &workload.Env{
		Fabric: b.fabric, Start: w.Start, Stop: stop, End: b.cfg.Run.Stop.AtMost,
		MaxSize: min(maxFlow, b.cfg.Hosts.Payload*(1<<31-1)), MaxDelay: maxDelay,
		Classes: &workload.Classes{Rand: workload.Stream(b.cfg.Seed, "class/"+w.Name)},
		Host: func(name string) (int32, bool) {
			h := b.host(name)
			return int32(h), h >= 0
		},
		Class: func(name string) (uint8, error) {
			if err := b.checkClass(name); err != nil {
				return 0, err
			}
			return b.classNamed(name), nil
		},
		Reachable: func(src, dst int32) bool { return b.parts[src] == b.parts[dst] },
		Route:     b.flowRoute,
		Open:      openFile,
		Rand:      workload.Stream(b.cfg.Seed, "workload/"+w.Name),
		Hashes:    workload.Stream(b.cfg.Seed, "hash/"+w.Name),
	}
}

// openFile opens a file that is one: reading a device could take for ever.
func openFile(name string) (io.ReadCloser, error) {
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
func (b *builder) hostGroups() []int {
	order := make([]int, 0, len(b.graph.Groups))
	for i, g := range b.graph.Groups {
		if len(g.Hosts) < b.graph.Hosts {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return len(b.graph.Groups[order[i]].Hosts) > len(b.graph.Groups[order[j]].Hosts) })
	group := make([]int, b.graph.Hosts)
	for i := range group {
		group[i] = -1
	}
	next := 0
	for _, i := range order {
		fresh := false
		for _, h := range b.graph.Groups[i].Hosts {
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
func (b *builder) selectPairs(path string, w *Workload, u workload.Uses, e *workload.Env) error {
	var err error
	if e.From, err = b.selectHosts(path+".from", w.From); err != nil || u.Pairs == "" {
		return err
	}
	to, err := b.selectHosts(path+".to", w.To)
	if err != nil {
		return err
	}
	name := w.Pairs
	if name == "" {
		name = u.Pairs
	}
	if err := oneOf(path+".pairs", name, workload.RuleNames...); err != nil {
		return err
	}
	rule := workload.AnyPair
	for i, n := range workload.RuleNames {
		if n == name {
			rule = workload.Rule(i)
		}
	}
	if e.Pairs, err = workload.NewPairs(b.fabric, rule, e.From, to); err != nil {
		return at(path+".pairs", err)
	}
	return b.checkConnected(path, e.Pairs)
}

// selectHosts resolves a list of hosts; an empty one means all.
func (b *builder) selectHosts(path string, s Selection) ([]int32, error) {
	if len(s) == 0 {
		return b.fabric.All(), nil
	}
	hosts, i, err := b.graph.HostsLike(s)
	if err != nil {
		return nil, at(fmt.Sprintf("%s[%d]", path, i), err)
	}
	if len(hosts) == 0 {
		return nil, atf(path, "no host is left; allowed: at least one")
	}
	list := make([]int32, len(hosts))
	for i, h := range hosts {
		list[i] = int32(h)
	}
	return list, nil
}

// loadOf returns the bytes per second that a workload offers.
func (b *builder) loadOf(path string, w *Workload, e *workload.Env) (float64, error) {
	if w.Load == (Load{}) {
		return 0, nil
	}
	base, err := b.capacityOf(w.Load.Of, e)
	if err != nil {
		return 0, at(path+".load.of", err)
	}
	if s := w.Load.Share; !(s > 0 && s <= maxShare) {
		return 0, atf(path+".load.share", "%v is no load; allowed: more than 0, at most %v (1 fills the links)", s, maxShare)
	}
	return w.Load.Share * float64(base) / 8, nil
}

// capacityOf returns the capacity that a load is a share of.
func (b *builder) capacityOf(base string, e *workload.Env) (units.Rate, error) {
	bases := []string{"host_links", "all_host_links", "receiver_links", "uplinks"}
	named := strings.Join(bases, ", ")
	switch base {
	case "":
		return 0, fmt.Errorf("a load is a share of something; allowed: %s, or links such as %s", named, b.graph.LinkName(len(b.graph.Links)-1))
	case "host_links":
		return b.fabric.Capacity(e.Pairs.From), nil
	case "all_host_links":
		return b.fabric.Capacity(b.fabric.All()), nil
	case "receiver_links":
		return b.fabric.Capacity(e.Pairs.To), nil
	case "uplinks":
		return b.uplinks(e.Pairs.From)
	}
	links, err := b.graph.LinksLike(base)
	if near := registry.Nearest(base, bases); err != nil && near != "" {
		return 0, fmt.Errorf("%q is unknown (did you mean %q?); allowed: %s, or links such as %s", base, near, named, b.graph.LinkName(len(b.graph.Links)-1))
	}
	if err != nil {
		return 0, fmt.Errorf("%w; or %s", err, named)
	}
	sum := units.Rate(0)
	for _, l := range links {
		sum += b.graph.Links[l].Rate
	}
	return sum, nil
}

// uplinks is the sum of the links from the switches of some hosts to other
// switches.
func (b *builder) uplinks(hosts []int32) (units.Rate, error) {
	rack := make([]bool, b.graph.Nodes()) // switches of these hosts
	sends := make([]bool, b.graph.Nodes())
	for _, h := range hosts {
		sends[h] = true
	}
	for _, l := range b.graph.Links {
		if sends[l.A] {
			rack[l.B] = true
		}
	}
	sum := units.Rate(0)
	for _, l := range b.graph.Links {
		if l.A < b.graph.Hosts {
			continue
		}
		// Between two such switches each end has an uplink.
		for _, end := range [2]int{l.A, l.B} {
			if rack[end] {
				sum += l.Rate
			}
		}
	}
	if sum == 0 {
		return 0, fmt.Errorf("the switches of the senders have no links to other switches; allowed: host_links, or a topology with uplinks")
	}
	return sum, nil
}

// checkStartStop checks the time in which flows of a workload start.
func (b *builder) checkStartStop(path string, w *Workload) error {
	arrivals := b.cfg.Run.Arrivals
	if w.Start < 0 || w.Start >= arrivals {
		return atf(path+".start", "%s is not in the run; allowed: 0s or more, before run.arrivals, %s", w.Start, arrivals)
	}
	if w.Stop != 0 && (w.Stop <= w.Start || w.Stop > arrivals) {
		return atf(path+".stop", "%s is not in the run; allowed: after start, %s, up to run.arrivals, %s", w.Stop, show(w.Start), arrivals)
	}
	return nil
}

// checkConnected checks that the hosts of a workload can reach each other.
func (b *builder) checkConnected(path string, p *workload.Pairs) error {
	one := p.From[0]
	for _, list := range [2][]int32{p.From, p.To} {
		for _, h := range list {
			if b.parts[h] != b.parts[one] {
				return atf(path, "%s cannot be reached from %s: there are no links between them, or they are down all the time; allowed: destinations with a path to them", b.graph.Names[h], b.graph.Names[one])
			}
		}
	}
	return nil
}

// checkClassChoice checks that flows get a class that carries data.
func (b *builder) checkClassChoice(path string, c ClassChoice) error {
	kinds := 0
	for _, on := range [3]bool{c.Fixed != "", c.Random != "", len(c.Shares) > 0} {
		if on {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return atf(path, "a class is fixed, random or by shares; allowed: one of these")
	case kinds == 0:
		if _, ok := b.cfg.firstDataClass(); !ok {
			return atf(path, "every class is for control; allowed: a lossless or lossy group in classes")
		}
		return nil
	case c.Fixed != "":
		if err := b.checkClass(c.Fixed); err != nil {
			return at(path, err)
		}
		return nil
	case c.Random != "":
		return b.checkGroup(path+".random", c.Random)
	}
	sum := 0.0
	seen := map[uint8]bool{}
	for _, s := range c.Shares {
		at := join(path+".shares", s.Class)
		if err := b.checkClass(s.Class); err != nil {
			return &Error{Path: at, Err: err}
		}
		if !(s.Share > 0 && s.Share <= 1) || seen[b.classNamed(s.Class)] {
			return atf(at, "a share of %v, or a class that has one already; allowed: each class once, more than 0, at most 1", s.Share)
		}
		seen[b.classNamed(s.Class)] = true
		sum += s.Share
	}
	if math.Abs(sum-1) > 1e-6 {
		return atf(path+".shares", "the shares add up to %.6g; allowed: 1", sum)
	}
	return nil
}

// checkClass checks an id or a group that flows are to have.
func (b *builder) checkClass(name string) error {
	id, err := strconv.Atoi(name)
	if err != nil {
		err := b.checkGroup("", name)
		if e, ok := err.(*Error); ok {
			return e.Err
		}
		return err
	}
	switch {
	case id < 0 || id >= mmu.Classes:
		return fmt.Errorf("%d is no class; allowed: 0 to %d", id, mmu.Classes-1)
	case b.kinds[id] == mmu.Unused:
		return fmt.Errorf("class %d does not exist; allowed: the ids in classes", id)
	case b.kinds[id] == mmu.Control:
		return fmt.Errorf("class %d is for control; allowed: lossless and lossy classes", id)
	}
	return nil
}

// checkGroup checks a group of classes that carries data.
func (b *builder) checkGroup(path, group string) error {
	if err := b.cfg.group(path, group); err != nil {
		return err
	}
	if b.cfg.Classes[group].Kind == "control" {
		_, others := b.cfg.groups()
		return atf(path, "group %s is for control; allowed: %s", group, strings.Join(others, ", "))
	}
	return nil
}
