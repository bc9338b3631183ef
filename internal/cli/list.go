package cli

import (
	"fmt"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/scenario"
)

// listed is a scheme as `xoff list --json` prints it.
type listed struct {
	Kind     string  `json:"kind"`
	Name     string  `json:"name"`
	Doc      string  `json:"doc"`
	Paper    string  `json:"paper,omitempty"`
	Promises string  `json:"promises"`
	Params   []param `json:"params,omitempty"`
}

type param struct {
	Name    string `json:"name"`
	Default string `json:"default"`
}

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [KIND [NAME]]",
		Short: "List the schemes that scenarios can name",
		Args:  cobra.MaximumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := schemes(args)
			if err != nil {
				return wrap(exitInput, err)
			}
			if a.json {
				return wrap(exitFailure, a.printJSON(found))
			}
			return wrap(exitFailure, a.printSchemes(found, len(args) == 2))
		},
	}
}

// schemes selects by kind and name.
func schemes(args []string) ([]listed, error) {
	var found []listed
	var kinds, names []string
	for _, k := range scenario.Kinds() {
		kinds = append(kinds, k.Name)
		if len(args) > 0 && args[0] != k.Name {
			continue
		}
		for _, s := range k.Schemes {
			names = append(names, s.Name)
			if len(args) > 1 && args[1] != s.Name {
				continue
			}
			found = append(found, listed{Kind: k.Name, Name: s.Name, Doc: s.Doc, Paper: s.Paper, Promises: s.Promises.String(), Params: paramsOf(s)})
		}
	}
	if len(args) > 0 && names == nil {
		return nil, fmt.Errorf("unknown kind %q; allowed: %s", args[0], strings.Join(kinds, ", "))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("unknown %s %q; allowed: %s", args[0], args[1], strings.Join(names, ", "))
	}
	return found, nil
}

// paramsOf reads the parameters of a scheme and their defaults from the struct
// that scenarios decode into.
func paramsOf(s scenario.Scheme) []param {
	if s.Params == nil {
		return nil
	}
	v := reflect.Indirect(reflect.ValueOf(s.Params()))
	var list []param
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		list = append(list, param{name, valueText(v.Field(i))})
	}
	return list
}

func valueText(v reflect.Value) string {
	if m, ok := v.Interface().(interface{ MarshalText() ([]byte, error) }); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v.Interface())
}

func (a *app) printSchemes(found []listed, details bool) error {
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	kind := ""
	for _, s := range found {
		if s.Kind != kind {
			kind = s.Kind
			w.line("%s", kind)
		}
		w.line("  %s\t%s", s.Name, s.Doc)
		if !details {
			continue
		}
		w.line("  promises\t%s", s.Promises)
		if s.Paper != "" {
			w.line("  source\t%s", s.Paper)
		}
		for _, p := range s.Params {
			w.line("  %s\tdefault %s", p.Name, p.Default)
		}
	}
	return w.flush()
}
