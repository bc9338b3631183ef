//go:build !linux

package netns

import (
	"context"
	"errors"
)

var errNone = errors.New("network namespaces are a matter of Linux")

// Made is what stands of a plan; nothing does here.
type Made struct{}

// Make fails: there are no namespaces here.
func Make(context.Context, *Plan) (*Made, error) { return nil, errNone }

// In fails.
func (*Made) In(string, func() error) error { return errNone }

// Remove does nothing.
func (*Made) Remove() error { return nil }
