package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/batch/peer"
	"github.com/xoff-net/xoff/internal/batch/remote"
	"github.com/xoff-net/xoff/internal/batch/sweep"
	"github.com/xoff-net/xoff/run"
)

// accessFlags are the credentials for a NATS server.
type accessFlags struct {
	tokenFile, certificate, key, authority string
}

func (f *accessFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.tokenFile, "nats-token", "", "`FILE` with the server's token (default: environment variable "+peer.TokenVariable+")")
	flags.StringVar(&f.certificate, "nats-cert", "", "`FILE` with the client certificate; enables TLS")
	flags.StringVar(&f.key, "nats-key", "", "`FILE` with the key of --nats-cert")
	flags.StringVar(&f.authority, "nats-ca", "", "`FILE` with the CA certificate that signed the server's certificate")
}

func (f *accessFlags) read(cmd *cobra.Command) (remote.Access, error) {
	if f.tokenFile != "" {
		if err := peer.CheckTokenFile(f.tokenFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(cmd.ErrOrStderr(), "xoff: warning: %v\n", err)
		}
	}
	a, err := remote.ReadAccess(f.tokenFile, f.certificate, f.key, f.authority, os.Getenv)
	return a, wrap(exitInput, err)
}

// natsFlags are the flags of commands that use workers on other machines.
type natsFlags struct {
	server string
	memory string
	accessFlags
}

func (f *natsFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "nats", "", "`URL` nats://HOST:PORT of a NATS server (see xoff-hub): xoff worker on other machines computes the points")
	flags.StringVar(&f.memory, "memory", "", "with --nats: memory `SIZE` of a point, such as 2GiB; workers with less do not take it (default: memory of finished points)")
	f.accessFlags.register(cmd)
}

// network is the NATS server that connects workers and a sweep.
type network struct {
	access  remote.Access
	memory  int64
	address string
}

// check rejects flags that exclude each other and connects to the server once. It returns
// nil without --nats.
func (f *natsFlags) check(cmd *cobra.Command) (*network, error) {
	if f.server == "" {
		for _, name := range []string{"memory", "nats-token", "nats-cert", "nats-key", "nats-ca"} {
			if cmd.Flags().Changed(name) {
				return nil, failf(exitInput, "--%s needs --nats", name)
			}
		}
		return nil, nil
	}
	for _, name := range []string{"shard", "plan"} {
		if cmd.Flags().Changed(name) {
			return nil, failf(exitInput, "--nats cannot be combined with --%s: workers compute all points", name)
		}
	}
	if err := checkServer(f.server); err != nil {
		return nil, failf(exitInput, "--nats: %w", err)
	}
	n := &network{address: f.server}
	var err error
	if n.access, err = f.read(cmd); err != nil {
		return nil, err
	}
	if n.memory, err = parseMemory(f.memory); err != nil {
		return nil, err
	}
	return n, networkError(remote.Probe(cmd.Context(), n.address, n.access))
}

// checkServer checks the value of --nats. For the removed embedded server, the error names
// its replacement.
func checkServer(text string) error {
	rest, old := strings.CutPrefix(text, "embedded")
	listen, hasAddress := strings.CutPrefix(rest, ":")
	switch {
	case old && rest == "":
		return errors.New("xoff has no embedded NATS server: found embedded; fix: start xoff-hub, then use --nats nats://127.0.0.1:4222 and the token it prints")
	case old && hasAddress:
		return fmt.Errorf("xoff has no embedded NATS server: found %s; fix: start xoff-hub --listen %s, then use --nats nats://HOST:PORT and the token it prints", text, listen)
	}
	return remote.CheckURL(text)
}

// networkError attaches the exit code: bad input if the server refused the connection.
func networkError(err error) error {
	if remote.IsRefused(err) {
		return wrap(exitInput, err)
	}
	return wrap(exitFailure, err)
}

// parseMemory parses an amount of memory. The empty string is 0.
func parseMemory(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.ParseBytes(text)
	if err != nil || n < 1 {
		return 0, failf(exitInput, "--memory is %q (expected a size such as 2GiB)", text)
	}
	return int64(n), nil
}

// runPoints computes points on this machine, or on workers if n is not nil.
func (a *app) runPoints(ctx context.Context, r *sweep.Runner, m *meter, points []*sweep.Point, name string, n *network, o *run.Options) ([]sweep.Row, error) {
	ctx, stop, err := a.offer(ctx, r, m, name, n, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	return r.Sweep(ctx, points)
}

// offer lets the workers of a server compute the points of a runner until the caller calls
// stop. Without a server this machine computes them.
func (a *app) offer(ctx context.Context, r *sweep.Runner, m *meter, name string, n *network, o *run.Options) (_ context.Context, stop func(), err error) {
	if n == nil {
		m.restart()
		return ctx, func() {}, nil
	}
	folder, err := filepath.Abs(r.Store.Folder)
	if err != nil {
		return nil, nil, wrap(exitFailure, err)
	}
	program, err := sweep.Executable()
	if err != nil {
		return nil, nil, wrap(exitFailure, err)
	}
	ctx, c, err := remote.Coordinate(ctx, n.address, n.access, remote.Sweep{
		Name: name, Folder: folder, Program: program, Settings: sweep.SettingsOf(o), Memory: n.memory, Limit: r.Limit, SetAside: remote.LogsBeside(folder), Log: a.logger(m),
	})
	if err != nil {
		return nil, nil, networkError(err)
	}
	r.Run, r.Workers, r.Limit = c.Run, remote.InFlight, 0 // points may wait long for a worker, which has the limit
	stopMeter := a.showWorkers(r, c, m, n.address)
	return ctx, func() {
		stopMeter()
		c.Close()
	}, nil
}

// logger returns a function that prints lines to standard error without disturbing a meter.
func (a *app) logger(m *meter) func(string) {
	var lock sync.Mutex
	return func(text string) {
		lock.Lock()
		defer lock.Unlock()
		if m != nil {
			m.clear()
		}
		fmt.Fprintf(a.err, "xoff: %s\n", peer.Printable(text))
	}
}

// showWorkers shows the progress of a sweep and its workers until the caller calls stop. It
// polls, because workers may report nothing for a long time.
func (a *app) showWorkers(r *sweep.Runner, c *remote.Coordinator, m *meter, address string) (stop func()) {
	var lock sync.Mutex
	var last sweep.Progress
	r.Progress = func(p sweep.Progress) {
		lock.Lock()
		defer lock.Unlock()
		last = p
	}
	m.restart()
	return m.showUntil(new(atomic.Bool), func(passed time.Duration) string {
		lock.Lock()
		p := last
		lock.Unlock()
		workers, slots := c.Workers()
		return workersLine(p, passed, workers, slots, address)
	})
}

// workersLine formats the progress of a sweep on other machines.
func workersLine(p sweep.Progress, passed time.Duration, workers, slots int, address string) string {
	line := fmt.Sprintf("%d of %d points", p.Done, p.Total)
	if p.Reused > 0 {
		line += fmt.Sprintf(" (%d reused)", p.Reused)
	}
	switch workers {
	case 0:
		return line + ", no workers; start xoff worker " + address
	case 1:
		line += fmt.Sprintf(", 1 worker (%d at a time)", slots)
	default:
		line += fmt.Sprintf(", %d workers (%d at a time)", workers, slots)
	}
	line += fmt.Sprintf(", %.3g points/min", float64(p.Done-p.Reused)/max(passed.Minutes(), 1e-3))
	return line + timeLeft(p.Share, passed)
}
