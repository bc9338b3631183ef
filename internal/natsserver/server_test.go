package natsserver

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for _, c := range []struct {
		text, host string
		port       int
	}{
		{"", "127.0.0.1", 4222},
		{"4333", "127.0.0.1", 4333},
		{"0.0.0.0", "0.0.0.0", 4222},
		{"0.0.0.0:99", "0.0.0.0", 99},
		{"[::1]:5", "::1", 5},
		{"lab7", "lab7", 4222},
		{":5", "", 0},
		{"lab7:x", "", 0},
		{"lab7:70000", "", 0},
	} {
		host, port, err := ParseAddress(c.text)
		if host != c.host || port != c.port || (err == nil) != (c.host != "") {
			t.Errorf("%q: %q %d %v", c.text, host, port, err)
		}
	}
}

// What other machines reach is not for everybody.
func TestOpenServersAreRefused(t *testing.T) {
	for _, c := range []struct {
		config Config
		ok     bool
	}{
		{Config{Host: "127.0.0.1"}, true},
		{Config{Host: "::1"}, true},
		{Config{Host: "localhost"}, true},
		{Config{Host: "0.0.0.0"}, false},
		{Config{Host: "192.0.2.1"}, false},
		{Config{Host: "lab7"}, false},
		{Config{Host: "0.0.0.0", Token: "x"}, true},
		{Config{Host: "0.0.0.0", TLS: &tls.Config{}}, true},
	} {
		if err := c.config.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
	if _, err := Start(context.Background(), Config{Host: "0.0.0.0", Folder: t.TempDir()}); err == nil {
		t.Error("an open server starts")
	}
}

// A port that another program has is an error with the address.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = Start(context.Background(), Config{Host: "127.0.0.1", Port: port, Folder: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(port)) {
		t.Errorf("%v", err)
	}
}
