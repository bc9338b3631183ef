package cluster

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/xoff-net/xoff/internal/devtool/await"
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
		t.Errorf("merge.sbatch lacks the memory limit of the merge:\n%s", merge)
	}
	unlimited := example
	unlimited.Time, unlimited.Memory = 0, 0
	if s := text(t, Slurm(), "array.sbatch", &unlimited); strings.Contains(s, "--time") || strings.Contains(s, "--mem") {
		t.Errorf("a job without limits has --time or --mem:\n%s", s)
	}
	percent := example
	percent.Logs = "/data/50%j it's/log"
	for _, name := range []string{"array.sbatch", "merge.sbatch"} {
		if s := text(t, Slurm(), name, &percent); !strings.Contains(s, `#SBATCH --output='/data/50%%j it'\''s/log'/`) {
			t.Errorf("%s: Slurm would expand %%j in the log path:\n%s", name, s)
		}
	}
	for _, f := range Slurm() {
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(text(t, Slurm(), f.Name, &example))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", f.Name, err, out)
		}
	}
}

// The task script requeues only tasks that were killed, preempted or timed out, and only a
// limited number of times.
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
		requeued   bool
	}{
		{"succeeded", "exit 0", "0", 0, false},
		{"failed", "exit 1", "0", 1, false},
		{"bad input", "exit 2", "0", 2, false},
		{"violated invariant", "exit 3", "0", 3, false},
		{"killed", "kill -9 $$", "2", 137, true},
		{"killed too often", "kill -9 $$", "3", 137, false},
		{"timed out", "trap 'exit 130' TERM; kill -USR1 $PPID; for i in {1..600}; do sleep 0.05; done", "19", 130, true},
		{"timed out too often", "trap 'exit 130' TERM; kill -USR1 $PPID; for i in {1..600}; do sleep 0.05; done", "20", 130, false},
		{"finished at the timeout", "trap 'exit 0' TERM; kill -USR1 $PPID; for i in {1..600}; do sleep 0.05; done", "0", 0, false},
		{"cancelled", "trap 'exit 130' TERM; kill -TERM $PPID; for i in {1..600}; do sleep 0.05; done", "0", 130, false},
	} {
		j := example
		j.Program = write("xoff", c.task+"\n")
		cmd := exec.CommandContext(await.Context(t), "bash", write("array", text(t, Slurm(), "array.sbatch", &j)))
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3", "SLURM_RESTART_COUNT="+c.restarts)
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.code)
		}
		calls, _ := os.ReadFile(filepath.Join(dir, "requeued"))
		_ = os.Remove(filepath.Join(dir, "requeued"))
		if want := map[bool]string{true: "requeue 7_3\n"}[c.requeued]; string(calls) != want {
			t.Errorf("%s: scontrol was called with %q, want %q", c.name, calls, want)
		}
	}
}

// job has the keys of a batch/v1 Job that the manifests use. The decoder rejects all others.
type job struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		TTL                  int32  `yaml:"ttlSecondsAfterFinished"`
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
	RestartPolicy string `yaml:"restartPolicy"`
	Token         *bool  `yaml:"automountServiceAccountToken"`
	Security      struct {
		NonRoot bool   `yaml:"runAsNonRoot"`
		User    int64  `yaml:"runAsUser"`
		Group   int64  `yaml:"runAsGroup"`
		FSGroup int64  `yaml:"fsGroup"`
		Change  string `yaml:"fsGroupChangePolicy"`
		Seccomp struct {
			Type string `yaml:"type"`
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	ActiveDeadlineSeconds int64 `yaml:"activeDeadlineSeconds"`
	Containers            []struct {
		Name     string   `yaml:"name"`
		Image    string   `yaml:"image"`
		Command  []string `yaml:"command"`
		Security struct {
			Escalation   *bool `yaml:"allowPrivilegeEscalation"`
			Capabilities struct {
				Drop []string `yaml:"drop"`
			} `yaml:"capabilities"`
		} `yaml:"securityContext"`
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
	// The restricted policy of Pod Security Standards.
	if s := pod.Security; !s.NonRoot || s.User == 0 || s.Seccomp.Type != "RuntimeDefault" {
		t.Errorf("%s: security context of the pod: %+v", name, s)
	}
	if s := c.Security; s.Escalation == nil || *s.Escalation || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("%s: security context of the container: %+v", name, s)
	}
	if pod.Token == nil || *pod.Token {
		t.Errorf("%s: the pod gets a service account token", name)
	}
	if out.Spec.TTL != 604800 { // a week
		t.Errorf("%s: ttlSecondsAfterFinished is %d, want 604800", name, out.Spec.TTL)
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
	// Exit codes 1, 2 and 3 fail the index; preempted pods are not counted; everything else
	// is retried.
	rules := j.Spec.PodFailurePolicy.Rules
	if len(rules) != 2 || rules[0].Action != "Ignore" || rules[0].OnPodConditions[0].Type != "DisruptionTarget" || rules[1].Action != "FailIndex" ||
		rules[1].OnExitCodes.ContainerName != c.Name || rules[1].OnExitCodes.Operator != "In" || !slices.Equal(rules[1].OnExitCodes.Values, []int32{1, 2, 3}) {
		t.Errorf("%+v", rules)
	}
	m := decode(t, "merge.yaml", &example)
	if m.Spec.BackoffLimit == nil || *m.Spec.BackoffLimit != 0 || m.Metadata.Name != "xoff-mine-1-merge" {
		t.Errorf("%+v", m)
	}
	if r := m.Spec.Template.Spec.Containers[0].Resources; r.Requests["memory"] != "2048Mi" || r.Limits["memory"] != "2048Mi" {
		t.Errorf("memory of the merge: %+v", r)
	}
	unlimited := example
	unlimited.Time, unlimited.Memory = 0, 0
	pod = decode(t, "job.yaml", &unlimited).Spec.Template.Spec
	if pod.ActiveDeadlineSeconds != 0 || len(pod.Containers[0].Resources.Limits) > 0 {
		t.Errorf("a job without limits has a deadline or a memory limit: %+v", pod)
	}
}

// Kubernetes names stay unique if job names differ only in case, punctuation or their end, and
// if jobs with the same name have different results folders or plans.
func TestKubernetesNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range []struct{ name, results, plan string }{
		{"xoff-Mine_1", "mine", "{}"}, {"xoff-mine-1", "mine", "{}"}, {"xoff-mine-1", "other", "{}"}, {"xoff-mine-1", "mine", "{} "},
		{strings.Repeat("x", 60) + "1", "mine", "{}"}, {strings.Repeat("x", 60) + "2", "mine", "{}"},
	} {
		folder := t.TempDir()
		j := example
		j.Name, j.Plan, j.Results = c.name, filepath.Join(folder, "plan.json"), "/data/"+c.results
		if err := os.WriteFile(j.Plan, []byte(c.plan), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Write(folder, false, true); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(folder, "job.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(string(data), "\n  name: ")
		name, _, _ = strings.Cut(name, "\n")
		if seen[name] || len(name+"-merge") > 63-len("-12345") {
			t.Errorf("%+v: name %q is not unique or too long", c, name)
		}
		seen[name] = true
		if script, err := os.ReadFile(filepath.Join(folder, "apply.sh")); err != nil || !strings.Contains(string(script), "ended "+name+"-merge ") {
			t.Errorf("apply.sh does not wait for %s-merge: %v", name, err)
		}
	}
}

// apply.sh waits until a job completes or fails, merges in both cases, and exits with 1 if one
// of the jobs failed.
func TestKubernetesApply(t *testing.T) {
	for _, c := range []struct {
		name         string
		tasks, merge string // final conditions of the jobs
		code         int
	}{
		{"complete", "SuccessCriteriaMet\nComplete", "Complete", 0},
		{"failed tasks", "FailureTarget\nFailed", "Complete", 1},
		{"failed merge", "Complete", "Failed", 1},
		{"unreachable", "", "Complete", 1},
	} {
		dir := t.TempDir()
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		write("apply.sh", text(t, Kubernetes(), "apply.sh", &example))
		write("sleep", "#!/bin/sh\n")
		// kubectl reports the conditions of a job from the third call on.
		write("kubectl", `#!/bin/sh
echo "$@" >> `+dir+`/calls
[ "$1 $2" = "-n lab" ] || exit 1
case "$3 $5" in
  "get xoff-mine-1") state='`+c.tasks+`' ;;
  "get xoff-mine-1-merge") state='`+c.merge+`' ;;
  *) exit 0 ;;
esac
[ -n "$state" ] || exit 1
[ "$(grep -c "get job $5 " `+dir+`/calls)" -lt 3 ] || echo "$state"
`)
		cmd := exec.CommandContext(await.Context(t), filepath.Join(dir, "apply.sh"), "-n", "lab")
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		_ = cmd.Run()
		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
		if got := cmd.ProcessState.ExitCode(); got != c.code {
			t.Errorf("%s: exit code %d, want %d:\n%s", c.name, got, c.code, calls)
		}
		if !strings.Contains(string(calls), "/job.yaml") || !strings.Contains(string(calls), "/merge.yaml") || !strings.Contains(string(calls), "logs job/xoff-mine-1-merge") {
			t.Errorf("%s: not merged:\n%s", c.name, calls)
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"xoff-busy": "xoff-busy", "A b/c": "a-b-c", "-": "sweep", "é": "sweep", "x-" + strings.Repeat("y", 60): "x-" + strings.Repeat("y", 34),
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
