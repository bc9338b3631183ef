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

// Access holds the credentials for a server.
type Access struct {
	Token string
	// TLS has the certificate of this side and the trusted authorities. With nil,
	// connections are encrypted only if the URL says so.
	TLS *tls.Config
}

// ReadAccess reads a token from a file or the environment, and certificates from files.
// Files without a name are not read.
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

// CheckURL rejects addresses that name no server or contain credentials.
func CheckURL(text string) error {
	full := text
	if !strings.Contains(full, "://") {
		full = "nats://" + full
	}
	u, err := url.Parse(full)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.Path != "":
		return fmt.Errorf("%q is not a server address (expected nats://HOST:PORT or tls://HOST:PORT)", text)
	case u.User != nil:
		return fmt.Errorf("token in a command line, which all users of the machine can read (expected it in %s or in a file)", peer.TokenVariable)
	}
	return nil
}

// refusedError means that a server rejects this client, or that the client cannot use it.
type refusedError struct{ error }

func (r refusedError) Unwrap() error { return r.error }

// connect connects to a server and reconnects whenever the connection breaks. If patient,
// it waits for a server that does not listen yet.
func connect(ctx context.Context, address, name string, access Access, patient bool, log func(string)) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(retryAfter), nats.Timeout(requestTime),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log(fmt.Sprintf("lost the connection to the server: %v", err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log("reconnected to the server") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log(err.Error()) }),
	}
	if access.Token != "" {
		options = append(options, nats.Token(access.Token))
	}
	if access.TLS != nil {
		options = append(options, nats.Secure(access.TLS.Clone()))
	}
	for logged := false; ; {
		c, err := nats.Connect(address, options...)
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, nats.ErrAuthorization):
			return nil, refusedError{fmt.Errorf("%s rejects this client: %w (expected its token in %s or in a file)", address, err, peer.TokenVariable)}
		case !transient(err):
			return nil, refusedError{fmt.Errorf("%s: %w", address, err)}
		case !patient:
			return nil, refusedError{fmt.Errorf("%s: %w; fix: start xoff-hub or nats-server -js there", address, err)}
		case !logged:
			logged = true
			log(fmt.Sprintf("%s: %v; waiting for it", address, err))
		}
		if !sleep(ctx, retryAfter) {
			return nil, ctx.Err()
		}
	}
}

// transient reports whether a later attempt may succeed: nothing listens yet, or the server
// is overloaded or restarting.
func transient(err error) bool {
	var n net.Error
	for _, known := range []error{nats.ErrNoServers, nats.ErrTimeout, nats.ErrConnectionClosed, nats.ErrStaleConnection, io.EOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, &n) && n.Timeout()
}

// Probe checks that a server has JetStream and accepts this client.
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

// sleep waits for d. It reports false if the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// IsRefused reports whether an error means that client and server do not accept each other,
// rather than a failure.
func IsRefused(err error) bool {
	var r refusedError
	return errors.As(err, &r)
}
