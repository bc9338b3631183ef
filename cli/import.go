package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/scenario"
)

// sonicFlags say what the configuration of a switch does not.
type sonicFlags struct{ sonic.Extra }

func (f *sonicFlags) register(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.Lookup, "lookup", "", "pg_profile_lookup.ini `FILE` of the switches (default: the one beside each configuration)")
	s.StringVar(&f.Chip, "chip", "", "chip of switches whose SKU does not tell: `NAME`, or PATTERN=NAME with commas (see docs/sonic.md)")
	s.StringVar(&f.Memory, "memory", "", "packet memory `SIZE` of a chip for which it is not known, such as 32MiB")
	s.StringVar(&f.Cables, "cables", "", "`FILE` with lines switch,port,switch,port[,length] instead of tables of neighbours")
}

// given names the first of the flags that was given; empty: none.
func (f *sonicFlags) given() string {
	for _, x := range []struct{ name, value string }{{"lookup", f.Lookup}, {"chip", f.Chip}, {"memory", f.Memory}, {"cables", f.Cables}} {
		if x.value != "" {
			return "--" + x.name
		}
	}
	return ""
}

// ofSwitches tells whether arguments are configurations of switches: JSON files,
// or folders.
func ofSwitches(args []string) bool {
	for _, name := range args {
		if info, err := os.Stat(name); strings.HasSuffix(name, ".json") || err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

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
	p, err := sonic.ReadPlant(paths, &f.Extra)
	if err != nil {
		return nil, nil, err
	}
	if text, left, err = convert.Scenario(p.Name(), p.Switches, p.Wires); err != nil {
		return nil, nil, err
	}
	cfg, err := scenario.Parse("the scenario", text)
	if err == nil {
		_, err = fabric.NewPlan(cfg)
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
