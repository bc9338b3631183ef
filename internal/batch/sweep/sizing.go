package sweep

import (
	"math"
	"time"
)

// maxTasks is the maximum number of tasks if Sizing.Tasks is 0. Slurm allows 1001 by
// default.
const maxTasks = 1000

// Sizing defines how a sweep is divided into tasks.
type Sizing struct {
	Tasks    int           // 0: derived from TaskTime
	TaskTime time.Duration // target time of a task
	CPUs     int           // cores per task
}

// Load is the estimated load of a sweep. Zero means unknown, except for Tasks.
type Load struct {
	Tasks   int     `json:"tasks"`
	Seconds float64 `json:"seconds"`      // core seconds of all points
	Longest float64 `json:"task_seconds"` // seconds of the longest task
	Memory  int64   `json:"memory_bytes"` // memory of a task
}

// Size determines the number of tasks and their memory from pilot runs. It replaces the
// cost of points by seconds.
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

// Deal sets Load.Longest from the tasks of a plan.
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

// TimeLimit returns the time limit of a task: twice the expected time of the longest task
// plus five minutes, because other jobs may share the machine. 0 means unknown.
func (l *Load) TimeLimit() time.Duration {
	if l.Seconds == 0 {
		return 0
	}
	return (time.Duration(2*l.Longest*float64(time.Second)) + 5*time.Minute).Round(time.Minute)
}

// MergeMemory returns the memory limit of the merge in bytes. The merge keeps the scenarios
// and metrics of all points, about 50 KB each for small ones. 0 means unknown.
func (l *Load) MergeMemory(points int) int64 {
	if l.Memory == 0 {
		return 0
	}
	return max(l.Memory, 128<<20+int64(points)*100<<10)
}

// taskMemory returns the memory limit of a task from the peak of a pilot run: one point per
// core, and 50 % more for points that were not measured.
func taskMemory(peak int64, cpus int) int64 {
	const step = 64 << 20
	need := peak*int64(cpus)*3/2 + step
	return (need + step - 1) / step * step
}
