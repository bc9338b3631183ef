//go:build !linux

package engine

import (
	"context"
	"errors"
)

var errNoChild = errors.New("--setup, --outside and --wire packet need Linux")

// ChildUser fails: packet sockets need Linux.
func ChildUser(string) (*User, error) { return nil, errNoChild }

// HandOver fails: packet sockets need Linux.
func HandOver(string, string, *User) error { return errNoChild }

// Run fails: packet sockets need Linux.
func (*Child) Run(context.Context) (int, error) { return 0, errNoChild }
