package cluster

import "time"

// mount is the path at which tasks mount the volume.
const mount = "/xoff"

// keptFor is how long Kubernetes keeps a finished job, for its logs.
const keptFor = 7 * 24 * time.Hour

// podSecurity and containerSecurity are what namespaces with the restricted policy demand.
// Tasks do not use the API server, so they get no token.
const (
	podSecurity = `      automountServiceAccountToken: false
      # As restricted namespaces demand. The user must be able to write to the volume.
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
`
	containerSecurity = `          securityContext:
            allowPrivilegeEscalation: false
            capabilities: {drop: [ALL]}
`
)

// Mount returns the path of a file of the volume inside a Kubernetes task.
func Mount(name string) string { return mount + "/" + name }

var kubeArray = parse("job.yaml", `# {{.Tasks}} tasks; each computes the points of its shard that have no results yet. The volume
# contains the folders of the plan and of the results.
apiVersion: batch/v1
kind: Job
metadata:
  name: {{.KubernetesName}}
spec:
  ttlSecondsAfterFinished: {{seconds keptFor}}
  completionMode: Indexed
  completions: {{.Tasks}}
  parallelism: {{.Tasks}}
  backoffLimitPerIndex: {{afterKill}}
  maxFailedIndexes: {{.Tasks}}
  podFailurePolicy:
    rules:
      # Preemption and drained nodes are not failures.
      - action: Ignore
        onPodConditions:
          - {type: DisruptionTarget, status: "True"}
      # A failed verdict (1, 3) or bad input (2) does not change on a retry.
      - action: FailIndex
        onExitCodes: {containerName: xoff, operator: In, values: [1, 2, 3]}
  template:
    spec:
      restartPolicy: Never
`+podSecurity+`{{- if .Time}}
      activeDeadlineSeconds: {{seconds .Time}}
{{- end}}
      containers:
        - name: xoff
          image: {{json .Image}}
`+containerSecurity+`          command: [xoff, sweep, --plan, {{json .Plan}}, --shard, task, --workers, "{{.CPUs}}"]
          resources:
            requests: {cpu: "{{.CPUs}}"{{if .Memory}}, memory: {{mib .Memory}}Mi{{end}}}
{{- if .Memory}}
            limits: {memory: {{mib .Memory}}Mi}
{{- end}}
          volumeMounts:
            - {name: sweep, mountPath: `+mount+`}
      volumes:
        - name: sweep
          persistentVolumeClaim: {claimName: {{json .Claim}}}
`)

var kubeMerge = parse("merge.yaml", `# Merges the results of the tasks into one table and lists missing points. apply.sh applies
# it after the tasks have ended.
apiVersion: batch/v1
kind: Job
metadata:
  name: {{.KubernetesName}}-merge
spec:
  ttlSecondsAfterFinished: {{seconds keptFor}}
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
`+podSecurity+`      containers:
        - name: xoff
          image: {{json .Image}}
`+containerSecurity+`          command: [xoff, sweep, merge, {{json .Results}}, --workers, "{{.CPUs}}"]
          resources:
            requests: {cpu: "{{.CPUs}}"{{if .Merge}}, memory: {{mib .Merge}}Mi{{end}}}
{{- if .Merge}}
            limits: {memory: {{mib .Merge}}Mi}
{{- end}}
          volumeMounts:
            - {name: sweep, mountPath: `+mount+`}
      volumes:
        - name: sweep
          persistentVolumeClaim: {claimName: {{json .Claim}}}
`)

// kubeApply waits for jobs by polling: kubectl wait notices only one of the two ends of a
// job.
var kubeApply = parse("apply.sh", `#!/bin/sh
# Applies the tasks, waits until they have ended, applies the merge and waits for it. Exits
# with 1 if one of the two failed. Arguments are passed to kubectl, such as -n NAMESPACE.
here=$(dirname "$0")
# ended JOB ARGUMENTS waits until a job is complete or has failed.
ended() {
  job=$1
  shift
  misses=0
  while :; do
    if state=$(kubectl "$@" get job "$job" -o 'jsonpath={range .status.conditions[?(@.status=="True")]}{.type}{"\n"}{end}'); then
      misses=0
    else
      misses=$((misses + 1))
      if [ "$misses" -ge 30 ]; then
        echo "apply.sh: cannot read the state of job $job" >&2
        return 1
      fi
    fi
    case $state in
      *Complete*) return 0 ;;
      *Failed*)
        echo "apply.sh: job $job failed; fix: see kubectl logs job/$job" >&2
        return 1 ;;
    esac
    sleep 10
  done
}
code=0
kubectl "$@" apply -f "$here/job.yaml" || exit 1
ended {{.KubernetesName}} "$@" || code=1
# Also after a failure: the merge lists missing points, and results of failed points count.
kubectl "$@" apply -f "$here/merge.yaml" || exit 1
ended {{.KubernetesName}}-merge "$@" || code=1
kubectl "$@" logs job/{{.KubernetesName}}-merge
exit "$code"
`)
