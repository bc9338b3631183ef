package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/scenario"
)

// listed is a scheme as `xoff list --json` prints it.
type listed struct {
	Kind     string         `json:"kind"`
	Name     string         `json:"name"`
	Doc      string         `json:"doc"`
	Paper    string         `json:"paper,omitempty"`
	Promises string         `json:"promises"`
	Needs    []string       `json:"needs,omitempty"` // settings of switch that are its defaults
	Params   []scenario.Key `json:"params,omitempty"`
	Gauges   []listedShown  `json:"gauges,omitempty"` // written by probe gauges
	Events   []listedShown  `json:"events,omitempty"` // written by probe events
}

// listedShown is a gauge that a scheme exports, or an event that it reports.
type listedShown struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

func allShown(list []registry.Export) []listedShown {
	var out []listedShown
	for _, s := range list {
		out = append(out, listedShown{s.Name, s.Doc})
	}
	return out
}

func (a *app) listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [KIND [NAME]]",
		Short: "List the schemes that scenarios can use",
		Long: `List the schemes that scenarios can use, by kind: topologies, buffer policies, flow
controls and so on. With a name, print the parameters with their defaults, the
publication, and the promises, which the conformance suite checks.

  xoff list
  xoff list cc
  xoff list cc dcqcn`,
		Args: cobra.MaximumNArgs(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeList(args), cobra.ShellCompDirectiveNoFileComp
		},
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
	a.jsonFlag(cmd)
	return cmd
}

// completeList returns the candidates for the next argument.
func completeList(args []string) []string {
	var words []string
	for _, k := range scenario.Kinds() {
		if len(args) == 0 {
			words = append(words, k.Name)
		} else if k.Name == args[0] && len(args) == 1 {
			for _, s := range k.Schemes {
				words = append(words, s.Name+"\t"+s.Doc)
			}
		}
	}
	return words
}

// schemes returns the schemes of a kind and name; no arguments select all.
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
			found = append(found, listed{Kind: k.Name, Name: s.Name, Doc: s.Doc, Paper: s.Paper, Promises: s.Promises.String(), Needs: needed(s.Needs), Params: s.Describe(), Gauges: allShown(s.Gauges), Events: allShown(s.Events)})
		}
	}
	if len(args) > 0 && names == nil {
		return nil, registry.Unknown("kind", args[0], kinds)
	}
	if len(found) == 0 {
		return nil, registry.Unknown(args[0], args[1], names)
	}
	return found, nil
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
		if s.Paper != "" {
			w.line("  source\t%s", s.Paper)
		}
		w.line("  promises\t%s", s.Promises)
		for _, n := range s.Needs {
			w.line("  needs\t%s, which is its default", n)
		}
		if len(s.Params) == 0 {
			w.line("  parameters\tnone")
		} else {
			w.line("")
			w.line("  parameter\ttype\tdefault\tmeaning")
			w.params("  ", s.Params)
		}
		w.shown("gauge (probe gauges)", s.Gauges)
		w.shown("event (probe events)", s.Events)
	}
	return w.flush()
}

// shown prints gauges or events.
func (w *sheet) shown(what string, list []listedShown) {
	if len(list) == 0 {
		return
	}
	w.line("")
	w.line("  %s\tmeaning", what)
	for _, s := range list {
		w.line("  %s\t%s", s.Name, s.Doc)
	}
}

// params prints keys, and nested keys indented.
func (w *sheet) params(indent string, keys []scenario.Key) {
	for _, k := range keys {
		def, doc := k.Default, k.Doc
		if def == "" {
			def = "-"
		}
		if len(k.Allowed) > 0 {
			doc = strings.TrimSpace(fmt.Sprintf("%s (allowed: %s)", doc, strings.Join(k.Allowed, ", ")))
		}
		w.line("%s%s\t%s\t%s\t%s", indent, k.Name, k.Type, def, doc)
		w.params(indent+"  ", k.Keys)
	}
}

// needed returns settings of switch as written in a scenario.
func needed(list []registry.Need) []string {
	var words []string
	for _, n := range list {
		words = append(words, n.Key+": "+n.Value)
	}
	return words
}
