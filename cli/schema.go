package cli

import (
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/scenario"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenarios, for editors",
		Long: `Prints the JSON schema (draft 2020-12) of scenario files. Editors with a YAML
language server then complete keys and names, show what they mean and mark
mistakes while you type:

  xoff schema > xoff.schema.json

and as the first line of a scenario

  # yaml-language-server: $schema=xoff.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return wrap(exitFailure, a.printJSON(scenario.Schema()))
		},
	}
}
