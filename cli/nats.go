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

// accessFlags say what shows a server of NATS that one may connect.
type accessFlags struct {
	tokenFile, certificate, key, authority string
}

func (f *accessFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.tokenFile, "nats-token", "", "`FILE` with the token of the server (default: "+peer.TokenVariable+" in the environment)")
	flags.StringVar(&f.certificate, "nats-cert", "", "`FILE` with the certificate of this side; all connections are encrypted then")
	flags.StringVar(&f.key, "nats-key", "", "`FILE` with the key of --nats-cert")
	flags.StringVar(&f.authority, "nats-ca", "", "`FILE` with the certificate that signed those of the other side")
}

func (f *accessFlags) read() (remote.Access, error) {
	a, err := remote.ReadAccess(f.tokenFile, f.certificate, f.key, f.authority, os.Getenv)
	return a, wrap(exitInput, err)
}

// natsFlags choose workers on other machines.
type natsFlags struct {
	server string
	memory string
	accessFlags
}

func (f *natsFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "nats", "", "compute points by xoff worker on other machines, through the NATS server at `URL` nats://HOST:PORT; xoff-hub starts one")
	flags.StringVar(&f.memory, "memory", "", "with --nats: memory `SIZE` that a point takes, such as 2GiB; workers with less refuse it (default: what points took that are done)")
	f.accessFlags.register(cmd)
}

// network is the NATS server where workers and sweep meet.
type network struct {
	access  remote.Access
	memory  int64
	address string
}

// check refuses what does not go together, before anything is computed. It is nil without
// --nats.
func (f *natsFlags) check(cmd *cobra.Command) (*network, error) {
	if f.server == "" {
		for _, name := range []string{"memory", "nats-token", "nats-cert", "nats-key", "nats-ca"} {
			if cmd.Flags().Changed(name) {
				return nil, failf(exitInput, "--%s is for workers on other machines; allowed: --nats with it", name)
			}
		}
		return nil, nil
	}
	for _, name := range []string{"shard", "plan"} {
		if cmd.Flags().Changed(name) {
			return nil, failf(exitInput, "--nats has workers compute all points, and --%s is for a part of them; allowed: one of the two", name)
		}
	}
	if err := checkServer(f.server); err != nil {
		return nil, failf(exitInput, "--nats: %w", err)
	}
	n := &network{address: f.server}
	var err error
	if n.access, err = f.read(); err != nil {
		return nil, err
	}
	if n.memory, err = parseMemory(f.memory); err != nil {
		return nil, err
	}
	return n, networkError(remote.Probe(cmd.Context(), n.address, n.access))
}

// checkServer checks the value of --nats. The server inside xoff is gone: its users learn
// what replaces it.
func checkServer(text string) error {
	rest, old := strings.CutPrefix(text, "embedded")
	listen, hasAddress := strings.CutPrefix(rest, ":")
	switch {
	case old && rest == "":
		return errors.New("xoff has no NATS server inside: found embedded; fix: start xoff-hub, then --nats nats://127.0.0.1:4222 with the token that it shows")
	case old && hasAddress:
		return fmt.Errorf("xoff has no NATS server inside: found %s; fix: start xoff-hub --listen %s, then --nats nats://HOST:PORT with the token that it shows", text, listen)
	}
	return remote.CheckURL(text)
}

// networkError gives an error the exit code of mistakes when the server does not want us.
func networkError(err error) error {
	if remote.IsRefused(err) {
		return wrap(exitInput, err)
	}
	return wrap(exitFailure, err)
}

// parseMemory reads an amount of memory; empty is 0.
func parseMemory(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := units.ParseBytes(text)
	if err != nil || n < 1 {
		return 0, failf(exitInput, "--memory is %q; allowed: a size such as 2GiB", text)
	}
	return int64(n), nil
}

// runPoints computes points here, or on other machines if there is a network.
func (a *app) runPoints(ctx context.Context, r *sweep.Runner, m *meter, points []*sweep.Point, name string, n *network, o *run.Options) ([]sweep.Row, error) {
	if n == nil {
		m.restart()
		return r.Sweep(ctx, points)
	}
	folder, err := filepath.Abs(r.Store.Folder)
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	program, err := sweep.Executable()
	if err != nil {
		return nil, wrap(exitFailure, err)
	}
	within, c, err := remote.Coordinate(ctx, n.address, n.access, remote.Sweep{
		Name: name, Folder: folder, Program: program, Settings: sweep.SettingsOf(o), Memory: n.memory, SetAside: remote.LogsBeside(folder), Log: a.logger(m),
	})
	if err != nil {
		return nil, networkError(err)
	}
	defer c.Close()
	r.Run, r.Workers = c.Run, remote.InFlight
	stop := a.showWorkers(r, c, m, n.address)
	defer stop()
	return r.Sweep(within, points)
}

// logger writes lines to standard error, between those of a meter.
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

// showWorkers shows how far a sweep is and who computes it, until the function that it
// returns is called. Others may be silent for long, so it asks by itself.
func (a *app) showWorkers(r *sweep.Runner, c *remote.Coordinator, m *meter, address string) (stop func()) {
	var lock sync.Mutex
	var last sweep.Progress
	r.Progress = func(p sweep.Progress) {
		lock.Lock()
		defer lock.Unlock()
		last = p
	}
	m.restart()
	return m.during(func(passed time.Duration) string {
		lock.Lock()
		p := last
		lock.Unlock()
		workers, slots := c.Workers()
		return workersLine(p, passed, workers, slots, address)
	}, &atomic.Bool{})
}

// workersLine tells how far a sweep on other machines is.
func workersLine(p sweep.Progress, passed time.Duration, workers, slots int, address string) string {
	line := fmt.Sprintf("%d of %d points", p.Done, p.Total)
	if p.Reused > 0 {
		line += fmt.Sprintf(" (%d from before)", p.Reused)
	}
	switch workers {
	case 0:
		return line + ", no workers: xoff worker " + address
	case 1:
		line += fmt.Sprintf(", 1 worker (%d at a time)", slots)
	default:
		line += fmt.Sprintf(", %d workers (%d at a time)", workers, slots)
	}
	line += fmt.Sprintf(", %.3g points/min", float64(p.Done-p.Reused)/max(passed.Minutes(), 1e-3))
	return line + timeLeft(p.Share, passed)
}
