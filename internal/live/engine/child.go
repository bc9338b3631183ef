package engine

import (
	"errors"
	"io"
	"os"
	"slices"
)

// Child is a second process of this program that runs without privileges. Its parent opens the
// sockets, waits for it, and removes namespaces afterwards.
type Child struct {
	Args     []string // command line of the parent
	Text     []byte   // scenario, for standard input
	Files    []*os.File
	User     *User  // nil: the user of the parent
	Folder   string // for results
	Out, Err io.Writer
}

// User is a user and a group of the operating system.
type User struct{ UID, GID uint32 }

// ErrNotBegun means that a child was interrupted before its run started.
var ErrNotBegun = errors.New("interrupted before the run started")

// withFlags adds flags to arguments, before a terminating --.
func withFlags(args []string, flags ...string) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.Insert(slices.Clone(args), end, flags...)
}
