//go:build !linux

package engine

import (
	"errors"
	"os"
	"time"
)

// Ring is a packet socket; it exists only on Linux.
type Ring struct{}

var errNoRings = errors.New("packet sockets need Linux")

// OpenRing fails: packet sockets need Linux.
func OpenRing(string, int) (*os.File, error) { return nil, errNoRings }

// NewRing fails: packet sockets need Linux.
func NewRing(*os.File, int) (*Ring, error) { return nil, errNoRings }

func (*Ring) ready() bool { return false }

// Poll does nothing.
func (*Ring) Poll(int, func(b []byte, came int64, unfilled bool)) {}

// rings waits for nothing.
type rings []struct{}

func (*rings) add(*Ring) {}

func (rings) wait(d time.Duration) { sleep(d) }

// Lost returns 0.
func (*Ring) Lost() uint64 { return 0 }

// Send fails.
func (*Ring) Send([][]byte) (int, error) { return 0, errNoRings }

// Close does nothing.
func (*Ring) Close() error { return nil }
