package remote

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xoff-net/xoff/cmd/xoff-hub/hub"
	"github.com/xoff-net/xoff/internal/batch/peer"
)

// authority is a certificate authority whose files are in a folder.
type authority struct {
	t      *testing.T
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, folder: t.TempDir()}
	a.cert, a.key = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}, a.newKey()
	a.write("ca.pem", "CERTIFICATE", a.sign(a.cert, a.key))
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) sign(c *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	data, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return data
}

func (a *authority) write(name, kind string, data []byte) string {
	path := filepath.Join(a.folder, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// access returns the credentials of a machine, signed by the authority.
func (a *authority) access() Access {
	key := a.newKey()
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "machine"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, key)
	access, err := ReadAccess("", a.write("cert.pem", "CERTIFICATE", cert), a.write("key.pem", "EC PRIVATE KEY", secret), filepath.Join(a.folder, "ca.pem"),
		func(string) string { return token })
	if err != nil {
		a.t.Fatal(err)
	}
	return access
}

// A server with certificates accepts only clients with the token and a certificate of its
// authority.
func TestCertificates(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	access := ours.access()
	server, err := hub.Start(context.Background(), hub.Config{Host: "127.0.0.1", Token: token, TLS: access.TLS, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	for _, c := range []struct {
		name   string
		access Access
		ok     bool
	}{
		{"ours", ours.access(), true},
		{"ours without the token", Access{TLS: access.TLS}, false},
		{"theirs", theirs.access(), false},
		{"none", Access{}, false},
		{"the token alone", Access{Token: token}, false},
	} {
		if err := Probe(context.Background(), "nats://"+server.Address(), c.access); (err == nil) != c.ok || err != nil && !IsRefused(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestReadAccess(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	env := func(name string) string { return map[string]string{peer.TokenVariable: "from environment"}[name] }
	for _, c := range []struct{ file, cert, token, want string }{
		{"", "", "from environment", ""},
		{write("token", "from file\n"), "", "from file", ""},
		{write("empty", "\n"), "", "", "is empty (expected a token)"},
		{filepath.Join(folder, "none"), "", "", "no such file"},
		{"", write("cert", "x"), "", "incomplete TLS files"},
	} {
		a, err := ReadAccess(c.file, c.cert, "", "", env)
		if c.want == "" && (err != nil || a.Token != c.token) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %q %v", c, a.Token, err)
		}
	}
}
