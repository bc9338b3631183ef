package main

import (
	"github.com/xoff-net/xoff/base/packet"
	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/scheme/route"
)

func init() {
	route.Routers.Register(registry.Entry[route.New]{
		Name: "shortest-queue", Doc: "sends each packet to the equal-cost port with the fewest queued bytes",
		New: func(_ any, env route.Env) (route.Router, error) { return &shortestQueue{env}, nil },
	})
}

type shortestQueue struct{ route.Env }

// Replace implements route.Router.
func (r *shortestQueue) Replace(t *route.Table) { r.Table = t }

// Route implements route.Router.
func (r *shortestQueue) Route(_ units.Time, _ int, p *packet.Packet) int {
	if port, ok := r.Table.Pin(p); ok {
		return port
	}
	best, least := -1, units.Bytes(0)
	for _, port := range r.Table.Set(p.Dst()) {
		if queued := r.View.EgressPort(int(port)); best < 0 || queued < least {
			best, least = int(port), queued
		}
	}
	return best
}
