package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/xoff-net/xoff/internal/batch/peer"
)

// Access is how a server is reached, and what shows that one may.
type Access struct {
	Token string
	// TLS has the certificate of this side, and whom it trusts; nil: connections are
	// not encrypted, unless the URL says so.
	TLS *tls.Config
}

// ReadAccess reads a token from a file, or from the environment, and certificates from
// files; what is not named is empty.
func ReadAccess(tokenFile, certificate, key, authority string, getenv func(string) string) (a Access, err error) {
	a.Token = strings.TrimSpace(getenv(peer.TokenVariable))
	if tokenFile != "" {
		if a.Token, err = peer.ReadToken(tokenFile); err != nil {
			return a, err
		}
	}
	a.TLS, err = peer.ReadTLS(certificate, key, authority)
	return a, err
}

// CheckURL refuses addresses that name no server, or show what nobody should see.
func CheckURL(text string) error {
	full := text
	if !strings.Contains(full, "://") {
		full = "nats://" + full
	}
	u, err := url.Parse(full)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.Path != "":
		return fmt.Errorf("%q is no server; allowed: nats://HOST:PORT or tls://HOST:PORT", text)
	case u.User != nil:
		return fmt.Errorf("a command line can be read by all users of a machine; allowed: the token in %s, or in a file", peer.TokenVariable)
	}
	return nil
}

// refusedError means that a server is there and does not let us in.
type refusedError struct{ error }

func (r refusedError) Unwrap() error { return r.error }

// connect connects to a server, and again whenever the connection breaks. A server that
// is not there yet is waited for, if that is wanted.
func connect(ctx context.Context, address, name string, access Access, patient bool, log func(string)) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(retryAfter), nats.Timeout(requestTime),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log(fmt.Sprintf("the connection to the server broke: %v", err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log("connected to the server again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log(err.Error()) }),
	}
	if access.Token != "" {
		options = append(options, nats.Token(access.Token))
	}
	if access.TLS != nil {
		options = append(options, nats.Secure(access.TLS.Clone()))
	}
	for told := false; ; {
		c, err := nats.Connect(address, options...)
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, nats.ErrAuthorization):
			return nil, refusedError{fmt.Errorf("%s does not let this xoff in: %w; allowed: its token in %s or in a file", address, err, peer.TokenVariable)}
		case !passes(err):
			return nil, refusedError{fmt.Errorf("%s: %w", address, err)}
		case !patient:
			return nil, refusedError{fmt.Errorf("%s: %w; fix: start xoff-hub or nats-server -js there", address, err)}
		case !told:
			told = true
			log(fmt.Sprintf("%s: %v; waiting for it", address, err))
		}
		if !pause(ctx, retryAfter) {
			return nil, ctx.Err()
		}
	}
}

// passes reports whether it may be better later: nobody listens yet, or who does has too
// much to do, or goes away just now.
func passes(err error) bool {
	var n net.Error
	for _, known := range []error{nats.ErrNoServers, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrStaleConnection, io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &n) && n.Timeout()
}

// Probe finds out whether there is a server with JetStream that lets us in.
func Probe(ctx context.Context, address string, access Access) error {
	c, err := connect(ctx, address, "xoff", access, false, func(string) {})
	if err != nil {
		return err
	}
	defer c.Close()
	js, err := jetstream.New(c)
	if err == nil {
		_, err = listSessions(ctx, js)
	}
	if err != nil {
		return refusedError{fmt.Errorf("%s: %w (expected a server with JetStream: xoff-hub or nats-server -js)", address, err)}
	}
	return nil
}

// pause waits, and reports whether the context is alive.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// IsRefused reports whether an error is about who may connect to what, rather than
// about a failure.
func IsRefused(err error) bool {
	var r refusedError
	return errors.As(err, &r)
}
