package cluster

var slurmArray = parse("array.sbatch", `#!/bin/bash
# {{.Tasks}} tasks; each computes the points of its shard that have no results yet. To
# resubmit some of them, run sbatch --array=3,5 with this file: the plan stays the same.
#SBATCH --job-name={{sh .Name}}
#SBATCH --array=0-{{less .Tasks}}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{.CPUs}}
{{- if .Time}}
#SBATCH --time={{clock .Time}}
{{- end}}
{{- if .Memory}}
#SBATCH --mem={{mib .Memory}}M
{{- end}}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@60
#SBATCH --output={{pattern .Logs}}/%A_%a.txt
task=
stopped=
again=
stop() {
  stopped=yes
  [ -z "$task" ] || kill -TERM "$task"
}
# Time limit or preemption: keep finished points and continue after a requeue.
trap 'again=yes; stop' USR1
# Cancelled: keep finished points.
trap stop TERM INT
{{sh .Program}} sweep --plan {{sh .Plan}} --shard task --workers "${SLURM_CPUS_PER_TASK:-{{.CPUs}}}" &
task=$!
[ -z "$stopped" ] || stop # a signal arrived before the task started
code=127
while :; do
  stopped=
  wait "$task"
  got=$?
  [ "$got" -eq 127 ] || code=$got # 127: the code was returned before
  [ -n "$stopped" ] || break # otherwise a signal ended the wait
done
# A failed verdict (1, 3) or bad input (2) does not change on a retry. A process that was
# killed, for example for lack of memory, is retried.
most=0
[ "$code" -eq 137 ] && most={{afterKill}}
[ -n "$again" ] && [ "$code" -ge 128 ] && most={{afterTime}}
if [ "${SLURM_RESTART_COUNT:-0}" -lt "$most" ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit "$code"
`)

var slurmMerge = parse("merge.sbatch", `#!/bin/bash
# Merges the results of the tasks into one table and lists missing points.
#SBATCH --job-name={{sh .Name}}-merge
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{.CPUs}}
{{- if .Merge}}
#SBATCH --mem={{mib .Merge}}M
{{- end}}
#SBATCH --output={{pattern .Logs}}/merge-%j.txt
exec {{sh .Program}} sweep merge {{sh .Results}} --workers "${SLURM_CPUS_PER_TASK:-{{.CPUs}}}"
`)

var slurmSubmit = parse("submit.sh", `#!/bin/sh
# Submits the array and, after all its tasks, the merge. Arguments are passed to sbatch for
# the array only; SBATCH_PARTITION and SBATCH_ACCOUNT in the environment apply to both.
set -e
here=$(dirname "$0")
array=$(sbatch --parsable "$@" "$here/array.sbatch")
merge=$(sbatch --parsable --dependency="afterany:${array%%;*}" "$here/merge.sbatch")
echo "array ${array%%;*}, merge ${merge%%;*}"
`)
