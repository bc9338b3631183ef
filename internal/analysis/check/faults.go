package check

import (
	"errors"
	"fmt"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/model/layout"
	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scheme/flowctl"
)

// Warnings returns the findings that `xoff run` prints as warnings: pauses that a fault can
// make permanent.
func Warnings(p fabric.Plan) []Finding { return lostResumes(p.Layout) }

// location returns where a key of a scenario is written, as file:line:column; "" if unknown.
func location(cfg *scenario.Config, path string) string {
	var at *yaml.InputError
	if !errors.As(cfg.Locate(yaml.Atf(path, "here")), &at) {
		return ""
	}
	return locationOf(at)
}

func locationOf(at *yaml.InputError) string {
	if at.Line == 0 {
		return at.File
	}
	return fmt.Sprintf("%s:%d:%d", at.File, at.Line, at.Column)
}

// lostResumes finds links that corrupt frames and whose ends pause indefinitely. There, a lost
// RESUME is not repeated, and the pause never ends.
func lostResumes(l *layout.Layout) []Finding {
	var list []Finding
	for i := range l.Config.Faults {
		f := &l.Config.Faults[i]
		if f.Corrupt == 0 {
			continue
		}
		c := &l.Graph.Links[l.Link(f.Link)]
		var where []string
		for _, end := range [2][3]int{{c.A, c.PortA, c.B}, {c.B, c.PortB, c.A}} {
			if node, port := end[0], end[1]; node >= l.Graph.Hosts && pausesIndefinitely(l, node, port) {
				name, _ := l.Graph.PortNames(node, port, end[2])
				where = append(where, name)
			}
		}
		if len(where) == 0 {
			continue
		}
		list = append(list, Finding{
			Level: Problem, Kind: KindPauses, At: location(l.Config, fmt.Sprintf("faults[%d].corrupt", i)), Where: where, Links: []string{f.Link},
			What: fmt.Sprintf("%s corrupts %v %% of its frames, and pauses of %s last until a RESUME arrives (hold: indefinite): a lost RESUME is not repeated, so the paused traffic waits forever",
				f.Link, 100*f.Corrupt, brief(where)),
			Fix: "set switch.pfc.hold: timed, so that pauses expire unless they are refreshed",
		})
	}
	return list
}

// pausesIndefinitely reports whether a switch port can pause a class until it sends a RESUME.
func pausesIndefinitely(l *layout.Layout, node, port int) bool {
	spec := l.PortSpec(node, port)
	pauses := layout.Traits(flowctl.Schemes, l.PortAt(node, port).FlowControl.Name)&registry.NeverBlocks == 0
	return pauses && spec.PFC.Indefinite && spec.Lossless != 0
}

// faults reports faults that have no effect, or too much.
func (c *checker) faults() {
	for _, f := range lostResumes(c.l) {
		c.add(f)
	}
	end := c.Config.Run.Stop.AtMost
	for i := range c.Config.Faults {
		f := &c.Config.Faults[i]
		what := f.Link
		if what == "" {
			what = f.Host
		}
		last := f.At + units.Time(max(1, f.Times)-1)*f.Every
		switch at := location(c.Config, fmt.Sprintf("faults[%d].at", i)); {
		case f.At >= end:
			c.add(Finding{
				Level: Problem, Kind: KindFaults, At: at, Where: []string{what},
				What: fmt.Sprintf("the fault of %s never happens: it starts at %s, but the run ends at %s at the latest", what, f.At, end),
				Fix:  "set an earlier at, or a later run.stop.at_most",
			})
		case last >= end:
			n := int((end - f.At + f.Every - 1) / f.Every)
			c.add(Finding{
				Level: Note, Kind: KindFaults, At: at, Where: []string{what},
				What: fmt.Sprintf("%s fails %d times before the run ends at %s, not %d times", what, n, end, f.Times),
				Fix:  "reduce times, or set a later run.stop.at_most",
			})
		}
	}
}
