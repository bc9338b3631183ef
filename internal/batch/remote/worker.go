package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/internal/yaml"
)

// maxGone is the number of workers that may disappear with a point before it is set aside.
// It exceeds maxDeaths because machines and networks fail too.
const maxGone = 5

// Worker computes points of the sweeps on a server.
type Worker struct {
	Name    string                    // machine and process
	Program string                    // hash of this executable
	Slots   int                       // points computed at a time
	Cores   int                       // cores per slot
	Memory  int64                     // memory limit per slot in bytes; 0: none
	Folder  string                    // working folder; must be empty and not shared
	Idle    time.Duration             // leave after this time without work; 0: never
	Limit   time.Duration             // time limit of a point; 0: none
	Slot    func() (*exec.Cmd, error) // returns the process of a slot
	Log     func(string)

	leave context.CancelCauseFunc // ends Run

	js   jetstream.JetStream
	conn *nats.Conn

	mu       sync.Mutex
	sessions map[string]*served
	order    []string        // sessions in round-robin order
	last     time.Time       // last time there was work
	ignored  map[string]bool // sessions of other executables, already reported
	computed int
}

// served is a sweep that a worker takes part in.
type served struct {
	id      string
	name    string
	ctx     context.Context // ends with the sweep
	stop    context.CancelFunc
	points  jetstream.Consumer
	objects jetstream.ObjectStore
	ackWait time.Duration

	mu      sync.Mutex
	running map[string]runningNews
}

// Run computes points until the context ends or there was no work for Idle. It returns the
// number of computed points.
func (w *Worker) Run(ctx context.Context, address string, access Access) (int, error) {
	w.sessions, w.ignored, w.last = make(map[string]*served), make(map[string]bool), time.Now()
	reqCtx, stop := context.WithCancel(ctx)
	if w.Idle > 0 {
		reqCtx, stop = context.WithTimeout(ctx, w.Idle)
	}
	defer stop()
	var err error
	if w.conn, err = connect(reqCtx, address, "xoff worker "+w.Name, access, true, w.Log); err != nil {
		if reqCtx.Err() != nil && ctx.Err() == nil {
			return 0, nil // no work for Idle
		}
		return 0, err
	}
	defer w.conn.Close()
	if w.js, err = jetstream.New(w.conn); err != nil {
		return 0, err
	}
	w.Log(fmt.Sprintf("%s serves %s: %d points at a time", w.Name, address, w.Slots))
	working, leave := context.WithCancelCause(ctx)
	w.leave = leave
	defer leave(nil)
	var all sync.WaitGroup
	for i := range w.Slots {
		all.Go(func() { w.work(working, i) })
	}
	all.Go(func() { w.announce(working) })
	err = w.follow(working)
	leave(nil)
	all.Wait()
	w.goodbye()
	var r refusedError
	if errors.As(context.Cause(working), &r) {
		err = r
	}
	return w.computed, err
}

// follow keeps the list of sweeps up to date.
func (w *Worker) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		if w.conn.IsClosed() {
			return errors.New("the server has closed the connection")
		}
		list, err := listSessions(ctx, w.js)
		if err == nil {
			err = w.update(ctx, list)
		}
		var r refusedError
		if errors.As(err, &r) {
			return err
		}
		w.mu.Lock()
		over := w.Idle > 0 && time.Since(w.last) > w.Idle
		none := len(w.sessions) == 0
		w.mu.Unlock()
		if over {
			return nil
		}
		wait := newsEvery
		if none {
			wait = retryAfter
		}
		sleep(ctx, wait)
	}
	return nil
}

// update joins new sweeps and leaves those that have ended.
func (w *Worker) update(ctx context.Context, list []session) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, s := range w.sessions {
		if !slices.ContainsFunc(list, func(t session) bool { return t.id == id }) {
			w.Log(fmt.Sprintf("sweep %s has ended", s.name))
			s.stop()
			delete(w.sessions, id)
			w.order = slices.DeleteFunc(w.order, func(other string) bool { return other == id })
		}
	}
	for _, t := range list {
		if w.sessions[t.id] != nil || w.ignored[t.id] {
			continue
		}
		if program := t.about[keyProgram]; program != w.Program {
			err := fmt.Errorf("this xoff executable has hash %s (sweep %s expected %s); fix: use the same executable on all machines", w.Program, t.about[keySweep], program)
			w.publish(t.id, &news{Refused: "refused: " + err.Error()})
			_ = w.conn.FlushTimeout(requestTime)
			if len(w.sessions) == 0 {
				return refusedError{err}
			}
			w.ignored[t.id] = true
			w.Log(err.Error())
			continue
		}
		s, err := w.join(ctx, t)
		if err != nil {
			return err
		}
		w.Log(fmt.Sprintf("joined sweep %s", s.name))
		w.sessions[t.id], w.last = s, time.Now()
		w.order = append(w.order, t.id)
	}
	return nil
}

func (w *Worker) join(ctx context.Context, t session) (*served, error) {
	s := &served{id: t.id, name: t.about[keySweep], running: make(map[string]runningNews)}
	reqCtx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	var err error
	if s.points, err = w.js.Consumer(reqCtx, pointsStream(t.id), consumer); err != nil {
		return nil, err
	}
	s.ackWait = s.points.CachedInfo().Config.AckWait
	if s.objects, err = w.js.ObjectStore(reqCtx, bucket(t.id)); err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s, nil
}

// next returns the sweep whose turn it is, or nil, and the number of sweeps.
func (w *Worker) next() (*served, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == 0 {
		return nil, 0
	}
	id := w.order[0]
	w.order = append(w.order[1:], id)
	return w.sessions[id], len(w.order)
}

// work computes points in one slot, one after the other.
func (w *Worker) work(ctx context.Context, index int) {
	p := &slot{command: w.Slot}
	defer p.end()
	folder := filepath.Join(w.Folder, fmt.Sprintf("slot%d", index))
	for ctx.Err() == nil {
		s, sweeps := w.next()
		if s == nil {
			sleep(ctx, retryAfter/5)
			continue
		}
		// A slot fetches one message at a time, so that points it has not begun stay
		// available to others.
		wait := max(time.Second, 5*time.Second/time.Duration(sweeps))
		reqCtx, stop := context.WithTimeout(s.ctx, wait)
		batch, err := s.points.Fetch(1, jetstream.FetchContext(reqCtx))
		if err != nil {
			stop()
			sleep(ctx, retryAfter)
			continue
		}
		for m := range batch.Messages() {
			w.handle(s, m, p, folder)
		}
		stop()
		if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			sleep(ctx, retryAfter)
		}
	}
}

// handle computes the point of a message.
func (w *Worker) handle(s *served, m jetstream.Msg, p *slot, folder string) {
	var o order
	err := decode(m.Data(), &o)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		w.Log(fmt.Sprintf("rejected a message of %d bytes: %v", len(m.Data()), err))
		_ = m.TermWithReason("not a point of a sweep")
		return
	}
	beating, stop := context.WithCancel(s.ctx)
	var beat sync.WaitGroup
	beat.Go(func() {
		for sleep(beating, s.ackWait/4) {
			_ = m.InProgress()
		}
	})
	defer beat.Wait()
	defer stop()
	s.note(o.ID, 0, 0)
	defer s.forget(o.ID)

	out := w.compute(s, m, &o, p, folder)
	if s.ctx.Err() != nil {
		w.handBack(s, m, &o)
		return
	}
	out.Schema, out.ID, out.Worker = schema, o.ID, w.Name
	if out.Message != "" {
		w.Log(fmt.Sprintf("%s: %s: %s", o.Label, out.Kind, out.Message))
	}
	// The outcome is delivered before the point is acknowledged.
	if err := w.deliver(s, out, filepath.Join(folder, "results")); err != nil {
		w.Log(fmt.Sprintf("%s: %v", o.Label, err))
		_ = m.Nak()
		return
	}
	_ = persist(s.ctx, w.Log, m.DoubleAck)
	if out.Kind == refused || out.Kind == died {
		stop()
		sleep(s.ctx, 2*retryAfter) // another worker may take it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	if out.Kind == done {
		w.computed++
	}
}

// handBack returns an unfinished point to the coordinator, which sends it again. So workers
// that leave do not count as workers that disappeared.
func (w *Worker) handBack(s *served, m jetstream.Msg, o *order) {
	ctx, stop := context.WithTimeout(context.Background(), requestTime)
	defer stop()
	data, err := json.Marshal(&outcome{Schema: schema, ID: o.ID, Worker: w.Name, Kind: lost})
	if err == nil && w.conn.IsConnected() {
		if _, err = w.js.Publish(ctx, doneSubject(s.id), data); err == nil {
			_ = m.DoubleAck(ctx)
			return
		}
	}
	_ = m.Nak() // the sweep has ended, or the server redelivers the point
}

// compute computes a point, or refuses it.
func (w *Worker) compute(s *served, m jetstream.Msg, o *order, p *slot, folder string) *outcome {
	if about, err := m.Metadata(); err == nil && about.NumDelivered > maxGone {
		return &outcome{Kind: gone, Message: fmt.Sprintf("%d workers disappeared while they had this point", about.NumDelivered-1)}
	}
	switch {
	case o.Key.Executable != w.Program:
		return &outcome{Kind: refused, Message: fmt.Sprintf("this xoff executable has hash %s (expected %s)", w.Program, o.Key.Executable)}
	case o.Scenario.Size > yaml.MaxFile: // the decoder would reject it after the transfer
		return &outcome{Kind: failed, Message: fmt.Sprintf("refused: the scenario has %d bytes (expected at most %d)", o.Scenario.Size, yaml.MaxFile)}
	case w.Memory > 0 && o.Memory > w.Memory:
		return &outcome{Kind: refused, Message: tooLittleMemory(o.Memory, w.Memory)}
	}
	t := &task{Folder: filepath.Join(folder, "point"), Results: filepath.Join(folder, "results"), Cores: w.Cores, Memory: w.Memory, Key: o.Key, Settings: o.Settings}
	if err := o.stage(s.ctx, s.objects, t); err != nil {
		return &outcome{Kind: refused, Message: err.Error()}
	}
	ctx, stop := o.limit(s.ctx, w.Limit)
	defer stop()
	a, err := p.compute(ctx, t, func(share float64, hops uint64) { s.note(o.ID, share, hops) })
	var d *diedError
	var late *sweep.LimitError
	switch {
	case errors.As(err, &late) && late.Worker: // a worker with another limit may compute it
		return &outcome{Kind: died, Message: late.Error()}
	case errors.As(err, &late):
		return &outcome{Kind: failed, Message: late.Error()}
	case errors.As(err, &d):
		return &outcome{Kind: died, Message: d.Error(), Log: d.log}
	case err != nil:
		return &outcome{Kind: refused, Message: err.Error()}
	case a.Program != "":
		w.leave(refusedError{fmt.Errorf("xoff was replaced while this worker ran: its file has hash %s (expected %s); fix: restart the worker", a.Program, w.Program)})
		return &outcome{Kind: refused}
	case a.Exceeds > 0:
		return &outcome{Kind: refused, Message: tooLittleMemory(a.Exceeds, w.Memory), Peak: a.Exceeds}
	case a.Unable != "":
		return &outcome{Kind: refused, Message: a.Unable}
	case a.Failed != "":
		return &outcome{Kind: failed, Message: a.Failed}
	}
	return &outcome{Kind: done, Verdict: a.Verdict, Seconds: a.Seconds, Peak: a.Peak, Object: nuid.Next()}
}

// limit returns a context that ends at the time limit of the sweep or of the worker,
// whichever is shorter, with a sweep.LimitError as its cause.
func (o *order) limit(ctx context.Context, own time.Duration) (context.Context, context.CancelFunc) {
	l := &sweep.LimitError{Limit: o.Limit}
	if own > 0 && (l.Limit == 0 || own < l.Limit) {
		l.Limit, l.Worker = own, true
	}
	return sweep.WithLimit(ctx, l)
}

// stage writes the files of a point into the folder of its task.
func (o *order) stage(ctx context.Context, objects jetstream.ObjectStore, t *task) error {
	for _, folder := range []string{t.Folder, t.Results} {
		if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
			return err
		}
	}
	if err := o.Scenario.fetch(ctx, objects, filepath.Join(t.Folder, scenarioName)); err != nil {
		return err
	}
	for _, f := range o.Inputs {
		if err := f.fetch(ctx, objects, filepath.Join(t.Folder, f.Name)); err != nil {
			return err
		}
		t.Inputs = append(t.Inputs, f.Name)
	}
	return nil
}

// deliver sends an outcome, results first.
func (w *Worker) deliver(s *served, out *outcome, results string) error {
	if out.Object != "" {
		if err := w.attach(s, out, results); err != nil {
			return err
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		return err
	}
	identity := nuid.Next()
	return persist(s.ctx, w.Log, func(ctx context.Context) error {
		_, err := w.js.Publish(ctx, doneSubject(s.id), data, jetstream.WithMsgID(identity))
		return err
	})
}

// attach puts results into the message if they fit, else into the object store, which takes
// ten more requests.
func (w *Worker) attach(s *served, out *outcome, results string) error {
	inline, err := packInline(results)
	if !errors.Is(err, errTooLong) {
		out.Results = inline
		return err
	}
	info, err := w.put(s, out.Object, results)
	if err == nil {
		out.Size = int64(info.Size)
	}
	return err
}

// put uploads a folder to the object store and retries while the server is unreachable.
func (w *Worker) put(s *served, name, folder string) (info *jetstream.ObjectInfo, err error) {
	err = persist(s.ctx, w.Log, func(context.Context) error {
		ctx, stop := context.WithTimeout(s.ctx, longTime)
		defer stop()
		r, packed := io.Pipe()
		go func() {
			// Each read by Put becomes one message.
			w := bufio.NewWriterSize(packed, pieceSize)
			_ = packed.CloseWithError(errors.Join(pack(w, folder), w.Flush()))
		}()
		var err error
		info, err = s.objects.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: pieceSize}}, r)
		_ = r.Close()
		return err
	})
	return info, err
}

func (s *served) note(id string, share float64, hops uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = runningNews{id, share, hops}
}

func (s *served) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
}

// announce publishes the progress of this worker until the context ends.
func (w *Worker) announce(ctx context.Context) {
	for sleep(ctx, newsEvery/4) {
		w.mu.Lock()
		all := make([]*served, 0, len(w.sessions))
		for _, s := range w.sessions {
			all = append(all, s)
		}
		w.mu.Unlock()
		for _, s := range all {
			n := &news{Slots: w.Slots, Running: []runningNews{}}
			s.mu.Lock()
			for _, r := range s.running {
				n.Running = append(n.Running, r)
			}
			busy := len(s.running) > 0
			s.mu.Unlock()
			w.publish(s.id, n)
			if busy {
				w.mu.Lock()
				w.last = time.Now()
				w.mu.Unlock()
			}
		}
		if len(all) > 0 {
			sleep(ctx, newsEvery*3/4)
		}
	}
}

func (w *Worker) publish(session string, n *news) {
	n.Schema, n.Worker = schema, w.Name
	if n.Running == nil {
		n.Running = []runningNews{}
	}
	if data, err := json.Marshal(n); err == nil {
		_ = w.conn.Publish(newsSubject(session), data)
	}
}

// goodbye announces that this worker leaves.
func (w *Worker) goodbye() {
	for id := range w.sessions {
		w.publish(id, &news{Leaving: true})
	}
	_ = w.conn.FlushTimeout(requestTime)
}
