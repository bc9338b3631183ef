package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/report"
	"github.com/xoff-net/xoff/internal/runreport"
	"github.com/xoff-net/xoff/internal/sweep"
	"github.com/xoff-net/xoff/internal/sweepreport"
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
	d, err := document(folders)
	if err != nil {
		return wrap(exitInput, err)
	}
	to := folders[0]
	if a.folder != "" || len(folders) > 1 {
		to = a.folderFor("comparison")
	}
	path, files, err := writePage(d, to, f)
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

// writePage writes a page, and its figures if that is wanted, into a folder.
func writePage(d *report.Document, to string, f *figureFiles) (path string, figures []string, err error) {
	if err := disk.Prepare(to); err != nil {
		return "", nil, err
	}
	lock, err := disk.Lock(to)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = lock.Close() }()
	path = filepath.Join(to, runreport.File)
	if err := disk.WriteFile(path, d.HTML); err != nil {
		return "", nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	figures, err = f.write(d, to, "")
	return path, figures, err
}

// leaveReport writes the page of what was just compared and returns where it is. The
// numbers are not lost because there is none: that is only said.
func (a *app) leaveReport(folders []string, to string) string {
	d, err := document(folders)
	path := ""
	if err == nil {
		path, _, err = writePage(d, to, &figureFiles{})
	}
	if err != nil {
		fmt.Fprintf(a.err, "xoff: there is no report: %v\n", err)
	}
	return path
}

// document makes the report of one run, or of variants against each other.
func document(folders []string) (*report.Document, error) {
	variants, err := sweep.ReadVariants(folders)
	if err != nil {
		return nil, err
	}
	if len(variants) == 1 && len(variants[0].Runs) == 1 {
		r, err := runreport.Open(variants[0].Runs[0])
		if err != nil {
			return nil, err
		}
		return r.Document()
	}
	if len(variants) == 1 {
		// Seeds alone: each against the others.
		if variants, err = sweep.ReadVariants(variants[0].Runs); err != nil {
			return nil, err
		}
	}
	title := "Comparison"
	if len(folders) == 1 {
		title = sweep.ScenarioOf(folders[0])
	}
	return sweepreport.Compare(title, variants)
}
