// Package remote computes the points of a sweep on other machines, by JetStream: a
// stream of points that each goes to one worker, a stream of what became of them, and
// an object store for results, so that no file system is shared. Who is alive, what
// comes again and what is remembered is the server's business.
//
// A Coordinator stands in for the simulation of a sweep.Runner; what it leaves in the
// folder of a point is what the simulation would have left. A Worker serves all sweeps
// that a server has.
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

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/run"
)

// schema numbers the messages.
const schema = 1

// Names on the server. A session is one life of a coordinator: acknowledgements count
// messages of a stream, so those of an earlier one must not meet a stream of its name.
func pointsStream(session string) string  { return "xoff-" + session + "-points" }
func doneStream(session string) string    { return "xoff-" + session + "-done" }
func bucket(session string) string        { return "xoff-" + session }
func pointsSubject(session string) string { return "xoff." + session + ".points" }
func doneSubject(session string) string   { return "xoff." + session + ".done" }
func newsSubject(session string) string   { return "xoff." + session + ".news" }

// consumer is the name of the one consumer that a stream has.
const consumer = "all"

// Keys of what a stream of points says about its sweep.
const (
	keySession = "xoff-session"
	keyProgram = "xoff-program" // its hash
	keySweep   = "xoff-sweep"
	keyOwner   = "xoff-owner" // host and folder of the coordinator
)

// Limits of what comes over the network.
const (
	maxInline = 256 << 10 // of files or results in a message; longer ones are objects
	maxInputs = 100       // files of a scenario
	maxInput  = 4 << 30   // bytes of one; a scenario has yaml.MaxFile
	maxFiles  = 10_000    // of results
	maxResult = 64 << 30  // bytes of all of them
	maxLog    = 64 << 10
	pieceSize = 128 << 10 // of objects, in a message
)

// Times.
const (
	longTime    = time.Hour       // for files and results whose size nobody knows
	requestTime = 5 * time.Second // for one request
	retryAfter  = 500 * time.Millisecond
)

// transferTime is what so many bytes may take.
func transferTime(bytes int64) time.Duration {
	return min(30*time.Second+time.Duration(bytes>>20)*time.Second, longTime)
}

// order asks for a point.
type order struct {
	Schema   int            `json:"schema"`
	ID       string         `json:"id"` // within its session
	Try      int            `json:"try"`
	Label    string         `json:"label"`
	Key      sweep.Key      `json:"key"`
	Settings sweep.Settings `json:"settings"`
	Memory   int64          `json:"memory_bytes"` // that it takes; 0: nobody knows
	Scenario file           `json:"scenario"`
	Inputs   []file         `json:"inputs"` // beside the scenario
}

// file travels in a message, or in the object store under its hash.
type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Hash string `json:"sha256"`
	Data []byte `json:"data,omitempty"` // of short ones
}

// How a point came out.
const (
	done    = "done"
	failed  = "failed"  // it has no results, and would have none anywhere
	died    = "died"    // with the process that computed it
	gone    = "gone"    // workers that had it were not heard of again, too often
	refused = "refused" // by this worker
	lost    = "lost"    // by the server, or by a worker that leaves: no message has it
)

// outcome is what became of a point.
type outcome struct {
	Schema  int         `json:"schema"`
	ID      string      `json:"id"`
	Worker  string      `json:"worker"`
	Kind    string      `json:"kind"`
	Verdict run.Verdict `json:"verdict"`
	Message string      `json:"message,omitempty"`
	Log     string      `json:"log,omitempty"`
	Object  string      `json:"object,omitempty"`  // results are called so
	Size    int64       `json:"size,omitempty"`    // of the object
	Results []byte      `json:"results,omitempty"` // short ones, which are no object
	Seconds float64     `json:"core_seconds"`
	Peak    int64       `json:"peak_bytes"`
}

// news is what a worker tells those who watch. Nothing is decided by it, and it may get
// lost.
type news struct {
	Schema  int           `json:"schema"`
	Worker  string        `json:"worker"`
	Slots   int           `json:"slots"` // points at a time
	Running []runningNews `json:"running"`
	Refused string        `json:"refused,omitempty"` // why it computes nothing
	Leaving bool          `json:"leaving,omitempty"`
}

type runningNews struct {
	ID    string  `json:"id"`
	Share float64 `json:"share"`
	Hops  uint64  `json:"hops"`
}

// newsEvery is how often workers tell, silentAfter when one that does not is no longer
// shown.
const (
	newsEvery   = 2 * time.Second
	silentAfter = 15 * time.Second
)

// decode reads a message strictly.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one message in it")
	}
	return nil
}

// check finds what would lead a worker astray.
func (o *order) check() error {
	switch {
	case o.Schema != schema:
		return fmt.Errorf("a message of schema %d; allowed: %d", o.Schema, schema)
	case o.ID == "" || len(o.Inputs) > maxInputs:
		return fmt.Errorf("a point %q with %d files; allowed: a name, and at most %d", o.ID, len(o.Inputs), maxInputs)
	}
	names := map[string]bool{scenarioName: true}
	for _, f := range o.Inputs {
		if !plainName(f.Name) || f.Name[0] == '.' || names[f.Name] {
			return fmt.Errorf("a file %q comes with it; allowed: names without folders, each once", f.Name)
		}
		names[f.Name] = true
	}
	for _, f := range append([]file{o.Scenario}, o.Inputs...) {
		if f.Size < 0 || f.Size > maxInput {
			return fmt.Errorf("%s has %d bytes; allowed: at most %d", f.Name, f.Size, int64(maxInput))
		}
	}
	return nil
}

// plainName reports whether a name is that of a file in a folder, wherever that is.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) < 256 && name == filepath.Base(name) && !bytes.ContainsAny([]byte(name), "/\\\x00")
}

// queue is the configuration of a stream whose messages each have one taker.
func queue(name, subject string, about map[string]string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: []string{subject}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage,
		Duplicates: 2 * time.Minute, Metadata: about,
	}
}
