package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/internal/batch/peer"
	"github.com/xoff-net/xoff/internal/sys/disk"
)

// release is the version of a released program, set by the linker.
var release string

// Main runs xoff-hub until it is interrupted and returns its exit code: 0 after a signal,
// 2 when the server cannot start.
func Main(args []string) int {
	cmd := Command()
	cmd.SetArgs(args)
	cmd.SetOut(os.Stdout)
	cmd.SetErr(os.Stderr)
	if err := cmd.Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "xoff-hub: %v\n", err)
		return 2
	}
	return 0
}

// options are the flags of xoff-hub.
type options struct {
	listen, folder, tokenFile   string
	certificate, key, authority string

	temp atomic.Pointer[disk.Temp] // temporary folder; nil with --dir
}

// clean removes what a server that is stopped at once would leave.
func (o *options) clean() {
	if t := o.temp.Load(); t != nil {
		_ = t.Remove()
	}
}

// Command returns the command xoff-hub.
func Command() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "xoff-hub",
		Short: "Serve points of sweeps to workers on other machines",
		Long: `Start a NATS server with JetStream for xoff sweep --nats, xoff reproduce --nats and
xoff worker. A NATS server that you have, started with nats-server -js, does as well.

The server listens on this machine only; --listen 0.0.0.0 opens it to other machines.
Clients need its token. A new random token is shown once on the terminal and written to
a file that only you can read; a token file that exists is used again.

  xoff-hub --listen 0.0.0.0 --dir hub
  xoff worker nats://first-machine:4222 --nats-token hub/token
  xoff sweep mine.yaml --seeds 500 --nats nats://first-machine:4222 --nats-token hub/token

Ctrl-C, SIGTERM and SIGHUP stop it. Without --dir all messages are kept in a temporary folder
and removed at the end. With --dir they stay: start the same command again, and running
sweeps continue. Results are never stored here; xoff sweep writes them to its -o.
The exit code is 0 after a signal and 2 when the server cannot start.`,
		Version:       version(),
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := peer.UntilSignal(cmd.Context(), o.clean)
			defer stop()
			return o.serve(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", fmt.Sprintf("127.0.0.1:%d", DefaultPort), "address to listen on: PORT, :PORT, HOST or HOST:PORT; port 0 is any free port")
	f.StringVarP(&o.folder, "dir", "o", "", "folder for messages in transit and the token; it survives a restart (default: temporary)")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token, created if missing (default: "+peer.TokenVariable+" in the environment, else the file token in --dir)")
	f.StringVar(&o.certificate, "cert", "", "file with the certificate of this server; connections are encrypted and clients must show a certificate")
	f.StringVar(&o.key, "key", "", "file with the key of --cert")
	f.StringVar(&o.authority, "ca", "", "file with the certificate that signed the clients' certificates")
	return cmd
}

// version returns the version of the release, or of the sources.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && release == "" {
		return info.Main.Version
	}
	return release
}

// serve runs the server until the context ends.
func (o *options) serve(ctx context.Context, out, errs io.Writer) (err error) {
	var c Config
	if c.Host, c.Port, err = ParseAddress(o.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if c.TLS, err = peer.ReadTLS(o.certificate, o.key, o.authority); err != nil {
		return err
	}
	folder, closeFolder, err := o.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFolder()) }()
	t, err := o.token(folder, os.Getenv)
	if err != nil {
		return err
	}
	c.Token, c.Folder, c.Log = t.text, folder, logTo(errs)
	if err := t.save(); err != nil {
		return err
	}
	s, err := Start(ctx, c)
	if err != nil {
		return errors.Join(err, t.discard())
	}
	defer s.Stop()
	if _, err := io.WriteString(out, o.welcome(s.Address(), t, terminal(out))); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// open creates and locks the folder of the server. The function that it returns unlocks
// it, and removes it if it is temporary.
func (o *options) open() (folder string, closeFolder func() error, err error) {
	if o.folder == "" {
		t, err := disk.NewTemp("", "xoff-hub")
		if err != nil {
			return "", nil, err
		}
		o.temp.Store(t)
		return t.Folder, t.Remove, nil
	}
	if folder, err = filepath.Abs(o.folder); err != nil {
		return "", nil, err
	}
	if err = os.MkdirAll(folder, 0o700); err != nil {
		return "", nil, err
	}
	l, err := disk.Lock(folder)
	if errors.Is(err, disk.ErrBusy) {
		return "", nil, fmt.Errorf("--dir: another xoff-hub uses %s", folder)
	} else if err != nil {
		return "", nil, err
	}
	return folder, l.Close, nil
}

// welcome tells the user what to type next. A new token is shown on terminals only:
// elsewhere it would end up in a log.
func (o *options) welcome(address string, t token, terminal bool) string {
	url, access := clientURL(address), ""
	var b strings.Builder
	fmt.Fprintf(&b, "listening on %s\n", address)
	switch {
	case t.path == "":
		fmt.Fprintf(&b, "token: from %s\n", peer.TokenVariable)
	case t.fresh && terminal:
		fmt.Fprintf(&b, "token: %s, in %s\n", t.text, t.path)
	default:
		fmt.Fprintf(&b, "token: in %s\n", t.path)
	}
	if t.path != "" {
		access = " --nats-token " + peer.Quote(t.path)
	}
	if o.certificate != "" {
		access += " --nats-cert CERT --nats-key KEY --nats-ca CA"
	}
	fmt.Fprintf(&b, "\n  xoff worker %s%s\n  xoff sweep FILE --nats %s%s\n\n", url, access, url, access)
	if t.path != "" && !loopback(address) {
		b.WriteString("Copy the token file to the other machines first.\n")
	}
	b.WriteString("Ctrl-C stops the server.\n")
	return b.String()
}

// clientURL returns the URL for clients: the hostname replaces a wildcard address.
func clientURL(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	return "nats://" + net.JoinHostPort(host, port)
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// logTo returns a function that writes lines for several goroutines.
func logTo(w io.Writer) func(string) {
	var lock sync.Mutex
	return func(text string) {
		lock.Lock()
		defer lock.Unlock()
		fmt.Fprintf(w, "xoff-hub: %s\n", peer.Printable(text))
	}
}
