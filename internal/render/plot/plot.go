// Package plot draws figures from plain numbers as SVG and PNG, for reports and documents.
// The same figure gives the same bytes on every machine.
package plot

import (
	"io"
)

// Figure is one or more panels with a title and a common legend.
type Figure struct {
	Title  string
	Panels []Panel
	// Wide makes the figure as wide as a page: one column, with a legend per panel.
	Wide bool
	// Columns is the number of panels side by side; 0: all, up to three.
	Columns int
	// Height is the height of the data area of panels, in pixels; 0: by the number of
	// columns. Panels on a narrow screen ignore it.
	Height float64
	// Print is the size on paper, for SVG, PDF and PNG; nil: by the number of panels.
	Print *Print
	// Colours returns the colour of a series by its lower-case name or first word. Other
	// series take free colours. It may be nil.
	Colours func(name string) (Colour, bool)
}

// Drawing is a Figure or a Network.
type Drawing interface {
	Heading() string
	SVG(w io.Writer) error
	Inline(w io.Writer) error
	PNG(w io.Writer) error
	PDF(w io.Writer) error
}

// Heading returns the title.
func (f *Figure) Heading() string { return f.Title }

// Kind is how the series of a panel are drawn.
type Kind uint8

// Kinds of panels.
const (
	// Lines connects points with lines; a few points also have markers.
	Lines Kind = iota
	// Bars draws groups of bars: value i of a series belongs to category i.
	Bars
	// CDF draws the share of samples that do not exceed a value. X has the samples in any
	// order and Y is nil. +Inf is a sample beyond every value, such as the completion time of
	// an unfinished flow. A series with Y has ascending X and the share at each X (see
	// Spread).
	CDF
	// Spans draws time spans: from X to Until, in row Y. Rows are the categories, numbered
	// from the top. The spans of a row are in order of X. Low and High are bounds of a
	// span's free end, drawn as error bars. Points draws ticks at X instead of spans.
	Spans
	// Boxes draws groups of boxes: box i of a series belongs to category i.
	Boxes
	// Heat draws a table of coloured cells: a series is a row, with a value of Y per
	// category. Z is the axis of the colours. It is for files: pages lack its colours.
	Heat
)

// grouped reports whether the x axis has categories.
func (k Kind) grouped() bool { return k == Bars || k == Boxes || k == Heat }

// Panel is one coordinate system.
type Panel struct {
	Title      string
	Kind       Kind
	X, Y, Z    Axis
	Categories []string // for Bars, Spans, Boxes and Heat
	Series     []Series
	Notes      []string // small print below the panel
}

// Axis is one axis of a panel.
type Axis struct {
	Label string // without the unit, which is added
	Unit  Unit
	Log   bool // logarithmic; values <= 0 are omitted
	// Common marks an axis, such as time, that several panels of a page share. Zooming one
	// of them zooms all.
	Common bool
	// Min and Max are the ends; nil: from the data. Data outside is clipped.
	Min, Max *float64
}

// Unit is the unit of the numbers of an axis. It decides how they are printed.
type Unit uint8

// Units. The axis prints numbers with the best fitting prefix.
const (
	Plain   Unit = iota
	Percent      // per cent
	Share        // shares of 1, printed as per cent
	Seconds
	Bytes
	BitRate // bits per second
)

// Series is a named set of points. X and Y have the same length; points that are not finite
// leave a gap.
type Series struct {
	// Name is the name in the legend. It also selects the colour.
	Name string
	X, Y []float64 // Bars have only Y, one per category
	// Low and High are bounds of Y: error bars of bars and of lines with few points, a band
	// otherwise. Both have the length of Y, or are nil.
	Low, High []float64
	Until     []float64 // ends of Spans
	Labels    []string  // texts beside the points of Lines; may be shorter than X
	Boxes     []Box     // of Boxes, one per category
	Style     Style
}

// Box summarises a distribution by quantiles, in ascending order. NaN is unknown;
// High may be +Inf.
type Box struct{ Low, Q1, Median, Q3, High float64 }

// Style overrides the look that the name of a series selects. The zero value overrides
// nothing.
type Style struct {
	Like   string // use the colour of this name
	Dash   Dash
	Points bool // markers without a line, each with its error bar
	Plain  bool // a line without markers
}

// Dash is a dash pattern of lines.
type Dash uint8

// Dash patterns. The zero value selects a pattern by colour, so that lines differ without
// colour, too.
const (
	Solid Dash = iota + 1
	Dashed
	Dotted
	DashDot
)

// SVG writes the figure as a standalone SVG with a background. It follows the reader's
// preference for light or dark.
func (f *Figure) SVG(w io.Writer) error { return f.scene(wide).svg(w, true) }

// Inline writes the figure as SVG for a page that has the styles of CSS, with data for its
// script. It writes a second version for narrow screens.
func (f *Figure) Inline(w io.Writer) error {
	s := f.scene(inline)
	if s.width <= narrowScreen {
		return s.svg(w, false)
	}
	s.class = "broad"
	if err := s.svg(w, false); err != nil {
		return err
	}
	s = f.scene(narrow)
	s.class = "slim"
	return s.svg(w, false)
}

// PNG writes the figure on a white background, at twice the resolution of the SVG, and with
// Print at 300 pixels per inch.
func (f *Figure) PNG(w io.Writer) error {
	s := f.scene(wide)
	if f.Print != nil {
		const perInch, pointsPerInch = 300, 72
		s.enlarge(perInch * pointsPerPixel / pointsPerInch / scale)
	}
	return s.png(w)
}

// PDF writes the figure as a page of its size.
func (f *Figure) PDF(w io.Writer) error { return f.scene(wide).pdf(w) }
