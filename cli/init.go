package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/examples"
)

// defaultTemplate is the template that `xoff init` prints without an argument.
const defaultTemplate = "incast"

func (a *app) initCommand() *cobra.Command {
	list := false
	cmd := &cobra.Command{
		Use:   "init [TEMPLATE]",
		Short: "Print a commented scenario to start from",
		Long: `Print a commented scenario to standard output, to start your own from.

  xoff init --list
  xoff init fanin > mine.yaml
  xoff run mine.yaml`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var words []string
			for _, e := range examples.All() {
				words = append(words, e.Name+"\t"+e.Doc)
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if list {
				return wrap(exitFailure, a.printTemplates())
			}
			name := defaultTemplate
			if len(args) > 0 {
				name = args[0]
			}
			e, err := examples.Get(name)
			if err != nil {
				return wrap(exitInput, err)
			}
			_, err = fmt.Fprint(a.out, e.Text)
			return wrap(exitFailure, err)
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the templates")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printTemplates() error {
	if a.json {
		return a.printJSON(examples.All())
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	for _, e := range examples.All() {
		w.line("%s\t%s", e.Name, e.Doc)
	}
	return w.flush()
}
