package cli

import (
	"fmt"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/metrics"
)

// jobs prints the iterations and collectives of jobs, if there are any.
func (w *sheet) jobs(s *metrics.Summary) {
	if len(s.Jobs) == 0 {
		return
	}
	w.line("jobs\tranks\titerations\tmean\tmax\tcompute\texposed\twaiting\tslowest rank")
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if len(j.Iterations) == 0 {
			w.line("%s\t%d\t0\t-\t-\t-\t-\t-\t%d operations unfinished", j.Name, j.Ranks, j.Unfinished)
			continue
		}
		sum, most := units.Time(0), units.Time(0)
		for _, t := range j.Iterations {
			sum, most = sum+t, max(most, t)
		}
		w.line("%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%d at %s", j.Name, j.Ranks, len(j.Iterations), human(sum/units.Time(len(j.Iterations))), human(most),
			human(j.Compute), human(j.Exposed), human(j.Waiting), j.Slowest, j.SlowestHost)
	}
	w.line("  (mean over ranks; exposed: communication while a rank does not compute; waiting: neither)")
	w.line("")
	head := false
	for i := range s.Jobs {
		for _, c := range s.Jobs[i].Collectives {
			if !head {
				w.line("collectives\tranks\tsize\tcount\tmean\tmax\talgbw\tbusbw")
				head = true
			}
			w.line("%s %s %s\t%d\t%s\t%d\t%s\t%s\t%s\t%s", s.Jobs[i].Name, c.Operation, c.Algorithm, c.Ranks, c.Size.Human(), c.Count, human(c.Mean), human(c.Max),
				gigabytes(c.AlgBW), gigabytes(c.BusBW))
		}
	}
	if head {
		w.line("")
	}
}

// gigabytes formats a bandwidth as nccl-tests do.
func gigabytes(bytesPerSecond float64) string {
	return fmt.Sprintf("%.2f GB/s", bytesPerSecond/float64(units.GB))
}
