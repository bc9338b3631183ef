package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shard is the part of the points that one of several tasks computes. Tasks know
// nothing of each other: every one deals all points the same way and takes its own.
type Shard struct {
	Index int // from 0 on
	Of    int // tasks
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// taskWord stands for the index that the environment of a task has.
const taskWord = "task"

// Variables that schedulers give the tasks of an array. Those of Slurm that describe
// the array are about what was submitted: of `--array=3` the count is 1.
const (
	slurmIndex = "SLURM_ARRAY_TASK_ID"
	slurmCount = "SLURM_ARRAY_TASK_COUNT"
	slurmLeast = "SLURM_ARRAY_TASK_MIN"
	slurmMost  = "SLURM_ARRAY_TASK_MAX"
	slurmStep  = "SLURM_ARRAY_TASK_STEP"
	kubeIndex  = "JOB_COMPLETION_INDEX"
)

// ParseShard reads 3/8, task/8 or task: the index is that of the environment then. How
// many tasks there are is what the plan says, unless planned is 0.
func ParseShard(text string, planned int, getenv func(string) string) (Shard, error) {
	index, of, both := strings.Cut(text, "/")
	s := Shard{Of: planned}
	var err error
	switch {
	case both:
		if s.Of, err = strconv.Atoi(of); err != nil || s.Of < 1 || s.Of > maxPoints {
			return s, fmt.Errorf("%q is no part of the points; allowed: I/N or task/N, with N from 1 to %d", text, maxPoints)
		}
		if planned > 0 && s.Of != planned {
			return s, fmt.Errorf("%q: the plan has %d tasks; allowed: 0/%d to %d/%d, or %s", text, planned, planned, planned-1, planned, taskWord)
		}
	case index != taskWord:
		return s, fmt.Errorf("%q is no part of the points; allowed: I/N, such as 0/8 to 7/8, task/N, or %s", text, taskWord)
	case planned == 0:
		if s.Of, err = arraySize(getenv); err != nil {
			return s, err
		}
	}
	where := ""
	if index == taskWord {
		if where, index = taskIndex(getenv); where == "" {
			return s, fmt.Errorf("%q: this is no task of an array; allowed: %s or %s in the environment, or I/N", text, slurmIndex, kubeIndex)
		}
		where += "="
	}
	if s.Index, err = strconv.Atoi(index); err != nil || s.Index < 0 || s.Index >= s.Of {
		return s, fmt.Errorf("%s%s is no task of %d; allowed: 0 to %d", where, index, s.Of, s.Of-1)
	}
	return s, nil
}

func taskIndex(getenv func(string) string) (name, value string) {
	for _, name := range []string{slurmIndex, kubeIndex} {
		if value := getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// arraySize is how many tasks an array has whose script says nothing about it. It must
// be a whole one: of a part that is submitted again the size is another.
func arraySize(getenv func(string) string) (int, error) {
	n, err := strconv.Atoi(getenv(slurmCount))
	step, most := getenv(slurmStep), getenv(slurmMost)
	if err != nil || n < 1 || getenv(slurmLeast) != "0" || step != "" && step != "1" || most != "" && most != strconv.Itoa(n-1) {
		return 0, fmt.Errorf("%s: nobody says how many tasks there are; allowed: %s/N, --plan FILE, or an array of Slurm from 0 on", taskWord, taskWord)
	}
	return n, nil
}

// Deal gives every point the task that computes it: the most costly first, each to the
// task that has least to do so far. It depends on nothing but its arguments.
func Deal(costs []float64, tasks int) []int {
	order := make([]int, len(costs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	load, count := make([]float64, tasks), make([]int, tasks)
	dealt := make([]int, len(costs))
	for _, i := range order {
		least := 0
		for t := range load {
			// Points that cost nothing are dealt evenly, too.
			if c := cmp.Compare(load[t], load[least]); c < 0 || c == 0 && count[t] < count[least] {
				least = t
			}
		}
		dealt[i] = least
		load[least] += costs[i]
		count[least]++
	}
	return dealt
}
