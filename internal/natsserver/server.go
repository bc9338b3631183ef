// Package natsserver is a NATS server with JetStream inside this process, for those who
// have none. Nothing else imports the server's code: it is large.
package natsserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// DefaultPort is the one that NATS has.
const DefaultPort = 4222

// MaxMessage bounds a message, in bytes: what is longer is refused with its connection.
// Results are sent in pieces.
const MaxMessage = 1 << 20

// Config says where a server listens, whom it lets in, and where it keeps what is sent.
type Config struct {
	Host   string
	Port   int // 0: any that is free
	Token  string
	TLS    *tls.Config // demands certificates of clients
	Folder string
	Log    func(string) // mistakes of clients and of the server
}

// ParseAddress reads the ADDR of embedded:ADDR: a port of this machine alone, or a host
// with or without a port.
func ParseAddress(text string) (host string, port int, err error) {
	bad := func() error {
		return fmt.Errorf("%q is no address; allowed: PORT, HOST or HOST:PORT, such as 0.0.0.0:%d", text, DefaultPort)
	}
	host, port = "127.0.0.1", DefaultPort
	if text == "" {
		return host, port, nil
	}
	name := text
	if n, err := strconv.Atoi(text); err == nil {
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

// Check refuses a server that others reach and anybody may use.
func (c *Config) Check() error {
	if loopback(c.Host) || c.Token != "" || c.TLS != nil {
		return nil
	}
	return fmt.Errorf("%s is an address that other machines reach; allowed: a token or certificates with it, or 127.0.0.1", c.Host)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Server is one that runs.
type Server struct{ s *server.Server }

// Start starts a server and waits until it takes connections.
func Start(ctx context.Context, c Config) (*Server, error) {
	if err := c.Check(); err != nil {
		return nil, err
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
			return nil, fmt.Errorf("the server does not start at %s: %w", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)), errors.New(why))
		}
	}
	return &Server{s}, nil
}

// InProcessConn connects a client in this process, which needs no network.
func (s *Server) InProcessConn() (net.Conn, error) { return s.s.InProcessConn() }

// Address is where it listens.
func (s *Server) Address() string { return s.s.Addr().String() }

// Stop ends the server.
func (s *Server) Stop() {
	s.s.Shutdown()
	s.s.WaitForShutdown()
}
