package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/chips"
	"github.com/xoff-net/xoff/internal/sonic/convert"
	"github.com/xoff-net/xoff/scenario"
	"github.com/xoff-net/xoff/scenario/build"
)

func (a *app) importCommand() *cobra.Command {
	f := &sonicFlags{}
	cmd := &cobra.Command{
		Use:   "import sonic PATH...",
		Short: "Make a scenario of the configuration of switches",
		Long: `Makes a scenario of configurations of SONiC switches: config_db.json, several of
them, or a folder. Switches are joined by DEVICE_NEIGHBOR, LLDP_ENTRY_TABLE or a
list of cables; ports without a neighbour get a host. Comments say where numbers
come from, and what has no counterpart in a scenario.

  xoff import sonic fabric/ -o fabric.yaml
  xoff run fabric.yaml

See docs/sonic.md.`,
		Args: sonicPaths,
		RunE: func(_ *cobra.Command, args []string) error { return a.importSonic(args[1:], f) },
	}
	f.register(cmd)
	a.outputFlag(cmd, "`FILE` for the scenario (default: standard output)")
	a.quietFlag(cmd)
	return cmd
}

// sonicPaths wants the word sonic and something to read.
func sonicPaths(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return failf(exitInput, "there is nothing to %s; allowed: xoff %s", cmd.Name(), cmd.Use)
	case args[0] != "sonic":
		return wrap(exitInput, registry.Unknown("format", args[0], []string{"sonic"}))
	case len(args) == 1:
		return failf(exitInput, "there is nothing to %s; allowed: xoff %s", cmd.Name(), cmd.Use)
	}
	return nil
}

func (a *app) importSonic(paths []string, f *sonicFlags) error {
	text, left, err := a.imported(paths, f)
	if err != nil {
		return wrap(exitInput, err)
	}
	a.leftOut(left)
	if a.folder == "" || a.folder == "-" {
		_, err = a.out.Write(text)
	} else {
		err = os.WriteFile(a.folder, text, 0o644)
	}
	return wrap(exitFailure, err)
}

// imported makes a scenario that can be read again, and says what is not in it.
func (a *app) imported(paths []string, f *sonicFlags) (text []byte, left []string, err error) {
	defer a.meanwhile("reads configurations")()
	p, err := f.read(paths)
	if err != nil {
		return nil, nil, err
	}
	name := "fabric"
	if len(p.switches) == 1 {
		name = p.switches[0].Name
	}
	if text, left, err = convert.Scenario(name, p.switches, p.wires); err != nil {
		return nil, nil, err
	}
	cfg, err := scenario.Parse("the scenario", text)
	if err == nil {
		_, err = build.NewPlan(cfg)
	}
	return text, left, err
}

// leftOut says what has no counterpart on the other side.
func (a *app) leftOut(left []string) {
	if a.quiet {
		return
	}
	for _, s := range left {
		fmt.Fprintf(a.err, "left out: %s\n", s)
	}
}

func (a *app) exportSonicCommand() *cobra.Command {
	f := &sonicFlags{}
	cmd := &cobra.Command{
		Use:   "sonic SCENARIO",
		Short: "Make configurations of switches of a scenario",
		Long: `Makes a config_db.json for every switch of a scenario whose switches run policy chip
and flow control sonic, such as one that was imported, into a folder:

  xoff export sonic fabric.yaml --chip td3 -o fabric/

Importing them again gives the same scenario. See docs/sonic.md.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failf(exitInput, "%d scenarios cannot be exported; allowed: xoff export sonic SCENARIO", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.exportSonic(args[0], f) },
	}
	cmd.Flags().StringVar(&f.chip, "chip", "", "chip of the switches: `NAME`, or PATTERN=NAME with commas (see docs/sonic.md)")
	a.outputFlag(cmd, "`FOLDER` for the configurations, with a folder for each switch")
	a.quietFlag(cmd)
	return cmd
}

func (a *app) exportSonic(path string, f *sonicFlags) error {
	if a.folder == "" {
		return failf(exitInput, "there is no place to write to; allowed: -o FOLDER")
	}
	cfg, err := scenario.ReadFile(path)
	if err != nil {
		return wrap(exitInput, err)
	}
	plan, err := build.NewPlan(cfg)
	if err != nil {
		return wrap(exitInput, err)
	}
	choices, err := f.choices()
	if err != nil {
		return wrap(exitInput, err)
	}
	files, left, err := convert.Configurations(plan.Layout, func(name string) (*chips.Chip, error) {
		if c := choices.of(name); c != nil {
			return c, nil
		}
		return nil, fmt.Errorf("the chip of %s is not known; say it: --chip NAME", name)
	})
	if err != nil {
		return wrap(exitInput, err)
	}
	a.leftOut(left)
	for _, x := range files {
		dir := filepath.Join(a.folder, x.Switch)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return wrap(exitFailure, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config_db.json"), x.Text, 0o644); err != nil {
			return wrap(exitFailure, err)
		}
	}
	return nil
}
