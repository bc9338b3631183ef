package cluster

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

var example = Job{
	Name: "xoff-Mine_1", Tasks: 8, CPUs: 2, Time: 90*time.Minute + time.Second, Memory: 300<<20 + 1, Merge: 2 << 30,
	Program: "/opt/it's here/xoff", Plan: "/data/mine-plan/plan.json", Results: "/data/mine", Logs: "/data/mine-plan/log",
	Image: "registry.example/xoff:1", Claim: "data",
}

func text(t *testing.T, files []File, name string, j *Job) string {
	t.Helper()
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	var b bytes.Buffer
	if err := files[i].Write(&b, j); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSlurm(t *testing.T) {
	array := text(t, Slurm(), "array.sbatch", &example)
	for _, want := range []string{
		"#SBATCH --array=0-7\n", "#SBATCH --cpus-per-task=2\n",
		"#SBATCH --time=0-01:31:00\n", // whole minutes
		"#SBATCH --mem=301M\n", "#SBATCH --requeue\n", "#SBATCH --signal=B:USR1@60\n", "#SBATCH --output=/data/mine-plan/log/%A_%a.txt\n",
		`'/opt/it'\''s here/xoff' sweep --plan /data/mine-plan/plan.json --shard task --workers "${SLURM_CPUS_PER_TASK:-2}" &`,
	} {
		if !strings.Contains(array, want) {
			t.Errorf("%s is not in:\n%s", want, array)
		}
	}
	if merge := text(t, Slurm(), "merge.sbatch", &example); !strings.Contains(merge, "#SBATCH --mem=2048M\n") {
		t.Errorf("a merge has its own limit:\n%s", merge)
	}
	free := example
	free.Time, free.Memory = 0, 0
	if s := text(t, Slurm(), "array.sbatch", &free); strings.Contains(s, "--time") || strings.Contains(s, "--mem") {
		t.Errorf("limits that nobody knows:\n%s", s)
	}
	for _, f := range Slurm() {
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(text(t, Slurm(), f.Name, &example))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", f.Name, err, out)
		}
	}
}

// What the script of a task does when its process ends: it starts again only what was
// killed, or stopped to make room, and not for ever.
func TestSlurmRequeues(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/bash\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("scontrol", "echo \"$@\" >> "+dir+"/requeued\n")
	for _, c := range []struct {
		name, task string
		restarts   string
		code       int
		again      bool
	}{
		{"fine", "exit 0", "0", 0, false},
		{"failed", "exit 1", "0", 1, false},
		{"input", "exit 2", "0", 2, false},
		{"broken", "exit 3", "0", 3, false},
		{"killed", "kill -9 $$", "2", 137, true},
		{"killed too often", "kill -9 $$", "3", 137, false},
		{"time over", "trap 'exit 130' TERM; kill -USR1 $PPID; for i in {1..600}; do sleep 0.05; done", "19", 130, true},
		{"time over too often", "trap 'exit 130' TERM; kill -USR1 $PPID; for i in {1..600}; do sleep 0.05; done", "20", 130, false},
		{"done when time is over", "trap 'exit 0' TERM; kill -USR1 $PPID; for i in {1..600}; do sleep 0.05; done", "0", 0, false},
		{"cancelled", "trap 'exit 130' TERM; kill -TERM $PPID; for i in {1..600}; do sleep 0.05; done", "0", 130, false},
	} {
		j := example
		j.Program = write("xoff", c.task+"\n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, "bash", write("array", text(t, Slurm(), "array.sbatch", &j)))
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3", "SLURM_RESTART_COUNT="+c.restarts)
		_ = cmd.Run()
		cancel()
		// A process that ends between the signal and the second wait leaves the code of
		// the signal: it is no success either.
		if got := cmd.ProcessState.ExitCode(); got != c.code && (c.code != 130 || got < 128) {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.code)
		}
		told, _ := os.ReadFile(filepath.Join(dir, "requeued"))
		_ = os.Remove(filepath.Join(dir, "requeued"))
		if want := map[bool]string{true: "requeue 7_3\n"}[c.again]; string(told) != want {
			t.Errorf("%s: scontrol was told %q, want %q", c.name, told, want)
		}
	}
}

// job is what of batch/v1 Job the manifests use: the decoder refuses every other key.
type job struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		CompletionMode       string `yaml:"completionMode"`
		Completions          int32  `yaml:"completions"`
		Parallelism          int32  `yaml:"parallelism"`
		BackoffLimit         *int32 `yaml:"backoffLimit"`
		BackoffLimitPerIndex int32  `yaml:"backoffLimitPerIndex"`
		MaxFailedIndexes     int32  `yaml:"maxFailedIndexes"`
		PodFailurePolicy     struct {
			Rules []struct {
				Action      string `yaml:"action"`
				OnExitCodes *struct {
					ContainerName string  `yaml:"containerName"`
					Operator      string  `yaml:"operator"`
					Values        []int32 `yaml:"values"`
				} `yaml:"onExitCodes"`
				OnPodConditions []struct {
					Type   string `yaml:"type"`
					Status string `yaml:"status"`
				} `yaml:"onPodConditions"`
			} `yaml:"rules"`
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec podSpec `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type podSpec struct {
	RestartPolicy         string `yaml:"restartPolicy"`
	ActiveDeadlineSeconds int64  `yaml:"activeDeadlineSeconds"`
	Containers            []struct {
		Name      string   `yaml:"name"`
		Image     string   `yaml:"image"`
		Command   []string `yaml:"command"`
		Resources struct {
			Requests map[string]string `yaml:"requests"`
			Limits   map[string]string `yaml:"limits"`
		} `yaml:"resources"`
		VolumeMounts []struct {
			Name      string `yaml:"name"`
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	} `yaml:"containers"`
	Volumes []struct {
		Name  string `yaml:"name"`
		Claim struct {
			Name string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
	} `yaml:"volumes"`
}

func decode(t *testing.T, name string, j *Job) *job {
	t.Helper()
	out := &job{}
	if err := yaml.NewDecoder(strings.NewReader(text(t, Kubernetes(), name, j)), yaml.Strict()).Decode(out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if out.APIVersion != "batch/v1" || out.Kind != "Job" {
		t.Errorf("%s: %s %s", name, out.APIVersion, out.Kind)
	}
	pod := out.Spec.Template.Spec
	c := pod.Containers[0]
	if pod.RestartPolicy != "Never" || c.Image != example.Image || pod.Volumes[0].Claim.Name != "data" ||
		c.VolumeMounts[0].Name != pod.Volumes[0].Name || c.VolumeMounts[0].MountPath != "/xoff" {
		t.Errorf("%s: %+v", name, pod)
	}
	return out
}

func TestKubernetes(t *testing.T) {
	j := decode(t, "job.yaml", &example)
	if j.Metadata.Name != "xoff-mine-1" || j.Spec.CompletionMode != "Indexed" || j.Spec.Completions != 8 || j.Spec.Parallelism != 8 ||
		j.Spec.BackoffLimitPerIndex != 3 || j.Spec.MaxFailedIndexes != 8 || j.Spec.BackoffLimit != nil {
		t.Errorf("%+v", j)
	}
	pod := j.Spec.Template.Spec
	c := pod.Containers[0]
	// 90 minutes and a second.
	if pod.ActiveDeadlineSeconds != 5401 || c.Resources.Requests["memory"] != "301Mi" || c.Resources.Limits["memory"] != "301Mi" || c.Resources.Requests["cpu"] != "2" {
		t.Errorf("%+v", pod)
	}
	want := []string{"xoff", "sweep", "--plan", example.Plan, "--shard", "task", "--workers", "2"}
	if !slices.Equal(c.Command, want) {
		t.Errorf("got %q, want %q", c.Command, want)
	}
	// Exit codes 1, 2 and 3 end the index; a pod that has to make room counts as none;
	// everything else is tried again.
	rules := j.Spec.PodFailurePolicy.Rules
	if len(rules) != 2 || rules[0].Action != "Ignore" || rules[0].OnPodConditions[0].Type != "DisruptionTarget" || rules[1].Action != "FailIndex" ||
		rules[1].OnExitCodes.ContainerName != c.Name || rules[1].OnExitCodes.Operator != "In" || !slices.Equal(rules[1].OnExitCodes.Values, []int32{1, 2, 3}) {
		t.Errorf("%+v", rules)
	}
	m := decode(t, "merge.yaml", &example)
	if m.Spec.BackoffLimit == nil || *m.Spec.BackoffLimit != 0 || m.Metadata.Name != "xoff-mine-1-merge" {
		t.Errorf("%+v", m)
	}
	free := example
	free.Time, free.Memory = 0, 0
	pod = decode(t, "job.yaml", &free).Spec.Template.Spec
	if pod.ActiveDeadlineSeconds != 0 || len(pod.Containers[0].Resources.Limits) > 0 {
		t.Errorf("limits that nobody knows: %+v", pod)
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"xoff-busy": "xoff-busy", "A b/c": "a-b-c", "-": "sweep", "é": "sweep", "x-" + strings.Repeat("y", 60): "x-" + strings.Repeat("y", 43),
	} {
		if got := dns(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for in, want := range map[time.Duration]string{time.Second: "0-00:01:00", 25 * time.Hour: "1-01:00:00", 10 * time.Minute: "0-00:10:00"} {
		if got := clock(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
