package cli

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/sweep"
	"github.com/xoff-net/xoff/scenario"
)

func (a *app) compareCommand() *cobra.Command {
	f := &sweepFlags{resume: true} // points that fit are never computed twice
	cmd := &cobra.Command{
		Use:   "compare {FILE --vary KEY=a,b,c ... | RUN RUN...}",
		Short: "Compare variants of a scenario, or folders of results",
		Long: `Prints one column per variant and one line per metric, with 95 % confidence
intervals over seeds. A variant is marked as better (*) only when the interval of
its difference from every other one excludes zero; ~ is the best on average, but
perhaps by chance.

  xoff compare mine.yaml --vary switch.policy.name=dt,static --seeds 5
  xoff compare results/before results/after        folders of run or sweep`,
		Args: something,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.vary) == 0 {
				return a.compareFolders(cmd, args, f)
			}
			if len(args) != 1 {
				return failf(exitInput, "--vary takes one scenario file, not %d; allowed: FILE --vary KEY=a,b,c, or folders of results without --vary", len(args))
			}
			t, err := a.sweep(cmd, args[0], f, "compare")
			if err != nil {
				return err
			}
			variants, err := t.Variants(t.folder)
			if err != nil {
				return wrap(exitFailure, err)
			}
			if err := a.compare(variants, f); err != nil {
				return err
			}
			return a.sweepVerdict(t)
		},
	}
	f.register(cmd)
	return cmd
}

func (a *app) compareFolders(cmd *cobra.Command, folders []string, f *sweepFlags) error {
	names := []string{"set", "seeds", "seed", "output"}
	for _, s := range scenario.Shorthands {
		names = append(names, s.Flag)
	}
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return failf(exitInput, "--%s changes nothing about results that are there; allowed: with FILE --vary KEY=a,b,c", name)
		}
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			return failf(exitInput, "%s is a file; allowed: folders of results, or FILE --vary KEY=a,b,c", folder)
		}
	}
	variants, err := sweep.ReadVariants(folders)
	if err != nil {
		return wrap(exitInput, err)
	}
	return a.compare(variants, f)
}

func (a *app) compare(variants []*sweep.Variant, f *sweepFlags) error {
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
	return wrap(exitFailure, w.flush())
}

// maxDiffer is how many differing keys are worth showing.
const maxDiffer = 12

// compared prints a comparison. Long names of variants become letters.
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
		w.line("%s\t%s%s", letter, v.Name, note)
	}
	w.line("")
	if len(c.Differ) > 0 {
		w.line("scenarios differ in\t%s", strings.Join(head, "\t"))
		for i, d := range c.Differ {
			if i == maxDiffer {
				w.line("  and %d more keys (--json lists them)", len(c.Differ)-i)
				break
			}
			w.line("  %s\t%s", d.Key, strings.Join(dashes(d.Values), "\t"))
		}
	} else {
		w.line("the scenarios are the same but for the seed")
	}
	w.line("")
	w.line("metric\t%s", strings.Join(head, "\t"))
	for _, m := range c.Metrics {
		line := sweep.Title(m.Name)
		for i := range m.Samples {
			line += "\t" + m.Cell(i)
		}
		w.line("%s", line)
	}
	w.line("")
	w.line("%s", c.Confidence())
	w.line("* better than every other: the 95 %% interval of each difference excludes 0; ~ best on average, perhaps by chance")
}

// letters names columns A to Z, then A1, B1 and so on.
func letters(i int) string {
	name := string(rune('A' + i%26))
	if i >= 26 {
		name += fmt.Sprint(i / 26)
	}
	return name
}

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
