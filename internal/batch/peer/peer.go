// Package peer holds what both ends of a NATS connection need: the token, certificates,
// and a safe way to print text from the other end.
package peer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"
)

// TokenVariable is the environment variable with the token, unless a file is given.
const TokenVariable = "XOFF_NATS_TOKEN"

// ReadToken reads the token from a file.
func ReadToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("%s is empty; allowed: a file with a token", path)
	}
	return token, nil
}

// ReadTLS reads the certificate of this side, its key, and the authority that signs the
// certificates of the other side. It returns nil when no file is given. Both sides must
// show a certificate.
func ReadTLS(certificate, key, authority string) (*tls.Config, error) {
	if certificate == "" && key == "" && authority == "" {
		return nil, nil
	}
	if certificate == "" || key == "" || authority == "" {
		return nil, errors.New("certificates go together; allowed: one of this side, its key, and the authority that signs those of the others")
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
		return nil, fmt.Errorf("%s holds no certificate; allowed: PEM", authority)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// Printable returns text from another machine as one line that cannot control the
// terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}
