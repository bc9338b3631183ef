package cluster

// mount is where tasks find the volume.
const mount = "/xoff"

// Mount is where tasks of Kubernetes find a file of the volume.
func Mount(name string) string { return mount + "/" + name }

var kubeArray = parse("job.yaml", `# {{.Tasks}} tasks; each computes its points of the plan that have no results yet. The volume
# holds the folders of the plan and of the results.
apiVersion: batch/v1
kind: Job
metadata:
  name: {{dns .Name}}
spec:
  completionMode: Indexed
  completions: {{.Tasks}}
  parallelism: {{.Tasks}}
  backoffLimitPerIndex: {{afterKill}}
  maxFailedIndexes: {{.Tasks}}
  podFailurePolicy:
    rules:
      # Preemption and drained nodes count as no failure.
      - action: Ignore
        onPodConditions:
          - {type: DisruptionTarget, status: "True"}
      # Results that are not as they should be, and bad input, do not change by a second try.
      - action: FailIndex
        onExitCodes: {containerName: xoff, operator: In, values: [1, 2, 3]}
  template:
    spec:
      restartPolicy: Never
{{- if .Time}}
      activeDeadlineSeconds: {{seconds .Time}}
{{- end}}
      containers:
        - name: xoff
          image: {{json .Image}}
          command: [xoff, sweep, --plan, {{json .Plan}}, --shard, task, --workers, "{{.CPUs}}"]
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

var kubeMerge = parse("merge.yaml", `# Makes one table of what the tasks computed, and says which are missing. For when they
# have ended.
apiVersion: batch/v1
kind: Job
metadata:
  name: {{dns .Name}}-merge
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: xoff
          image: {{json .Image}}
          command: [xoff, sweep, merge, {{json .Results}}, --workers, "{{.CPUs}}"]
          resources:
            requests: {cpu: "{{.CPUs}}"{{if .Merge}}, memory: {{mib .Merge}}Mi{{end}}}
          volumeMounts:
            - {name: sweep, mountPath: `+mount+`}
      volumes:
        - name: sweep
          persistentVolumeClaim: {claimName: {{json .Claim}}}
`)
