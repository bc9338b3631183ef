// Package rules checks whether the configuration of a SONiC switch is lossless, for
// xoff check. Every rule is a function in a table. Its findings have the numbers, why they
// matter, and the smallest fix.
package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/interop/sonic"
)

// Severity is the severity of a finding.
type Severity string

// Severities. Only an error fails a check.
const (
	Error   Severity = "error"   // lossless frames can be dropped, or the switch rejects the entry
	Warning Severity = "warning" // a risk
	Note    Severity = "note"    // worth knowing
)

// Severities lists the severities, worst first.
var Severities = []Severity{Error, Warning, Note}

// Finding is one result of a check.
type Finding struct {
	Rule     int      `json:"rule"`
	Name     string   `json:"name"`
	Severity Severity `json:"severity"`
	Switch   string   `json:"switch"`
	File     string   `json:"file"`
	Table    string   `json:"table"`
	Keys     []string `json:"keys"` // all entries with this finding
	Field    string   `json:"field,omitempty"`

	What    string           `json:"what"`
	Numbers map[string]int64 `json:"numbers,omitempty"`
	Why     string           `json:"why"`
	Fix     string           `json:"fix"`
	Case    string           `json:"case,omitempty"` // public reports of the problem
}

// Rule is one check.
type Rule struct {
	Number int
	Name   string
	Worst  Severity
	Tables []string
	About  string // what the rule reports
	Why    string
	Case   string
	find   func(*inspector)
}

// All returns the rules by number.
func All() []Rule { return slices.Clone(table) }

// Skipped is a rule that could not be checked.
type Skipped struct {
	Rule int    `json:"rule"`
	Why  string `json:"why"`
	// Decisive: without the missing input, nobody can say whether the switch is lossless.
	Decisive bool `json:"decisive,omitempty"`
}

// Report has the findings about a switch.
type Report struct {
	Switch   string    `json:"switch"`
	File     string    `json:"file"`
	Chip     string    `json:"chip"`
	Model    string    `json:"buffer_model"`
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings"`
	Skipped  []Skipped `json:"not_judged,omitempty"`
	Groups   []Group   `json:"priority_groups"`
	Unread   []string  `json:"tables_not_read,omitempty"`
}

// Count returns the number of findings with a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Severity == s {
			n++
		}
	}
	return n
}

// Judge applies all rules to a switch. Findings are sorted by severity.
func Judge(c *sonic.Completed) *Report {
	model := "traditional"
	if c.Dynamic {
		model = "dynamic"
	}
	l := &inspector{Completed: c, report: &Report{Switch: c.Name, File: c.File, Chip: c.Chip.Name, Model: model, Findings: []Finding{}, Unread: c.Unread}}
	for i := range table {
		l.rule = &table[i]
		l.rule.find(l)
	}
	l.report.Verdict = l.verdict()
	slices.SortStableFunc(l.report.Findings, func(a, b Finding) int {
		return slices.Index(Severities, a.Severity) - slices.Index(Severities, b.Severity)
	})
	l.groups()
	return l.report
}

// inspector checks one switch.
type inspector struct {
	*sonic.Completed
	report     *Report
	rule       *Rule
	thresholds map[*sonic.Port]map[*sonic.Profile]sonic.Thresholds
}

// skip records that the current rule cannot be checked.
func (l *inspector) skip(format string, args ...any) {
	l.report.Skipped = append(l.report.Skipped, Skipped{Rule: l.rule.Number, Why: fmt.Sprintf(format, args...)})
}

// unjudged reports a warning at a location whose rule lacks a decisive input.
func (l *inspector) unjudged(at sonic.Location, s detail) {
	s.what = "not judged: " + s.what
	l.add(Warning, at, s)
	l.report.Skipped = append(l.report.Skipped, Skipped{l.rule.Number, at.Table + " " + at.Key + ": " + strings.TrimPrefix(s.what, "not judged: "), true})
}

// detail is the text of a finding, without its location.
type detail struct {
	what, fix string
	numbers   map[string]int64
}

func describe(fix, format string, args ...any) detail {
	return detail{what: fmt.Sprintf(format, args...), fix: fix}
}

func (s detail) with(numbers map[string]int64) detail {
	s.numbers = numbers
	return s
}

// add reports a finding at a location. Identical findings at several keys are merged.
func (l *inspector) add(severity Severity, at sonic.Location, s detail) {
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

// thresholdsOf returns the cached thresholds of a port's profile.
func (l *inspector) thresholdsOf(p *sonic.Port, profile *sonic.Profile) sonic.Thresholds {
	if x, ok := l.thresholds[p][profile]; ok {
		return x
	}
	if l.thresholds == nil {
		l.thresholds = map[*sonic.Port]map[*sonic.Profile]sonic.Thresholds{}
	}
	if l.thresholds[p] == nil {
		l.thresholds[p] = map[*sonic.Profile]sonic.Thresholds{}
	}
	x := l.ThresholdsOf(p, profile)
	l.thresholds[p][profile] = x
	return x
}

// atField returns the location of a field of an entry.
func atField(p sonic.Location, field string) sonic.Location {
	p.Field = field
	return p
}

// groupEntry returns the location of a priority group in BUFFER_PG.
func groupEntry(p *sonic.Port, group int) sonic.Location {
	pg := p.PG[group]
	if pg == nil || pg.Generated {
		return sonic.Location{File: p.File, Table: "BUFFER_PG", Key: fmt.Sprintf("%s|%d", p.Name, group)}
	}
	return pg.Location
}

// numbers formats a list of numbers, with ranges for four or more in a row.
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

// roundUp rounds bytes up to whole units of storage.
func (l *inspector) roundUp(b units.Bytes) int64 {
	unit := l.Unit()
	return int64((b + unit - 1) / unit * unit)
}
