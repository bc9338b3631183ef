package cli

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/plot"
	"github.com/xoff-net/xoff/internal/report"
)

// figureFiles are the formats in which figures of a page are written beside it.
type figureFiles struct{ formats []string }

// drawings are how a figure is written, by the ending of its file.
var drawings = map[string]func(plot.Drawing, io.Writer) error{"svg": plot.Drawing.SVG, "png": plot.Drawing.PNG}

func (f *figureFiles) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.formats, "figures", nil, "write every figure to a file of its own, too; `FORMATS`: svg, png or svg,png")
}

func (f *figureFiles) check() error {
	for _, ending := range f.formats {
		if drawings[ending] == nil {
			return wrap(exitInput, registry.Unknown("format of figures", ending, []string{"svg", "png"}))
		}
	}
	return nil
}

// write writes the figures of a document into a folder, under their names or the
// only one under another, and returns the files.
func (f *figureFiles) write(d *report.Document, folder, only string) ([]string, error) {
	var files []string
	for _, figure := range d.Figures() {
		name := figure.Name
		if only != "" {
			name = only
		}
		for _, ending := range slices.Compact(slices.Sorted(slices.Values(f.formats))) {
			path := filepath.Join(folder, strings.ReplaceAll(name, "/", "-")+"."+ending)
			if err := disk.WriteFile(path, func(w io.Writer) error { return drawings[ending](figure.Plot, w) }); err != nil {
				return nil, err
			}
			files = append(files, path)
		}
	}
	return files, nil
}
