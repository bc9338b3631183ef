package metrics

import (
	"math"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/job"
)

// Job summarizes a job.
type Job struct {
	Name        string          `json:"name"`
	Ranks       int             `json:"ranks"`
	Operations  int             `json:"operations"`         // sends, recvs and computes of all ranks
	Unfinished  int             `json:"unfinished"`         // operations that were not complete at the end of the run
	Iterations  []units.Time    `json:"iterations_ps"`      // time of each complete iteration
	Compute     units.Time      `json:"compute_ps"`         // time in which a rank computed, mean over ranks, in complete iterations
	Exposed     units.Time      `json:"exposed_ps"`         // time in which it communicated and did not compute, mean over ranks
	Waiting     units.Time      `json:"waiting_ps"`         // time in which it did neither, mean over ranks
	Slowest     int             `json:"slowest_rank"`       // rank that finished last in the longest iteration
	SlowestHost string          `json:"slowest_host"`       // its NIC
	Alone       *Alone          `json:"alone,omitempty"`    // with output.alone and several workloads
	Critical    *Critical       `json:"critical,omitempty"` // of the longest complete iteration
	Collectives []JobCollective `json:"collectives"`        // by operation, algorithm, ranks and size
}

// Alone compares a job with a run without other workloads, on the same GPUs.
type Alone struct {
	Iterations []units.Time `json:"iterations_ps"` // time of each complete iteration
	Slowdown   float64      `json:"slowdown"`      // mean iteration time of this run over that mean; 0: no iteration was complete
}

// SetAlone compares a job of the summary with a run of it alone. If one has fewer complete
// iterations, it compares as many of both.
func (s *Summary) SetAlone(name string, j *job.Job) {
	alone := &Alone{Iterations: []units.Time{}}
	for _, span := range roundsOf(j).spans {
		if span.Done && span.Ops > 0 {
			alone.Iterations = append(alone.Iterations, span.To-span.From)
		}
	}
	for i := range s.Jobs {
		if s.Jobs[i].Name != name {
			continue
		}
		var with, without units.Time
		for k := range min(len(alone.Iterations), len(s.Jobs[i].Iterations)) {
			with, without = with+s.Jobs[i].Iterations[k], without+alone.Iterations[k]
		}
		if without > 0 {
			alone.Slowdown = float64(with) / float64(without)
		}
		s.Jobs[i].Alone = alone
	}
}

// JobCollective summarizes the complete collectives of one kind in a job.
type JobCollective struct {
	Operation string      `json:"operation"`
	Algorithm string      `json:"algorithm"`
	Ranks     int         `json:"ranks"`
	Size      units.Bytes `json:"size_bytes"`
	Count     int         `json:"count"`
	Mean      units.Time  `json:"mean_ps"`
	Max       units.Time  `json:"max_ps"`
	AlgBW     float64     `json:"algbw_bytes_per_s"` // size over mean time
	BusBW     float64     `json:"busbw_bytes_per_s"` // as nccl-tests define it
}

// rounds are the iterations of a job, for all ranks.
type rounds struct {
	ranks [][]job.Iteration // by rank
	spans []job.Span        // by iteration
}

func roundsOf(j *job.Job) rounds {
	r := rounds{spans: make([]job.Span, j.Iterations)}
	for rank := range j.Ranks {
		list := j.RankIterations(rank)
		r.ranks = append(r.ranks, list)
		for i, it := range list {
			s := &r.spans[i]
			if it.Ops == 0 {
				continue
			}
			if s.Ops == 0 {
				s.From, s.Done = it.From, true
			}
			s.Ops, s.From, s.To, s.Done = s.Ops+it.Ops, min(s.From, it.From), max(s.To, it.To), s.Done && it.Done
		}
	}
	return r
}

// longest returns the longest complete iteration, or -1.
func (r *rounds) longest() int {
	best := -1
	for i, s := range r.spans {
		if s.Done && s.Ops > 0 && (best < 0 || s.To-s.From > r.spans[best].To-r.spans[best].From) {
			best = i
		}
	}
	return best
}

// jobs summarizes the jobs of a run.
func (o *Outcome) jobs() []Job {
	var list []Job
	for _, j := range o.Jobs {
		r := roundsOf(j)
		s := Job{Name: j.Name, Ranks: len(j.Ranks), Operations: len(j.Ops), Unfinished: j.Left(), Iterations: []units.Time{}, Collectives: o.jobCollectives(j)}
		longest := units.Time(-1)
		n := units.Time(0)
		for i, span := range r.spans {
			if !span.Done || span.Ops == 0 {
				continue
			}
			s.Iterations = append(s.Iterations, span.To-span.From)
			for rank := range r.ranks {
				it := &r.ranks[rank][i]
				s.Compute += it.Compute
				s.Exposed += it.Exposed
				s.Waiting += span.To - span.From - it.Compute - it.Exposed
				n++
				if span.To-span.From > longest && it.To == span.To {
					longest, s.Slowest = span.To-span.From, rank
				}
			}
		}
		if n > 0 {
			s.Compute, s.Exposed, s.Waiting = s.Compute/n, s.Exposed/n, s.Waiting/n
		}
		s.Critical = o.critical(j, r.longest())
		s.SlowestHost = o.Nodes[j.Ranks[s.Slowest].Host]
		list = append(list, s)
	}
	return list
}

func (o *Outcome) jobCollectives(j *job.Job) []JobCollective {
	list := []JobCollective{}
	spans := j.Collectives()
	known := make(map[job.Label]int)
	for i, l := range j.Labels {
		if l.Operation == "" || !spans[i].Done || spans[i].Ops == 0 {
			continue
		}
		kind := job.Label{Operation: l.Operation, Algorithm: l.Algorithm, Ranks: l.Ranks, Size: l.Size}
		k, ok := known[kind]
		if !ok {
			k = len(list)
			known[kind] = k
			list = append(list, JobCollective{Operation: l.Operation, Algorithm: l.Algorithm, Ranks: l.Ranks, Size: l.Size})
		}
		c := &list[k]
		took := spans[i].To - spans[i].From
		c.Count++
		c.Mean += took
		c.Max = max(c.Max, took)
	}
	for i := range list {
		c := &list[i]
		c.Mean /= units.Time(c.Count)
		c.AlgBW = bandwidth(c.Size, c.Mean)
		c.BusBW = float64(c.AlgBW * BusFactor(c.Operation, c.Ranks))
	}
	return list
}

// bandwidth returns bytes per second.
func bandwidth(size units.Bytes, took units.Time) float64 {
	if took <= 0 {
		return 0
	}
	return float64(size) / took.Seconds()
}

// BusFactor returns the bus bandwidth of a collective over its algorithm bandwidth, as
// nccl-tests define them; 0 if the operation is unknown.
func BusFactor(operation string, ranks int) float64 {
	n := float64(ranks)
	switch operation {
	case "all_reduce":
		return 2 * (n - 1) / n
	case "all_gather", "reduce_scatter", "all_to_all":
		return (n - 1) / n
	case "broadcast":
		return 1
	}
	return 0
}

// jobNames returns the names of the jobs.
func (o *Outcome) jobNames() []string {
	var names []string
	for _, j := range o.Jobs {
		names = append(names, j.Name)
	}
	return names
}

// rankColumns is the layout of ranks.parquet: one row per job, rank and iteration.
func (o *Outcome) rankColumns() []probe.Column {
	return []probe.Column{
		{Name: "job", Type: probe.Text, Texts: o.jobNames(), Doc: "name of the workload"},
		{Name: "rank", Doc: "rank in the job"},
		{Name: "host", Type: probe.Text, Texts: o.Hosts, Doc: "NIC of its GPU"},
		{Name: "iteration", Doc: "iteration, from 0"},
		{Name: "start_ps", Doc: "start of the first send or compute of the rank"},
		{Name: "end_ps", Nullable: true, Doc: "end of its last operation; null: unfinished"},
		{Name: "compute_ps", Doc: "time in which the rank computed"},
		{Name: "exposed_ps", Nullable: true, Doc: "time in which it communicated and did not compute; null: unfinished"},
		{Name: "waiting_ps", Nullable: true, Doc: "time in which it did neither; null: unfinished"},
	}
}

func (o *Outcome) writeRanks(t *Table) error {
	for i, j := range o.Jobs {
		for rank := range j.Ranks {
			for k, it := range j.RankIterations(rank) {
				if it.Ops == 0 {
					continue
				}
				row := []int64{int64(i), int64(rank), int64(j.Ranks[rank].Host), int64(k), int64(it.From), probe.Null, int64(it.Compute), probe.Null, probe.Null}
				if it.Done {
					row[5], row[7], row[8] = int64(it.To), int64(it.Exposed), int64(it.Waiting())
				}
				if err := t.Row(row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// algorithms returns the distinct names in the labels of jobs, for text columns.
func (o *Outcome) algorithms() (texts []string, index map[string]int64) {
	index = make(map[string]int64)
	for _, j := range o.Jobs {
		for _, l := range j.Labels {
			for _, name := range [...]string{l.Name, l.Operation, l.Algorithm} {
				if _, ok := index[name]; !ok {
					index[name] = int64(len(texts))
					texts = append(texts, name)
				}
			}
		}
	}
	return texts, index
}

// collectiveColumns is the layout of collectives.parquet: one row per collective of a job.
func (o *Outcome) collectiveColumns() []probe.Column {
	texts, _ := o.algorithms()
	return []probe.Column{
		{Name: "job", Type: probe.Text, Texts: o.jobNames(), Doc: "name of the workload"},
		{Name: "collective", Doc: "its number in the job, from 0: `group` of its flows"},
		{Name: "name", Type: probe.Text, Texts: texts, Doc: "name in the job, such as a layer"},
		{Name: "iteration", Doc: "iteration, from 0"},
		{Name: "operation", Type: probe.Text, Texts: texts, Doc: "all_reduce, all_gather, .."},
		{Name: "algorithm", Type: probe.Text, Texts: texts, Doc: "algorithm"},
		{Name: "ranks", Doc: "number of ranks"},
		{Name: "size_bytes", Doc: "size as nccl-tests count it"},
		{Name: "start_ps", Doc: "start of its first send"},
		{Name: "end_ps", Doc: "end of its last operation"},
		{Name: "time_ps", Doc: "end_ps - start_ps"},
		{Name: "algbw_bytes_per_s", Type: probe.Float, Doc: "size_bytes over time"},
		{Name: "busbw_bytes_per_s", Type: probe.Float, Doc: "algbw times the factor of nccl-tests: all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all (n-1)/n; broadcast 1"},
	}
}

func (o *Outcome) writeCollectives(t *Table) error {
	_, index := o.algorithms()
	for i, j := range o.Jobs {
		for k, s := range j.Collectives() {
			l := &j.Labels[k]
			if l.Operation == "" || !s.Done || s.Ops == 0 {
				continue
			}
			alg := bandwidth(l.Size, s.To-s.From)
			row := []int64{
				int64(i), int64(k), index[l.Name], int64(l.Iteration), index[l.Operation], index[l.Algorithm], int64(l.Ranks), int64(l.Size),
				int64(s.From), int64(s.To), int64(s.To - s.From), int64(math.Float64bits(alg)), int64(math.Float64bits(float64(alg * BusFactor(l.Operation, l.Ranks)))),
			}
			if err := t.Row(row); err != nil {
				return err
			}
		}
	}
	return nil
}
