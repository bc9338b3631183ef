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

// Columns are the headings of Cells.
var Columns = []string{"row", "group", "chip", "topology", "Mbps", "m", "match", "PFC", "drop after PFC", "resumed", "in turn", "pool"}

// Cells returns the table cells of a result. Thresholds are predicted/measured (difference
// in cells).
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

// text formats a comparison; an exclamation mark means out of tolerance.
func (p *Comparison) text() string {
	if p == nil {
		return ""
	}
	mark := ""
	if !p.Within {
		mark = " !"
	}
	if p.Allowed > tolerance {
		return fmt.Sprintf("%d/%d (%+d, allowed %d)%s", p.Predicted, p.Measured, p.Cells, p.Allowed, mark)
	}
	return fmt.Sprintf("%d/%d (%+d)%s", p.Predicted, p.Measured, p.Cells, mark)
}

// ChipShare has the shares of one chip.
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

// page is the data of the template.
type page struct {
	Shares                    Shares
	MinDropShare, MinPFCShare int
	Tolerance                 int
	Chips, Rows               [][]string
	Why                       [][2]string // rows, and their common explanation
	NoTest                    [][2]string
	Turns                     Share
	Worst                     int64 // largest difference of Turns
	Resumed, Pools            Share
}

// Render writes docs/fidelity-sonic.md. Equal results give equal bytes.
func Render(w io.Writer, results []Result) error {
	p := page{Shares: SharesOf(results), MinDropShare: MinDropShare, MinPFCShare: MinPFCShare, Tolerance: tolerance}
	for _, c := range ByChip(results) {
		if c.Drop.Of+c.PFC.Of > 0 {
			p.Chips = append(p.Chips, []string{c.Chip, brief(c.Drop), brief(c.DropGroups), brief(c.PFC), brief(c.PFCGroups)})
		}
	}
	for i := range results {
		r := &results[i]
		if r.NoTest != "" {
			p.NoTest = addRow(p.NoTest, r.ID, r.NoTest)
			continue
		}
		p.Rows = append(p.Rows, r.Cells())
		for _, why := range r.Why {
			p.Why = addRow(p.Why, r.ID, r.Chip+", "+why)
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
		return "not tested"
	}
	return fmt.Sprintf("%d of %d", s.Within, s.Of)
}

// addRow adds a row to the entry with the same text, or a new entry.
func addRow(list [][2]string, id, text string) [][2]string {
	for i := range list {
		if list[i][1] == text {
			list[i][0] += ", " + id
			return list
		}
	}
	return append(list, [2]string{id, text})
}
