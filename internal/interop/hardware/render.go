package hardware

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
)

//go:embed fidelity.md.tmpl
var documentText string

var document = template.Must(template.New("fidelity").Funcs(template.FuncMap{
	"row": func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" },
}).Parse(documentText))

// Columns are the heads of Cells.
var Columns = []string{"row", "group", "chip", "topology", "Mbps", "m", "match", "PFC", "drop after PFC", "resumed", "in turn", "pool"}

// Cells is what a table shows of a result: predicted/measured (difference in cells).
func (r *Result) Cells() []string {
	turns := ""
	if r.Turns != nil {
		turns = fmt.Sprintf("%d of %d exact, worst %d", r.Turns.Exact, r.Turns.Queues, r.Turns.Worst)
	}
	topology := r.Key
	if r.Block != "" {
		topology += " " + r.Block
	}
	return []string{
		r.ID, r.Group, r.Chip, topology, fmt.Sprint(r.Speed), fmt.Sprint(r.Cable), r.Match,
		r.PFC.text(), r.Drop.text(), r.Resume.text(), turns, r.Pool.text(),
	}
}

// text shows a point; one that is not within has an exclamation mark.
func (p *Point) text() string {
	if p == nil {
		return ""
	}
	mark := ""
	if !p.Within {
		mark = " !"
	}
	if p.Allowed > near {
		return fmt.Sprintf("%d/%d (%+d, allowed %d)%s", p.Predicted, p.Measured, p.Cells, p.Allowed, mark)
	}
	return fmt.Sprintf("%d/%d (%+d)%s", p.Predicted, p.Measured, p.Cells, mark)
}

// ChipShare is how well one chip is met.
type ChipShare struct {
	Chip string `json:"chip"`
	Shares
}

// ByChip returns the shares of each chip, in the order of rows.
func ByChip(results []Result) []ChipShare {
	var order []string
	of := make(map[string][]Result)
	for _, r := range results {
		if of[r.Chip] == nil {
			order = append(order, r.Chip)
		}
		of[r.Chip] = append(of[r.Chip], r)
	}
	var list []ChipShare
	for _, chip := range order {
		list = append(list, ChipShare{chip, SharesOf(of[chip])})
	}
	return list
}

// page is what the document is made of.
type page struct {
	Shares                Shares
	DropDemand, PFCDemand int
	Near                  int
	Chips, Rows           [][]string
	Why                   [][2]string // alike ones once: rows, sentence
	NoTest                [][2]string
	Turns                 Share
	Worst                 int64 // of those
	Resumed, Pools        Share
}

// Render writes the document about the agreement: the same bytes for the same results.
func Render(w io.Writer, results []Result) error {
	p := page{Shares: SharesOf(results), DropDemand: DropDemand, PFCDemand: PFCDemand, Near: near}
	for _, c := range ByChip(results) {
		if c.Drop.Of+c.PFC.Of > 0 {
			p.Chips = append(p.Chips, []string{c.Chip, brief(c.Drop), brief(c.DropGroups), brief(c.PFC), brief(c.PFCGroups)})
		}
	}
	for i := range results {
		r := &results[i]
		if r.NoTest != "" {
			p.NoTest = gather(p.NoTest, r.ID, r.NoTest)
			continue
		}
		p.Rows = append(p.Rows, r.Cells())
		for _, why := range r.Why {
			p.Why = gather(p.Why, r.ID, r.Chip+", "+why)
		}
		if r.Resume != nil {
			p.Resumed.add(r.Resume.Within)
		}
		if r.Pool != nil {
			p.Pools.add(r.Pool.Within)
		}
		if r.Turns != nil && r.Turns.Same() {
			p.Turns.Of += r.Turns.Queues
			p.Turns.Within += r.Turns.Exact
			p.Worst = max(p.Worst, r.Turns.Worst)
		}
	}
	return document.Execute(w, p)
}

func brief(s Share) string {
	if s.Of == 0 {
		return "no test"
	}
	return fmt.Sprintf("%d of %d", s.Within, s.Of)
}

// gather adds the name of a row to those with the same sentence.
func gather(list [][2]string, id, text string) [][2]string {
	for i := range list {
		if list[i][1] == text {
			list[i][0] += ", " + id
			return list
		}
	}
	return append(list, [2]string{id, text})
}
