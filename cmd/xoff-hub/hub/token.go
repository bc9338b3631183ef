package hub

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/xoff-net/xoff/internal/batch/peer"
)

// token is what clients must know.
type token struct {
	text  string
	path  string // its file; empty: from the environment
	fresh bool   // created by this process
}

// token reads the token from its file or from the environment, or makes a new one, which
// is not saved yet.
func (o *options) token(folder string, getenv func(string) string) (token, error) {
	path := o.tokenFile
	if path == "" {
		if text := strings.TrimSpace(getenv(peer.TokenVariable)); text != "" {
			return token{text: text}, checkToken(text, peer.TokenVariable)
		}
		path = filepath.Join(folder, "token")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return token{}, err
	}
	switch err := peer.CheckTokenFile(path); {
	case errors.Is(err, fs.ErrNotExist):
		return token{text: rand.Text(), path: path, fresh: true}, nil
	case err != nil:
		return token{}, err
	}
	text, err := peer.ReadToken(path)
	if err == nil {
		err = checkToken(text, path)
	}
	return token{text: text, path: path}, err
}

// minToken is the minimum length of a token in characters. Shorter ones can be guessed.
const minToken = 16

func checkToken(text, from string) error {
	if n := utf8.RuneCountInString(text); n < minToken {
		return fmt.Errorf("the token in %s is too short: it has %d characters (expected at least %d)", from, n, minToken)
	}
	return nil
}

// save writes a new token to a file that only its owner can read.
func (t token) save() error {
	if !t.fresh {
		return nil
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	_, err = f.WriteString(t.text + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(t.path)
	}
	return err
}

// discard removes a new token whose server did not start: it was not shown, and the next
// start would not show it either.
func (t token) discard() error {
	if !t.fresh {
		return nil
	}
	return os.Remove(t.path)
}
