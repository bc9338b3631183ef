package cluster

var slurmArray = parse("array.sbatch", `#!/bin/bash
# {{.Tasks}} tasks; each computes its points of the plan that have no results yet. A part
# of them is submitted again with sbatch --array=3,5 and this file: the plan stays the same.
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
#SBATCH --output={{sh .Logs}}/%A_%a.txt
task=
stopped=
again=
stop() {
  stopped=yes
  [ -z "$task" ] || kill -TERM "$task"
}
# The time is nearly over, or others need the cores: keep what is finished, go on later.
trap 'again=yes; stop' USR1
# Somebody cancels it: keep what is finished.
trap stop TERM INT
{{sh .Program}} sweep --plan {{sh .Plan}} --shard task --workers "${SLURM_CPUS_PER_TASK:-{{.CPUs}}}" &
task=$!
[ -z "$stopped" ] || stop # a signal came before there was anything to stop
while :; do
  wait "$task"
  code=$?
  kill -0 "$task" 2>/dev/null || break # else it was a signal that ended the wait
done
# Results that are not as they should be (1, 3) and bad input (2) do not change by a
# second try; a process that was killed, as by lack of memory, gets some.
most=0
[ "$code" -eq 137 ] && most={{afterKill}}
[ -n "$again" ] && [ "$code" -ge 128 ] && most={{afterTime}}
if [ "${SLURM_RESTART_COUNT:-0}" -lt "$most" ]; then
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit "$code"
`)

var slurmMerge = parse("merge.sbatch", `#!/bin/bash
# Makes one table of what the tasks computed, and says which are missing.
#SBATCH --job-name={{sh .Name}}-merge
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{.CPUs}}
{{- if .Merge}}
#SBATCH --mem={{mib .Merge}}M
{{- end}}
#SBATCH --output={{sh .Logs}}/merge-%j.txt
exec {{sh .Program}} sweep merge {{sh .Results}} --workers "${SLURM_CPUS_PER_TASK:-{{.CPUs}}}"
`)

var slurmSubmit = parse("submit.sh", `#!/bin/sh
# Submits the array and, after all its tasks, the merge. Options of sbatch may follow, for
# the array only; SBATCH_PARTITION and SBATCH_ACCOUNT in the environment are for both.
set -e
here=$(dirname "$0")
array=$(sbatch --parsable "$@" "$here/array.sbatch")
merge=$(sbatch --parsable --dependency="afterany:${array%%;*}" "$here/merge.sbatch")
echo "array ${array%%;*}, merge ${merge%%;*}"
`)
