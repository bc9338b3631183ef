// Package hub is a NATS server with JetStream for sweeps, and the command xoff-hub around
// it. It is a separate program because the server is larger than the simulator.
package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// DefaultPort is the port of NATS.
const DefaultPort = 4222

// MaxMessage is the largest message in bytes. The server closes the connection of a
// client that sends a longer one; results are sent in pieces.
const MaxMessage = 1 << 20

// Config describes a server.
type Config struct {
	Host   string
	Port   int          // 0: any free port
	Token  string       // clients must know it; required
	TLS    *tls.Config  // encrypts connections and requires client certificates; nil: neither
	Folder string       // streams are stored in Folder/jetstream
	Log    func(string) // receives errors of clients and of the server
}

// ParseAddress parses PORT, :PORT, HOST or HOST:PORT. A port alone is on loopback.
func ParseAddress(text string) (host string, port int, err error) {
	bad := func() error {
		return fmt.Errorf("bad address: %q (expected PORT, HOST or HOST:PORT, such as 0.0.0.0:%d)", text, DefaultPort)
	}
	host, port = "127.0.0.1", DefaultPort
	name := text
	if n, err := strconv.Atoi(strings.TrimPrefix(text, ":")); err == nil {
		name = net.JoinHostPort(host, strconv.Itoa(n))
	}
	if h, p, err := net.SplitHostPort(name); err == nil {
		host = h
		if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
			return "", 0, bad()
		}
	} else {
		host = name
	}
	if host == "" {
		return "", 0, bad()
	}
	return host, port, nil
}

// Server is a running server.
type Server struct{ s *server.Server }

// Start starts a server and waits until it accepts connections.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Token == "" {
		return nil, errors.New("no token: anybody could connect")
	}
	port := c.Port
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{
		ServerName: "xoff", Host: c.Host, Port: port, Authorization: c.Token, JetStream: true, StoreDir: c.Folder,
		MaxPayload: MaxMessage, NoSigs: true, DisableShortFirstPing: true,
		// A worker that is cut off is noticed within some seconds.
		PingInterval: 5 * time.Second, MaxPingsOut: 2,
	}
	if c.TLS != nil {
		o.TLS, o.TLSVerify, o.TLSConfig = true, true, c.TLS
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	log := &logger{tell: c.Log}
	s.SetLoggerV2(log, false, false, false)
	go s.Start()
	for !s.ReadyForConnections(50 * time.Millisecond) {
		if err := ctx.Err(); err != nil {
			s.Shutdown()
			return nil, err
		}
		if why := log.fatal(); why != "" || !s.Running() {
			s.Shutdown()
			return nil, fmt.Errorf("cannot start at %s: %w", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), errors.New(why))
		}
	}
	return &Server{s}, nil
}

// Address is the address that the server listens on.
func (s *Server) Address() string { return s.s.Addr().String() }

// Stop stops the server and waits until it has closed its files.
func (s *Server) Stop() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}
