package cli

import (
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/scenario"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of scenarios, for editors",
		Long: `Print the JSON schema (draft 2020-12) of scenario files. With it, an editor with a
YAML language server completes keys and names, shows their documentation and marks
errors while you type. Write the schema to a file:

  xoff schema > xoff.schema.json

and make this the first line of a scenario:

  # yaml-language-server: $schema=xoff.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return wrap(exitFailure, a.printJSON(scenario.Schema()))
		},
	}
}
