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

// Warnings returns the findings about faults that a run is worth warning of, too. A
// scenario without faults costs nothing.
func Warnings(p fabric.Plan) []Finding { return lostResumes(p.Layout) }

// place says where a key of a scenario was written.
func place(cfg *scenario.Config, path string) string {
	var at *yaml.InputError
	if !errors.As(cfg.Locate(yaml.Atf(path, "here")), &at) {
		return ""
	}
	return placeOf(at)
}

func placeOf(at *yaml.InputError) string {
	if at.Line == 0 {
		return at.File
	}
	return fmt.Sprintf("%s:%d:%d", at.File, at.Line, at.Column)
}

// lostResumes finds links that damage frames and have an end whose pauses last until
// they are withdrawn: a RESUME that is lost is not repeated, and the pause never ends.
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
			if node, port := end[0], end[1]; node >= l.Graph.Hosts && holdsForEver(l, node, port) {
				name, _ := l.Graph.PortNames(node, port, end[2])
				where = append(where, name)
			}
		}
		if len(where) == 0 {
			continue
		}
		list = append(list, Finding{
			Level: Problem, Kind: OfPauses, At: place(l.Config, fmt.Sprintf("faults[%d].corrupt", i)), Where: where, Links: []string{f.Link},
			What: fmt.Sprintf("%s damages %v %% of its frames, and pauses of %s last until they are withdrawn (hold: indefinite): a RESUME that is lost is not repeated, and what it was to let go waits for ever",
				f.Link, 100*f.Corrupt, brief(where)),
			Fix: "switch.pfc.hold: timed, so that a pause runs out that is not refreshed",
		})
	}
	return list
}

// holdsForEver tells whether a port of a switch pauses, and without an end.
func holdsForEver(l *layout.Layout, node, port int) bool {
	spec := l.PortSpec(node, port)
	holds := layout.Traits(flowctl.Schemes, l.PortAt(node, port).FlowControl.Name)&registry.NeverHolds == 0
	return holds && spec.PFC.Indefinite && spec.Lossless != 0
}

// faults looks at what goes wrong, and when.
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
		switch at := place(c.Config, fmt.Sprintf("faults[%d].at", i)); {
		case f.At >= end:
			c.add(Finding{
				Level: Problem, Kind: OfFaults, At: at, Where: []string{what},
				What: fmt.Sprintf("the fault of %s never happens: it begins at %s, and the run ends at %s at the latest", what, f.At, end),
				Fix:  "an earlier at, or a later run.stop.at_most",
			})
		case last >= end:
			n := int((end - f.At + f.Every - 1) / f.Every)
			c.add(Finding{
				Level: Note, Kind: OfFaults, At: at, Where: []string{what},
				What: fmt.Sprintf("%s fails %d times before the run ends at %s, not %d times", what, n, end, f.Times),
				Fix:  "fewer times, or a later run.stop.at_most",
			})
		}
	}
}
