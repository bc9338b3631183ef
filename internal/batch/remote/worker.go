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

	"github.com/xoff-net/xoff/internal/yaml"
)

// maxGone is to how many workers a point goes that are not heard of again: more than
// deaths that were seen, since machines and networks fail, too.
const maxGone = 5

// Worker computes points of the sweeps that a server has.
type Worker struct {
	Name    string // machine and process
	Program string // hash of this program
	Slots   int    // points at a time
	Cores   int    // of each
	Memory  int64  // for each; 0: nobody knows
	Folder  string // for what is being computed; empty and ours alone
	Idle    time.Duration
	Slot    func() *exec.Cmd // the process of a slot
	Log     func(string)

	js   jetstream.JetStream
	conn *nats.Conn

	mu       sync.Mutex
	sessions map[string]*served
	order    []string // of sessions: all get their turn
	last     time.Time
	ignored  map[string]bool // sessions of other programs, told once
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

// Run computes points until the context ends, or nothing is to be done for the time of
// Idle. It returns how many it computed.
func (w *Worker) Run(ctx context.Context, address string, access Access) (int, error) {
	w.sessions, w.ignored, w.last = make(map[string]*served), make(map[string]bool), time.Now()
	asking, stop := context.WithCancel(ctx)
	if w.Idle > 0 {
		asking, stop = context.WithTimeout(ctx, w.Idle)
	}
	defer stop()
	var err error
	if w.conn, err = connect(asking, address, "xoff worker "+w.Name, access, true, w.Log); err != nil {
		if asking.Err() != nil && ctx.Err() == nil {
			return 0, nil // nothing to do for so long
		}
		return 0, err
	}
	defer w.conn.Close()
	if w.js, err = jetstream.New(w.conn); err != nil {
		return 0, err
	}
	w.Log(fmt.Sprintf("%s serves %s: %d points at a time", w.Name, address, w.Slots))
	working, leave := context.WithCancel(ctx)
	defer leave()
	var all sync.WaitGroup
	for i := range w.Slots {
		all.Go(func() { w.work(working, i) })
	}
	all.Go(func() { w.tell(working) })
	err = w.follow(working)
	leave()
	all.Wait()
	w.goodbye()
	return w.computed, err
}

// follow keeps the list of sweeps.
func (w *Worker) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		if w.conn.IsClosed() {
			return errors.New("the server has closed the connection for good")
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
		pause(ctx, wait)
	}
	return nil
}

// update takes part in sweeps that are new, and leaves those that are over.
func (w *Worker) update(ctx context.Context, list []session) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, s := range w.sessions {
		if !slices.ContainsFunc(list, func(t session) bool { return t.id == id }) {
			w.Log(fmt.Sprintf("the sweep %s is over", s.name))
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
			err := fmt.Errorf("this xoff has the hash %s, and the sweep %s is of one with %s; allowed: the same program on all machines", w.Program, t.about[keySweep], program)
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
		w.Log(fmt.Sprintf("takes part in the sweep %s", s.name))
		w.sessions[t.id], w.last = s, time.Now()
		w.order = append(w.order, t.id)
	}
	return nil
}

func (w *Worker) join(ctx context.Context, t session) (*served, error) {
	s := &served{id: t.id, name: t.about[keySweep], running: make(map[string]runningNews)}
	asking, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	var err error
	if s.points, err = w.js.Consumer(asking, pointsStream(t.id), consumer); err != nil {
		return nil, err
	}
	s.ackWait = s.points.CachedInfo().Config.AckWait
	if s.objects, err = w.js.ObjectStore(asking, bucket(t.id)); err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s, nil
}

// next is the sweep whose turn it is; nil when there is none.
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

// work computes points, one after the other.
func (w *Worker) work(ctx context.Context, index int) {
	p := &slot{command: w.Slot}
	defer p.end()
	folder := filepath.Join(w.Folder, fmt.Sprintf("slot%d", index))
	for ctx.Err() == nil {
		s, of := w.next()
		if s == nil {
			pause(ctx, retryAfter/5)
			continue
		}
		// A slot holds one message: what it has not begun others can have.
		wait := max(time.Second, 5*time.Second/time.Duration(of))
		asking, stop := context.WithTimeout(s.ctx, wait)
		batch, err := s.points.Fetch(1, jetstream.FetchContext(asking))
		if err != nil {
			stop()
			pause(ctx, retryAfter)
			continue
		}
		for m := range batch.Messages() {
			w.handle(s, m, p, folder)
		}
		stop()
		if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			pause(ctx, retryAfter)
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
		w.Log(fmt.Sprintf("a message of %d bytes is refused: %v", len(m.Data()), err))
		_ = m.TermWithReason("no point of a sweep")
		return
	}
	beating, stop := context.WithCancel(s.ctx)
	var beat sync.WaitGroup
	beat.Go(func() {
		for pause(beating, s.ackWait/4) {
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
	// What became of it is known before the point is forgotten.
	if err := w.deliver(s, out, filepath.Join(folder, "results")); err != nil {
		w.Log(fmt.Sprintf("%s: %v", o.Label, err))
		_ = m.Nak()
		return
	}
	_ = persist(s.ctx, w.Log, m.DoubleAck)
	if out.Kind == refused {
		stop()
		pause(s.ctx, 2*retryAfter) // another worker may have it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	if out.Kind == done {
		w.computed++
	}
}

// handBack gives a point back that this worker does not finish: the coordinator sends it
// anew, so that those who leave do not count as those who were not heard of again.
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
	_ = m.Nak() // the sweep is over, or the server knows better
}

// compute computes a point, unless it is not for this worker.
func (w *Worker) compute(s *served, m jetstream.Msg, o *order, p *slot, folder string) *outcome {
	if about, err := m.Metadata(); err == nil && about.NumDelivered > maxGone {
		return &outcome{Kind: gone, Message: fmt.Sprintf("%d workers had it and were not heard of again", about.NumDelivered-1)}
	}
	switch {
	case o.Key.Executable != w.Program:
		return &outcome{Kind: refused, Message: fmt.Sprintf("it is of the program %s, and this xoff is %s", o.Key.Executable, w.Program)}
	case o.Scenario.Size > yaml.MaxFile: // nobody fetches what no decoder reads
		return &outcome{Kind: failed, Message: fmt.Sprintf("refused: the scenario has %d bytes; allowed: at most %d", o.Scenario.Size, yaml.MaxFile)}
	case w.Memory > 0 && o.Memory > w.Memory:
		return &outcome{Kind: refused, Message: describe(o.Memory, w.Memory)}
	}
	t := &task{Folder: filepath.Join(folder, "point"), Results: filepath.Join(folder, "results"), Cores: w.Cores, Key: o.Key, Settings: o.Settings}
	if err := o.lay(s.ctx, s.objects, t); err != nil {
		return &outcome{Kind: refused, Message: err.Error()}
	}
	a, err := p.compute(s.ctx, t, func(share float64, hops uint64) { s.note(o.ID, share, hops) })
	var d *diedError
	switch {
	case errors.As(err, &d):
		return &outcome{Kind: died, Message: d.Error(), Log: d.log}
	case err != nil:
		return &outcome{Kind: refused, Message: err.Error()}
	case a.Unable != "":
		return &outcome{Kind: refused, Message: a.Unable}
	case a.Failed != "":
		return &outcome{Kind: failed, Message: a.Failed}
	}
	return &outcome{Kind: done, Verdict: a.Verdict, Seconds: a.Seconds, Peak: a.Peak, Object: nuid.Next()}
}

// lay puts the files of a point where its slot finds them.
func (o *order) lay(ctx context.Context, objects jetstream.ObjectStore, t *task) error {
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

// deliver sends what became of a point, results first.
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

// attach puts results into a message if there is room, else into the object store: that
// takes ten requests more.
func (w *Worker) attach(s *served, out *outcome, results string) error {
	short, err := packShort(results)
	if !errors.Is(err, errLong) {
		out.Results = short
		return err
	}
	info, err := w.put(s, out.Object, results)
	if err == nil {
		out.Size = int64(info.Size)
	}
	return err
}

// put sends a folder to the object store, again if the server goes away meanwhile.
func (w *Worker) put(s *served, name, folder string) (info *jetstream.ObjectInfo, err error) {
	err = persist(s.ctx, w.Log, func(context.Context) error {
		ctx, stop := context.WithTimeout(s.ctx, longTime)
		defer stop()
		r, packed := io.Pipe()
		go func() {
			// A read is a message.
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

// tell tells those who watch how far it is.
func (w *Worker) tell(ctx context.Context) {
	for pause(ctx, newsEvery/4) {
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
			pause(ctx, newsEvery*3/4)
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

// goodbye says that this worker computes nothing any more.
func (w *Worker) goodbye() {
	for id := range w.sessions {
		w.publish(id, &news{Leaving: true})
	}
	_ = w.conn.FlushTimeout(requestTime)
}
