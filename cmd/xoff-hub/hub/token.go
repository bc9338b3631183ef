package hub

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xoff-net/xoff/internal/batch/peer"
)

// token is what clients must know.
type token struct {
	text  string
	path  string // its file; empty: from the environment
	fresh bool   // created by this process
}

// token reads the token from its file or from the environment, or creates one.
func (o *options) token(folder string, getenv func(string) string) (token, error) {
	path := o.tokenFile
	if path == "" {
		if text := strings.TrimSpace(getenv(peer.TokenVariable)); text != "" {
			return token{text: text}, nil
		}
		path = filepath.Join(folder, "token")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return token{}, err
	}
	t := token{text: rand.Text(), path: path, fresh: true}
	switch err := createToken(t); {
	case err == nil:
		return t, nil
	case !errors.Is(err, fs.ErrExist):
		return token{}, fmt.Errorf("token: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return token{}, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return token{}, fmt.Errorf("other users can read the token: %s has mode %04o (expected 0600); fix: chmod 600 %s", path, mode, quote(path))
	}
	t.fresh = false
	t.text, err = peer.ReadToken(path)
	return t, err
}

// createToken writes a new file that only its owner can read.
func createToken(t token) error {
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(t.text + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(t.path)
	}
	return err
}
