package sweep

import (
	"math"
	"time"
)

// maxTasks is how many tasks an array has at most, unless more are asked for: Slurm
// allows 1001 by default.
const maxTasks = 1000

// Sizing says how a sweep is divided into tasks.
type Sizing struct {
	Tasks    int           // 0: as many as TaskTime wants
	TaskTime time.Duration // target
	CPUs     int           // cores of a task
}

// Load is what the tasks of a sweep take; 0 is not known, except for Tasks.
type Load struct {
	Tasks   int     `json:"tasks"`
	Seconds float64 `json:"seconds"`      // of one core, all points
	Longest float64 `json:"task_seconds"` // of the task that takes longest
	Memory  int64   `json:"memory_bytes"` // of a task
}

// Size decides how many tasks there are and what each needs, from pilot runs. It turns the
// cost of points into seconds.
func (z *Sizing) Size(points []*Point, samples []PilotRun) Load {
	var l Load
	if len(samples) > 0 {
		for _, q := range points {
			q.Cost = Estimate(samples, q.Cost)
			l.Seconds += q.Cost
		}
	}
	l.Tasks = z.Tasks
	if l.Tasks == 0 {
		l.Tasks = int(math.Ceil(l.Seconds / float64(z.CPUs) / z.TaskTime.Seconds()))
		l.Tasks = min(max(l.Tasks, 1), maxTasks)
	}
	l.Tasks = min(l.Tasks, len(points))
	for _, s := range samples {
		if s.Peak == 0 {
			l.Memory = 0
			break
		}
		l.Memory = max(l.Memory, taskMemory(s.Peak, z.CPUs))
	}
	return l
}

// Deal works out how long the longest task of a plan takes.
func (z *Sizing) Deal(l *Load, p *Plan) {
	if l.Seconds == 0 {
		return
	}
	tasks := make([]float64, l.Tasks)
	for _, w := range p.Work {
		tasks[w.Task] += w.Cost / float64(z.CPUs)
		l.Longest = max(l.Longest, tasks[w.Task])
	}
}

// TimeLimit is the time that a task may take: twice what is expected of the longest, and
// some minutes, because others may need the machine, too. 0 is not known.
func (l *Load) TimeLimit() time.Duration {
	if l.Seconds == 0 {
		return 0
	}
	return (time.Duration(2*l.Longest*float64(time.Second)) + 5*time.Minute).Round(time.Minute)
}

// MergeMemory is what the merge of points may take. It computes none, but has the scenarios
// and numbers of all: about 50 KB each of small ones.
func (l *Load) MergeMemory(points int) int64 {
	if l.Memory == 0 {
		return 0
	}
	return max(l.Memory, 128<<20+int64(points)*100<<10)
}

// taskMemory is what a task may take whose points took peak: every core has a point, and
// half as much again for those that were not tried.
func taskMemory(peak int64, cpus int) int64 {
	const step = 64 << 20
	need := peak*int64(cpus)*3/2 + step
	return (need + step - 1) / step * step
}
