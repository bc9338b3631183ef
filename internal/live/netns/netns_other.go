//go:build !linux

package netns

import (
	"context"
	"errors"
)

var errNone = errors.New("network namespaces need Linux")

// Made is a plan that was created; it exists only on Linux.
type Made struct{}

// Make fails: network namespaces need Linux.
func Make(context.Context, *Plan) (*Made, error) { return nil, errNone }

// In fails.
func (*Made) In(string, func() error) error { return errNone }

// Remove does nothing.
func (*Made) Remove() error { return nil }
