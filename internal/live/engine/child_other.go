//go:build !linux

package engine

import (
	"context"
	"errors"
)

var errNoChild = errors.New("--setup, --outside and --wire packet are a matter of Linux")

// ChildUser fails: there are no packet sockets here.
func ChildUser(string) (*User, error) { return nil, errNoChild }

// HandOver fails: there are no packet sockets here.
func HandOver(string, string, *User) error { return errNoChild }

// Run fails: there are no packet sockets here.
func (*Child) Run(context.Context) (int, error) { return 0, errNoChild }
