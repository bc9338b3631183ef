package plot

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Embedded fonts. They measure all texts and draw the texts of PNG. A browser shows SVG in
// its own font, so layouts leave a margin. Metrics are integers.
var (
	regular = sync.OnceValue(func() *sfnt.Font { return parse(goregular.TTF) })
	bold    = sync.OnceValue(func() *sfnt.Font { return parse(gobold.TTF) })
)

func parse(data []byte) *sfnt.Font {
	f, err := sfnt.Parse(data)
	if err != nil {
		panic(err) // an embedded font is always valid
	}
	return f
}

func fontOf(heavy bool) *sfnt.Font {
	if heavy {
		return bold()
	}
	return regular()
}

// textWidth returns the width of a text in pixels.
func textWidth(text string, size float64, heavy bool) float64 {
	f := fontOf(heavy)
	em := f.UnitsPerEm()
	var buf sfnt.Buffer
	sum := 0
	for _, r := range text {
		g, err := f.GlyphIndex(&buf, r)
		if err != nil {
			continue
		}
		if a, err := f.GlyphAdvance(&buf, g, fixed.I(int(em)), font.HintingNone); err == nil {
			sum += int(a)
		}
	}
	return size * float64(sum) / float64(64*int(em))
}
