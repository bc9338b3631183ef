package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lookEvery is how often a coordinator looks whether the server has what it should.
const lookEvery = 2 * time.Second

// watch takes outcomes and news, and looks after the streams.
func (c *Coordinator) watch(ctx context.Context) error {
	ended, err := c.js.Consumer(ctx, doneStream(c.session), consumer)
	if err != nil {
		return err
	}
	heard, err := c.conn.Subscribe(newsSubject(c.session), func(m *nats.Msg) { c.hear(m.Data) })
	if err != nil {
		return err
	}
	c.watched.Go(func() {
		c.takeOutcomes(ctx, ended)
		_ = heard.Unsubscribe()
	})
	c.watched.Go(func() { c.look(ctx, ended) })
	return nil
}

func (c *Coordinator) takeOutcomes(ctx context.Context, ended jetstream.Consumer) {
	for ctx.Err() == nil {
		list, err := ended.Messages(jetstream.PullMaxMessages(16))
		for err == nil {
			var m jetstream.Msg
			if m, err = list.Next(jetstream.NextContext(ctx)); err == nil {
				c.take(ctx, m)
			}
		}
		if list != nil {
			list.Stop()
		}
		pause(ctx, retryAfter)
	}
}

// take hands an outcome to who waits for it. The first of a point counts; what comes
// twice is forgotten, and so is what nobody can read.
func (c *Coordinator) take(ctx context.Context, m jetstream.Msg) {
	a := arrival{msg: m}
	if err := decode(m.Data(), &a.outcome); err != nil || a.Schema != schema || len(a.Log) > 2*maxLog {
		c.Log(fmt.Sprintf("a message of %d bytes about results is refused: %v", len(m.Data()), err))
		_ = m.Term()
		return
	}
	c.mu.Lock()
	w := c.waiting[a.ID]
	switch {
	case w == nil || a.Kind == done && w.taken != "" && w.taken != a.Object:
		c.mu.Unlock()
		c.drop(ctx, &a)
		return
	case a.Kind == done && w.taken == a.Object:
		c.mu.Unlock()
		return // again, while it is being read
	case a.Kind == done:
		w.taken = a.Object
	}
	c.mu.Unlock()
	select {
	case w.outcomes <- a:
	default:
		c.drop(ctx, &a)
	}
}

// hear takes what a worker tells of itself.
func (c *Coordinator) hear(data []byte) {
	var n news
	if decode(data, &n) != nil || n.Schema != schema || len(n.Worker) > 200 || len(n.Refused) > 1000 {
		return
	}
	if n.Refused != "" {
		c.tellOnce(fmt.Sprintf("%s: %s", n.Worker, n.Refused))
		return
	}
	c.mu.Lock()
	if n.Leaving {
		delete(c.workers, n.Worker)
	} else {
		c.workers[n.Worker] = &seen{n.Slots, time.Now()}
	}
	waiters := make([]*waiter, len(n.Running))
	for i, r := range n.Running {
		waiters[i] = c.waiting[r.ID]
	}
	c.mu.Unlock()
	for i, r := range n.Running {
		if waiters[i] != nil && r.Share >= 0 && r.Share <= 1 {
			waiters[i].tell(r.Share, r.Hops)
		}
	}
}

// tellOnce logs what would be said again and again.
func (c *Coordinator) tellOnce(text string) {
	c.mu.Lock()
	known := c.told[text]
	if len(c.told) < 1000 {
		c.told[text] = true
	}
	c.mu.Unlock()
	if !known {
		c.Log(text)
	}
}

// Workers counts those who told of themselves lately, and the points that they compute
// at a time.
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

// look ends the sweep when the server does not know it any more, and sends points again
// that a server lost: one that lost its power forgets the last things it was told.
func (c *Coordinator) look(ctx context.Context, ended jetstream.Consumer) {
	points, err := c.points.Consumer(ctx, consumer)
	if err != nil {
		c.stop(err)
		return
	}
	var idle []string // who waited last time, with nothing on the server
	for pause(ctx, lookEvery) {
		waiting := c.ids()
		p, err := info(ctx, points)
		var d *jetstream.ConsumerInfo
		if err == nil {
			d, err = info(ctx, ended)
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
		c.again(idle)
		idle = waiting
	}
}

func info(ctx context.Context, consumer jetstream.Consumer) (*jetstream.ConsumerInfo, error) {
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	return consumer.Info(ctx)
}

// ids are the points that are waited for, without those whose results arrive.
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

// again sends points once more.
func (c *Coordinator) again(ids []string) {
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
