package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/internal/render/report"
)

// scoreboard has the claims of a paper: headline claims, each once, and sanity claims
// separately. Readings are shown and do not count.
type scoreboard struct {
	paper  *Paper
	rows   []*score
	sanity []*part
	notRun []string // experiments without results
}

// score is a headline claim with its parts.
type score struct {
	Row
	parts    []*part
	readings []*part // other readings of the same sentence
}

// newScoreboard returns the scoreboard of a paper. Rows are in the order of paper.yaml, or
// of their first claims.
func newScoreboard(p *Paper, list []*Results) *scoreboard {
	b := &scoreboard{paper: p}
	for _, row := range p.Rows {
		b.rows = append(b.rows, &score{Row: row})
	}
	for _, r := range list {
		if r.largest() == nil {
			b.notRun = append(b.notRun, r.Experiment.ID)
		}
		for _, p := range r.parts() {
			c := p.j.Claim
			s := b.row(c.row())
			if s == nil && c.Kind == kindHeadline {
				s = &score{Row: Row{ID: c.row(), Text: c.Text}}
				b.rows = append(b.rows, s)
			}
			switch {
			case c.Kind == kindSanity:
				b.sanity = append(b.sanity, p)
			case c.Kind == kindHeadline:
				s.parts = append(s.parts, p)
			case s != nil:
				s.readings = append(s.readings, p)
			}
		}
	}
	// Remove rows with only sanity claims. Rows with a reason in open stay.
	b.rows = slices.DeleteFunc(b.rows, func(s *score) bool { return len(s.parts) == 0 && s.Open == "" })
	return b
}

func (b *scoreboard) row(id string) *score {
	for _, s := range b.rows {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// parts returns the parts of all rows.
func (b *scoreboard) parts() []*part {
	var list []*part
	for _, s := range b.rows {
		list = append(list, s.parts...)
	}
	return list
}

// worst returns the first part with the worst grade, or nil if none was run.
func (s *score) worst() *part {
	var worst *part
	for _, p := range s.parts {
		if rank := p.j.Verdict.rank(); rank >= 0 && (worst == nil || rank > worst.j.Verdict.rank()) {
			worst = p
		}
	}
	return worst
}

// grade returns the worst verdict of the parts, or "" if none has one.
func (s *score) grade() Verdict {
	if p := s.worst(); p != nil {
		return p.j.Verdict
	}
	return ""
}

// symbols stand for grades, best first; the last one for parts that were not run.
var symbols = [...]string{"🟩", "🟨", "🟧", "⬜", "❌", "➖"}

// symbol returns the symbol of a verdict.
func (v Verdict) symbol() string {
	if rank := v.rank(); rank >= 0 {
		return symbols[rank]
	}
	return symbols[len(symbols)-1]
}

// legend explains the symbols.
func legend() string {
	var list []string
	for _, v := range verdicts {
		list = append(list, v.symbol()+" "+string(v))
	}
	return strings.Join(append(list, Verdict("").symbol()+" not run"), ", ")
}

// tally returns the number of parts by rank of their grade; the last number is of parts that
// were not run.
func tally(parts []*part) [len(symbols)]int {
	var n [len(symbols)]int
	for _, p := range parts {
		if rank := p.j.Verdict.rank(); rank >= 0 {
			n[rank]++
		} else {
			n[len(n)-1]++
		}
	}
	return n
}

// reproduced returns "k of n": the parts that are close or roughly.
func reproduced(parts []*part) string {
	n := tally(parts)
	return fmt.Sprintf("%d of %d", n[0]+n[1], len(parts))
}

// barLength is the number of symbols of a bar.
const barLength = 20

// bar returns the grades of parts as a bar of symbols, in proportion.
func bar(parts []*part) string {
	var b strings.Builder
	sum, drawn := 0, 0
	for i, n := range tally(parts) {
		sum += n
		end := (2*barLength*sum + len(parts)) / max(2*len(parts), 1) // rounded
		b.WriteString(strings.Repeat(symbols[i], end-drawn))
		drawn = end
	}
	return b.String()
}

// agreement describes the numeric parts: how many have the paper's direction, as far as their
// runs can tell, and their median distance from the paper in percentage points.
func agreement(parts []*part) (direction, distance string) {
	same, all := 0, 0
	var off []float64
	for _, p := range parts {
		paper, ours, ok := p.change()
		if !ok {
			continue
		}
		off = append(off, math.Abs(ours-paper))
		if math.Abs(paper) <= noDirection {
			continue
		}
		if all++; p.j.Verdict.rank() <= DirectionOnly.rank() {
			same++
		}
	}
	direction, distance = "-", "-"
	if all > 0 {
		direction = fmt.Sprintf("%d of %d", same, all)
	}
	if off != nil {
		distance = fmt.Sprintf("%.0f points", median(off))
		if distance == "1 points" {
			distance = "1 point"
		}
	}
	return direction, distance
}

func median(list []float64) float64 {
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// counts returns the number of rows by verdict; the last number is of rows without one.
func (b *scoreboard) counts() []int {
	n := make([]int, len(verdicts)+1)
	for _, s := range b.rows {
		if rank := s.grade().rank(); rank >= 0 {
			n[rank]++
		} else {
			n[len(verdicts)]++
		}
	}
	return n
}

// sanityCounts returns the number of sanity claims that hold, the number that were run, and
// the IDs of the others.
func (b *scoreboard) sanityCounts() (good, all int, open []string) {
	for _, p := range b.sanity {
		if p.j.Verdict == "" {
			continue
		}
		if all++; p.j.Verdict == Close {
			good++
		} else {
			open = append(open, p.j.ID)
		}
	}
	return good, all, open
}

// noVerdict is the grade of rows without a verdict.
const noVerdict = "no verdict"

// summary returns sentences with the number of rows per grade, of sanity claims that hold,
// and the experiments that were not run.
func (b *scoreboard) summary() string {
	var list []string
	for i, n := range b.counts() {
		word := noVerdict
		if i < len(verdicts) {
			word = string(verdicts[i])
		}
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, word))
		}
	}
	text := fmt.Sprintf("%d headline claims, by their worst part: %s.", len(b.rows), strings.Join(list, ", "))
	if good, all, open := b.sanityCounts(); all > 0 {
		text += fmt.Sprintf(" %d of %d sanity claims hold", good, all)
		if open != nil {
			text += " (open: " + strings.Join(open, ", ") + ")"
		}
		text += "."
	}
	if b.notRun != nil {
		text += " Not run: " + strings.Join(b.notRun, ", ") + "."
	}
	return text
}

// table returns a table with one line per headline claim, and a second one if there are
// other readings. page is the file with the details, empty on the page itself.
func (b *scoreboard) table(page string) *report.Table {
	t := &report.Table{Columns: report.Heads("claim", "the paper says", "parts", "close or roughly", "worst part", "cause")}
	for _, s := range b.rows {
		line := []report.Cell{{Text: s.ID, Link: page + "#" + anchor(s.ID)}, {Text: cut(s.Text)}, {}, {}, {}, {}}
		if s.parts == nil {
			line[4] = report.Cell{Text: cut(noVerdict + ": " + s.Open), Mark: report.Muted}
			t.Rows = append(t.Rows, line)
			continue
		}
		line[2].Text, line[3].Text = each(s.parts), reproduced(s.parts)
		switch worst := s.worst(); {
		case worst == nil:
			line[4] = report.Cell{Text: "not run", Mark: report.Muted}
		case worst.j.Verdict != Close:
			line[4].Text, line[5].Text = cut(s.words(worst)), worst.cause()
		}
		t.Rows = append(t.Rows, line)
		if s.readings != nil {
			t.Rows = append(t.Rows, []report.Cell{{}, {Text: "under another reading", Mark: report.Muted}, {Text: each(s.readings)}, {Text: reproduced(s.readings), Mark: report.Muted}, {}, {}})
		}
	}
	return t
}

// each returns one symbol per part.
func each(parts []*part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.j.Verdict.symbol())
	}
	return b.String()
}

// maxText is the largest number of characters of a table cell.
const maxText = 118 // leaves room for marks

// cut shortens a text to the size of a table cell.
func cut(text string) string { return cutTo(text, maxText) }

// cutTo shortens a text to a number of characters, at a space. Escapes of Markdown count.
func cutTo(text string, most int) string {
	size := func(s string) int {
		return len([]rune(s)) + strings.Count(s, "<") + strings.Count(s, "~") + strings.Count(s, "*") + strings.Count(s, "_")
	}
	if size(text) <= most {
		return text
	}
	for size(text) > most-2 {
		i := strings.LastIndexByte(text, ' ')
		if i < 0 {
			return string([]rune(text)[:max(most-2, 0)]) + "…"
		}
		text = text[:i]
	}
	return strings.TrimRight(text, " ,;:(") + " …"
}

// anchor returns the anchor of a heading on GitHub.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// short returns the short name of a paper: the name in brackets at the end of its title, or
// the part before a colon.
func (p *Paper) short() string {
	if i := strings.LastIndexByte(p.Title, '('); i >= 0 && strings.HasSuffix(p.Title, ")") {
		return p.Title[i+1 : len(p.Title)-1]
	}
	name, _, _ := strings.Cut(p.Title, ":")
	return name
}

// Overview returns the scoreboard of all papers; results[i] belongs to papers[i].
func Overview(papers []*Paper, results [][]*Results) *report.Document {
	d := &report.Document{Title: "Reproduced papers"}
	t := &report.Table{Columns: report.Heads("paper", "parts by grade", "close or roughly|", "direction agrees|", "median distance|")}
	var boards []*scoreboard
	var all []*part
	rows := 0
	for i, p := range papers {
		if p.Own {
			continue
		}
		b := newScoreboard(p, results[i])
		if !simulated(results[i]) {
			t.Rows = append(t.Rows, []report.Cell{{Text: p.short()}, {Text: "not run", Mark: report.Muted}, {Text: fmt.Sprintf("0 of %d", len(b.parts()))}, {Text: "-"}, {Text: "-"}})
			continue
		}
		boards, all, rows = append(boards, b), append(all, b.parts()...), rows+len(b.rows)
		direction, distance := agreement(b.parts())
		t.Rows = append(t.Rows, []report.Cell{{Text: p.short(), Link: p.Name + ".md"}, {Text: bar(b.parts())}, {Text: reproduced(b.parts())}, {Text: direction}, {Text: distance}})
	}
	first := report.Section{}
	if boards != nil {
		direction, distance := agreement(all)
		first.Add(report.Lead(fmt.Sprintf("%s parts of %d headline claims are close or roughly as published. Of the published changes %s have the same direction in xoff; the median distance is %s.", reproduced(all), rows, direction, distance)))
	}
	first.Add(report.Paragraph(legend()+"."), t)
	if f := scatter(boards); f != nil {
		first.Add(&report.Figure{Name: "scatter", Plot: f, Caption: "Each point is one published change against a baseline, and the same change in xoff; lines are 95 % intervals. Points in the band are close."})
	}
	first.Add(report.Paragraph("This page is rendered by `xoff reproduce --render` from the stored results in `data`. docs/reproduce.md explains grades and causes."))
	d.Sections = append(d.Sections, first)
	for _, b := range boards {
		s := report.Section{Heading: b.paper.Title}
		s.Add(report.Paragraph(b.summary()), b.table(b.paper.Name+".md"))
		d.Sections = append(d.Sections, s)
	}
	return d
}
