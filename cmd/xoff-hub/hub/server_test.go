package hub

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
		{"4333", "127.0.0.1", 4333},
		{"0.0.0.0", "0.0.0.0", 4222},
		{"0.0.0.0:99", "0.0.0.0", 99},
		{"[::1]:5", "::1", 5},
		{"lab7", "lab7", 4222},
		{"", "", 0},
		{":5", "127.0.0.1", 5},
		{":", "", 0},
		{"lab7:x", "", 0},
		{"lab7:70000", "", 0},
	} {
		host, port, err := ParseAddress(c.text)
		if host != c.host || port != c.port || (err == nil) != (c.host != "") {
			t.Errorf("%q: %q %d %v", c.text, host, port, err)
		}
	}
}

func TestNoServerWithoutToken(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		if _, err := Start(context.Background(), Config{Host: host, TLS: &tls.Config{}, Folder: t.TempDir()}); err == nil {
			t.Errorf("a server without a token starts on %s", host)
		}
	}
}

// The error about a port in use has the address.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = Start(context.Background(), Config{Host: "127.0.0.1", Port: port, Token: "x", Folder: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(port)) {
		t.Errorf("%v", err)
	}
}
