package check

import (
	"errors"
	"fmt"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/scheme/deadlock"
)

// forwards notes watchdogs that send frames of lossless classes despite a pause: the peer that
// sent the pause has no headroom for these frames.
func (c *checker) forwards() {
	if c.lossless() == 0 {
		return
	}
	var paths []string
	names := make(map[string][]string) // by path of the key
	for i := range c.Switches {
		s := c.l.SwitchAt(c.Switches[i].Node)
		if p, ok := s.Deadlock.Params.(*deadlock.WatchdogParams); !ok || p.Action != "forward" {
			continue
		}
		path := "switch.deadlock.action"
		if e := new(yaml.Error); errors.As(c.l.OfSwitch(s, &yaml.Error{Path: path}), &e) {
			path = e.Path // set by an override
		}
		if names[path] == nil {
			paths = append(paths, path)
		}
		names[path] = append(names[path], c.Graph.Names[c.Switches[i].Node])
	}
	for _, path := range paths {
		where := names[path]
		c.add(Finding{
			Level: Note, Kind: KindPauses, At: location(c.l.Config, path), Where: where, Classes: classIDs(c.lossless()),
			What: fmt.Sprintf("%s: watchdog with action forward sends frames of %s despite a pause; a peer without room for them drops them",
				brief(where), classes(c.lossless())),
			Fix: "action: alert, which only reports storms, or handler roundabout, which resolves loops without loss",
		})
	}
}
