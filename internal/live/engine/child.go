package engine

import (
	"errors"
	"io"
	"os"
	"slices"
)

// Child is this program once more, with sockets and without privileges: its parent opens the
// sockets and outlives it to remove what it made.
type Child struct {
	Args     []string // of the command line of the parent
	Text     []byte   // of the scenario, for its standard input
	Files    []*os.File
	User     *User // nil: the parent's
	Folder   string
	Out, Err io.Writer
}

// User is a user and a group of the system.
type User struct{ UID, GID uint32 }

// ErrNotBegun says that a child was interrupted before it could take notice.
var ErrNotBegun = errors.New("interrupted before the run began")

// withFlags adds flags to arguments, before a -- that ends them.
func withFlags(args []string, flags ...string) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.Insert(slices.Clone(args), end, flags...)
}
