package sweep

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/xoff-net/xoff/internal/devtool/trials"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if value, ok := strings.CutPrefix(p, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestParseShard(t *testing.T) {
	slurm := []string{"SLURM_ARRAY_TASK_ID=3", "SLURM_ARRAY_TASK_COUNT=8", "SLURM_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_STEP=1"}
	again := []string{"SLURM_ARRAY_TASK_ID=3", "SLURM_ARRAY_TASK_COUNT=1", "SLURM_ARRAY_TASK_MIN=3", "SLURM_ARRAY_TASK_STEP=1"}
	for _, c := range []struct {
		text    string
		planned int
		env     []string
		want    string // shard, or part of the error
	}{
		{"0/8", 0, nil, "0/8"},
		{"7/8", 8, nil, "7/8"},
		{"task", 0, slurm, "3/8"},
		{"task/5", 0, slurm, "3/5"},
		// A resubmitted task: the plan knows the number of tasks, the environment does not.
		{"task", 8, again, "3/8"},
		{"task/8", 0, again, "3/8"},
		{"task", 0, again, "unknown number of tasks (expected task/N, --plan FILE"},
		{"task", 4, []string{"JOB_COMPLETION_INDEX=2"}, "2/4"},
		{"task", 0, []string{"JOB_COMPLETION_INDEX=2"}, "unknown number of tasks"},
		{"task", 0, []string{"SLURM_ARRAY_TASK_ID=1", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_MAX=5", "SLURM_ARRAY_TASK_STEP=1"}, "unknown number of tasks"},
		{"task", 0, []string{"SLURM_ARRAY_TASK_ID=4", "SLURM_ARRAY_TASK_COUNT=3", "SLURM_ARRAY_TASK_MIN=0", "SLURM_ARRAY_TASK_STEP=2"}, "unknown number of tasks"},
		{"task", 3, slurm, "SLURM_ARRAY_TASK_ID=3 of 3 tasks (expected 0 to 2)"},
		{"task", 3, nil, "outside an array task (expected SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX"},
		{"8/8", 0, nil, "8 of 8 tasks (expected 0 to 7)"},
		{"-1/8", 0, nil, "bad task index: -1 of 8 tasks"},
		{"1/4", 8, nil, "the plan has 8 tasks (expected 0/8 to 7/8, or task)"},
		{"1/0", 0, nil, "(expected I/N or task/N, with N from 1 to 20000)"},
		{"3", 0, nil, "(expected I/N, such as 0/8 to 7/8, task/N, or task)"},
		{"x/8", 0, nil, "bad task index: x of 8 tasks"},
	} {
		s, err := ParseShard(c.text, c.planned, environment(c.env...))
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s, %d tasks planned, %v: got %q, want %q", c.text, c.planned, c.env, got, c.want)
		}
	}
}

func TestDeal(t *testing.T) {
	for _, c := range []struct {
		costs []float64
		tasks int
		want  []int
	}{
		// 5 to task 0, 4 to task 1, 3 to task 1 (4 < 5), 3 to task 0 (5 < 7), 2 to task 1
		// (7 < 8): 8 and 9.
		{[]float64{3, 5, 2, 4, 3}, 2, []int{1, 0, 1, 1, 0}},
		{[]float64{1, 1, 1, 1}, 2, []int{0, 1, 0, 1}},
		{[]float64{0, 0, 0}, 2, []int{0, 1, 0}},
		{[]float64{1}, 3, []int{0}},
		{nil, 3, []int{}},
	} {
		if got := AssignTasks(c.costs, c.tasks); !slices.Equal(got, c.want) {
			t.Errorf("%v to %d tasks: got %v, want %v", c.costs, c.tasks, got, c.want)
		}
	}
}

// No task has more than the mean plus one point: the task with the most had the least before
// its last point.
func TestDealIsEven(t *testing.T) {
	trials.Check(t, func(t *rapid.T) {
		costs := rapid.SliceOf(rapid.Float64Range(0, 1e6)).Draw(t, "costs")
		tasks := rapid.IntRange(1, 12).Draw(t, "tasks")
		load, sum, most := make([]float64, tasks), 0.0, 0.0
		for i, task := range AssignTasks(costs, tasks) {
			load[task] += costs[i]
			sum += costs[i]
			most = max(most, costs[i])
		}
		if got := slices.Max(load); got > (sum/float64(tasks)+most)*(1+1e-9) {
			t.Fatalf("a task has cost %g of %g; the largest point has %g", got, sum, most)
		}
	})
}

func TestPilots(t *testing.T) {
	var points []*Point
	for i, cost := range []float64{5, 1, 4, 2, 3} {
		points = append(points, &Point{Index: i, Cost: cost})
	}
	for n, want := range map[int][]int{1: {0}, 2: {1, 0}, 3: {1, 4, 0}, 9: {1, 3, 4, 2, 0}} {
		var got []int
		for _, p := range Pilots(points, n) {
			got = append(got, p.Index)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: got %v, want %v", n, got, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	runs := []PilotRun{{Cost: 10, Seconds: 2}, {Cost: 30, Seconds: 6}, {Cost: 30, Seconds: 8}}
	// Between 10 and 30: 2 s + 6 s * (15 - 10) / (30 - 10) = 3.5 s.
	for cost, want := range map[float64]float64{5: 2, 10: 2, 15: 3.5, 30: 8, 40: 8} {
		if got := Estimate(runs, cost); got != want {
			t.Errorf("%g: got %g, want %g", cost, got, want)
		}
	}
	if got := Estimate(nil, 1); got != 0 {
		t.Errorf("without pilots: got %g", got)
	}
}
