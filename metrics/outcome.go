// Package metrics computes the results of a run for the packages that run scenarios and compare
// results: a summary, and tables of flows, ports, pools and probes. Its output depends only on
// the outcome of the run: the same run gives the same bytes. docs/results.md describes every
// file.
package metrics

import (
	"io"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/job"
	"github.com/xoff-net/xoff/sim"
)

// Outcome is the final state of a run. Slices by flow have the length of Flows.Flow.
type Outcome struct {
	Scenario  string
	Seed      uint64
	End       units.Time // simulated end time
	Partial   bool       // the run was interrupted
	Totals    sim.Totals
	Counters  sim.Counters
	Flows     *dataplane.Flows
	Ideal     []units.Time     // by flow: completion time in an empty network
	Origin    []int32          // by flow: index into Workloads
	Groups    []int32          // by flow: operation of its workload, or -1
	Payloads  []units.Bytes    // payload of a full packet, by transport
	Measured  func(i int) bool // whether a flow counts in the summary
	Workloads []string         // names
	Nodes     []string         // names, by node number
	Hosts     []string         // names of the hosts, the first nodes
	Jobs      []*job.Job
	NICs      int // hosts of a server
	Checks    []*dataplane.Checks
	Watched   bool // the run searched for deadlocks
	Trees     bool // pauses were recorded
	Grouping  Grouping

	ops     []operation // cache of operations
	counted []bool      // cache of Measured
}

// Grouping selects which subsets of flows have their own statistics.
type Grouping struct {
	By    string        // workload, class or none: the groups that are also split by flow size
	Sizes []units.Bytes // upper bounds of the size buckets, ascending; one more bucket is unbounded
}

// DefaultGrouping returns the grouping by workload, with size buckets up to 10 KB, 100 KB, 1 MB
// and 10 MB.
func DefaultGrouping() Grouping {
	return Grouping{By: "workload", Sizes: []units.Bytes{10 * units.KB, 100 * units.KB, units.MB, 10 * units.MB}}
}

// measured returns Measured(i), which it computes once for each flow.
func (o *Outcome) measured(i int) bool {
	if o.counted == nil {
		o.counted = make([]bool, len(o.Flows.Flow))
		for k := range o.counted {
			o.counted[k] = o.Measured(k)
		}
	}
	return o.counted[i]
}

// fct returns the completion time of a flow, from its start to the arrival of its last ACK at
// the source. It returns false for an unfinished flow.
func (o *Outcome) fct(i int) (units.Time, bool) {
	if !o.Flows.Done(i) {
		return 0, false
	}
	return o.Flows.Send[i].Acked - o.start(i), true
}

// start returns when a flow started, or its earliest start if it still waits for others.
func (o *Outcome) start(i int) units.Time {
	if at, ok := o.Flows.Began(i); ok {
		return at
	}
	return o.Flows.Flow[i].Start
}

// slowdown returns fct divided by the ideal completion time of the flow. The result is the
// same on every machine: one division of two integers that float64 represents exactly.
func (o *Outcome) slowdown(i int, fct units.Time) float64 {
	return float64(fct) / float64(o.Ideal[i])
}

// File is one result table of a run.
type File struct {
	Name    string // without extension
	What    string // description of the rows
	Columns []probe.Column
	write   func(*Table) error
}

// Tables returns the result tables of a run. The tables of operations, deadlocks and pauses are
// included only if the run has or recorded them.
func (o *Outcome) Tables() []File {
	files := []File{
		{"flows", "one row per flow", o.flowColumns(), o.writeFlows},
		{"ports", "one row per port and class: pauses, blocked time, drops, marks, watermarks", o.portColumns(), o.writePorts},
		{"pools", "one row per switch and pool of its buffer: size and watermark", o.poolColumns(), o.writePools},
	}
	if len(o.operations()) > 0 {
		files = append(files, File{"operations", "one row per collective, request or burst: completion time and straggler", o.operationColumns(), o.writeOperations})
	}
	if len(o.Jobs) > 0 {
		files = append(files,
			File{"ranks", "one row per rank and iteration of a job: compute time and exposed communication", o.rankColumns(), o.writeRanks},
			File{"collectives", "one row per collective of a job: time, algorithm and bus bandwidth", o.collectiveColumns(), o.writeCollectives})
	}
	if o.Watched {
		files = append(files, o.Deadlocks())
	}
	if o.Trees {
		files = append(files, File{"pause_tree", "one row per pause, with the pause that caused it", o.pauseColumns(), o.writePauses})
	}
	return files
}

// Deadlocks returns the table of deadlocks, found during the run or at its end.
func (o *Outcome) Deadlocks() File {
	return File{"deadlocks", "one row per deadlock and queue that was stuck in it", o.deadlockColumns(), o.writeDeadlocks}
}

// Write writes the table as parquet, and as CSV if asCSV is not nil.
func (f *File) Write(w, asCSV io.Writer) error {
	t, err := NewTable(f.Columns, w, asCSV)
	if err != nil {
		return err
	}
	if err := f.write(t); err != nil {
		return err
	}
	return t.Close()
}
