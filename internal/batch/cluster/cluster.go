// Package cluster writes the job files that run a planned sweep on a cluster: array scripts
// for Slurm, Indexed Job manifests for Kubernetes. It knows nothing about sweeps: a task is
// a command that finds its own shard.
package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/xoff-net/xoff/internal/sys/disk"
)

// Job is an array of tasks and the resources of each.
type Job struct {
	Name   string
	Tasks  int
	CPUs   int
	Time   time.Duration // time limit of a task; 0: the site's default
	Memory int64         // memory limit of a task in bytes; 0: the site's default
	Merge  int64         // memory limit of the merge in bytes; 0: the site's default

	Program string // path of the xoff executable
	Plan    string // path of the plan file
	Results string // path of the results
	Logs    string // folder for the output of tasks

	Image, Claim string // Kubernetes only: container image and persistent volume claim
	ID           string // Kubernetes only: distinguishes jobs whose names look the same; set by Write
}

// Restarts of a task that was killed, for example for lack of memory, and of one that
// reached its time limit. The latter may restart more often: it continues with its results.
const (
	afterKill = 3
	afterTime = 20
)

// File is one of the files that describe a job to a scheduler.
type File struct {
	Name       string
	About      string
	Executable bool
	text       *template.Template
}

// Write renders the file for a job.
func (f *File) Write(w io.Writer, j *Job) error { return f.text.Execute(w, j) }

// Slurm returns the files of a Slurm job.
func Slurm() []File {
	return []File{
		{"submit.sh", "submits the two scripts below", true, slurmSubmit},
		{"array.sbatch", "the tasks", false, slurmArray},
		{"merge.sbatch", "merges their results", false, slurmMerge},
	}
}

// Kubernetes returns the files of a Kubernetes job.
func Kubernetes() []File {
	return []File{
		{"apply.sh", "applies the two manifests below and waits for them", true, kubeApply},
		{"job.yaml", "the tasks", false, kubeArray},
		{"merge.yaml", "merges their results", false, kubeMerge},
	}
}

var functions = template.FuncMap{"sh": shell, "pattern": pattern, "clock": clock, "mib": mib, "dns": dns, "less": func(n int) int { return n - 1 },
	"seconds": func(d time.Duration) int { return int(d.Seconds()) }, "afterKill": func() int { return afterKill },
	"afterTime": func() int { return afterTime }, "keptFor": func() time.Duration { return keptFor }, "json": strconv.Quote}

func parse(name, text string) *template.Template {
	return template.Must(template.New(name).Funcs(functions).Parse(text))
}

// shell quotes a word for a shell.
func shell(s string) string {
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// pattern quotes a path for the output options of sbatch, which replace % and a letter.
func pattern(path string) string { return shell(strings.ReplaceAll(path, "%", "%%")) }

// plain lists characters that a shell and sbatch do not interpret.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+="

// clock formats a duration as Slurm's days-hours:minutes:seconds, rounded up to a minute.
func clock(d time.Duration) string {
	m := int(math.Ceil(d.Minutes()))
	return fmt.Sprintf("%d-%02d:%02d:00", m/60/24, m/60%24, m%60)
}

// mib rounds bytes up to whole mebibytes.
func mib(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// KubernetesName returns the name of the job's Kubernetes object. It ends with the ID, so
// that jobs of different plans never have the same name.
func (j *Job) KubernetesName() string {
	if j.ID == "" {
		return dns(j.Name)
	}
	return dns(j.Name) + "-" + j.ID
}

// id returns a short hash of the name, the results folder and the plan of a job.
func (j *Job) id() (string, error) {
	plan, err := os.ReadFile(j.Plan)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", j.Name, j.Results)
	_, _ = h.Write(plan)
	return hex.EncodeToString(h.Sum(nil)[:4]), nil
}

// maxName leaves room for the suffixes of Kubernetes object names: the ID, the merge, the
// index and the pod, of at most 63 characters together.
const maxName = 36

// dns turns a name into a valid Kubernetes object name: lower-case letters, digits, hyphens.
func dns(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	text := b.String()
	if len(text) > maxName {
		text = text[:maxName]
	}
	if text = strings.Trim(text, "-"); text == "" {
		return "sweep"
	}
	return text
}

// Written is a job file that was written.
type Written struct{ Path, About string }

// Write writes the job's files for the selected schedulers into the plan's folder.
func (j *Job) Write(folder string, slurm, kubernetes bool) ([]Written, error) {
	var list []Written
	write := func(files []File, j *Job) error {
		for _, file := range files {
			path := filepath.Join(folder, file.Name)
			if err := disk.WriteFile(path, func(w io.Writer) error { return file.Write(w, j) }); err != nil {
				return err
			}
			if file.Executable {
				if err := os.Chmod(path, 0o755); err != nil {
					return err
				}
			}
			list = append(list, Written{path, file.About})
		}
		return nil
	}
	if slurm {
		if err := errors.Join(os.MkdirAll(j.Logs, 0o755), write(Slurm(), j)); err != nil {
			return list, err
		}
	}
	if !kubernetes {
		return list, nil
	}
	id, err := j.id()
	if err != nil {
		return list, err
	}
	mounted := *j
	mounted.ID = id
	mounted.Plan = Mount(filepath.Base(folder) + "/" + filepath.Base(j.Plan))
	mounted.Results = Mount(filepath.Base(j.Results))
	err = write(Kubernetes(), &mounted)
	return list, err
}
