package reproduce

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/xoff-net/xoff/internal/render/report"
)

// board is a paper of two figures. Row A has a part in each, the second of which ran at
// the paper scale, too; B has a reading only beside its one part; C is arithmetic.
func board() (*Paper, []*Results) {
	p := &Paper{Name: "toy", PaperSpec: PaperSpec{Title: "A toy", Rows: []Row{
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
	one.Figure, two.Figure = "Fig. 1", "Fig. 2"
	two.Metrics[0].Title = "p99 FCT"
	one.Paper, two.Paper = p, p
	paper := with("SIH 1: 100 100", "DSH 1: 70 70")
	paper.Scale = Full
	results := []*Results{
		{Experiment: one, Quick: with("SIH 1: 100 100", "DSH 1: 50 50")},
		// -60 % at the quick scale, of which nobody speaks.
		{Experiment: two, Quick: with("SIH 1: 100 100", "DSH 1: 40 40"), Paper: paper},
	}
	for _, r := range results { // captions show the program
		for _, x := range r.both() {
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

// A row counts once, with the worst grade of its parts, at the paper scale where it ran.
// Readings count nowhere, sanity claims apart.
func TestScoreboard(t *testing.T) {
	p, results := board()
	b := newScoreboard(p, results)
	want := []string{
		// -50 for -50 is close; -30 for -40 is close, too: 10 of 40.
		"A: it gains | Fig. 1, Fig. 2 | paper, quick | mean FCT: -50 %; p99 FCT: -40 % | mean FCT: -50.0 % (one run, close); p99 FCT: -30.0 % (one run, close) | close | it does, somewhat",
		"B: it is fast | Fig. 1 | quick | < 20 us | 50 us (one run) | not reproduced | it is not",
		"O: silicon is small |  |  |  |  | no verdict | there is no silicon",
	}
	if got := lines(b.table()); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := b.summary(), "3 headline claims: 1 close, 1 not reproduced, 1 no verdict. A claim that has several parts has the worst grade of them. Counted apart, 1 of 2 sanity claims hold (not C-2)."; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	// -25 for -40 is 15 off: roughly, and so is the row.
	for i := range results[1].Paper.Points {
		if q := &results[1].Paper.Points[i]; q.Scheme == "DSH" {
			q.Values["fct"] = 75
		}
	}
	if got := newScoreboard(p, results).row("A").grade(); got != Roughly {
		t.Errorf("%s, want the worst grade of the parts", got)
	}
}

// A headline claim whose experiment was not run is one without verdict. A paper of which
// nothing was simulated has a line without grades and no page.
func TestNotRun(t *testing.T) {
	p, results := board()
	results[0].Quick = nil
	b := newScoreboard(p, results)
	if got, want := b.summary(), "3 headline claims: 1 close, 2 no verdict. A claim that has several parts has the worst grade of them."; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := lines(b.table())[1]; got != "B: it is fast | Fig. 1 |  | < 20 us | not run | no verdict | it is not" {
		t.Error(got)
	}
	if d := PaperDocument(p, results); d.Sections[3].Heading != "Fig. 1: " || len(d.Sections) != 5 {
		t.Errorf("%d sections, want one of each experiment: %q", len(d.Sections), d.Sections[3].Heading)
	}
	results[1].Quick, results[1].Paper = nil, nil
	d := Overview([]*Paper{p}, [][]*Results{results})
	got := lines(d.Sections[0].Blocks[1].(*report.Table))
	if want := []string{"A toy | 3 | - | - | - | - | - | 3 | not run yet"}; !slices.Equal(got, want) || len(d.Sections) != 1 {
		t.Errorf("%d sections, %q, want %q", len(d.Sections), got, want)
	}
}

// Without rows of the paper every headline claim is one.
func TestScoreboardWithoutRows(t *testing.T) {
	p, results := board()
	p.Rows = nil
	for i := range results {
		for k := range results[i].Experiment.Claims {
			c := &results[i].Experiment.Claims[k]
			c.Row, c.Text = "", "text of "+c.ID
		}
	}
	got := lines(newScoreboard(p, results).table())
	if len(got) != 3 || !strings.HasPrefix(got[0], "A-1: text of A-1 | ") || !strings.HasPrefix(got[1], "B-1: ") || !strings.HasPrefix(got[2], "A-2: ") {
		t.Errorf("%q", got)
	}
}

// The document of a paper begins with the scoreboard; that of all papers links to it.
func TestDocuments(t *testing.T) {
	p, results := board()
	d := PaperDocument(p, results)
	if d.Sections[0].Heading != "Scoreboard" || d.Sections[1].Heading != "All claims" {
		t.Errorf("sections are %q, %q", d.Sections[0].Heading, d.Sections[1].Heading)
	}
	var b bytes.Buffer
	if err := Overview([]*Paper{p}, [][]*Results{results}).Markdown(&b, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| paper | headline claims | close | roughly | direction only | inconclusive | not reproduced | no verdict | sanity |\n",
		"| [A toy](toy.md) | 3 | 1 | 0 | 0 | 0 | 1 | 1 | 1 of 2 |\n",
		"| A: it gains | Fig. 1, Fig. 2 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}
