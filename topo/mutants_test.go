package topo

import (
	"fmt"
	"slices"
	"testing"

	"github.com/xoff-net/xoff/scheme/route"
)

// caught is a failer that records the failure; Fatalf ends the check with a panic.
type caught struct{ why string }

func (c *caught) Helper() {}

func (c *caught) Fatalf(format string, args ...any) {
	c.why = fmt.Sprintf(format, args...)
	panic(c)
}

// catch returns the failure message of a check.
func catch(check func(failer)) (why string) {
	c := &caught{}
	defer func() {
		if r := recover(); r != nil && r != any(c) {
			panic(r)
		}
		why = c.why
	}()
	check(c)
	return ""
}

// The properties detect graphs and routes with a single error.
func TestPropertiesCatch(t *testing.T) {
	fresh := func() *Graph { return LeafSpine(3, 2, 2, slow, fast) }
	if why := catch(func(f failer) { checkSound(f, fresh()) }); why != "" {
		t.Fatalf("valid graph: %s", why)
	}
	for name, spoil := range map[string]func(*Graph){
		"a port twice":             func(g *Graph) { g.Links[len(g.Links)-1].PortB = g.Links[len(g.Links)-3].PortB },
		"a gap between ports":      func(g *Graph) { g.Links[len(g.Links)-1].PortA += 3 },
		"a host on two switches":   func(g *Graph) { g.Links[0].A, g.Links[0].PortA = 1, 1 },
		"a cable between hosts":    func(g *Graph) { g.Links[0].B = 1 },
		"a name twice":             func(g *Graph) { g.Names[0] = "leaf0" },
		"a wrong rack":             func(g *Graph) { g.Rack[0] = 1 },
		"an empty group":           func(g *Graph) { g.Groups[1].Hosts = nil },
		"a group named as a node":  func(g *Graph) { g.Groups[1].Name = "host3" },
		"wrong lanes":              func(g *Graph) { g.Links[7].Lanes = 2; g.Links[7].B, g.Links[7].PortB = g.Links[6].B, 9 },
		"a part that is cut off":   func(g *Graph) { g.Remove([]int{6, 7}) },
		"cables that lead nowhere": func(g *Graph) { g.Links[6].B = g.Links[6].A },
	} {
		g := fresh()
		spoil(g)
		if why := catch(func(f failer) { checkSound(f, g) }); why == "" {
			t.Errorf("%s is not detected", name)
		}
	}
	// leaf0 is node 6 and edge 1; leaf1 is edge 2; ports 2 and 3 lead to spines.
	for name, change := range map[string]func(*route.Table){
		"a missing path": func(r *route.Table) { r.To[2].Len = 1 },
		"another order":  func(r *route.Table) { slices.Reverse(r.Ports[r.To[2].At:][:2]) },
		"no path":        func(r *route.Table) { r.To[2] = route.Hops{} },
		"a detour":       func(r *route.Table) { r.To[1] = r.To[2] },
		"a port twice":   func(r *route.Table) { at := r.To[2].At; r.Ports[at] = r.Ports[at+1] },
		"the wrong host": func(r *route.Table) { r.Homes[0] = r.Homes[1] },
		"a path back":    func(r *route.Table) { r.To[2] = r.To[1] },
	} {
		g := fresh()
		tables := Routes(g, nil)
		change(tables[6])
		if why := catch(func(f failer) { checkRoutes(f, g, tables) }); why == "" {
			t.Errorf("%s is not detected", name)
		}
	}
}
