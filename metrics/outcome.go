// Package metrics turns a run into results: a summary, and tables of flows, ports,
// pools and probes. It knows what a run left behind, not how it was described or
// driven, and its output depends on nothing else: the same run gives the same
// bytes. docs/results.md describes every file.
package metrics

import (
	"io"

	"github.com/xoff-net/xoff/base/probe"
	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/dataplane"
	"github.com/xoff-net/xoff/sim"
)

// Outcome is what a run left behind. Slices by flow have the length of
// Flows.Flow.
type Outcome struct {
	Scenario  string
	Seed      uint64
	End       units.Time // simulated time at which the run ended
	Partial   bool       // it was interrupted
	Totals    sim.Totals
	Fabric    sim.Fabric
	Flows     *dataplane.Flows
	Ideal     []units.Time     // by flow: completion time in an empty network
	Origin    []int32          // by flow: index into Workloads
	Groups    []int32          // by flow: operation of its workload, -1 for none
	Waits     []dataplane.Wait // what flows wait for, by flow
	Payloads  []units.Bytes    // of a full packet, by transport
	Measured  func(i int) bool // whether a flow counts in summaries
	Workloads []string         // names
	Nodes     []string         // names, by node number
	Hosts     []string         // the first of them
	Checks    []*dataplane.Checks
	Watched   bool // for deadlocks, while it went
	Trees     bool // pauses were kept
	Grouping  Grouping

	ops []operation // once they were asked for
}

// Grouping says which subsets of the flows have statistics of their own.
type Grouping struct {
	By    string        // workload, class or none: what is also told apart by size
	Sizes []units.Bytes // upper ends of the size buckets, rising; one more is open
}

// DefaultGrouping is that of scenarios that say nothing.
func DefaultGrouping() Grouping {
	return Grouping{By: "workload", Sizes: []units.Bytes{10 * units.KB, 100 * units.KB, units.MB, 10 * units.MB}}
}

// fct returns the completion time of a flow: from its start to the arrival of
// its last ACK at the source. It is false for an unfinished flow.
func (o *Outcome) fct(i int) (units.Time, bool) {
	if !o.Flows.Done(i) {
		return 0, false
	}
	return o.Flows.Send[i].Acked - o.start(i), true
}

// start is when a flow started, or was to start at the earliest if it still waits
// for others.
func (o *Outcome) start(i int) units.Time {
	if at, ok := o.Flows.Began(i); ok {
		return at
	}
	return o.Flows.Flow[i].Start
}

// slowdown is a completion time in units of the ideal one. One division of two
// exactly converted integers has the same bits on every machine.
func (o *Outcome) slowdown(i int, fct units.Time) float64 {
	return float64(fct) / float64(o.Ideal[i])
}

// File is one table of a run.
type File struct {
	Name    string // without its ending
	What    string // in words
	Columns []probe.Column
	write   func(*Table) error
}

// Tables lists the tables of a run.
func (o *Outcome) Tables() []File {
	files := []File{
		{"flows", "one row per flow", o.flowColumns(), o.writeFlows},
		{"ports", "one row per port and class: pauses, blocked time, drops, marks, watermarks", o.portColumns(), o.writePorts},
		{"pools", "one row per switch and pool of its buffer: size and watermark", o.poolColumns(), o.writePools},
	}
	if len(o.operations()) > 0 {
		files = append(files, File{"operations", "one row per collective, request or burst: completion time, what held it up", o.operationColumns(), o.writeOperations})
	}
	if o.Watched {
		files = append(files, o.Deadlocks())
	}
	if o.Trees {
		files = append(files, File{"pause_tree", "one row per pause, with the one that caused it", o.pauseColumns(), o.writePauses})
	}
	return files
}

// Deadlocks is the table of those that were found, while the run went or at its end.
func (o *Outcome) Deadlocks() File {
	return File{"deadlocks", "one row per deadlock and queue that was stuck in it", o.deadlockColumns(), o.writeDeadlocks}
}

// Write writes the table as parquet, and as CSV when there is a writer for that.
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
