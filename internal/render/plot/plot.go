// Package plot draws figures: plain numbers come in, SVG and PNG go out. The same
// figure gives the same bytes on every machine. It knows nothing about runs or
// scenarios.
package plot

import (
	"io"
)

// Figure is one or several panels with a title and a common legend.
type Figure struct {
	Title  string
	Panels []Panel
	// Wide is a figure as wide as a page: one column, whose panels have legends of their own.
	Wide bool
	// Columns is how many panels stand side by side; 0: as many as there are, up
	// to three.
	Columns int
	// Colours returns the colour of a series by its name in lower case, or of the word
	// that it begins with; others take what is free. It may be nil.
	Colours func(name string) (Colour, bool)
}

// Drawing is a Figure or a Network.
type Drawing interface {
	Heading() string
	SVG(w io.Writer) error
	Inline(w io.Writer) error
	PNG(w io.Writer) error
}

// Heading is the title.
func (f *Figure) Heading() string { return f.Title }

// Kind says how the series of a panel are drawn.
type Kind uint8

// Kinds of panels.
const (
	// Lines joins points with lines; the points have markers when there are few.
	Lines Kind = iota
	// Bars are groups of bars: value i of a series belongs to category i.
	Bars
	// CDF is the share of samples that do not exceed a value. X holds the samples
	// in any order and Y is nil; +Inf counts as a sample that is beyond every
	// value, such as the completion time of an unfinished flow. A series with Y
	// is drawn as it is, in steps: rising X, and the share at each (see Spread).
	CDF
	// Spans are times in which something holds: from X to Until, in the row Y of the
	// categories, which are numbered from the top. Those of a row are in order of X.
	Spans
)

// Panel is one coordinate system.
type Panel struct {
	Title      string
	Kind       Kind
	X, Y       Axis
	Categories []string // of Bars and Spans
	Series     []Series
	Notes      []string // small print below the panel
}

// Axis is one axis of a panel.
type Axis struct {
	Label string // without the unit, which is added
	Unit  Unit
	Log   bool // values that are not positive are left out
	// Common says that the axis is that of other panels of a page, too: time. Who looks
	// closer at a part of one looks closer at all.
	Common bool
	// Min and Max are the ends; nil: from the data. What lies outside is cut off.
	Min, Max *float64
}

// Unit says what the numbers of an axis are, and with it how they are printed.
type Unit uint8

// Units. Numbers come in the unit that is named here; the axis prints them with
// the prefix that reads best.
const (
	Plain   Unit = iota
	Percent      // numbers are per cent
	Share        // numbers are shares of one, printed as per cent
	Seconds
	Bytes
	BitRate // bits per second
)

// Series is a named set of points. X and Y have the same length; points that are
// not finite leave a gap.
type Series struct {
	// Name is that of the legend. It also gives the colour: a scheme has the same
	// one in all figures.
	Name string
	X, Y []float64 // of Bars: Y only, one per category
	// Low and High bound the values: error bars of bars and of lines with few
	// points, a band otherwise. Both have the length of Y, or are nil.
	Low, High []float64
	Until     []float64 // of Spans
	Style     Style
}

// Style departs from what the name of a series gives. The zero value does not.
type Style struct {
	Like   string // take the colour of this name
	Dash   Dash
	Points bool // markers without a line
	Plain  bool // a line without markers
}

// Dash is a pattern of lines.
type Dash uint8

// Patterns. The zero value follows the colour, so that lines can be told apart without it.
const (
	Solid Dash = iota + 1
	Dashed
	Dotted
	DashDot
)

// SVG writes the figure as a picture that stands alone: it has a background of
// its own and follows the reader's choice of light or dark.
func (f *Figure) SVG(w io.Writer) error { return f.scene(wide).svg(w, true) }

// Inline writes the figure as SVG without styles and background, for a page that
// has those of CSS: with what a script needs, and a second time for narrow screens.
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

// PNG writes the figure on a white background, two pixels for each of the SVG.
func (f *Figure) PNG(w io.Writer) error { return f.scene(wide).png(w) }
