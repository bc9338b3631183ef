package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shard is the part of the points that one task computes. Tasks do not communicate: each
// task computes the same assignment of all points and runs its own.
type Shard struct {
	Index int // from 0
	Of    int // number of tasks
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// taskWord selects the task index from the environment.
const taskWord = "task"

// Environment variables of array tasks. The Slurm variables describe the submitted array:
// with `--array=3` the count is 1.
const (
	slurmIndex = "SLURM_ARRAY_TASK_ID"
	slurmCount = "SLURM_ARRAY_TASK_COUNT"
	slurmMin   = "SLURM_ARRAY_TASK_MIN"
	slurmMax   = "SLURM_ARRAY_TASK_MAX"
	slurmStep  = "SLURM_ARRAY_TASK_STEP"
	kubeIndex  = "JOB_COMPLETION_INDEX"
)

// ParseShard parses 3/8, task/8 or task. The word task selects the index from the
// environment. The argument planned is the number of tasks of the plan, or 0 without a plan.
func ParseShard(text string, planned int, getenv func(string) string) (Shard, error) {
	index, of, hasCount := strings.Cut(text, "/")
	s := Shard{Of: planned}
	var err error
	switch {
	case hasCount:
		if s.Of, err = strconv.Atoi(of); err != nil || s.Of < 1 || s.Of > maxPoints {
			return s, fmt.Errorf("bad shard: %q (expected I/N or task/N, with N from 1 to %d)", text, maxPoints)
		}
		if planned > 0 && s.Of != planned {
			return s, fmt.Errorf("bad shard: %q, but the plan has %d tasks (expected 0/%d to %d/%d, or %s)", text, planned, planned, planned-1, planned, taskWord)
		}
	case index != taskWord:
		return s, fmt.Errorf("bad shard: %q (expected I/N, such as 0/8 to 7/8, task/N, or %s)", text, taskWord)
	case planned == 0:
		if s.Of, err = arraySize(getenv); err != nil {
			return s, err
		}
	}
	variable := ""
	if index == taskWord {
		if variable, index = taskIndex(getenv); variable == "" {
			return s, fmt.Errorf("shard %q outside an array task (expected %s or %s in the environment, or I/N)", text, slurmIndex, kubeIndex)
		}
		variable += "="
	}
	if s.Index, err = strconv.Atoi(index); err != nil || s.Index < 0 || s.Index >= s.Of {
		return s, fmt.Errorf("bad task index: %s%s of %d tasks (expected 0 to %d)", variable, index, s.Of, s.Of-1)
	}
	return s, nil
}

// taskIndex returns the environment variable of the task index and its value, or "".
func taskIndex(getenv func(string) string) (name, value string) {
	for _, name := range []string{slurmIndex, kubeIndex} {
		if value := getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// arraySize returns the number of tasks of a Slurm array from the environment. The array
// must be complete: the variables of a resubmitted part do not give the total.
func arraySize(getenv func(string) string) (int, error) {
	n, err := strconv.Atoi(getenv(slurmCount))
	step, last := getenv(slurmStep), getenv(slurmMax)
	if err != nil || n < 1 || getenv(slurmMin) != "0" || step != "" && step != "1" || last != "" && last != strconv.Itoa(n-1) {
		return 0, fmt.Errorf("shard %q with an unknown number of tasks (expected %s/N, --plan FILE, or a Slurm array from 0)", taskWord, taskWord)
	}
	return n, nil
}

// AssignTasks returns the task of every point. It assigns the most costly point first, each to
// the task with the lowest cost so far. The result depends only on the arguments.
func AssignTasks(costs []float64, tasks int) []int {
	order := make([]int, len(costs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	load, count := make([]float64, tasks), make([]int, tasks)
	assigned := make([]int, len(costs))
	for _, i := range order {
		least := 0
		for t := range load {
			// The count spreads points of cost 0 evenly.
			if c := cmp.Compare(load[t], load[least]); c < 0 || c == 0 && count[t] < count[least] {
				least = t
			}
		}
		assigned[i] = least
		load[least] += costs[i]
		count[least]++
	}
	return assigned
}
