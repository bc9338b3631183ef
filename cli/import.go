package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/fabric"
	"github.com/xoff-net/xoff/internal/analysis/check"
	"github.com/xoff-net/xoff/internal/interop/sonic"
	"github.com/xoff-net/xoff/internal/interop/sonic/convert"
	"github.com/xoff-net/xoff/internal/interop/sonic/rules"
	"github.com/xoff-net/xoff/scenario"
)

// sonicFlags supply facts that switch configurations lack.
type sonicFlags struct {
	sonic.Extra
	allowErrors bool // of xoff import
}

func (f *sonicFlags) register(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.Lookup, "lookup", "", "pg_profile_lookup.ini `FILE` of the switches (default: the file next to each configuration)")
	s.StringVar(&f.Chip, "chip", "", "`NAME` of the chip, or comma-separated PATTERN=NAME (see docs/sonic.md; default: by SKU)")
	s.StringVar(&f.Memory, "memory", "", "packet memory `SIZE` of the chip, such as 32MiB (default: known size of the chip)")
	s.StringVar(&f.Cables, "cables", "", "`FILE` with lines switch,port,switch,port[,length] (default: neighbour tables of the switches)")
}

// given returns the first of these flags that was given, or "".
func (f *sonicFlags) given() string {
	for _, x := range []struct{ name, value string }{{"lookup", f.Lookup}, {"chip", f.Chip}, {"memory", f.Memory}, {"cables", f.Cables}} {
		if x.value != "" {
			return "--" + x.name
		}
	}
	return ""
}

// areSwitchConfigs reports whether the arguments are switch configurations: JSON files or
// folders.
func areSwitchConfigs(args []string) bool {
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
		Short: "Create a scenario from switch configurations",
		Long: `Create a scenario from the configurations of SONiC switches: config_db.json files or
a folder. DEVICE_NEIGHBOR, LLDP_ENTRY_TABLE or --cables connect the switches; ports
without a neighbour get an assumed host, except on switches that connect only switches.
Comments in the scenario name the source of each number, and the tables without a
counterpart in a scenario. The verdict is the verdict of xoff check. Errors that a
scenario cannot contain, and incomplete input, are refused unless --allow-errors is
given. See docs/sonic.md.

  xoff import sonic fabric/ -o fabric.yaml
  xoff run fabric.yaml`,
		Args: sonicPaths,
		RunE: func(_ *cobra.Command, args []string) error { return a.importSonic(args[1:], f) },
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.allowErrors, "allow-errors", false, "create the scenario although it cannot contain all errors of the configuration")
	a.outputFlag(cmd, "`FILE` for the scenario (default: standard output)")
	a.quietFlag(cmd)
	return cmd
}

// sonicPaths accepts the word sonic and one or more paths.
func sonicPaths(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] != "sonic" {
		return wrap(exitInput, registry.Unknown("format", args[0], []string{"sonic"}))
	}
	if len(args) < 2 {
		return failf(exitInput, "no paths (expected xoff %s)", cmd.Use)
	}
	return nil
}

func (a *app) importSonic(paths []string, f *sonicFlags) error {
	p, err := a.readPlant(paths, f)
	if err != nil {
		return wrap(exitInput, err)
	}
	if err := a.judgeImport(p, f); err != nil {
		return err
	}
	made, err := convertPlant(p)
	if err != nil {
		return wrap(exitInput, err)
	}
	a.printOmitted(made.Omitted)
	if !a.quiet {
		for _, s := range made.Assumed {
			fmt.Fprintf(a.err, "assumed hosts on ports without a neighbour: %s\n", s)
		}
	}
	text := made.Text
	if a.folder == "" || a.folder == "-" {
		_, err = a.out.Write(text)
	} else {
		err = os.WriteFile(a.folder, text, 0o644)
	}
	return wrap(exitFailure, err)
}

// readPlant reads the configurations of the switches.
func (a *app) readPlant(paths []string, f *sonicFlags) (*sonic.Plant, error) {
	defer a.showWorking("reading configurations")()
	return sonic.ReadPlant(paths, &f.Extra)
}

// judgeImport prints the verdict of xoff check on every switch. It returns an error if the
// scenario would get another verdict: it can contain too little headroom (rule 1), but no other
// error.
func (a *app) judgeImport(p *sonic.Plant, f *sonicFlags) error {
	var refused []string
	for _, r := range check.JudgeSwitches(p) {
		if !a.quiet {
			fmt.Fprintf(a.err, "%s: %s\n", r.Switch, r.Verdict)
		}
		if r.Verdict == rules.NotJudged || r.Verdict == rules.NothingLossless {
			refused = append(refused, fmt.Sprintf("%s is %s", r.Switch, r.Verdict))
		}
		for i := range r.Findings {
			x := &r.Findings[i]
			if x.Severity == rules.Error && x.Rule != 1 || r.Verdict == rules.NotJudged && strings.HasPrefix(x.What, "not judged") {
				refused = append(refused, fmt.Sprintf("%s: rule %d, %s, %s %s: %s", r.Switch, x.Rule, x.Name, x.Table, x.Keys[0], x.What))
			}
		}
	}
	if len(refused) == 0 || f.allowErrors {
		return nil
	}
	return failf(exitFailure, "a scenario cannot contain these findings:\n  %s\nfix: correct the configuration, or import without them with --allow-errors", strings.Join(refused, "\n  "))
}

// convertPlant converts switches to a scenario and checks that it is valid.
func convertPlant(p *sonic.Plant) (*convert.Imported, error) {
	made, err := convert.Scenario(p.Name(), p.Switches, p.Wires)
	if err != nil {
		return nil, err
	}
	cfg, err := scenario.Parse("imported scenario", made.Text)
	if err == nil {
		_, err = fabric.NewPlan(cfg)
	}
	return made, err
}

// printOmitted prints the parts that have no counterpart in the other format.
func (a *app) printOmitted(parts []string) {
	if a.quiet {
		return
	}
	for _, s := range parts {
		fmt.Fprintf(a.err, "left out: %s\n", s)
	}
}
