//go:build !linux

package cli

import (
	"github.com/spf13/cobra"

	"github.com/xoff-net/xoff/scenario/build"
)

func (a *app) parent(*cobra.Command, *build.Built, *liveFlags, string) error {
	return failf(exitInput, "--setup, --outside and --wire packet are a matter of Linux")
}
