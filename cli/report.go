package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/sweepreport"
	"github.com/xoff-net/xoff/internal/render/report"
	"github.com/xoff-net/xoff/internal/render/runreport"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

func (a *app) reportCommand() *cobra.Command {
	f := &figureFiles{}
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Write report.html: tables and figures of results",
		Long: `Write one self-contained page with the tables and figures of results. RUN is a
results folder of xoff run or xoff sweep. The report of a sweep compares its variants;
several folders are compared with each other. --figures also writes every figure to a
file, for slides. FOLDER with several results folders gets index.html, which lists all
runs and sweeps below it.

  xoff report results/mine-seed1
  xoff report results/before results/after
  xoff report results/mine-sweep
  xoff report results/mine-seed1 --figures png
  xoff report results`,
		Args: minOneArg,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(args, f) },
	}
	f.register(cmd)
	a.outputFlag(cmd, "`FOLDER` for the page (default: RUN; for several folders results/comparison)")
	a.printFlags(cmd)
	return cmd
}

// report writes the report of results folders and prints its path.
func (a *app) report(folders []string, f *figureFiles) error {
	if err := f.check(); err != nil {
		return err
	}
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if errors.Is(err, os.ErrNotExist) {
			return failf(exitInput, "%s does not exist (expected a results folder of `xoff run` or `xoff sweep`)", folder)
		}
		if err == nil && !info.IsDir() {
			return failf(exitInput, "%s is a file (expected a results folder of `xoff run` or `xoff sweep`)", folder)
		}
	}
	if len(folders) == 1 {
		if done, err := a.index(folders[0], f); done || err != nil {
			return err
		}
	}
	d, err := sweepreport.Document(folders, nil)
	if err != nil {
		return wrap(exitInput, err)
	}
	to := folders[0]
	switch {
	case len(folders) > 1:
		if to, err = a.comparisonFolder(folders, nil, f.force); err != nil {
			return err
		}
	case a.folder != "":
		to = a.folder
	}
	path, files, err := d.WritePage(to, run.ReportFile, f.formats)
	if err != nil {
		return wrap(exitFailure, err)
	}
	if a.json {
		return wrap(exitFailure, a.printJSON(struct {
			Report  string   `json:"report"`
			Figures []string `json:"figures,omitempty"`
			Runs    []string `json:"runs"`
		}{path, files, folders}))
	}
	if !a.quiet {
		fmt.Fprintln(a.out, strings.Join(append([]string{path}, files...), "\n"))
	}
	return nil
}

// index writes the index page of a folder of results folders. It returns false if the folder has
// results itself or none below it.
func (a *app) index(folder string, f *figureFiles) (bool, error) {
	list, err := sweepreport.Find(folder)
	if list == nil || err != nil {
		return false, wrap(exitInput, err)
	}
	if len(f.formats) > 0 {
		return true, failf(exitInput, "--figures: %s has several results, and an index has no figures (expected one results folder)", folder)
	}
	to := folder
	if a.folder != "" {
		to = a.folder
	}
	stop := a.showWorking("reading results")
	path, _, err := sweepreport.Index(list, to).WritePage(to, sweepreport.IndexFile, nil)
	stop()
	if err != nil {
		return true, wrap(exitFailure, err)
	}
	if a.json {
		return true, wrap(exitFailure, a.printJSON(struct {
			Index  string   `json:"index"`
			Runs   []string `json:"runs"`
			Sweeps []string `json:"sweeps,omitempty"`
		}{path, list.Runs, list.Sweeps}))
	}
	if !a.quiet {
		fmt.Fprintln(a.out, path)
	}
	return true, nil
}

// writeComparison writes the report of results folders and returns its path. An error is
// only a warning: the results are already written.
func (a *app) writeComparison(folders []string, to string, metrics []string) string {
	d, err := sweepreport.Document(folders, metrics)
	path := ""
	if err == nil {
		path, _, err = d.WritePage(to, run.ReportFile, nil)
	}
	if err != nil {
		fmt.Fprintf(a.err, "xoff: cannot write the report: %v\n", err)
	}
	return path
}

// figureFiles are the formats in which figures are also written as files.
type figureFiles struct {
	formats []string
	force   bool
}

func (f *figureFiles) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite the page of another comparison")
	cmd.Flags().StringSliceVar(&f.formats, "figures", nil, "`FORMATS` in which every figure is also written to a file: svg, png, pdf, or several")
}

func (f *figureFiles) check() error { return wrap(exitInput, report.CheckFormats(f.formats)) }

// writeReport writes report.html to the results of a run.
func writeReport(to *run.Folder, s *metrics.Summary) error {
	page, err := runreport.Page(to.Aside(), s)
	if err != nil {
		return err
	}
	return to.File(run.ReportFile, "tables and figures, for a browser", func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	})
}
