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
	for i := range s.Jobs {
		if c := s.Jobs[i].Critical; c != nil {
			w.line("  (%s)", criticalLine(&s.Jobs[i], c))
		}
	}
	for i := range s.Jobs {
		if a := s.Jobs[i].Alone; a != nil && a.Slowdown > 0 {
			w.line("  (%s takes %.2f times as long as alone)", s.Jobs[i].Name, a.Slowdown)
		}
	}
	w.line("  (mean over ranks; exposed: communication while a rank does not compute; waiting: neither)")
	w.line("")
	w.rails(s.Rails)
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

// criticalLine describes the critical path of the longest iteration of a job.
func criticalLine(j *metrics.Job, c *metrics.Critical) string {
	text := fmt.Sprintf("%s: critical path of iteration %d: %s compute, %s messages", j.Name, c.Iteration, human(c.Compute), human(c.Network))
	if c.ScaleUp > 0 {
		text += fmt.Sprintf(", %s scale-up", human(c.ScaleUp))
	}
	text += fmt.Sprintf("; rank %d at %s: %s of it", c.Straggler, c.Host, human(c.Took))
	if m := c.Message; m != nil {
		text += fmt.Sprintf("; slowest message %s to %s: %s instead of %s", m.From, m.To, human(m.Took), human(m.Ideal))
	}
	return text
}

// rails prints the utilisation by rail.
func (w *sheet) rails(list []metrics.Rail) {
	if len(list) == 0 {
		return
	}
	w.line("rails\tNICs\tsent mean\tmax\treceived mean\tmax")
	for _, r := range list {
		w.line("%d\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%", r.Rail, r.NICs, 100*r.Sent.Mean, 100*r.Sent.Max, 100*r.Received.Mean, 100*r.Received.Max)
	}
	w.line("")
}
