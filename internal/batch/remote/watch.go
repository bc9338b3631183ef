package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/xoff-net/xoff/internal/batch/peer"
)

// monitorEvery is the interval at which a coordinator checks the streams.
const monitorEvery = 2 * time.Second

// watch starts to receive outcomes and news and to monitor the streams.
func (c *Coordinator) watch(ctx context.Context) error {
	outcomes, err := c.js.Consumer(ctx, doneStream(c.session), consumer)
	if err != nil {
		return err
	}
	updates, err := c.conn.Subscribe(newsSubject(c.session), func(m *nats.Msg) { c.handleNews(m.Data) })
	if err != nil {
		return err
	}
	c.watched.Go(func() {
		c.receive(ctx, outcomes)
		_ = updates.Unsubscribe()
	})
	c.watched.Go(func() { c.monitor(ctx, outcomes) })
	return nil
}

// receive dispatches outcomes until the context ends.
func (c *Coordinator) receive(ctx context.Context, outcomes jetstream.Consumer) {
	for ctx.Err() == nil {
		list, err := outcomes.Messages(jetstream.PullMaxMessages(16))
		for err == nil {
			var m jetstream.Msg
			if m, err = list.Next(jetstream.NextContext(ctx)); err == nil {
				c.dispatch(ctx, m)
			}
		}
		if list != nil {
			list.Stop()
		}
		sleep(ctx, retryAfter)
	}
}

// dispatch passes an outcome to its waiter. The first outcome of a point counts; duplicates
// and unreadable messages are discarded.
func (c *Coordinator) dispatch(ctx context.Context, m jetstream.Msg) {
	a := arrival{msg: m}
	err := decode(m.Data(), &a.outcome)
	if err == nil {
		err = a.clean()
	}
	if err != nil {
		c.Log(fmt.Sprintf("rejected an outcome of %d bytes: %v", len(m.Data()), err))
		_ = m.Term()
		return
	}
	c.mu.Lock()
	w := c.waiting[a.ID]
	switch {
	case w == nil || a.Kind == done && w.taken != "" && w.taken != a.Object:
		c.mu.Unlock()
		c.discard(ctx, &a)
		return
	case a.Kind == done && w.taken == a.Object:
		c.mu.Unlock()
		return // a duplicate of the results that are being read
	case a.Kind == done:
		w.taken = a.Object
	}
	c.mu.Unlock()
	select {
	case w.outcomes <- a:
	default:
		c.discard(ctx, &a)
	}
}

// handleNews updates the state of a worker and the progress of its points.
func (c *Coordinator) handleNews(data []byte) {
	var n news
	if decode(data, &n) != nil || n.Schema != schema {
		return
	}
	n.Worker, n.Refused = peer.Line(n.Worker, maxWorker), peer.Line(n.Refused, maxMessage)
	if n.Refused != "" {
		c.logOnce(fmt.Sprintf("%s: %s", n.Worker, n.Refused))
		return
	}
	c.mu.Lock()
	if n.Leaving {
		delete(c.workers, n.Worker)
	} else {
		c.workers[n.Worker] = &workerState{n.Slots, time.Now()}
	}
	waiters := make([]*waiter, len(n.Running))
	for i, r := range n.Running {
		waiters[i] = c.waiting[r.ID]
	}
	c.mu.Unlock()
	for i, r := range n.Running {
		if waiters[i] != nil && r.Share >= 0 && r.Share <= 1 {
			waiters[i].progress(r.Share, r.Hops)
		}
	}
}

// logOnce logs a text unless it has been logged before.
func (c *Coordinator) logOnce(text string) {
	c.mu.Lock()
	known := c.logged[text]
	if len(c.logged) < 1000 {
		c.logged[text] = true
	}
	c.mu.Unlock()
	if !known {
		c.Log(text)
	}
}

// Workers returns the number of workers with recent news and the number of their slots.
func (c *Coordinator) Workers() (workers, slots int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, w := range c.workers {
		if time.Since(w.last) > silentAfter {
			delete(c.workers, name)
			continue
		}
		workers++
		slots += w.slots
	}
	return workers, slots
}

// monitor ends the sweep if the server no longer has its streams. It also resends points
// that the server lost: after a power failure a server misses its latest messages.
func (c *Coordinator) monitor(ctx context.Context, outcomes jetstream.Consumer) {
	points, err := c.points.Consumer(ctx, consumer)
	if err != nil {
		c.stop(err)
		return
	}
	var idle []string // points that waited at the last check, with nothing on the server
	for sleep(ctx, monitorEvery) {
		waiting := c.ids()
		p, err := info(ctx, points)
		var d *jetstream.ConsumerInfo
		if err == nil {
			d, err = info(ctx, outcomes)
		}
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, nats.ErrConnectionClosed):
			c.stop(fmt.Errorf("the server has lost the sweep: %w", err))
			return
		case err != nil:
			idle = nil
			continue
		case p.NumPending+d.NumPending > 0 || p.NumAckPending+d.NumAckPending > 0:
			idle = nil
			continue
		}
		c.resend(idle)
		idle = waiting
	}
}

func info(ctx context.Context, consumer jetstream.Consumer) (*jetstream.ConsumerInfo, error) {
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	return consumer.Info(ctx)
}

// ids returns the points that wait for an outcome.
func (c *Coordinator) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for id, w := range c.waiting {
		if w.sent && w.taken == "" {
			list = append(list, id)
		}
	}
	return list
}

// resend makes Run send points again.
func (c *Coordinator) resend(ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if w := c.waiting[id]; w != nil && w.sent && w.taken == "" {
			select {
			case w.outcomes <- arrival{outcome: outcome{ID: id, Kind: lost}}:
			default:
			}
		}
	}
}
