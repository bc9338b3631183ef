package route

import (
	"fmt"
	"math/bits"

	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// FlowletParams are the parameters of routers that choose a path per flowlet: a burst of a
// flow after a gap.
type FlowletParams struct {
	Gap     units.Time `yaml:"gap" doc:"silence after which a flow may change its path; more than the delay difference of paths avoids reordering"`
	Entries int        `yaml:"entries" doc:"size of the flowlet table of a switch, a power of two; flows that hash to one entry share its path"`
}

func defaultFlowlet() any { return &FlowletParams{Gap: 50 * units.Microsecond, Entries: 4096} }

// maxEntries limits the table of a switch.
const maxEntries = 1 << 20

func (p *FlowletParams) check() error {
	switch {
	case p.Gap <= 0 || p.Gap > units.MaxTime:
		return fmt.Errorf("gap is %s (expected more than 0s, at most %ds)", p.Gap, units.MaxTime/units.Second)
	case p.Entries < 1 || p.Entries > maxEntries || bits.OnesCount(uint(p.Entries)) != 1:
		return fmt.Errorf("entries is %d (expected a power of two from 1 to %d)", p.Entries, maxEntries)
	}
	return nil
}

// flowlets is the flowlet table of a switch (LetFlow section 3): an entry per hash, with a new
// choice after a gap. Flows that share an entry keep each other's choice alive, so none of
// them changes its path within a flowlet. A choice is an index into the list of ports, which
// may be different for each flow. Data and replies have different hashes and thus entries.
type flowlets struct {
	table   *Table
	seed    uint32
	gap     units.Time
	entries []flowlet
	choose  func(ports []uint16) int
}

type flowlet struct {
	last   units.Time // when the last frame passed
	choice uint32     // index into the list of ports, plus one; 0: none yet
}

func newFlowlets(params any, env Env) (*flowlets, error) {
	p := params.(*FlowletParams)
	if err := p.check(); err != nil {
		return nil, err
	}
	return &flowlets{table: env.Table, seed: uint32(env.Seed ^ env.Seed>>32), gap: p.Gap, entries: make([]flowlet, p.Entries)}, nil
}

// newFlowlet returns a router that chooses at random: congested paths have shorter flowlets,
// which balances the load.
func newFlowlet(params any, env Env) (Router, error) {
	r, err := newFlowlets(params, env)
	if err != nil {
		return nil, err
	}
	r.choose = env.random
	return r, nil
}

// random returns a random index into a list of ports.
func (e *Env) random(ports []uint16) int {
	return int(uint64(uint32(e.Rand.Uint64())) * uint64(len(ports)) >> 32)
}

// Gap implements Gapped.
func (r *flowlets) Gap() units.Time { return r.gap }

// Replace implements Router. It clears the table: old choices may be invalid.
func (r *flowlets) Replace(t *Table) {
	r.table = t
	clear(r.entries)
}

// Route implements Router.
func (r *flowlets) Route(now units.Time, _ int, p *packet.Packet) int {
	if port, ok := r.table.Pin(p); ok {
		return port
	}
	ports := r.table.Set(p.Dst())
	switch len(ports) {
	case 0:
		return -1
	case 1: // does not change the choice of other flows in its entry
		return int(ports[0])
	}
	e := &r.entries[Mix(p.Hash^r.seed)&uint32(len(r.entries)-1)]
	if e.choice == 0 || now-e.last > r.gap {
		e.choice = uint32(r.choose(ports)) + 1
	}
	e.last = now
	return int(ports[(e.choice-1)%uint32(len(ports))])
}
