package cli

import (
	"fmt"
	"regexp"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// resultsUsage is the help of -o on commands that run one scenario.
const resultsUsage = "`FOLDER` for results (default results/NAME-seedSEED)"

// outputFlag adds -o. The usage describes what the command writes there.
func (a *app) outputFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP(&a.folder, "output", "o", "", usage)
}

// jsonFlag adds --json.
func (a *app) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON to standard output instead of text")
}

// quietFlag adds --quiet.
func (a *app) quietFlag(cmd *cobra.Command) {
	usage := "print errors only"
	if cmd.Flags().Lookup("json") != nil {
		usage += "; --json still prints"
	}
	cmd.Flags().BoolVar(&a.quiet, "quiet", false, usage)
}

// seedFlag adds --seed.
func (a *app) seedFlag(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&a.seed, "seed", 0, "`SEED` of the run (default: the scenario's seed)")
}

// workersFlag adds --workers.
func (a *app) workersFlag(cmd *cobra.Command) {
	cmd.Flags().IntVar(&a.workers, "workers", runtime.NumCPU(), "number `N` of goroutines that simulate; results do not depend on it")
}

// pointLimitFlag adds --point-limit.
func pointLimitFlag(cmd *cobra.Command) {
	cmd.Flags().Duration("point-limit", 24*time.Hour, "`TIME` after which a point is stopped and fails; 0: never")
}

// pointLimit returns the value of --point-limit, 0 for commands without it.
func pointLimit(cmd *cobra.Command) (time.Duration, error) {
	if cmd.Flags().Lookup("point-limit") == nil {
		return 0, nil
	}
	limit, err := cmd.Flags().GetDuration("point-limit")
	if err != nil || limit < 0 {
		return 0, failf(exitInput, "--point-limit is %s (expected 0 or more)", limit)
	}
	return limit, nil
}

// printFlags adds the flags of commands that print text or JSON.
func (a *app) printFlags(cmd *cobra.Command) {
	a.jsonFlag(cmd)
	a.quietFlag(cmd)
}

// simulationFlags adds the flags of commands that simulate a scenario.
func (a *app) simulationFlags(cmd *cobra.Command) {
	a.printFlags(cmd)
	a.seedFlag(cmd)
	a.workersFlag(cmd)
}

// flagsBeforeCommand allows --json and --quiet before the command name. The root must
// declare them as flags without a value.
func flagsBeforeCommand(root *cobra.Command) {
	for _, name := range []string{"json", "quiet"} {
		root.Flags().Bool(name, false, "flag of a command")
		_ = root.Flags().MarkHidden(name)
	}
}

// flagLike matches a value that looks like a flag: a dash and a letter.
var flagLike = regexp.MustCompile(`^--?[A-Za-z]`)

// checkValues rejects flags that took the next flag as their value.
func checkValues(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		switch list, isList := f.Value.(pflag.SliceValue); {
		case isList:
			values = list.GetSlice()
		case f.Value.Type() != "string":
			return
		}
		for _, v := range values {
			if err == nil && flagLike.MatchString(v) {
				name, _ := pflag.UnquoteUsage(f)
				err = failf(exitInput, "--%s needs a value: found %s, which is a flag (expected %s%s)",
					f.Name, v, name, dashFile(name, v))
			}
		}
	})
	return err
}

// dashFile explains how to name a file that begins with a dash.
func dashFile(typeWord, value string) string {
	if typeWord != "FILE" && typeWord != "FOLDER" {
		return ""
	}
	return fmt.Sprintf("; for a file of that name: ./%s", value)
}
