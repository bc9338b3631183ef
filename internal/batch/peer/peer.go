// Package peer provides what both ends of a NATS connection need: the token, certificates,
// and a safe way to print text from the other end.
package peer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unicode"
)

// TokenVariable is the environment variable with the token. A token file overrides it.
const TokenVariable = "XOFF_NATS_TOKEN"

// ReadToken reads the token from a file.
func ReadToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("%s is empty (expected a token)", path)
	}
	return token, nil
}

// CheckTokenFile returns an error if other users can read the token file.
func CheckTokenFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("other users can read the token: %s has mode %04o (expected 0600); fix: chmod 600 %s", path, mode, Quote(path))
	}
	return nil
}

// ReadTLS reads a certificate, its key, and the authority that signed the peer's
// certificate. It returns nil if no file is given. The configuration requires a
// certificate from both sides.
func ReadTLS(certificate, key, authority string) (*tls.Config, error) {
	if certificate == "" && key == "" && authority == "" {
		return nil, nil
	}
	if certificate == "" || key == "" || authority == "" {
		return nil, errors.New("incomplete TLS files (expected a certificate, its key and the authority that signed the peer's certificate)")
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s contains no certificate (expected PEM)", authority)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// Printable returns text from another machine as one line that cannot control the
// terminal.
func Printable(text string) string { return printable(text, "") }

// printable replaces characters that are neither printable nor listed in kept by a space.
func printable(text, kept string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || strings.ContainsRune(kept, r) {
			return r
		}
		return ' '
	}, text)
}

// Line returns text as Printable does, shortened to most bytes.
func Line(text string, most int) string { return Printable(shorten(text, most)) }

// Lines returns text as Line does, but keeps its lines.
func Lines(text string, most int) string { return printable(shorten(text, most), "\n\t") }

// shorten returns the first bytes of a text, without a broken character at their end.
func shorten(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cut)], "") + cut
}

// cut marks the end of a shortened text.
const cut = " ..."

// Quote quotes a path for a shell if it needs it.
func Quote(path string) string {
	if strings.ContainsAny(path, " \t'\"\\$&;|<>()*?[]`!#~") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
