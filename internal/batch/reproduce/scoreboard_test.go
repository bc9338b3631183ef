package reproduce

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/render/report"
)

// board returns a paper with two figures. Row A has a part in each; the second one was also
// run at the paper scale. B has one part and a reading; C is arithmetic; O is open.
func board() (*Paper, []*Results) {
	p := &Paper{Name: "toy", PaperSpec: PaperSpec{Title: "Small things (Toy)", Rows: []Row{
		{ID: "C", Text: "sums", Says: "they add up"},
		{ID: "A", Text: "it gains", Says: "it does, somewhat"},
		{ID: "B", Text: "it is fast", Says: "it is not"},
		{ID: "O", Text: "silicon is small", Open: "there is no silicon"},
	}}}
	claim := func(id, kind, row, operator, paper string) Claim {
		c := Claim{ID: id, Kind: kind, Row: row, Metric: "fct", Scheme: "DSH", X: "1", Operator: operator, Paper: paper}
		if operator == opChange {
			c.Baseline.Scheme = "SIH"
		}
		return c
	}
	one := tiny(claim("A-1", kindHeadline, "A", opChange, "-50"), claim("B-1", kindHeadline, "B", opBelow, "20"),
		claim("B-2", kindReading, "B", opAbove, "20"), claim("C-1", kindSanity, "C", opValue, "50"), claim("C-2", kindSanity, "C", opZero, ""))
	two := tiny(claim("A-2", kindHeadline, "A", opChange, "-40"))
	one.ID, two.ID = "toy/1", "toy/2"
	one.Figure, two.Figure = "Fig. 1", "Fig. 2"
	one.Deviations = []Deviation{{Claim: "B-1", Verdict: string(NotReproduced), Cause: causeData, Why: "too few"}}
	two.Metrics[0].Title = "p99 FCT"
	two.Scales.Quick.Set = []string{"topology.leaves=4"}
	one.Paper, two.Paper = p, p
	paper := with("SIH 1: 100 100", "DSH 1: 78 78")
	paper.Scale = Full
	results := []*Results{
		{Experiment: one, Quick: with("SIH 1: 100 100", "DSH 1: 50 50")},
		// -60 % at the quick scale, which the paper scale overrides.
		{Experiment: two, Quick: with("SIH 1: 100 100", "DSH 1: 40 40"), Paper: paper},
	}
	for _, r := range results { // captions show the executable
		for _, x := range r.available() {
			x.Executable = strings.Repeat("0", hashLength)
		}
	}
	return p, results
}

func lines(t *report.Table) []string {
	var list []string
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		list = append(list, strings.Join(cells, " | "))
	}
	return list
}

func check(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A row counts once, with the worst grade of its parts. Readings have a line of their own
// and do not count, and sanity claims count separately.
func TestScoreboard(t *testing.T) {
	p, results := board()
	b := newScoreboard(p, results)
	check(t, lines(b.table("toy.md")), []string{
		// -50 for -50 is close; -22 for -40 is 18 off, within half of 40.
		"A | it gains | 🟩🟨 | 2 of 2 | p99 FCT: paper -40 %, xoff -22.0 % | ",
		"B | it is fast | ❌ | 0 of 1 | paper < 20 us, xoff 50 us | data",
		" | under another reading | 🟩 | 1 of 1 |  | ",
		"O | silicon is small |  |  | no verdict: there is no silicon | ",
	})
	if got := b.table("toy.md").Rows[0][0].Link; got != "toy.md#a" {
		t.Error(got)
	}
	if got, want := b.summary(), "3 headline claims, by their worst part: 1 roughly, 1 not reproduced, 1 no verdict. 1 of 2 sanity claims hold (open: C-2)."; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	check(t, lines(partTable(b.row("A").parts)), []string{
		"A-1 | mean FCT | 1 | DSH | SIH | -50 % | -50.0 % (one run) | 🟩 close | quick",
		"A-2 | p99 FCT | 1 | DSH | SIH | -40 % | -22.0 % (one run) | 🟨 roughly | paper",
	})
	// Both directions agree. Distances are 0 and 18 points: the median is 9.
	if direction, distance := agreement(b.parts()); direction != "2 of 2" || distance != "9 points" {
		t.Errorf("%s, %s", direction, distance)
	}
}

// Changes near zero have no direction, and only changes have a distance.
func TestAgreement(t *testing.T) {
	var parts []*part
	for _, c := range []struct {
		operator, paper string
		ours            float64
		verdict         Verdict
	}{
		{opChange, "-20", -10, Roughly},      // 10 off
		{opChange, "-20", 5, NotReproduced},  // 25 off, the other direction
		{opChange, "-20", -12, Inconclusive}, // 8 off, the interval includes zero
		{opChange, "5", -2, Roughly},         // 7 off, no direction
		{opRatio, "1.3", 29, Close},          // 1 off
		{opValue, "30", 60, NotReproduced},   // not a change
		{opChange, "-20", 0, ""},             // not run
	} {
		parts = append(parts, &part{j: &Judged{Claim: &Claim{Operator: c.operator, Paper: c.paper}, Value: c.ours, Verdict: c.verdict}})
	}
	// 1, 7, 8, 10, 25: the median is 8.
	if direction, distance := agreement(parts); direction != "2 of 4" || distance != "8 points" {
		t.Errorf("%s, %s", direction, distance)
	}
	if direction, distance := agreement(parts[5:]); direction != "-" || distance != "-" {
		t.Errorf("%s, %s", direction, distance)
	}
}

// Of two scales with the same fabric, the one with more seeds counts if it has all points.
func TestScaleThatCounts(t *testing.T) {
	for _, c := range []struct {
		name         string
		quick, paper Scale
		x            string
		seeds        string // values of DSH at the quick scale; the paper scale has two
		want         string
	}{
		{"same fabric, more seeds", Scale{}, Scale{}, "1", "50 51 52", Quick},
		{"same fabric, shorter", Scale{Set: []string{"run.arrivals=1ms"}}, Scale{Set: []string{"probes[0].to=2ms", "workload.rpc.count=7"}}, "1", "50 51 52", Quick},
		{"same fabric, equal seeds", Scale{}, Scale{}, "1", "50 51", Full},
		{"smaller fabric", Scale{Set: []string{"topology.leaves=4"}}, Scale{}, "1", "50 51 52", Full},
		{"fewer points of a sweep", Scale{X: []string{"1"}}, Scale{X: []string{"1", "2"}}, xAll, "50 51 52", Full},
		{"fewer points, but not of the claim", Scale{X: []string{"1"}}, Scale{X: []string{"1", "2"}}, "1", "50 51 52", Quick},
	} {
		e := tiny(Claim{ID: "c", Kind: kindHeadline, Metric: "fct", Scheme: "DSH", X: c.x, Operator: opAbove, Paper: "20"})
		e.Scales = Scales{Quick: c.quick, Paper: c.paper}
		r := &Results{Experiment: e, Quick: with("DSH 1: " + c.seeds), Paper: with("DSH 1: 50 51", "DSH 2: 50 51")}
		r.Paper.Scale = Full
		if got := r.parts()[0].scale; got != c.want {
			t.Errorf("%s: scale %s counts, want %s", c.name, got, c.want)
		}
	}
}

// A bar has 20 symbols, in proportion to the grades.
func TestBar(t *testing.T) {
	for grades, want := range map[string]string{
		"":   "",
		"c":  strings.Repeat("🟩", 20),
		"cn": strings.Repeat("🟩", 10) + strings.Repeat("❌", 10),
		// Ends are 2/7, 3/7, ... of 20: 5.7, 8.6, 11.4, 14.3, 17.1, 20.
		"ccrdin-": "🟩🟩🟩🟩🟩🟩🟨🟨🟨🟧🟧⬜⬜⬜❌❌❌➖➖➖",
	} {
		var parts []*part
		for _, g := range grades {
			v := map[rune]Verdict{'c': Close, 'r': Roughly, 'd': DirectionOnly, 'i': Inconclusive, 'n': NotReproduced}[g]
			parts = append(parts, &part{j: &Judged{Verdict: v}})
		}
		if got := bar(parts); got != want {
			t.Errorf("%s: %s, want %s", grades, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for text, want := range map[string]string{
		"short":                  "short",
		strings.Repeat("a", 118): strings.Repeat("a", 118),
		long:                     strings.TrimSuffix(strings.Repeat("word ", 23), " ") + " …", // 23 x 5 - 1 = 114
		strings.Repeat("a", 119): strings.Repeat("a", 116) + "…",
	} {
		if got := cut(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A headline claim whose experiment was not run has no verdict. A paper without simulated
// results has a line without grades and no page.
func TestNotRun(t *testing.T) {
	p, results := board()
	results[0].Quick = nil
	b := newScoreboard(p, results)
	if got, want := b.summary(), "3 headline claims, by their worst part: 1 roughly, 2 no verdict. Not run: toy/1."; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := lines(b.table(""))[1]; got != "B | it is fast | ➖ | 0 of 1 | not run | " {
		t.Error(got)
	}
	results[1].Quick, results[1].Paper = nil, nil
	d := Overview([]*Paper{p}, [][]*Results{results})
	check(t, lines(d.Sections[0].Blocks[1].(*report.Table)), []string{"Toy | not run | 0 of 3 | - | -"})
	if len(d.Sections) != 1 || len(d.Figures()) != 0 {
		t.Errorf("%d sections, %d figures", len(d.Sections), len(d.Figures()))
	}
}

// Without rows in paper.yaml every headline claim is a row.
func TestScoreboardWithoutRows(t *testing.T) {
	p, results := board()
	p.Rows = nil
	for i := range results {
		for k := range results[i].Experiment.Claims {
			c := &results[i].Experiment.Claims[k]
			c.Row, c.Text = "", "text of "+c.ID
		}
	}
	got := lines(newScoreboard(p, results).table(""))
	if len(got) != 3 || !strings.HasPrefix(got[0], "A-1 | text of A-1 | ") || !strings.HasPrefix(got[1], "B-1 | ") || !strings.HasPrefix(got[2], "A-2 | ") {
		t.Errorf("%q", got)
	}
}

// The overview has a line per paper and the scatter plot. The page of a paper has a section
// and a figure per row.
func TestDocuments(t *testing.T) {
	p, results := board()
	discard := func(string, func(io.Writer) error) error { return nil }
	for _, c := range []struct {
		document *report.Document
		figures  string
		want     []string
	}{
		{Overview([]*Paper{p}, [][]*Results{results}), "scatter", []string{
			"**2 of 3 parts of 3 headline claims are close or roughly as published. Of the published changes 2 of 2 have the same direction in xoff; the median distance is 9 points.**",
			"| [Toy](toy.md) | 🟩🟩🟩🟩🟩🟩🟩🟨🟨🟨🟨🟨🟨❌❌❌❌❌❌❌ | 2 of 3 | 2 of 2 | 9 points |\n",
			"| [A](toy.md#a) | it gains | 🟩🟨 |",
		}},
		{PaperDocument(p, results), "toy-a-parts", []string{
			"| [A](#a) | it gains |", "### A\n\nPaper: it gains.\n\nxoff: it does, somewhat\n\n![A](toy-a-parts.svg)\n",
			"| B-1 | mean FCT | 1 | DSH | a number | \\< 20 us | 50 us (one run) | ❌ not reproduced | quick |\n",
			"Under another reading, never counted:\n", "- B-1 (data): too few\n", "## Sanity claims\n", "## Fig. 2: \n",
		}},
	} {
		var b bytes.Buffer
		if err := c.document.Markdown(&b, discard); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q is missing in\n%s", want, b.String())
			}
		}
		var names []string
		for _, f := range c.document.Figures() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.figures {
			t.Errorf("figures %s, want %s", got, c.figures)
		}
	}
}

// Points beyond the axis are at its end; outliers have the label of their row.
func TestScatter(t *testing.T) {
	p, results := board()
	for i := range results[1].Paper.Points {
		if q := &results[1].Paper.Points[i]; q.Scheme == "DSH" {
			q.Values["fct"] = 350
		}
	}
	f := scatter([]*scoreboard{newScoreboard(p, results)})
	s := f.Panels[0].Series[1]
	if s.Name != "Toy" || !slices.Equal(s.X, []float64{-50, -40}) || !slices.Equal(s.Y, []float64{-50, 100}) || !slices.Equal(s.Labels, []string{"", "A +250 %"}) {
		t.Errorf("%+v", s)
	}
	// Half way to the end: 25 % of 52; near zero: 5 points.
	band := f.Panels[0].Series[0]
	for i, x := range band.X {
		if x == 52 && (band.Low[i] != 39 || band.High[i] != 65) || x == 4 && (band.Low[i] != -1 || band.High[i] != 9) {
			t.Errorf("at %g the band is %g to %g", x, band.Low[i], band.High[i])
		}
	}
}
