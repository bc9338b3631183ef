package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/registry"
	"github.com/xoff-net/xoff/internal/render/plot"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

// drawings are the functions that write a figure, by file extension.
var drawings = map[string]func(plot.Drawing, io.Writer) error{"svg": plot.Drawing.SVG, "png": plot.Drawing.PNG, "pdf": plot.Drawing.PDF}

// CheckFormats returns an error for an unknown figure format.
func CheckFormats(formats []string) error {
	for _, ending := range formats {
		if drawings[ending] == nil {
			return registry.Unknown("figure format", ending, []string{"svg", "png", "pdf"})
		}
	}
	return nil
}

// WritePage writes the document as an HTML page to a folder, and its figures in the given
// formats. It locks the folder while writing and returns the paths of the files.
func (d *Document) WritePage(folder, name string, formats []string) (page string, figures []string, err error) {
	if err := disk.Prepare(folder); err != nil {
		return "", nil, err
	}
	lock, err := disk.Lock(folder)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = lock.Close() }()
	page = filepath.Join(folder, name)
	if err := disk.WriteFile(page, d.HTML); err != nil {
		return "", nil, fmt.Errorf("cannot write %s: %w", page, err)
	}
	figures, err = d.WriteFigures(folder, "", formats)
	return page, figures, err
}

// WriteFigures writes the figures to a folder in the given formats and returns the paths of
// the files. If only is not empty, it names the document's only figure.
func (d *Document) WriteFigures(folder, only string, formats []string) ([]string, error) {
	var files []string
	for _, figure := range d.Figures() {
		name := figure.Name
		if only != "" {
			name = only
		}
		for _, ending := range slices.Compact(slices.Sorted(slices.Values(formats))) {
			path := filepath.Join(folder, strings.ReplaceAll(name, "/", "-")+"."+ending)
			if err := disk.WriteFile(path, func(w io.Writer) error { return drawings[ending](figure.Plot, w) }); err != nil {
				return nil, err
			}
			files = append(files, path)
		}
	}
	return files, nil
}

// WriteMarkdown writes the document as Markdown to a folder, with its figures, and returns
// the path of the Markdown file.
func (d *Document) WriteMarkdown(folder, name string) (string, error) {
	if err := disk.Prepare(folder); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, disk.WriteFile(path, func(w io.Writer) error {
		return d.Markdown(w, func(file string, write func(io.Writer) error) error {
			return disk.WriteFile(filepath.Join(folder, file), write)
		})
	})
}
