// Package cluster writes what schedulers need to compute a planned sweep: scripts of an
// array for Slurm, manifests of an Indexed Job for Kubernetes. It knows nothing of
// sweeps: a task is a command that finds its own share.
package cluster

import (
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

// Job is an array of tasks and what each of them needs.
type Job struct {
	Name   string
	Tasks  int
	CPUs   int
	Time   time.Duration // limit of a task; 0: that of the site
	Memory int64         // limit of a task in bytes; 0: that of the site
	Merge  int64         // the same of the merge

	Program string // path
	Plan    string // path of the plan file
	Results string // path of the results
	Logs    string // folder of what tasks print

	Image, Claim string // for Kubernetes: of the container, and of the volume
}

// Restarts of a task that was killed, as by lack of memory. One that is stopped before
// its time is over may start more often: it goes on with what it has.
const (
	afterKill = 3
	afterTime = 20
)

// File is a file of a job.
type File struct {
	Name       string
	About      string
	Executable bool
	text       *template.Template
}

// Write writes a file of a job.
func (f *File) Write(w io.Writer, j *Job) error { return f.text.Execute(w, j) }

// Slurm are the files of a job for Slurm.
func Slurm() []File {
	return []File{
		{"submit.sh", "submits the next two", true, slurmSubmit},
		{"array.sbatch", "the tasks", false, slurmArray},
		{"merge.sbatch", "one table, after them", false, slurmMerge},
	}
}

// Kubernetes are the files of a job for Kubernetes.
func Kubernetes() []File {
	return []File{{"job.yaml", "the tasks", false, kubeArray}, {"merge.yaml", "one table, after them", false, kubeMerge}}
}

var functions = template.FuncMap{"sh": shell, "clock": clock, "mib": mib, "dns": dns, "less": func(n int) int { return n - 1 },
	"seconds": func(d time.Duration) int { return int(d.Seconds()) }, "afterKill": func() int { return afterKill },
	"afterTime": func() int { return afterTime }, "json": strconv.Quote}

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

// plain are characters that a shell and sbatch leave alone.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+="

// clock writes a time as Slurm has it.
func clock(d time.Duration) string {
	m := int(math.Ceil(d.Minutes()))
	return fmt.Sprintf("%d-%02d:%02d:00", m/60/24, m/60%24, m%60)
}

// mib rounds bytes up to whole mebibytes.
func mib(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// maxName leaves room for what is put behind the name of a Kubernetes object.
const maxName = 45

// dns makes a name one that Kubernetes takes: small letters, digits, hyphens.
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

// Written is a file of a job that was written.
type Written struct{ Path, About string }

// Write writes the files of a job for schedulers into the folder of its plan.
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
	mounted := *j
	mounted.Plan = Mount(filepath.Base(folder) + "/" + filepath.Base(j.Plan))
	mounted.Results = Mount(filepath.Base(j.Results))
	err := write(Kubernetes(), &mounted)
	return list, err
}
