package runreport

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
)

// fault is one of a scenario, as it is written.
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

// span is a time in which something holds.
type span struct{ from, to units.Time }

// time reads a time; one that is not there or has no end is the end of the run.
func (f *fault) time(text string, end units.Time) units.Time {
	t, err := units.ParseTime(text)
	if err != nil {
		return end
	}
	return t
}

// spans are the times in which it holds, up to the end of the run.
func (f *fault) spans(end units.Time) []span {
	from := f.time(f.At, 0)
	lasts := f.For
	if f.DownFor != "" {
		lasts = f.DownFor
	}
	long := f.time(lasts, end)
	every := f.time(f.Every, 0)
	var list []span
	for range max(1, f.Times) {
		if from >= end {
			break
		}
		to := end
		if long < end-from {
			to = from + long
		}
		list = append(list, span{from, to})
		from += every
	}
	return list
}

// what names it.
func (f *fault) what() string {
	switch {
	case f.Stuck:
		return f.Host + " stuck"
	case f.DownFor != "":
		return f.Link + " down"
	case f.Corrupt > 0:
		return fmt.Sprintf("%s damages %g of the frames", f.Link, f.Corrupt)
	}
	return f.Link + f.Host
}

// text says when.
func (f *fault) text(end units.Time) string {
	list := f.spans(end)
	if len(list) == 0 {
		return f.what() + " after the run"
	}
	text := fmt.Sprintf("%s from %s to %s", f.what(), list[0].from.Human(), list[0].to.Human())
	if len(list) > 1 {
		text += fmt.Sprintf(" and %d times more", len(list)-1)
	}
	return text
}
