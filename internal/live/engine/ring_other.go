//go:build !linux

package engine

import (
	"errors"
	"os"
)

// Ring is a packet socket on an interface of Linux; there are none here.
type Ring struct{}

var errNoRings = errors.New("packet sockets are a matter of Linux")

// OpenRing fails: there are no packet sockets here.
func OpenRing(string, int) (*os.File, error) { return nil, errNoRings }

// NewRing fails: there are no packet sockets here.
func NewRing(*os.File, int) (*Ring, error) { return nil, errNoRings }

func (*Ring) ready() bool { return false }

// Poll has nothing to hand over.
func (*Ring) Poll(func(b []byte, came int64, unfilled bool)) {}

// Lost is 0.
func (*Ring) Lost() uint64 { return 0 }

// Send fails.
func (*Ring) Send([]byte) error { return errNoRings }

// Close does nothing.
func (*Ring) Close() error { return nil }
