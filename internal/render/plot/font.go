package plot

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The fonts that are part of the program: they measure texts and draw those of
// PNG. A reader's browser sets SVG in a font of its own, so layouts leave a
// margin. Metrics are integers.
var (
	regular = sync.OnceValue(func() *sfnt.Font { return parse(goregular.TTF) })
	bold    = sync.OnceValue(func() *sfnt.Font { return parse(gobold.TTF) })
)

func parse(data []byte) *sfnt.Font {
	f, err := sfnt.Parse(data)
	if err != nil {
		panic(err) // it is part of the program
	}
	return f
}

func fontOf(heavy bool) *sfnt.Font {
	if heavy {
		return bold()
	}
	return regular()
}

// textWidth is how many pixels a text takes.
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
