package route

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/units"
)

// static uses the first of the equal-cost ports and ignores link changes. It serves to
// construct routing loops and cyclic dependencies.
type static struct{ table *Table }

func newStatic(_ any, env Env) (Router, error) { return &static{table: env.Table}, nil }

// Replace implements Router: static routes do not change.
func (r *static) Replace(*Table) {}

// Route implements Router.
func (r *static) Route(_ units.Time, _ int, p *packet.Packet) int {
	if port, ok := r.table.Pin(p); ok {
		return port
	}
	ports := r.table.Set(p.Dst())
	if len(ports) == 0 {
		return -1
	}
	return int(ports[0])
}
