package engine

import "github.com/xoff-net/xoff/metrics"

// Compared is a metric of a live run and of its simulation.
type Compared struct {
	Name      string   `json:"name"`
	Live      float64  `json:"live"`
	Simulated float64  `json:"simulated"`
	Change    *float64 `json:"change_percent"` // of live relative to simulated; null if only simulated is 0
	Time      bool     `json:"-"`              // values are picoseconds
}

// Compare compares a live run with its simulation.
func Compare(live, simulated *metrics.Summary) []Compared {
	fct := func(s *metrics.Summary) metrics.Times {
		if s.FCT == nil {
			return metrics.Times{}
		}
		return *s.FCT
	}
	l, s := live, simulated
	list := []Compared{
		{Name: "lossless drops", Live: float64(l.Drops.Lossless), Simulated: float64(s.Drops.Lossless)},
		{Name: "pauses", Live: float64(l.Pauses.Pauses), Simulated: float64(s.Pauses.Pauses)},
		{Name: "flows finished", Live: float64(l.Flows.Completed), Simulated: float64(s.Flows.Completed)},
		{Name: "median FCT", Live: float64(fct(l).P50), Simulated: float64(fct(s).P50), Time: true},
		{Name: "p99 FCT", Live: float64(fct(l).P99), Simulated: float64(fct(s).P99), Time: true},
	}
	for i := range list {
		c := &list[i]
		switch {
		case c.Live == c.Simulated:
			c.Change = new(float64)
		case c.Simulated != 0:
			change := 100 * (c.Live - c.Simulated) / c.Simulated
			c.Change = &change
		}
	}
	return list
}
