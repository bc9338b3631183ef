// Package remote computes the points of a sweep on other machines, for xoff sweep and xoff
// worker. It uses JetStream: a stream of points, each for one worker, a stream of outcomes,
// and an object store for results. No file system is shared. The server tracks which
// workers are alive and redelivers points.
//
// A Coordinator replaces the simulation of a sweep.Runner: it leaves the same files in the
// folder of a point. A Worker serves all sweeps on a server.
package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/xoff-net/xoff/internal/batch/peer"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/run"
)

// schema is the version of the messages.
const schema = 1

// Names on the server. Each process of a coordinator is a new session: acknowledgements
// refer to message numbers, so late ones must not reach a new stream of the same name.
func pointsStream(session string) string  { return "xoff-" + session + "-points" }
func doneStream(session string) string    { return "xoff-" + session + "-done" }
func bucket(session string) string        { return "xoff-" + session }
func pointsSubject(session string) string { return "xoff." + session + ".points" }
func doneSubject(session string) string   { return "xoff." + session + ".done" }
func newsSubject(session string) string   { return "xoff." + session + ".news" }

// consumer is the name of the only consumer of each stream.
const consumer = "all"

// Metadata keys of a stream of points.
const (
	keySession = "xoff-session"
	keyProgram = "xoff-program" // hash of the executable
	keySweep   = "xoff-sweep"
	keyOwner   = "xoff-owner" // host and folder of the coordinator
)

// Limits of data from the network, in bytes unless noted.
const (
	maxInline = 256 << 10 // files or results in a message; longer ones become objects
	maxInputs = 100       // number of input files of a scenario
	maxInput  = 4 << 30   // one input file; a scenario is limited by yaml.MaxFile
	maxFiles  = 10_000    // number of result files
	maxResult = 64 << 30  // all result files
	maxLog    = 64 << 10
	maxWorker = 200 // name of a worker
	// A message becomes a line of the terminal and a cell of sweep.csv.
	maxMessage = 2000
	pieceSize  = 128 << 10 // chunk of an object
)

// Timeouts.
const (
	longTime    = time.Hour       // transfers of unknown size
	requestTime = 5 * time.Second // one request
	retryAfter  = 500 * time.Millisecond
)

// transferTime returns the timeout for transferring bytes.
func transferTime(bytes int64) time.Duration {
	return min(30*time.Second+time.Duration(bytes>>20)*time.Second, longTime)
}

// order asks a worker to compute a point.
type order struct {
	Schema   int            `json:"schema"`
	ID       string         `json:"id"` // unique within its session
	Try      int            `json:"try"`
	Label    string         `json:"label"`
	Key      sweep.Key      `json:"key"`
	Settings sweep.Settings `json:"settings"`
	Memory   int64          `json:"memory_bytes"` // memory that the point takes; 0: unknown
	Limit    time.Duration  `json:"limit_ns"`     // time limit of the sweep; 0: none
	Scenario file           `json:"scenario"`
	Inputs   []file         `json:"inputs"` // stored next to the scenario
}

// file is sent in a message, or in the object store under its hash.
type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Hash string `json:"sha256"`
	Data []byte `json:"data,omitempty"` // nil if the file is an object
}

// Kinds of outcomes.
const (
	done    = "done"
	failed  = "failed"  // no results, on any machine
	died    = "died"    // the process that computed the point ended
	gone    = "gone"    // too many workers with this point disappeared
	refused = "refused" // rejected by this worker
	lost    = "lost"    // lost by the server or returned by a leaving worker: must be published anew
)

// outcome reports how a point ended.
type outcome struct {
	Schema  int         `json:"schema"`
	ID      string      `json:"id"`
	Worker  string      `json:"worker"`
	Kind    string      `json:"kind"`
	Verdict run.Verdict `json:"verdict"`
	Message string      `json:"message,omitempty"`
	Log     string      `json:"log,omitempty"`
	Object  string      `json:"object,omitempty"`  // name of the results in the object store
	Size    int64       `json:"size,omitempty"`    // size of the object
	Results []byte      `json:"results,omitempty"` // results short enough for a message; then there is no object
	Seconds float64     `json:"core_seconds"`
	Peak    int64       `json:"peak_bytes"`
}

// clean rejects an outcome that no worker sends, and makes its texts safe for terminals and
// tables.
func (o *outcome) clean() error {
	switch {
	case o.Schema != schema:
		return fmt.Errorf("message has schema %d (expected %d)", o.Schema, schema)
	case o.Verdict.Code < run.Fine || o.Verdict.Code > run.Broken:
		return fmt.Errorf("verdict has code %d (expected %d to %d)", o.Verdict.Code, run.Fine, run.Broken)
	}
	o.Worker, o.Message = peer.Line(o.Worker, maxWorker), peer.Line(o.Message, maxMessage)
	o.Verdict.Message = peer.Line(o.Verdict.Message, maxMessage)
	o.Log = peer.Lines(o.Log, maxLog)
	return nil
}

// news is a worker's status for display. Nothing depends on it, and it may get lost.
type news struct {
	Schema  int           `json:"schema"`
	Worker  string        `json:"worker"`
	Slots   int           `json:"slots"` // points computed at a time
	Running []runningNews `json:"running"`
	Refused string        `json:"refused,omitempty"` // why it does not take part
	Leaving bool          `json:"leaving,omitempty"`
}

type runningNews struct {
	ID    string  `json:"id"`
	Share float64 `json:"share"`
	Hops  uint64  `json:"hops"`
}

// newsEvery is the interval of a worker's news; after silentAfter without news a worker is
// no longer shown.
const (
	newsEvery   = 2 * time.Second
	silentAfter = 15 * time.Second
)

// decode reads a message and rejects unknown fields and trailing data.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value (expected one)")
	}
	return nil
}

// check rejects orders that a worker cannot or must not follow.
func (o *order) check() error {
	switch {
	case o.Schema != schema:
		return fmt.Errorf("message has schema %d (expected %d)", o.Schema, schema)
	case o.Limit < 0:
		return fmt.Errorf("point %q has time limit %s (expected 0 or more)", o.ID, o.Limit)
	case o.ID == "" || len(o.Inputs) > maxInputs:
		return fmt.Errorf("point %q has %d input files (expected a name and at most %d files)", o.ID, len(o.Inputs), maxInputs)
	}
	names := map[string]bool{scenarioName: true}
	for _, f := range o.Inputs {
		if !plainName(f.Name) || f.Name[0] == '.' || names[f.Name] {
			return fmt.Errorf("bad input file name %q (expected unique names without folders)", f.Name)
		}
		names[f.Name] = true
	}
	for _, f := range append([]file{o.Scenario}, o.Inputs...) {
		if f.Size < 0 || f.Size > maxInput {
			return fmt.Errorf("%s has %d bytes (expected at most %d)", f.Name, f.Size, int64(maxInput))
		}
	}
	return nil
}

// plainName reports whether a name is a bare file name on every operating system.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) < 256 && name == filepath.Base(name) && !bytes.ContainsAny([]byte(name), "/\\\x00")
}

// queue returns the configuration of a stream that delivers each message to one consumer.
func queue(name, subject string, about map[string]string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: []string{subject}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		Duplicates: 2 * time.Minute, Metadata: about,
	}
}
