package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/base/units"
	"github.com/xoff-net/xoff/internal/disk"
	"github.com/xoff-net/xoff/internal/natsserver"
	"github.com/xoff-net/xoff/internal/remote"
	"github.com/xoff-net/xoff/internal/sweep"
	"github.com/xoff-net/xoff/run"
)

// accessFlags say what shows a server of NATS that one may connect.
type accessFlags struct {
	tokenFile, certificate, key, authority string
}

func (f *accessFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.tokenFile, "nats-token", "", "`FILE` with the token of the server (default: "+remote.TokenVariable+" in the environment)")
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

// embedded is the word for a server inside this process.
const embedded = "embedded"

func (f *natsFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "nats", "", "have points computed by xoff worker on other machines, by this server of NATS: `URL` nats://HOST:PORT, or embedded[:ADDR], which is one inside this process")
	flags.StringVar(&f.memory, "memory", "", "with --nats: memory `SIZE` that a point takes, such as 2GiB; workers with less refuse it (default: what points took that are done)")
	f.accessFlags.register(cmd)
}

// network is where workers and sweep meet, as the flags say.
type network struct {
	access  remote.Access
	memory  int64
	address string            // of a server that is there, or
	inside  natsserver.Config // of one that is not
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
	n := &network{}
	var err error
	if n.access, err = f.read(); err != nil {
		return nil, err
	}
	if n.memory, err = parseMemory(f.memory); err != nil {
		return nil, err
	}
	rest, here := strings.CutPrefix(f.server, embedded)
	if !here || rest != "" && rest[0] != ':' {
		n.address = f.server
		if err := remote.CheckURL(n.address); err != nil {
			return nil, failf(exitInput, "--nats: %w", err)
		}
		return n, networkError(remote.Probe(cmd.Context(), n.address, n.access))
	}
	n.inside = natsserver.Config{Token: n.access.Token, TLS: n.access.TLS}
	if n.inside.Host, n.inside.Port, err = natsserver.ParseAddress(strings.TrimPrefix(rest, ":")); err == nil {
		err = n.inside.Check()
	}
	if err != nil {
		return nil, failf(exitInput, "--nats: %w", err)
	}
	return n, nil
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
	address, access := n.address, n.access
	if address == "" {
		server, err := a.startServer(ctx, n.inside, folder)
		if err != nil {
			return nil, err
		}
		defer server.Stop()
		address, access.Inside = "nats://"+server.Address(), server
	}
	within, c, err := remote.Coordinate(ctx, address, access, remote.Sweep{
		Name: name, Folder: folder, Program: program, Settings: sweep.SettingsOf(o), Memory: n.memory, SetAside: setAside(folder), Log: a.logger(m),
	})
	if err != nil {
		return nil, networkError(err)
	}
	defer c.Close()
	r.Run, r.Workers = c.Run, remote.InFlight
	stop := a.showWorkers(r, c, m, address)
	defer stop()
	return r.Sweep(within, points)
}

// startServer starts a server in this process; it keeps what is on its way beside the
// results until it is stopped.
func (a *app) startServer(ctx context.Context, config natsserver.Config, folder string) (*server, error) {
	config.Folder, config.Log = filepath.Join(folder, disk.TempPrefix+"nats"), a.logger(nil)
	s, err := natsserver.Start(ctx, config)
	if err != nil {
		_ = os.RemoveAll(config.Folder)
		return nil, failf(exitInput, "--nats: %w", err)
	}
	if !a.quiet {
		config.Log("workers: xoff worker " + reachable(s.Address()) + " on any machine that has this program")
	}
	return &server{s, config.Folder}, nil
}

// server is one inside this process, and its folder.
type server struct {
	*natsserver.Server
	folder string
}

// Stop ends it and forgets what it had.
func (s *server) Stop() {
	s.Server.Stop()
	_ = os.RemoveAll(s.folder)
}

// reachable is how others call an address: one that stands for all of this machine has
// no name of its own.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	return "nats://" + net.JoinHostPort(host, port)
}

// setAside writes logs of points beside the folder of results.
func setAside(folder string) func(*sweep.Point, string) (string, error) {
	return func(p *sweep.Point, log string) (string, error) {
		below := folder + "-log"
		path := filepath.Join(below, p.Folder+".txt")
		if err := os.MkdirAll(below, 0o755); err != nil {
			return "", err
		}
		return path, os.WriteFile(path, []byte(log), 0o644)
	}
}

// printable makes a line of what others may have written: it must not move the cursor of
// a terminal, nor look like lines of ours.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
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
		fmt.Fprintf(a.err, "xoff: %s\n", printable(text))
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
		return line + ", no workers: xoff worker " + reachable(strings.TrimPrefix(address, "nats://"))
	case 1:
		line += fmt.Sprintf(", 1 worker (%d at a time)", slots)
	default:
		line += fmt.Sprintf(", %d workers (%d at a time)", workers, slots)
	}
	line += fmt.Sprintf(", %.3g points/min", float64(p.Done-p.Reused)/max(passed.Minutes(), 1e-3))
	return line + timeLeft(p.Share, passed)
}
