package scenario

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/xoff-net/xoff/internal/yaml"
	"github.com/xoff-net/xoff/workload"
)

// Input is a file that a scenario reads.
type Input struct {
	Name string // beside the resolved scenario
	Path string // where it is
}

// inputPrefix begins the names of files that stand beside a resolved scenario.
const inputPrefix = "input-"

// Standalone writes the scenario as Marshal does, but for the files that it reads:
// they are to stand beside it under the names of the list. What it says then holds
// on any machine, and does not change when such a file does.
func (c *Config) Standalone() ([]byte, []Input, error) { return c.standalone(encoder{}) }

// Canonical is Standalone in a form that later versions write as well: scenarios that
// mean the same have the same, whatever keys there are by then.
func (c *Config) Canonical() ([]byte, error) {
	own := *c
	own.Expect = nil // changes no result
	text, _, err := own.standalone(encoder{canonical: true})
	return text, err
}

func (c *Config) standalone(e encoder) ([]byte, []Input, error) {
	own := *c
	own.Workload = append([]Workload(nil), c.Workload...)
	var inputs []Input
	for i := range own.Workload {
		w := &own.Workload[i]
		user, ok := w.Params.(workload.FileUser)
		if !ok || user.File() == nil || *user.File() == "" {
			continue
		}
		copied := reflect.New(reflect.TypeOf(w.Params).Elem())
		copied.Elem().Set(reflect.ValueOf(w.Params).Elem())
		w.Params = copied.Interface()
		file := w.Params.(workload.FileUser).File()
		*file = addInput(&inputs, *file)
	}
	text, err := own.marshal(e)
	return text, inputs, err
}

// addInput returns the name of a file in a list, and adds it if it is new.
func addInput(list *[]Input, path string) string {
	base := inputPrefix + strings.TrimPrefix(filepath.Base(path), inputPrefix)
	if !strings.Contains(base, ".") {
		base += ".txt" // sizes without a dot would be those of a table
	}
	name := base
	for n := 2; ; n++ {
		taken := false
		for _, in := range *list {
			if in.Path == path {
				return in.Name
			}
			taken = taken || in.Name == name
		}
		if !taken {
			*list = append(*list, Input{name, path})
			return name
		}
		ext := filepath.Ext(base)
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(base, ext), n, ext)
	}
}

// Traceable checks that a trace can hold the flows: it has no place for routes.
func (c *Config) Traceable() error {
	for i := range c.Workload {
		list, ok := c.Workload[i].Params.(*workload.List)
		if !ok {
			continue
		}
		for k := range list.Flows {
			if f := &list.Flows[k]; len(f.Via)+len(f.Back) > 0 {
				return yaml.Atf("output.flow_trace",
					"flow %d of workload %s has routes of its own, which a trace cannot hold; allowed: no trace, or flows without via and back", k, c.Workload[i].Name)
			}
		}
	}
	return nil
}
