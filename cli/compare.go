package cli

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/scenario"
)

func (a *app) compareCommand() *cobra.Command {
	f := &sweepFlags{resume: true} // finished points are reused
	cmd := &cobra.Command{
		Use:   "compare {FILE --vary KEY=a,b,c ... | RUN RUN...}",
		Short: "Compare variants of a scenario, or results folders",
		Long: `Compare variants of a scenario, or results folders of xoff run and xoff sweep. Print
one column per variant and one line per metric, with 95 % confidence intervals over
seeds, and write the same with figures to report.html.

  *  better than every other variant: the interval of each difference excludes 0
  ~  best on average, but perhaps by chance
  =  equal to the first variant

  xoff compare mine.yaml --vary switch.policy.name=dt,static --seeds 5
  xoff compare results/before results/after`,
		Args: minOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.vary) == 0 {
				return a.compareFolders(cmd, args, f)
			}
			if len(args) != 1 {
				return failf(exitInput, "--vary needs one scenario file: found %d (expected FILE --vary KEY=a,b,c, or results folders without --vary)", len(args))
			}
			t, err := a.sweep(cmd, args[0], f, "compare")
			if err != nil {
				return err
			}
			variants, err := t.Variants(t.folder)
			if err != nil {
				return wrap(exitFailure, err)
			}
			if err := a.compare(variants, f, t.page); err != nil {
				return err
			}
			return a.sweepVerdict(t)
		},
	}
	f.register(cmd)
	a.outputFlag(cmd, "`FOLDER` for results and report (default results/NAME-compare; for folders results/comparison)")
	a.simulationFlags(cmd)
	return cmd
}

func (a *app) compareFolders(cmd *cobra.Command, folders []string, f *sweepFlags) error {
	names := []string{"set", "seeds", "seed", "force"}
	for _, s := range scenario.Shorthands {
		names = append(names, s.Flag)
	}
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return failf(exitInput, "--%s has no effect on existing results (expected FILE --vary KEY=a,b,c)", name)
		}
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			return failf(exitInput, "%s is a file (expected results folders, or FILE --vary KEY=a,b,c)", folder)
		}
	}
	variants, err := sweep.ReadVariants(folders)
	if err != nil {
		return wrap(exitInput, err)
	}
	// Fail before the page is written.
	if _, err := sweep.Compare(variants, columns(f.metrics)); err != nil {
		return wrap(exitInput, err)
	}
	page := ""
	if f.run.report {
		page = a.writeComparison(folders, a.folderFor("comparison"))
	}
	return a.compare(variants, f, page)
}

// compare prints a comparison, and the path of its page if there is one.
func (a *app) compare(variants []*sweep.Variant, f *sweepFlags, page string) error {
	c, err := sweep.Compare(variants, columns(f.metrics))
	if err != nil {
		return wrap(exitInput, err)
	}
	if a.json {
		return wrap(exitFailure, a.printJSON(c))
	}
	if a.quiet {
		return nil
	}
	w := &sheet{tab: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	w.compared(c)
	if page != "" {
		w.line("")
		w.line("report  %s", page)
	}
	return wrap(exitFailure, w.flush())
}

// maxDiffer is the number of printed keys in which scenarios differ.
const maxDiffer = 12

// compared prints a comparison. Letters stand for the variants.
func (w *sheet) compared(c *sweep.Comparison) {
	var head []string
	for i, v := range c.Variants {
		letter := letters(i)
		head = append(head, letter)
		note := ""
		if v.Partial {
			note = color.YellowString(" (partial: a run was interrupted)")
		}
		if v.Trouble != "" {
			note += color.RedString(" (%s)", v.Trouble)
		}
		name := v.Name
		if len(v.Keys) == 0 && v.Label != "" {
			name += ": " + v.Label
		}
		w.line("%-*s%s%s", len(letters(len(c.Variants)-1))+2, letter, name, note)
	}
	w.line("")
	w.differ(c, head)
	s := c.Sheet(head)
	w.fitted(s.Head, s.Keys, s.Lines)
	w.line("")
	w.line("%s", c.Confidence())
	w.line("= equal to A")
	w.line("* better than every other variant: the 95 %% interval of each difference excludes 0")
	w.line("~ best on average, perhaps by chance")
}

// differ prints the keys in which scenarios differ, except those in their labels.
func (w *sheet) differ(c *sweep.Comparison, letters []string) {
	list, parameters := c.Unlabelled()
	if len(c.Differ) == 0 {
		w.line("the scenarios are identical except for the seed")
		w.line("")
	}
	var lines [][]string
	for _, d := range list[:min(len(list), maxDiffer)] {
		lines = append(lines, append([]string{"  " + d.Key}, dashes(d.Values)...))
	}
	if len(lines) > 0 {
		w.fitted(append([]string{"different keys"}, letters...), 1, lines)
	}
	if more := len(list) - len(lines); more > 0 {
		w.line("  and %d more keys (--json lists them)", more)
	}
	if parameters > 0 {
		w.line("the different schemes also have %d parameters (--json lists them)", parameters)
	}
	if len(lines)+parameters > 0 {
		w.line("")
	}
}

// letters returns the name of column i: A to Z, then A1, B1 and so on.
func letters(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += fmt.Sprint(i / 26)
	}
	return name
}

// dashes replaces empty values by dashes.
func dashes(values []string) []string {
	var list []string
	for _, v := range values {
		if v == "" {
			v = "-"
		}
		list = append(list, v)
	}
	return list
}
