package plot

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
)

// tone is a colour on a light and on a dark page.
type tone struct{ light, dark string }

// palette has the colours of series: the palette of Okabe and Ito, which is safe for all
// kinds of colour blindness. It omits yellow, which is invisible on white. Dark pages use
// lighter versions.
var palette = []tone{
	{"#0072b2", "#4aa8e0"}, // blue
	{"#d55e00", "#f0803c"}, // vermillion
	{"#009e73", "#2fc49a"}, // bluish green
	{"#cc79a7", "#dd9cc0"}, // reddish purple
	{"#e69f00", "#f0b73a"}, // orange
	{"#56b4e9", "#8fd0f5"}, // sky blue
	{"#5b6470", "#b4bcc6"}, // grey, for black
}

// inks are the tones of other inks.
var inks = map[ink]tone{
	inkText:  {"#1f2328", "#e6edf3"},
	inkSoft:  {"#59636e", "#a3adb8"},
	inkGrid:  {"#e3e7eb", "#2d333b"},
	inkAxis:  {"#8c959f", "#6e7681"},
	inkPaper: {"#ffffff", "#0d1117"},
	inkBad:   {"#b3141f", "#ff8078"},
}

// ramp is a colour scale from 0 to the largest value; contrast rises with every step.
var ramp = [levels + 1]tone{
	{"#b6bec7", "#454d57"},
	{"#eec78f", "#6b4a26"},
	{"#e8a04a", "#96611f"},
	{"#d8761a", "#c9791f"},
	{"#a94a08", "#f0a13c"},
	{"#6b1f00", "#ffdc9e"},
}

func (i ink) tone() tone {
	switch {
	case i >= inkHeat:
		return heatTones()[i-inkHeat]
	case i >= inkRamp && i <= inkRamp+levels:
		return ramp[i-inkRamp]
	case i >= inkData && i < inkRamp:
		return palette[int(i-inkData)%len(palette)]
	}
	return inks[i]
}

// Colour is an index into the palette.
type Colour int

// colours are the names of the palette's colours.
var colours = []string{"blue", "vermillion", "green", "purple", "orange", "sky", "grey"}

// ColourNamed returns a colour by its name.
func ColourNamed(name string) (Colour, bool) {
	i := slices.Index(colours, name)
	return Colour(i), i >= 0
}

// look is how a series is drawn: its colour, and the dash, marker and hatch pattern that
// distinguish it without colour.
type look struct {
	ink    ink
	dash   []unit
	marker int
	hatch  int
}

// dashes are the dash patterns by palette index, in hundredths of a pixel.
var dashes = [][]unit{nil, {700, 300}, {200, 250}, {900, 300, 200, 300}, {1200, 400}, {400, 200, 150, 200, 150, 200}, {150, 400}}

// dashOf are the dash patterns of styles.
var dashOf = map[Dash][]unit{Solid: nil, Dashed: dashes[1], Dotted: dashes[2], DashDot: dashes[3]}

// looks assigns looks to the series of a figure, by name.
type looks struct {
	byName map[string]look
	used   []int // by palette index: number of names
}

func newLooks(f *Figure) *looks {
	l := &looks{byName: make(map[string]look), used: make([]int, len(palette))}
	var names []string
	styles := make(map[string]Style)
	for _, p := range f.Panels {
		for _, s := range p.Series {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
				styles[s.Name] = s.Style
			}
		}
	}
	// Names with a fixed colour come first, so that no other name takes it.
	for _, known := range []bool{true, false} {
		for _, name := range names {
			colour := name
			if like := styles[name].Like; like != "" {
				colour = like
			}
			slot, whole, ok := f.colourOf(colour)
			if ok != known {
				continue
			}
			// Names that begin with the same scheme, such as "DSH, DCQCN", share its colour
			// and differ in shape.
			if !ok || whole && l.used[slot] > 0 && styles[name].Like == "" {
				slot = l.free()
			}
			l.take(name, slot, styles[name])
		}
	}
	return l
}

// colourOf returns the palette index of a name or of its first word. whole is true if the
// whole name matched.
func (f *Figure) colourOf(name string) (slot int, whole, ok bool) {
	if f.Colours == nil {
		return 0, false, false
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if c, ok := f.Colours(name); ok {
		return int(c), true, true
	}
	first := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" ,(+/:=", r) })
	if len(first) > 0 {
		if c, ok := f.Colours(first[0]); ok {
			return int(c), false, true
		}
	}
	return 0, false, false
}

// free returns the palette index with the fewest names.
func (l *looks) free() int {
	best := 0
	for i, n := range l.used {
		if n < l.used[best] {
			best = i
		}
	}
	return best
}

func (l *looks) take(name string, slot int, s Style) {
	shape := (slot + 2*l.used[slot]) % len(palette)
	l.used[slot]++
	k := look{ink: inkData + ink(slot), dash: dashes[shape], marker: shape, hatch: shape}
	if d, ok := dashOf[s.Dash]; ok {
		k.dash = d
	}
	l.byName[name] = k
}

// rampCSS returns the style rules of ramp and inkBad.
func rampCSS() string {
	var b strings.Builder
	rules := func(pick func(tone) string) {
		for i := inkRamp; i <= inkRamp+levels; i++ {
			fmt.Fprintf(&b, ".xoff .s%d{stroke:%s}", i, pick(i.tone()))
		}
		fmt.Fprintf(&b, ".xoff .s%d{stroke:%s}.xoff .f%d{fill:%s}", inkBad, pick(inkBad.tone()), inkBad, pick(inkBad.tone()))
	}
	rules(func(t tone) string { return t.light })
	b.WriteString("@media (prefers-color-scheme:dark){")
	rules(func(t tone) string { return t.dark })
	b.WriteString("}")
	return b.String()
}

// css returns the style rules for light and dark pages: class fN fills with ink N, sN
// strokes with it.
func css() string {
	var b strings.Builder
	rules := func(pick func(tone) string) {
		for i := inkText; i < inkData+ink(len(palette)); i++ {
			c := pick(i.tone())
			fmt.Fprintf(&b, ".xoff .f%d{fill:%s}.xoff .s%d{stroke:%s}", i, c, i, c)
		}
	}
	b.WriteString(`.xoff text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,"Liberation Sans",sans-serif}`)
	b.WriteString(`.xoff path{stroke-linejoin:round}`)
	rules(func(t tone) string { return t.light })
	b.WriteString("@media (prefers-color-scheme:dark){")
	rules(func(t tone) string { return t.dark })
	b.WriteString("}")
	return b.String()
}

// CSS returns the style sheet of figures written by Inline. The background of the page
// should be Paper.
func CSS() string {
	// Printed pages are always light.
	return strings.ReplaceAll(css()+rampCSS(), "@media (prefers-color-scheme:dark)", "@media screen and (prefers-color-scheme:dark)")
}

// Paper returns the background colours of light and dark pages.
func Paper() (light, dark string) { return inks[inkPaper].light, inks[inkPaper].dark }

// rgb returns the colour of an ink on a light page.
func (i ink) rgb() color.RGBA {
	var c color.RGBA
	c.A = 255
	if _, err := fmt.Sscanf(i.tone().light, "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		panic(err) // the tables above have valid colours
	}
	return c
}
