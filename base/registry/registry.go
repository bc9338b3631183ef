// Package registry holds named tables of schemes. Each plug point of xoff (see
// docs/architecture.md) has one table; command help, scenario decoding and the
// conformance suites all read it, so a scheme that is listed is everywhere.
package registry

import (
	"fmt"
	"sort"
	"strings"
)

// Promise is a property that a scheme guarantees. The conformance suite of its
// plug point checks every promise that an entry makes.
type Promise uint8

// Promises.
const (
	Lossless   Promise = 1 << iota // no lossless frame is dropped at worst-case in-flight
	InOrder                        // packets of a flow are not reordered
	Bounded                        // occupancy stays under a stated bound
	Reactive                       // congestion control: the rate falls under congestion
	Proportion                     // scheduler: byte shares follow the configured weights
	Resolves                       // deadlock handler: a closed loop of paused queues opens again
	Flowlets                       // router: packets of a flow that follow each other within the gap are not reordered
)

var promiseNames = []string{"lossless", "in-order", "bounded", "reactive", "proportional", "resolves deadlock", "in-order within a flowlet"}

func (p Promise) String() string {
	var on []string
	for i, n := range promiseNames {
		if p&(1<<i) != 0 {
			on = append(on, n)
		}
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ", ")
}

// Trait is something about a scheme that others must know to judge a set-up.
type Trait uint8

// Traits.
const (
	NeedsMarks  Trait = 1 << iota // congestion control: without congestion marks it never slows down
	NeverHolds                    // flow control: it never makes its upstream wait
	FirstPath                     // router: always the first of the equal-cost ports
	PausesPorts                   // flow control: it can pause a whole port, all lossless classes together
)

// Shown is a number that a scheme shows of itself, or an event that it reports.
type Shown struct{ Name, Doc string }

// NamesOf returns the names of a list.
func NamesOf(list []Shown) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// Entry describes one scheme. New builds it from its parameter struct, the type
// that Params returns filled with defaults.
type Entry[New any] struct {
	Name     string
	Doc      string     // one line, for help
	Paper    string     // where it was published, empty for folklore
	Params   func() any // pointer to a struct with defaults filled in; nil: no parameters
	Promises Promise
	Traits   Trait
	Gauges   []Shown  // numbers that it shows of itself, to probe gauges
	Events   []Shown  // what it reports, to probe events
	Colour   string   // in figures: blue, vermillion, green, purple, orange, sky, grey; empty: what is free
	Alias    []string // other names by which figures know it
	New      New
}

// Table is the list of schemes of one plug point.
type Table[New any] struct {
	Kind    string // "policy", "flow_control", ...
	entries []Entry[New]
}

// NewTable returns a table with the given entries.
func NewTable[New any](kind string, entries ...Entry[New]) *Table[New] {
	t := &Table[New]{Kind: kind}
	for _, e := range entries {
		t.Register(e)
	}
	return t
}

// Register adds a scheme. A name that is taken already panics: two schemes of
// one name are a mistake in the program, not in its input.
func (t *Table[New]) Register(e Entry[New]) {
	if _, ok := t.find(e.Name); ok {
		panic(fmt.Sprintf("registry: %s %q is registered twice", t.Kind, e.Name))
	}
	t.entries = append(t.entries, e)
	sort.Slice(t.entries, func(i, j int) bool { return t.entries[i].Name < t.entries[j].Name })
}

// Get returns the scheme of that name. The error lists what there is.
func (t *Table[New]) Get(name string) (Entry[New], error) {
	if e, ok := t.find(name); ok {
		return e, nil
	}
	var none Entry[New]
	return none, Unknown(t.Kind, name, t.Names())
}

func (t *Table[New]) find(name string) (Entry[New], bool) {
	for _, e := range t.entries {
		if e.Name == name {
			return e, true
		}
	}
	var none Entry[New]
	return none, false
}

// All returns the entries in order of their names.
func (t *Table[New]) All() []Entry[New] { return t.entries }

// Names returns the names in order.
func (t *Table[New]) Names() []string {
	var names []string
	for _, e := range t.entries {
		names = append(names, e.Name)
	}
	return names
}
