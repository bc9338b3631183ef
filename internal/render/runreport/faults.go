package runreport

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// fault is one entry under faults in the resolved scenario.
type fault struct {
	At      string
	Link    string
	DownFor string `yaml:"down_for"`
	Times   int
	Every   string
	Corrupt float64
	For     string
	Host    string
	Stuck   bool
}

// span is an interval of simulated time.
type span struct{ from, to units.Time }

// parse parses a time. It returns missing for an absent time and for "forever".
func (f *fault) parse(text string, missing units.Time) units.Time {
	t, err := units.ParseTime(text)
	if err != nil {
		return missing
	}
	return t
}

// spans returns the intervals in which the fault is active, up to the end of the run.
func (f *fault) spans(end units.Time) []span {
	from := f.parse(f.At, 0)
	text := f.For
	if f.DownFor != "" {
		text = f.DownFor
	}
	duration := f.parse(text, end)
	every := f.parse(f.Every, 0)
	var list []span
	for range max(1, f.Times) {
		if from >= end {
			break
		}
		to := end
		if duration < end-from {
			to = from + duration
		}
		list = append(list, span{from, to})
		from += every
	}
	return list
}

// label returns a short description of the fault.
func (f *fault) label() string {
	switch {
	case f.Stuck:
		return f.Host + " stuck"
	case f.DownFor != "":
		return f.Link + " down"
	case f.Corrupt > 0:
		return fmt.Sprintf("%s corrupts %g of its frames", f.Link, f.Corrupt)
	}
	return f.Link + f.Host
}

// text returns a description of the fault with its first interval and the number of others.
func (f *fault) text(end units.Time) string {
	list := f.spans(end)
	if len(list) == 0 {
		return f.label() + " after the end of the run"
	}
	text := fmt.Sprintf("%s from %s to %s", f.label(), list[0].from.Human(), list[0].to.Human())
	if len(list) > 1 {
		text += fmt.Sprintf(" and %d more times", len(list)-1)
	}
	return text
}
