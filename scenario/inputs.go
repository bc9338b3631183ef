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
	Name string // file name next to the resolved scenario
	Path string // path of the original file
}

// inputPrefix is the prefix of the names of input files next to a resolved scenario.
const inputPrefix = "input-"

// Standalone is Marshal with input files renamed, so that the scenario can move to another
// machine. The caller copies the returned files next to the scenario.
func (c *Config) Standalone() ([]byte, []Input, error) { return c.standalone(encoder{}) }

// Canonical is Standalone in a form that does not change between versions. Equivalent
// scenarios have the same canonical form, so hashes are computed from it.
func (c *Config) Canonical() ([]byte, error) {
	own := *c
	own.Expect = nil // does not change results
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

// addInput returns the name of a file in the list, and adds the file if it is new.
func addInput(list *[]Input, path string) string {
	base := inputPrefix + strings.TrimPrefix(filepath.Base(path), inputPrefix)
	if !strings.Contains(base, ".") {
		base += ".txt" // sizes: without a dot it would name a built-in table
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

// Traceable checks that the flows can be written as a trace, which has no routes.
func (c *Config) Traceable() error {
	for i := range c.Workload {
		if _, ok := c.Workload[i].Params.(workload.Placer); ok {
			return yaml.Atf("output.flow_trace", "workload %s is a job, which a trace cannot contain; fix: set flow_trace: false", c.Workload[i].Name)
		}
		list, ok := c.Workload[i].Params.(*workload.List)
		if !ok {
			continue
		}
		for k := range list.Flows {
			if f := &list.Flows[k]; len(f.Via)+len(f.Back) > 0 {
				return yaml.Atf("output.flow_trace",
					"flow %d of workload %s has a route, which a trace cannot contain; fix: set flow_trace: false, or remove via and back", k, c.Workload[i].Name)
			}
		}
	}
	return nil
}
