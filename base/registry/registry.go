// Package registry provides the tables of named schemes, one per plug point, that scenario
// decoding, command help, the reference and the conformance suites read (docs/architecture.md). A
// registered scheme is available everywhere.
package registry

import (
	"fmt"
	"sort"
	"strings"
)

// Promise is a set of properties that a scheme guarantees. The conformance suite of its
// plug point tests each of them.
type Promise uint8

// Promises.
const (
	Lossless   Promise = 1 << iota // no lossless frame is dropped, even with the worst-case bytes in flight
	InOrder                        // packets of a flow are not reordered
	Bounded                        // occupancy stays under a stated bound
	Reactive                       // congestion control: the rate falls under congestion
	Proportion                     // scheduler: byte shares follow the configured weights
	Resolves                       // deadlock handler: a cycle of paused queues is resolved
	Flowlets                       // router: packets of a flow are not reordered unless a flowlet gap separates them
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

// Trait is a set of facts about a scheme that other components and checks must know.
type Trait uint8

// Traits.
const (
	NeedsMarks  Trait = 1 << iota // congestion control: never slows down without ECN marks
	NeverBlocks                   // flow control: never blocks its upstream
	FirstPath                     // router: always uses the first of the equal-cost ports
	PausesPorts                   // flow control: can pause a whole port, with all its lossless classes
)

// Need is a setting of the switch without which a scheme cannot run. A scenario that does not set
// the key, in the switch or in an override, gets the value where it selects the scheme.
type Need struct{ Key, Value string } // {"pfc.coalesce", "false"}

// Export describes a gauge or an event that a scheme exports.
type Export struct{ Name, Doc string }

// NamesOf returns the names of the gauges or events in list.
func NamesOf(list []Export) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// Entry describes one scheme. New builds it from a parameter struct of the type that Params
// returns.
type Entry[New any] struct {
	Name     string
	Doc      string     // one line, for help and the reference
	Paper    string     // publication; empty if there is none
	Params   func() any // returns a pointer to a parameter struct with defaults; nil: no parameters
	Promises Promise
	Traits   Trait
	Needs    []Need   // settings without which it cannot run; see Need
	Gauges   []Export // gauges that it exports
	Events   []Export // events that it reports
	Colour   string   // colour in figures: blue, vermillion, green, purple, orange, sky, grey; empty: any unused
	Alias    []string // other names in figures
	New      New
}

// Table is the list of schemes of one plug point, sorted by name.
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

// Register adds a scheme. It panics if the name is already registered.
func (t *Table[New]) Register(e Entry[New]) {
	if _, ok := t.find(e.Name); ok {
		panic(fmt.Sprintf("registry: %s %q is registered twice", t.Kind, e.Name))
	}
	t.entries = append(t.entries, e)
	sort.Slice(t.entries, func(i, j int) bool { return t.entries[i].Name < t.entries[j].Name })
}

// Get returns the scheme with the given name. The error lists the registered names.
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

// All returns the entries sorted by name.
func (t *Table[New]) All() []Entry[New] { return t.entries }

// Names returns the names in alphabetical order.
func (t *Table[New]) Names() []string {
	var names []string
	for _, e := range t.entries {
		names = append(names, e.Name)
	}
	return names
}
