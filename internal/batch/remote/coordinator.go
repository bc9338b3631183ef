package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/metrics"
	"github.com/xoff-net/xoff/run"
)

// InFlight is the maximum number of points on the server: enough for all workers, and a
// bound on its storage.
const InFlight = 1024

// maxSending is the number of points sent at a time. More would delay each other until they
// time out.
const maxSending = 32

// maxReads is how often incomplete results are read.
const maxReads = 3

// maxDeaths is the number of processes that a point may kill before it is set aside.
const maxDeaths = 3

// ackWait is how long a worker may be silent before its point goes to another one.
const ackWait = 10 * time.Second

// Sweep describes a sweep for a coordinator.
type Sweep struct {
	Name     string // shown on the server
	Folder   string // results folder
	Program  string // hash of the executable that workers must have
	Settings sweep.Settings
	Memory   int64         // memory of a point in bytes; 0: the maximum of finished points
	Limit    time.Duration // time limit of a point; 0: none
	AckWait  time.Duration // 0: ackWait
	// SetAside stores the log of a point that killed its workers and returns its path.
	SetAside func(p *sweep.Point, log string) (string, error)
	Log      func(string)
}

// Coordinator lets workers compute the points of a sweep.
type Coordinator struct {
	Sweep
	session string
	conn    *nats.Conn
	js      jetstream.JetStream
	points  jetstream.Stream
	results jetstream.Stream // stream of the object store
	objects jetstream.ObjectStore
	stop    context.CancelCauseFunc
	watched sync.WaitGroup

	sending chan struct{} // semaphore of maxSending

	inputs sync.Mutex      // serialises uploads of input files
	sent   map[string]file // uploaded input files by path

	mu      sync.Mutex
	waiting map[string]*waiter // by ID of the point
	peak    int64              // maximum memory of a finished point in bytes
	workers map[string]*workerState
	logged  map[string]bool
}

// waiter waits for the outcome of a point.
type waiter struct {
	outcomes chan arrival
	sent     bool   // the server has the point
	taken    string // object that is being read

	reporting sync.Mutex
	report    func(float64, uint64) // nil after leave
}

func (w *waiter) progress(share float64, hops uint64) {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if w.report != nil {
		w.report(share, hops)
	}
}

func (w *waiter) leave() {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	w.report = nil
}

// arrival is an outcome and its message, which is acknowledged after the results arrived.
type arrival struct {
	outcome
	msg jetstream.Msg
}

// workerState is the latest news of a worker.
type workerState struct {
	slots int
	last  time.Time
}

// Coordinate offers a sweep to the workers of a server. The returned context ends with ctx,
// with Close, or when the server has lost the sweep.
func Coordinate(ctx context.Context, address string, access Access, s Sweep) (context.Context, *Coordinator, error) {
	if s.AckWait == 0 {
		s.AckWait = ackWait
	}
	c := &Coordinator{
		Sweep: s, session: strings.ToLower(nuid.Next()), waiting: make(map[string]*waiter), sent: make(map[string]file),
		workers: make(map[string]*workerState), logged: make(map[string]bool), sending: make(chan struct{}, maxSending),
	}
	var err error
	if c.conn, err = connect(ctx, address, "xoff sweep "+s.Name, access, false, s.Log); err != nil {
		return nil, nil, err
	}
	if c.js, err = jetstream.New(c.conn); err == nil {
		err = c.open(ctx)
	}
	if err != nil {
		c.Close()
		return nil, nil, fmt.Errorf("%s: %w", address, err)
	}
	ctx, c.stop = context.WithCancelCause(ctx)
	if err := c.watch(ctx); err != nil {
		c.Close()
		return nil, nil, fmt.Errorf("%s: %w", address, err)
	}
	return ctx, c, nil
}

func (c *Coordinator) owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + ":" + c.Folder
}

// open creates the streams and the object store of the session. It removes leftovers of
// earlier sessions with the same results folder, which only one process may write.
func (c *Coordinator) open(ctx context.Context) error {
	if c.conn.MaxPayload() < 2*maxInline {
		return fmt.Errorf("max_payload of the server is %d bytes (expected at least %d)", c.conn.MaxPayload(), 2*maxInline)
	}
	sessions, err := listSessions(ctx, c.js)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.about[keyOwner] == c.owner() {
			removeSession(ctx, c.js, s.id)
		}
	}
	about := map[string]string{keySession: c.session, keyProgram: c.Program, keySweep: c.Name, keyOwner: c.owner()}
	if c.objects, err = c.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket(c.session), Storage: jetstream.FileStorage}); err != nil {
		return err
	}
	if c.results, err = c.js.Stream(ctx, "OBJ_"+bucket(c.session)); err != nil {
		return err
	}
	ended, err := c.js.CreateStream(ctx, queue(doneStream(c.session), doneSubject(c.session), nil))
	if err != nil {
		return err
	}
	// MaxAckPending bounds the number of results that are unpacked at a time.
	if _, err = ended.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: longTime, MaxAckPending: 16,
	}); err != nil {
		return err
	}
	if c.points, err = c.js.CreateStream(ctx, queue(pointsStream(c.session), pointsSubject(c.session), about)); err != nil {
		return err
	}
	_, err = c.points.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumer, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.AckWait, MaxAckPending: -1, MaxDeliver: -1,
	})
	return err
}

// Close removes the sweep from the server. Workers stop computing its points.
func (c *Coordinator) Close() {
	if c.stop != nil {
		c.stop(nil)
		c.watched.Wait()
	}
	ctx, stop := context.WithTimeout(context.Background(), requestTime)
	defer stop()
	if c.js != nil {
		removeSession(ctx, c.js, c.session)
	}
	c.conn.Close()
}

// session is a sweep on a server.
type session struct {
	id    string
	about map[string]string
}

func listSessions(ctx context.Context, js jetstream.JetStream) ([]session, error) {
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	var list []session
	all := js.ListStreams(ctx, jetstream.WithStreamListSubject("xoff.*.points"))
	for s := range all.Info() {
		if id := s.Config.Metadata[keySession]; id != "" && s.Config.Name == pointsStream(id) {
			list = append(list, session{id, s.Config.Metadata})
		}
	}
	return list, all.Err()
}

func removeSession(ctx context.Context, js jetstream.JetStream, id string) {
	// The points first: workers look for their stream.
	_ = js.DeleteStream(ctx, pointsStream(id))
	_ = js.DeleteStream(ctx, doneStream(id))
	_ = js.DeleteObjectStore(ctx, bucket(id))
}

// Run lets a worker compute a point. It is the Run function of a sweep.Runner.
func (c *Coordinator) Run(ctx context.Context, job *sweep.Job) (run.Verdict, error) {
	o, err := c.order(ctx, job.Point)
	if err != nil {
		return run.Verdict{}, err
	}
	w := &waiter{report: job.Report, outcomes: make(chan arrival, 4)}
	c.mu.Lock()
	c.waiting[o.ID] = w
	c.mu.Unlock()
	defer func() {
		w.leave()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, o.ID)
	}()
	var logs []string
	peak := int64(0) // memory of this point on workers where it exceeded the limit
	for o.Try = 1; ; o.Try++ {
		o.Memory = max(c.need(), peak) // may have grown since the last try
		if err := c.send(ctx, o); err != nil {
			return run.Verdict{}, err
		}
		c.setSent(w, true)
		var a arrival
		select {
		case <-ctx.Done():
			return run.Verdict{}, context.Cause(ctx)
		case a = <-w.outcomes:
		}
		c.setSent(w, false)
		if a.Kind != done {
			c.discard(ctx, &a)
		}
		switch a.Kind {
		case done:
			if err = c.collect(ctx, w, &a, job); err == nil {
				return a.Verdict, nil
			}
			var write *run.WriteError
			if ctx.Err() != nil || errors.As(err, &write) {
				return run.Verdict{}, err
			}
			c.Log(fmt.Sprintf("%s: incomplete results from %s: %v", o.Label, a.Worker, err))
			logs = append(logs, fmt.Sprintf("%s: %v\n", a.Worker, err))
		case failed:
			return run.Verdict{}, errors.New(a.Message)
		case died, gone:
			c.Log(fmt.Sprintf("%s: %s on %s", o.Label, a.Message, a.Worker))
			logs = append(logs, fmt.Sprintf("%s: %s\n%s\n", a.Worker, a.Message, a.Log))
		case refused:
			peak = max(peak, a.Peak)
			c.logOnce(fmt.Sprintf("%s refuses %s: %s", a.Worker, o.Label, a.Message))
			if !sleep(ctx, retryAfter) { // leaves the point to others: the worker that refused waits longer
				return run.Verdict{}, context.Cause(ctx)
			}
		}
		if len(logs) == maxDeaths || a.Kind == gone {
			return run.Verdict{}, c.setAside(job.Point, logs, a.Message)
		}
	}
}

func (c *Coordinator) setSent(w *waiter, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.sent = is
}

// setAside stores the log of a point that keeps killing its workers, and returns the error
// that ends it.
func (c *Coordinator) setAside(p *sweep.Point, logs []string, last string) error {
	err := fmt.Errorf("set aside after %d attempts without results; last error: %s", len(logs), last)
	if c.SetAside == nil {
		return err
	}
	path, failed := c.SetAside(p, strings.Join(logs, "\n"))
	if failed != nil {
		return errors.Join(err, failed)
	}
	return fmt.Errorf("%w; log: %s", err, path)
}

// need returns the memory that a point takes in bytes; 0 if it is unknown.
func (c *Coordinator) need() int64 {
	if c.Memory > 0 {
		return c.Memory
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peak
}

// order returns the message that asks for a point.
func (c *Coordinator) order(ctx context.Context, p *sweep.Point) (*order, error) {
	text, inputs, err := p.Config.Standalone()
	if err != nil {
		return nil, err
	}
	o := &order{Schema: schema, ID: p.Folder, Label: p.Label, Key: p.Key, Settings: c.Settings, Limit: c.Limit, Inputs: []file{}}
	room := maxInline
	if o.Scenario, err = c.attach(ctx, scenarioName, text, &room); err != nil {
		return nil, err
	}
	for _, in := range inputs {
		f, err := c.input(ctx, in.Path, &room)
		if err != nil {
			return nil, err
		}
		f.Name = in.Name
		o.Inputs = append(o.Inputs, f)
	}
	return o, nil
}

// attach puts data into a message if it fits into room, else into the object store.
func (c *Coordinator) attach(ctx context.Context, name string, data []byte, room *int) (file, error) {
	f := file{Name: name, Size: int64(len(data)), Hash: hashOf(data)}
	if len(data) <= *room {
		*room -= len(data)
		f.Data = data
		return f, nil
	}
	ctx, stop := context.WithTimeout(ctx, transferTime(f.Size))
	defer stop()
	_, err := c.objects.PutBytes(ctx, f.Hash, data)
	return f, err
}

// input attaches a file that the scenario reads. Each file is read once for all points.
func (c *Coordinator) input(ctx context.Context, path string, room *int) (file, error) {
	c.inputs.Lock()
	defer c.inputs.Unlock()
	if f, ok := c.sent[path]; ok && f.Data == nil {
		return f, nil
	} else if ok && len(f.Data) <= *room {
		*room -= len(f.Data)
		return f, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	f, err := c.attach(ctx, "", data, room)
	if err == nil {
		c.sent[path] = f
	}
	return f, err
}

// send publishes a point and retries while the server is unreachable. The message ID lets
// the server detect duplicates.
func (c *Coordinator) send(ctx context.Context, o *order) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case c.sending <- struct{}{}:
	}
	defer func() { <-c.sending }()
	return persist(ctx, c.logOnce, func(ctx context.Context) error {
		_, err := c.js.Publish(ctx, pointsSubject(c.session), data, jetstream.WithMsgID(fmt.Sprintf("%s/%d", o.ID, o.Try)))
		return err
	})
}

// persist retries a request until it succeeds, while the server is unreachable. It stops
// at errors that cannot change.
func persist(ctx context.Context, log func(string), do func(context.Context) error) error {
	for logged := false; ; {
		err := func() error {
			ctx, stop := context.WithTimeout(ctx, requestTime)
			defer stop()
			return do(ctx)
		}()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrStreamNotFound):
			return err
		}
		if !logged {
			logged = true
			log(fmt.Sprintf("the server does not answer: %v; retrying", err))
		}
		if !sleep(ctx, retryAfter) {
			return context.Cause(ctx)
		}
	}
}

// collect moves the results of a point into its folder.
func (c *Coordinator) collect(ctx context.Context, w *waiter, a *arrival, job *sweep.Job) error {
	defer c.discard(ctx, a)
	err := c.unpack(ctx, a, job.Folder)
	if err == nil {
		_, err = metrics.ReadSummary(job.Folder)
	}
	if err != nil {
		c.mu.Lock()
		w.taken = ""
		c.mu.Unlock()
		if err := errors.Join(os.RemoveAll(job.Folder), os.Mkdir(job.Folder, 0o755)); err != nil {
			return &run.WriteError{Err: err}
		}
		return err
	}
	job.Seconds = a.Seconds
	c.mu.Lock()
	c.peak = max(c.peak, a.Peak)
	c.mu.Unlock()
	return nil
}

// unpack writes results into a folder. Transfers that break while the server is
// unreachable are repeated without limit, others maxReads times.
func (c *Coordinator) unpack(ctx context.Context, a *arrival, folder string) error {
	for tries := 1; ; {
		var err error
		if a.Results != nil {
			err = unpack(bytes.NewReader(a.Results), maxInline, folder)
		} else {
			err = read(ctx, c.objects, a.Object, a.Size, func(r io.Reader) error { return unpack(r, a.Size, folder) })
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, jetstream.ErrObjectNotFound) {
			return err
		}
		var path *os.PathError
		if errors.As(err, &path) {
			return &run.WriteError{Err: err}
		}
		if a.Results != nil {
			return err // a retry would fail the same way
		}
		if c.conn.IsConnected() {
			if tries++; tries > maxReads {
				return err
			}
		}
		if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)); err != nil {
			return &run.WriteError{Err: err}
		}
		if !sleep(ctx, retryAfter) {
			return context.Cause(ctx)
		}
	}
}

// discard removes an outcome from the server. It also purges the marker that the object
// store keeps for each deleted object.
func (c *Coordinator) discard(ctx context.Context, a *arrival) {
	if a.Object != "" && a.Results == nil {
		if err := c.objects.Delete(ctx, a.Object); err == nil {
			_ = c.results.Purge(ctx, jetstream.WithPurgeSubject(markSubject(c.session, a.Object)))
		}
	}
	if a.msg != nil {
		_ = a.msg.Ack()
	}
}
