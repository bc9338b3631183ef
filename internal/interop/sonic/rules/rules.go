// Package rules judges the configuration of a SONiC switch: is it lossless, and
// where is it not. Every rule is a function in a table; it reports what it finds
// with the numbers, why it matters and the smallest change that mends it.
package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// Severity says how bad a finding is.
type Severity string

// Severities. Only an error fails a check.
const (
	Error   Severity = "error"   // frames of a lossless class can be lost, or the switch refuses it
	Warning Severity = "warning" // a risk
	Note    Severity = "note"    // worth knowing
)

// Severities lists them, worst first.
var Severities = []Severity{Error, Warning, Note}

// Finding is something that an engineer should mend, or know.
type Finding struct {
	Rule     int      `json:"rule"`
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	Switch   string   `json:"switch"`
	File     string   `json:"file"`
	Table    string   `json:"table"`
	Keys     []string `json:"keys"` // of all entries of which the same is true
	Field    string   `json:"field,omitempty"`

	What    string           `json:"what"`
	Numbers map[string]int64 `json:"numbers,omitempty"`
	Why     string           `json:"why"`
	Fix     string           `json:"fix"`
	Case    string           `json:"case,omitempty"` // where it happened in public
}

// Rule is one thing to look at.
type Rule struct {
	Number int
	Name   string
	Worst  Severity
	Tables []string
	About  string // what it reports
	Why    string
	Case   string
	find   func(*look)
}

// All returns the rules by number.
func All() []Rule { return slices.Clone(table) }

// Skipped is a rule that could not be judged.
type Skipped struct {
	Rule int    `json:"rule"`
	Why  string `json:"why"`
}

// Report is what the rules say about a switch.
type Report struct {
	Switch   string    `json:"switch"`
	File     string    `json:"file"`
	Chip     string    `json:"chip"`
	Model    string    `json:"buffer_model"`
	Findings []Finding `json:"findings"`
	Skipped  []Skipped `json:"not_judged,omitempty"`
	Groups   []Group   `json:"priority_groups"`
	Unread   []string  `json:"tables_not_read,omitempty"`
}

// Count is how many findings have a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Severity == s {
			n++
		}
	}
	return n
}

// Judge looks at a switch.
func Judge(c *sonic.Completed) *Report {
	model := "traditional"
	if c.Dynamic {
		model = "dynamic"
	}
	l := &look{Completed: c, report: &Report{Switch: c.Name, File: c.File, Chip: c.Chip.Name, Model: model, Findings: []Finding{}, Unread: c.Unread}}
	for i := range table {
		l.rule = &table[i]
		l.rule.find(l)
	}
	slices.SortStableFunc(l.report.Findings, func(a, b Finding) int {
		return slices.Index(Severities, a.Severity) - slices.Index(Severities, b.Severity)
	})
	l.groups()
	return l.report
}

// look is one switch that is being judged.
type look struct {
	*sonic.Completed
	report *Report
	rule   *Rule
	points map[*sonic.Port]map[*sonic.Profile]sonic.Points
}

// skip says that a rule cannot be judged.
func (l *look) skip(format string, args ...any) {
	l.report.Skipped = append(l.report.Skipped, Skipped{l.rule.Number, fmt.Sprintf(format, args...)})
}

// said is what a finding says, without where.
type said struct {
	what, fix string
	numbers   map[string]int64
}

func say(fix, format string, args ...any) said {
	return said{what: fmt.Sprintf(format, args...), fix: fix}
}

func (s said) with(numbers map[string]int64) said {
	s.numbers = numbers
	return s
}

// add reports something at a place. What is the same at several places is one
// finding.
func (l *look) add(severity Severity, at sonic.Place, s said) {
	for i := len(l.report.Findings) - 1; i >= 0; i-- {
		f := &l.report.Findings[i]
		if f.Rule != l.rule.Number {
			break
		}
		if f.Severity == severity && f.Table == at.Table && f.Field == at.Field && f.What == s.what && f.Fix == s.fix {
			if !slices.Contains(f.Keys, at.Key) {
				f.Keys = append(f.Keys, at.Key)
			}
			return
		}
	}
	l.report.Findings = append(l.report.Findings, Finding{
		Rule: l.rule.Number, Name: l.rule.Name, Severity: severity, Switch: l.Name, File: at.File, Table: at.Table, Keys: []string{at.Key}, Field: at.Field,
		What: s.what, Numbers: s.numbers, Why: l.rule.Why, Fix: s.fix, Case: l.rule.Case,
	})
}

// pointsOf remembers where profiles of a port pause and drop.
func (l *look) pointsOf(p *sonic.Port, profile *sonic.Profile) sonic.Points {
	if x, ok := l.points[p][profile]; ok {
		return x
	}
	if l.points == nil {
		l.points = map[*sonic.Port]map[*sonic.Profile]sonic.Points{}
	}
	if l.points[p] == nil {
		l.points[p] = map[*sonic.Profile]sonic.Points{}
	}
	x := l.PointsOf(p, profile)
	l.points[p][profile] = x
	return x
}

// in is a place in a table.
func in(p sonic.Place, field string) sonic.Place {
	p.Field = field
	return p
}

// where is the entry of a priority group in its table.
func where(p *sonic.Port, group int) sonic.Place {
	pg := p.PG[group]
	if pg == nil || pg.Made {
		return sonic.Place{File: p.File, Table: "BUFFER_PG", Key: fmt.Sprintf("%s|%d", p.Name, group)}
	}
	return pg.Place
}

// numbers lists small numbers.
func numbers(list []int) string {
	var words []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j > i+2 {
			words = append(words, fmt.Sprintf("%d-%d", list[i], list[j]))
			i = j + 1
		}
		for ; i <= j; i++ {
			words = append(words, fmt.Sprint(list[i]))
		}
	}
	return strings.Join(words, ", ")
}

// up rounds bytes up to whole units of storage.
func (l *look) up(b units.Bytes) int64 {
	unit := l.Unit()
	return int64((b + unit - 1) / unit * unit)
}
