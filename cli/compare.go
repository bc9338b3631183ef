package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/sys/disk"
	"github.com/xoff-net/xoff/run"
	"github.com/xoff-net/xoff/scenario"
)

func (a *app) compareCommand() *cobra.Command {
	f := &sweepFlags{resume: true} // finished points are reused
	cmd := &cobra.Command{
		Use:   "compare {FILE --vary KEY=a,b,c ... | RUN RUN...}",
		Short: "Compare variants of a scenario, or results folders",
		Long: `Compare variants of a scenario, or results folders of xoff run and xoff sweep. Print
one column per variant and one line per metric that matters, with 95 % confidence
intervals over seeds, and write the same with figures to report.html. --metric selects
the metrics of both. Another comparison gets another folder, unless forced.

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
	cmd.Flags().BoolVar(&f.all, "all", false, "print all metrics, not only the fifteen that matter most")
	a.outputFlag(cmd, "`FOLDER` for results and report (default results/NAME-compare; for folders results/comparison)")
	a.simulationFlags(cmd)
	return cmd
}

func (a *app) compareFolders(cmd *cobra.Command, folders []string, f *sweepFlags) error {
	names := []string{"set", "seeds", "seed"}
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
		to, err := a.comparisonFolder(folders, columns(f.metrics), f.run.force)
		if err != nil {
			return err
		}
		page = a.writeComparison(folders, to, columns(f.metrics))
	}
	return a.compare(variants, f, page)
}

// comparedFile is the name of the file with what a page compares.
const comparedFile = "compared.json"

// comparisonFolder returns the folder for the page that compares result folders, and notes there
// what it compares. A folder with another page is not used unless forced, but the next number.
func (a *app) comparisonFolder(folders, metrics []string, force bool) (string, error) {
	what := struct {
		Compared []string `json:"compared"`
		Metrics  []string `json:"metrics,omitempty"`
	}{nil, metrics}
	for _, f := range folders {
		what.Compared = append(what.Compared, filepath.ToSlash(filepath.Clean(f)))
	}
	note, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return "", wrap(exitFailure, err)
	}
	wanted := a.folderFor("comparison")
	for n := 1; ; n++ {
		to := disk.Numbered(wanted, n)
		old, err := os.ReadFile(filepath.Join(to, comparedFile))
		_, missing := os.Stat(filepath.Join(to, run.ReportFile))
		if missing == nil && !force && (err != nil || !bytes.Equal(old, note)) {
			continue
		}
		if to != wanted {
			fmt.Fprintf(a.err, "xoff: %s has another report: wrote to %s (--force overwrites)\n", wanted, to)
		}
		if err := disk.Prepare(to); err != nil {
			return "", wrap(exitFailure, err)
		}
		return to, wrap(exitFailure, disk.WriteFile(filepath.Join(to, comparedFile), func(w io.Writer) error {
			_, err := w.Write(note)
			return err
		}))
	}
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
	w.compared(c, f.all)
	if page != "" {
		w.line("")
		w.line("report  %s", page)
	}
	return wrap(exitFailure, w.flush())
}

// maxDiffer is the number of printed keys in which scenarios differ.
const maxDiffer = 12

// compared prints a comparison: what matters, or all metrics.
func (w *sheet) compared(c *sweep.Comparison, all bool) {
	names := sweep.Heads(c.Variants)
	for i, v := range c.Variants {
		text := v.Name
		if len(v.Keys) == 0 && v.Label != "" {
			text += ": " + v.Label
		}
		if v.Partial {
			text += color.YellowString(" (partial: a run was interrupted)")
		}
		if v.Trouble != "" {
			text += color.RedString(" (%s)", v.Trouble)
		}
		if text != names[i] {
			w.line("%s\t%s", names[i], text)
		} else {
			w.line("%s", text)
		}
	}
	w.line("")
	for _, text := range c.Headline(names) {
		w.line("%s", text)
	}
	w.line("")
	w.differ(c, names)
	shown, rest := c.Essence(sweep.Rows)
	if all {
		shown, rest = c, &sweep.Comparison{}
	}
	s := shown.Sheet(names)
	w.fitted(s.Head, s.Keys, s.Lines)
	if n := len(rest.Metrics); n > 0 {
		w.line("... %d more metrics (--all prints them)", n)
	}
	w.line("")
	w.line("%s", c.Confidence())
	w.line("= equal to %s", names[0])
	w.line("* better than every other variant: the 95 %% interval of each difference excludes 0")
	w.line("~ best on average, perhaps by chance")
}

// differ prints the keys in which scenarios differ, except those in their labels.
func (w *sheet) differ(c *sweep.Comparison, names []string) {
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
		w.fitted(append([]string{"different keys"}, names...), 1, lines)
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
