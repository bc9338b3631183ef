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
		Long: `Writes one page with the tables and figures of results, which needs no network and
no other file. RUN is a folder of run or sweep; several are compared.

  xoff report results/mine-seed1             into that folder
  xoff report results/before results/after   into results/comparison, or that of -o
  xoff report results/mine-sweep             a sweep, every variant against the others
  xoff report results/mine-seed1 --figures png   its figures as files, for slides`,
		Args: something,
		RunE: func(_ *cobra.Command, args []string) error { return a.report(args, f) },
	}
	f.register(cmd)
	a.outputFlag(cmd, "`FOLDER` for the page (default: RUN, or results/comparison for several)")
	a.printFlags(cmd)
	return cmd
}

// report writes the report of folders and says where it is.
func (a *app) report(folders []string, f *figureFiles) error {
	if err := f.check(); err != nil {
		return err
	}
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if errors.Is(err, os.ErrNotExist) {
			return failf(exitInput, "%s does not exist; allowed: a folder of `xoff run` or `xoff sweep`", folder)
		}
		if err == nil && !info.IsDir() {
			return failf(exitInput, "%s is a file; allowed: a folder of `xoff run` or `xoff sweep`", folder)
		}
	}
	d, err := sweepreport.Document(folders)
	if err != nil {
		return wrap(exitInput, err)
	}
	to := folders[0]
	if a.folder != "" || len(folders) > 1 {
		to = a.folderFor("comparison")
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

// leaveReport writes the page of what was just compared and returns where it is. The
// numbers are not lost because there is none: that is only said.
func (a *app) leaveReport(folders []string, to string) string {
	d, err := sweepreport.Document(folders)
	path := ""
	if err == nil {
		path, _, err = d.WritePage(to, run.ReportFile, nil)
	}
	if err != nil {
		fmt.Fprintf(a.err, "xoff: there is no report: %v\n", err)
	}
	return path
}

// figureFiles are the formats in which figures of a page are written beside it.
type figureFiles struct{ formats []string }

func (f *figureFiles) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.formats, "figures", nil, "write every figure to a file of its own, too; `FORMATS`: svg, png or svg,png")
}

func (f *figureFiles) check() error { return wrap(exitInput, report.CheckFormats(f.formats)) }

// writeReport writes report.html among the results of a run.
func writeReport(to *run.Folder, s *metrics.Summary) error {
	page, err := runreport.Page(to.Aside(), s)
	if err != nil {
		return err
	}
	return to.File(run.ReportFile, "the same with tables and figures, for a browser", func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	})
}
